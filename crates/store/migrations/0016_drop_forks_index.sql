-- The index of migration 15 serves what this one did. It is dropped in a transaction of its own: one that locked the
-- table before, for another index, would have to raise its lock, which can deadlock with a running write.
drop index projects_forked_from;
