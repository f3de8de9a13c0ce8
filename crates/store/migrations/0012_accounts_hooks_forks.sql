-- The account that owns what deleted users wrote. There is at most one; the first deletion of a user creates it.
alter table users add column ghost boolean not null default false;
create unique index users_one_ghost on users (ghost) where ghost;
