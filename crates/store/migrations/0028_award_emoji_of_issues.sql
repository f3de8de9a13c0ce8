alter table award_emoji
    add constraint award_emoji_issue_id_fkey foreign key (issue_id) references issues on delete cascade;
