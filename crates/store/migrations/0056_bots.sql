create table bots (
    user_id    bigint primary key references users on delete cascade,
    -- Both are null after the project or group was deleted, until the sweep deletes the bot.
    project_id bigint references projects on delete set null,
    group_id   bigint references namespaces on delete set null,
    check (num_nonnulls(project_id, group_id) <= 1)
);

create index bots_project on bots (project_id, user_id) where project_id is not null;
create index bots_group on bots (group_id, user_id) where group_id is not null;
