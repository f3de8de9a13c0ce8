-- Hooks are told what happens: at least once, each in order, for days if need be.

-- A hook is a project's or, without one, the instance's own.
alter table project_hooks rename to hooks;
alter table hooks alter column project_id drop not null;
alter table hooks rename constraint project_hooks_pkey to hooks_pkey;
alter table hooks rename constraint project_hooks_project_id_fkey to hooks_project_id_fkey;
alter index project_hooks_project rename to hooks_project;
-- What the ids of its deliveries begin with, so that no two instances ever give out the same.
alter table hooks add column public_id uuid not null default gen_random_uuid();

-- What happened and was not yet handed to those who listen. A table of its own: the outbox keeps what it was told for
-- weeks, and this is empty most of the time.
create table outbox_queue (
    outbox_id  bigint primary key,
    kind       text not null,
    project_id bigint,
    created_at timestamptz not null
);

-- How far a hook has come. Apart from the hook: these rows change all the time.
create table hook_queues (
    hook_id       bigint primary key references hooks on delete cascade,
    -- The last number that was given out.
    last_sequence bigint not null default 0,
    -- Up to here everything is delivered or given up.
    position      bigint not null default 0,
    -- Where it is to go on instead, as soon as nobody is at it.
    restart_after bigint,
    -- Somebody wants it tried at once, whatever happened before.
    hurry         boolean not null default false,
    -- When somebody has to see to it; null if nothing waits. While a node is at it, when that node counts as dead.
    due_at        timestamptz,
    -- Who is at it.
    lease         bigint,
    -- Which line it waits in: 0 of those that are well, 1 of the slow, 2 of those that fail for long. Each line has places
    -- of its own, so that nobody waits for those who take long.
    lane          smallint not null default 0,
    -- Since its last success; and how many of the last were refusals of the same delivery.
    failures      integer not null default 0,
    refusals      integer not null default 0,
    failing_since timestamptz,
    paused_at     timestamptz,
    -- Since when something waits that it has not been told.
    waiting_since timestamptz
) with (fillfactor = 70);

insert into hook_queues (hook_id) select id from hooks;

create index hook_queues_due on hook_queues (lane, due_at, hook_id) where due_at is not null;
create index hook_queues_waiting on hook_queues (waiting_since) where waiting_since is not null and paused_at is null;
create index hook_queues_failing on hook_queues (failing_since) where failing_since is not null;
create index hook_queues_paused on hook_queues (paused_at) where paused_at is not null;

-- What a hook is told. Like the outbox, whose rows and times these are: partitioned, and referred to by nothing.
create table deliveries (
    hook_id      bigint not null,
    sequence     bigint not null,
    outbox_id    bigint not null,
    created_at   timestamptz not null,
    kind         text not null,
    -- The number of the delivery that is sent again by this one.
    replay_of    bigint,
    attempts     integer not null default 0,
    -- Of the last attempt.
    attempted_at timestamptz,
    delivered_at timestamptz,
    status       smallint,
    duration_ms  integer,
    error        text,
    response     jsonb
) partition by range (created_at);

create index deliveries_hook on deliveries (hook_id, sequence);

create table deliveries_default partition of deliveries default;

-- Who reads or writes a table waits while it is given a partition, so this is given up soon if somebody holds the table,
-- such as a backup: there is room for weeks.
create or replace function make_partitions(today date) returns void language plpgsql as $$
declare
    first date;
begin
    perform set_config('lock_timeout', '500ms', true);
    for first in select generate_series(date_trunc('month', today), today + interval '3 months', interval '1 month') loop
        perform make_partition('events', to_char(first, 'YYYY_MM'), first, (first + interval '1 month')::date);
    end loop;
    for first in select generate_series(today, today + 31, interval '1 day') loop
        perform make_partition('outbox', to_char(first, 'YYYY_MM_DD'), first, first + 1);
    end loop;
    for first in select generate_series(date_trunc('week', today), today + interval '4 weeks', interval '1 week') loop
        perform make_partition('deliveries', to_char(first, 'YYYY_MM_DD'), first, first + 7);
    end loop;
exception when lock_not_available then
    raise warning 'no partitions are made: a table is in use';
end $$;

-- Drops the partitions that hold nothing of that time or later. Who reads or writes the table meanwhile waits, so it is
-- given up soon if somebody holds it, and tried again the next day.
create function drop_partitions(parent text, before timestamptz) returns void language plpgsql as $$
declare
    partition text;
begin
    perform set_config('lock_timeout', '1s', true);
    for partition in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = parent::regclass
          and substring(pg_get_expr(c.relpartbound, c.oid) from $re$TO \('([^']+)'\)$re$)::timestamptz <= before
    loop
        execute format('drop table %I', partition);
    end loop;
exception when lock_not_available then
    raise warning 'the old partitions of % are in use', parent;
end $$;
