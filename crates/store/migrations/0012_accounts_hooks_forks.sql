-- Primary addresses are unique. A secondary one is what a user says of themselves: it is confirmed by nobody, nothing
-- follows from it, and it keeps nobody else from the address.
create unique index emails_primary_key on emails (email) where is_primary;
alter table emails drop constraint emails_email_key;
-- The name by which nodes of the version before know the violation.
alter index emails_primary_key rename to emails_email_key;

-- The token of a hook, encrypted with a key that the database does not know. Tokens that were set before, or without
-- that key, are in the column `token`.
alter table hooks add column sealed_token bytea;
create index hooks_clear_token on hooks (id) where token is not null;

-- The visibility that the source of a fork had when it was deleted. The fork cannot become more visible than that.
alter table projects add column max_visibility_level smallint;

-- The account that owns what deleted users wrote. There is at most one; the first deletion of a user creates it.
alter table users add column ghost boolean not null default false;
create unique index users_one_ghost on users (ghost) where ghost;
