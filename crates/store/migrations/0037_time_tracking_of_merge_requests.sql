-- Seconds.
alter table merge_requests add column time_estimate bigint not null default 0, add column time_spent bigint not null default 0;
