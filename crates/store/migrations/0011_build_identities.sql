-- What a build may act for, and what it may read.

-- Trigger tokens are kept as SHA-256 digests. A row with a digest has its hexadecimal form in `token`: nodes of the version
-- before read that column and expect it to be filled and unique. A row without one was written by such a node, and has the
-- token itself. These rows are converted by the nightly job, from a day after this migration on, when no such node runs any
-- more. A later migration drops `token`.
alter table triggers
    add column token_digest bytea,
    -- Shown to those who may see the trigger but not its token.
    add column token_start text,
    -- Encrypted with secrets.key, for the owner. Null where there was no key.
    add column encrypted_token bytea,
    add constraint triggers_token_digest unique (token_digest);

-- The projects whose builds may read a project that is not public.
create table job_token_allowlist (
    target_id  bigint not null references projects on delete cascade,
    source_id  bigint not null references projects on delete cascade,
    created_at timestamptz not null,
    primary key (target_id, source_id)
);
-- For the foreign key.
create index job_token_allowlist_source on job_token_allowlist (source_id);
