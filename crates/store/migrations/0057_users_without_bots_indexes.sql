-- Lists of users leave out bots. Nodes of the version before still use the indexes with bots.
create index users_without_bots on users (id) where not bot;
create index users_without_bots_username on users (lower(username)) where not bot;
create index users_active_without_bots on users (id) where state = 'active' and not bot;
create index users_blocked_without_bots on users (id) where state <> 'active' and not bot;
create index users_external_without_bots on users (id) where external and not bot;
