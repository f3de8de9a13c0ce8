alter table merge_requests add column upvotes integer not null default 0, add column downvotes integer not null default 0;
