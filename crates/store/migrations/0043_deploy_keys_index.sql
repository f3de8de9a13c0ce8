-- In a migration of its own: the one before holds a lock of this table that also excludes readers.
create index ssh_keys_deploy on ssh_keys (id) where user_id is null;
