"""Merge requests that are inserted by SQL, for cases that need very many."""

from .server import say, shell

# Rows in one statement.
BATCH = 100_000
TABLES = ("merge_requests", "merge_request_versions", "merge_request_labels", "labels", "milestones")
# Of twenty requests, four are open, one of them reopened; three are closed, the others merged.
MIXED_STATES = f"(array[1, 1, 1, 3, 2, 2, 2{', 4' * 13}])[1 + n % 20]"
OPENED = "1"
# An id that no object has.
ANY_HEAD = "decode(md5(n::text) || left(md5('head ' || n), 8), 'hex')"

PLANNING = """
insert into milestones (project_id, iid, title, created_at, updated_at)
    select {project}, n, 'Milestone ' || n, now(), now() from generate_series(1, 20) n;
insert into labels (project_id, title, color, created_at, updated_at)
    select {project}, 'label ' || n, '#428bca', now(), now() from generate_series(1, 50) n;
update projects set last_merge_request_iid = {count} where id = {project};
"""
# Every third request has two versions, two thirds have a label, a half have an assignee and a milestone. The order of
# the updates differs from that of the numbers.
REQUESTS = """
with people as (select array_agg(id) as ids from (select id from users order by id limit 100) u),
    planned as (select array_agg(id) as ids from milestones where project_id = {project}),
    labeled as (select array_agg(id) as ids from labels where project_id = {project}),
    numbered as (
        select n, {state} as state, now() - ({count} - n + 1) * interval '1 minute' as created_at
        from generate_series({first}::bigint, {last}) n),
    timed as (
        select *, least(now(), created_at + (hashint8(n) & 1023) / 1024.0 * interval '30 days') as updated_at
        from numbered),
    made as (
        insert into merge_requests (project_id, iid, source_project_id, source_branch, target_branch, author_id,
            assignee_id, milestone_id, title, description, state, merge_commit, merged_at, notes_count, created_at,
            updated_at)
        select {project}, n, {project}, 'requested/' || n, 'main', people.ids[1 + n % 100],
            case when n % 2 = 0 then people.ids[1 + n / 2 % 100] end,
            case when n % 4 < 2 then planned.ids[1 + n % 20] end,
            'Change number ' || n, 'What this changes, and why. ' || repeat('More of it. ', n::int % 20),
            state, case when state = 4 then {head} end, case when state = 4 then updated_at end, n % 5, created_at,
            updated_at
        from timed, people, planned
        returning id, iid, created_at),
    versions as (
        insert into merge_request_versions (merge_request_id, number, head, start, announced, created_at)
        select id, number, {head}, {head}, true, made.created_at
        from made, lateral (select iid) it (n), generate_series(1, case when iid % 3 = 0 then 2 else 1 end) number)
insert into merge_request_labels (merge_request_id, label_id)
select id, labeled.ids[1 + iid % 50] from made, labeled where iid % 3 > 0;
"""


def insert_merge_requests(instance, project, count, state=MIXED_STATES, head=ANY_HEAD):
    """Inserts merge requests into main of a project without any. State and head are expressions of the number `n`."""
    say(f"inserting {count:,} merge requests into the {instance.name} database")
    values = {"project": project, "count": count, "state": state, "head": head}
    instance.execute(PLANNING.format(**values))
    for first in range(1, count + 1, BATCH):
        instance.execute(REQUESTS.format(**values, first=first, last=min(count, first + BATCH - 1)))
    for table in TABLES:
        instance.execute(f"vacuum (analyze) {table}")
    shell(f"pg_psql {instance.environment.cluster} postgres -c checkpoint")
