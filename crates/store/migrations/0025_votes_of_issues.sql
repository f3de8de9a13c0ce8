-- The number of thumbs. Each of these migrations locks one table that is in use.
alter table issues add column upvotes integer not null default 0, add column downvotes integer not null default 0;
