-- Imports of GitLab exports, beside their row in imports. The archive is an upload of the project until the import ends.
create table gitlab_imports (
    project_id bigint primary key references projects on delete cascade,
    job_id     bigint not null,
    upload_id  bigint references uploads on delete set null,
    -- The ids of local users and the names of others, by the id in the export.
    users      jsonb not null,
    -- How far the import is, what was imported, and what was left out. Each step changes it in its own transaction.
    progress   jsonb not null
);
create index gitlab_imports_upload on gitlab_imports (upload_id);

-- The id that a user has in the GitLab export of the project, if the bot is the placeholder for an author who was not
-- mapped to a local user. A placeholder has no token. It is deleted after its project.
alter table bots add column imported_id bigint;
create unique index bots_imported on bots (project_id, imported_id) where imported_id is not null;
