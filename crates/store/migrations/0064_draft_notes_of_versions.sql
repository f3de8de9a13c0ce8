alter table draft_notes
    add constraint draft_notes_version_id_fkey foreign key (version_id) references merge_request_versions on delete cascade;
