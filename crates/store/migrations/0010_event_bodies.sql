-- The body that deliveries of an event carry. It is stored before the first attempt, so that every attempt and every
-- replay sends the same bytes, on whichever node, even after the objects it was made from have been pruned. Partitioned
-- by the time of the event, like the outbox, and dropped together with it.
create table event_bodies (
    outbox_id        bigint not null,
    created_at       timestamptz not null,
    -- Project hooks and system hooks receive different bodies of the same event.
    for_project_hook boolean not null,
    body             bytea not null,
    primary key (outbox_id, for_project_hook, created_at)
) partition by range (created_at);

create table event_bodies_default partition of event_bodies default;

-- As before, and with the partitions of event_bodies.
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
        perform make_partition('event_bodies', to_char(first, 'YYYY_MM_DD'), first, first + 1);
    end loop;
    for first in select generate_series(date_trunc('week', today), today + interval '4 weeks', interval '1 week') loop
        perform make_partition('deliveries', to_char(first, 'YYYY_MM_DD'), first, first + 7);
    end loop;
exception when lock_not_available then
    raise warning 'no partitions are made: a table is in use';
end $$;
