-- Comments on commits. They have the same sequence of ids as notes, because feeds and hooks call both notes.
create table commit_comments (
    id         bigint primary key default nextval('notes_id_seq'),
    project_id bigint not null references projects on delete cascade,
    commit_id  text not null,
    author_id  bigint not null,
    body       text not null,
    -- The file and, if the comment is on a line, its number and whether the commit removed it.
    path       text,
    line       integer,
    removed    boolean,
    created_at timestamptz not null,
    check (num_nonnulls(line, removed) <> 1 and (line is null or path is not null))
);

create index commit_comments_commit on commit_comments (project_id, commit_id, id);
create index commit_comments_author on commit_comments (author_id, id);
