-- A key without a user is a deploy key: it opens the projects that it is linked to, and nothing else. Both kinds of keys
-- are in one table, so that their fingerprints are unique together.
alter table ssh_keys alter column user_id drop not null;

-- The deploy keys of projects. A deploy key is deleted with its last row here.
create table deploy_key_projects (
    project_id bigint not null,
    ssh_key_id bigint not null references ssh_keys on delete cascade,
    -- Pushes are made on behalf of the user who added the key. Null after that user was deleted.
    added_by   bigint,
    can_push   boolean not null,
    created_at timestamptz not null,
    primary key (project_id, ssh_key_id)
);

create index deploy_key_projects_key on deploy_key_projects (ssh_key_id);
create index deploy_key_projects_added_by on deploy_key_projects (added_by);
