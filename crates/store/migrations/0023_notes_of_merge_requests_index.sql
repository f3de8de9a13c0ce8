-- In a migration of its own: the one before holds a lock of this table that also excludes readers.
create index notes_merge_request on notes (merge_request_id, id) where merge_request_id is not null;
