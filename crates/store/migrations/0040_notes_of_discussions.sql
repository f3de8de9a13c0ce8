alter table notes add column discussion_id bigint references discussions on delete cascade;
