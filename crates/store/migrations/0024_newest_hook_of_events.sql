-- The newest hook when the event happened: later ones do not get it. Null in rows of older versions of the program.
alter table outbox_queue add column newest_hook_id bigint;
