-- In a migration of its own: the one before holds a lock of this table that also excludes readers.
create index notes_discussion on notes (discussion_id, id) where discussion_id is not null;
