-- Seconds.
alter table issues add column time_estimate bigint not null default 0, add column time_spent bigint not null default 0;
