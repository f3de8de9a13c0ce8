alter table discussions
    add constraint discussions_version_id_fkey foreign key (version_id) references merge_request_versions on delete cascade;
