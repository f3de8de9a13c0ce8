alter table draft_notes
    add constraint draft_notes_author_id_fkey foreign key (author_id) references users on delete cascade;
