-- The release of a tag can have a name, and a date other than that of its creation. Users are not referenced, because
-- that would lock their table, too.
alter table releases
    add column name text,
    add column author_id bigint,
    add column released_at timestamptz;
