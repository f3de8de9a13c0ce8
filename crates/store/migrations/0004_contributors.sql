-- Who contributed how much to the default branch. Counted when somebody asks, and then only what has come since.

create table contributions (
    repository_id bigint primary key references repositories,
    -- The commit up to which is counted.
    tip           bytea not null,
    -- That of the refs when they had it: what is older does not replace what is newer.
    generation    bigint not null,
    counted_at    timestamptz not null
);

create table contributors (
    repository_id bigint not null references repositories,
    -- As it stands in the commits, cut where it is longer than any address.
    email         text collate "C" not null,
    -- That of the newest commit.
    name          text not null,
    -- When that was committed, in seconds since 1970: git knows times that no calendar has.
    newest        bigint not null,
    commits       bigint not null check (commits > 0),
    additions     bigint not null,
    deletions     bigint not null,
    primary key (repository_id, email)
);

create index contributors_newest on contributors (repository_id, newest desc, email);
