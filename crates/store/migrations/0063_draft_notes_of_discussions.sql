alter table draft_notes
    add constraint draft_notes_discussion_id_fkey foreign key (discussion_id) references discussions on delete cascade;
