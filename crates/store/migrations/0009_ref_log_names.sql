-- What happened to one ref, the last first.
create index ref_log_names on ref_log (repository_id, name, generation);
