-- A bot is the user of an access token of a project or group. It is deleted with its token.
alter table users add column bot boolean not null default false;
