-- What keeps repositories quick and small in the long run.

-- Who does something that only one may do, and until when unless it says more. The token is another one each time: what was
-- begun under an older one counts no more.
create sequence lease_tokens;

create table leases (
    name       text collate "C" primary key,
    token      bigint not null,
    held_until timestamptz not null
);

alter table packs
    -- Its commits with their parents, for walks through history.
    add column graph_bytes bigint not null default 0,
    -- Since when no ref leads to what is in it; null for packs of which that is not known.
    add column cruft_since timestamptz;

-- What counts has bytes.
alter table packs add constraint packs_live_bytes check (state <> 'live' or (pack_bytes > 0 and idx_bytes > 0));

create index packs_cruft on packs (cruft_since) where cruft_since is not null;

-- When all of it was packed anew, packs that forks share apart, and the generation that came of it; the pack of all that
-- refs led to, and the generation of these refs.
alter table repositories
    add column repacked_at timestamptz,
    add column repacked_generation bigint,
    add column base_pack_id bigint,
    add column base_generation bigint;

-- With the owner, so that the first of many is found at once.
create index repository_packs_owner on repository_packs (pack_id, repository_id);
drop index repository_packs_pack;
