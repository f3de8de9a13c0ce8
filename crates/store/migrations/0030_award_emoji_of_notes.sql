alter table award_emoji
    add constraint award_emoji_note_id_fkey foreign key (note_id) references notes on delete cascade;
