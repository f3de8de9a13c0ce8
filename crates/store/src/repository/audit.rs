//! Consistency checks across the tables of repositories, for `holdfast torture`.
//!
//! The stress test runs them after it has killed nodes. Many of them read whole tables: only the stress test and tests
//! call them.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{ProjectId, RepositoryId};

use crate::{Connection, Result};

/// Returns whether the database contains projects. Returns false if it has no schema yet.
pub async fn has_projects(connection: &mut Connection) -> Result<bool> {
    let has_schema = sqlx::query_scalar!(r#"select to_regclass('projects') is not null as "exists!""#);
    if !has_schema.fetch_one(&mut *connection).await? {
        return Ok(false);
    }
    Ok(sqlx::query_scalar!(r#"select exists (select from projects) as "exists!""#).fetch_one(connection).await?)
}

/// Returns whether another connection has an open transaction. A process may have sent its commit before it was killed.
pub async fn has_open_transactions(connection: &mut Connection) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
             and xact_start is not null) as "exists!""#,
    )
    .fetch_one(connection)
    .await?)
}

#[derive(Clone, Copy, Debug)]
pub struct Backend {
    pub pid: i32,
    pub in_transaction: bool,
}

/// Lists the other client connections to this database.
pub async fn list_backends(connection: &mut Connection) -> Result<Vec<Backend>> {
    Ok(sqlx::query_as!(
        Backend,
        r#"select pid as "pid!", xact_start is not null as "in_transaction!" from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
           order by pid"#,
    )
    .fetch_all(connection)
    .await?)
}

pub async fn terminate_backend(connection: &mut Connection, pid: i32) -> Result<()> {
    sqlx::query!("select pg_terminate_backend($1)", pid).fetch_one(connection).await?;
    Ok(())
}

#[derive(Clone, Debug)]
pub struct AuditedRepository {
    pub repository: RepositoryId,
    pub project: ProjectId,
    pub path: String,
    pub head: Option<String>,
}

pub async fn list_repositories(connection: &mut Connection) -> Result<Vec<AuditedRepository>> {
    Ok(sqlx::query_as!(
        AuditedRepository,
        r#"select r.id as repository, p.id as project, n.path || '/' || p.path as "path!", r.head
           from repositories r join projects p on p.id = r.project_id join namespaces n on n.id = p.namespace_id
           order by r.id"#,
    )
    .fetch_all(connection)
    .await?)
}

/// Lists the names and hexadecimal object ids of the refs of a repository, sorted by name.
pub async fn list_refs(connection: &mut Connection, repository: RepositoryId) -> Result<Vec<(String, String)>> {
    let rows = sqlx::query!(
        r#"select name, encode(target, 'hex') as "target!" from refs where repository_id = $1 order by name"#,
        repository.get(),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.name, row.target)).collect())
}

/// An entry of the ref log, with hexadecimal object ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub project: ProjectId,
    pub generation: i64,
    pub name: String,
    pub old: Option<String>,
    pub new: Option<String>,
    pub at: DateTime<Utc>,
}

pub async fn list_log(connection: &mut Connection) -> Result<Vec<LogEntry>> {
    Ok(sqlx::query_as!(
        LogEntry,
        r#"select r.project_id as "project!", l.generation, l.name, encode(l.old, 'hex') as old, encode(l.new, 'hex') as new,
             l.created_at as at
           from ref_log l join repositories r on r.id = l.repository_id where r.project_id is not null
           order by l.repository_id, l.generation, l.name"#,
    )
    .fetch_all(connection)
    .await?)
}

/// Returns findings about refs that differ from their last entry in the ref log, and about logs that are ahead of their
/// repository's generation. A ref without an entry is a finding unless the repository is a fork, which begins with the
/// refs of its source.
pub async fn refs_inconsistent_with_log(connection: &mut Connection) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"with last as (
             select distinct on (repository_id, name) repository_id, name, generation, new, peeled from ref_log
             order by repository_id, name, generation desc
           )
           select format('project %s: %s is %s, peeled %s, but the log says at generation %s: %s, peeled %s', r.project_id,
             coalesce(l.name, f.name), encode(f.target, 'hex'), encode(f.peeled, 'hex'), l.generation,
             encode(l.new, 'hex'), encode(l.peeled, 'hex')) as "finding!"
           from last l full join refs f on f.repository_id = l.repository_id and f.name = l.name
           join repositories r on r.id = coalesce(l.repository_id, f.repository_id)
           where case when l.name is null then r.network_id = r.id
             else f.target is distinct from l.new or f.peeled is distinct from l.peeled end
           union all
           select format('project %s is at generation %s, but its log is at %s', r.project_id, r.generation,
             max(l.generation)) from repositories r join ref_log l on l.repository_id = r.id group by r.id
           having max(l.generation) > r.generation"#,
    )
    .fetch_all(connection)
    .await?)
}

/// Returns findings about entries of the ref log whose old value is not the new value of the entry before. The value
/// that a fork inherited for a ref must be one that the ref had in the fork network, or in a deleted project of it:
/// `deleted` contains the names and hexadecimal ids that were pushed to deleted projects.
pub async fn log_chain_breaks(connection: &mut Connection, deleted: &[(String, String)]) -> Result<Vec<String>> {
    let (names, targets): (Vec<String>, Vec<String>) = deleted.iter().cloned().unzip();
    Ok(sqlx::query_scalar!(
        r#"with chained as (
             select l.repository_id, l.generation, l.name, l.old, lag(l.new) over before as was,
               row_number() over before = 1 as is_first
             from ref_log l window before as (partition by l.repository_id, l.name order by l.generation)
           ), inherited as (
             select c.repository_id, c.name, c.old as target from chained c where is_first and old is not null
             union all
             select f.repository_id, f.name, f.target from refs f where not exists
               (select from ref_log l where l.repository_id = f.repository_id and l.name = f.name)
           )
           select format('project %s: generation %s moves %s from %s, but it was %s', r.project_id, c.generation, c.name,
             encode(c.old, 'hex'), encode(c.was, 'hex')) as "finding!"
           from chained c join repositories r on r.id = c.repository_id
           where not c.is_first and c.old is distinct from c.was
           union all
           select format('project %s: %s began as %s, which it never was in the network', r.project_id, i.name,
             encode(i.target, 'hex'))
           from inherited i join repositories r on r.id = i.repository_id
           where r.id = r.network_id or not exists (select from ref_log l join repositories o on o.id = l.repository_id
             where o.network_id = r.network_id and l.name = i.name and l.new = i.target)
             and not exists (select from unnest($1::text[], $2::text[]) as d (name, target)
               where d.name = i.name and d.target = encode(i.target, 'hex'))"#,
        &names,
        &targets,
    )
    .fetch_all(connection)
    .await?)
}

/// Returns findings about ref updates by users that are not recorded exactly once in the activity feed and once in the
/// outbox, and about records without a ref update. The projects in `deleted` are skipped, since the outbox keeps their
/// events longer than ref log and feed.
pub async fn events_not_published_once(connection: &mut Connection, deleted: &[i64]) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"with in_log as (
             select r.project_id, l.name, coalesce(encode(l.old, 'hex'), repeat('0', 40)) as before,
               coalesce(encode(l.new, 'hex'), repeat('0', 40)) as after, count(*) as count
             from ref_log l join repositories r on r.id = l.repository_id
             where l.actor_id is not null and r.project_id is not null group by 1, 2, 3, 4
           ), in_feed as (
             select project_id, data->>'ref' as name, data->>'before' as before, data->>'after' as after, count(*) as count
             from events where action = $2 group by 1, 2, 3, 4
           ), in_outbox as (
             select project_id, payload->>'ref' as name, payload->>'before' as before, payload->>'after' as after,
               count(*) as count, bool_and(kind = case when payload->>'ref' like 'refs/heads/%' then 'push'
                 when payload->>'ref' like 'refs/tags/%' then 'tag_push' else 'ref_push' end) as is_of_kind
             from outbox where kind in ('push', 'tag_push', 'ref_push') group by 1, 2, 3, 4
           )
           select format('project %s: %s from %s to %s is %s times in the log, %s in the feed, %s in the outbox%s', project_id,
             name, before, after, coalesce(l.count, 0), coalesce(f.count, 0), coalesce(o.count, 0),
             case when not is_of_kind then ' under a wrong kind' end) as "finding!"
           from in_log l full join in_feed f using (project_id, name, before, after)
           full join in_outbox o using (project_id, name, before, after)
           where (project_id = any($1)) is not true
             and (l.count is distinct from f.count or l.count is distinct from o.count or not is_of_kind)"#,
        deleted,
        Action::Pushed.as_i16(),
    )
    .fetch_all(connection)
    .await?)
}

/// Returns findings about packs that are listed but not live, live but not listed, or whose stored bytes do not match
/// their record.
pub async fn inconsistent_packs(connection: &mut Connection) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"select format('pack %s is listed by repository %s but %s', p.id, l.repository_id, p.state) as "finding!"
           from repository_packs l join packs p on p.id = l.pack_id where p.state <> 'live'
           union all
           select format('pack %s is live but no repository lists it', p.id) from packs p
           where p.state = 'live' and not exists (select from repository_packs l where l.pack_id = p.id)
           union all
           select format('pack %s is live, has the key %s and %s bytes inline', p.id, p.object_key, length(c.content))
           from packs p left join pack_contents c on c.pack_id = p.id where p.state = 'live' and
             coalesce(length(c.content), -1) <> case when p.object_key is null
               then p.pack_bytes + p.idx_bytes + p.rev_bytes + p.bitmap_bytes + p.graph_bytes else -1 end"#,
    )
    .fetch_all(connection)
    .await?)
}

/// Counts uploads that were announced and are neither listed nor unreferenced. If no node is running, they were cut
/// off.
pub async fn count_pending_uploads(connection: &mut Connection) -> Result<i64> {
    Ok(sqlx::query_scalar!(r#"select count(*) as "count!" from packs where state = 'intent'"#)
        .fetch_one(connection)
        .await?)
}

/// Counts the entries of the ref log. The count grows with each committed push.
pub async fn count_ref_updates(connection: &mut Connection) -> Result<i64> {
    Ok(sqlx::query_scalar!(r#"select count(*) as "count!" from ref_log"#).fetch_one(connection).await?)
}

/// Counts repacks by the distinct times at which packs became unreferenced: one repack marks all packs that it replaces
/// with the same time.
pub async fn count_repacks(connection: &mut Connection) -> Result<i64> {
    Ok(sqlx::query_scalar!(r#"select count(distinct condemned_at) as "count!" from packs where state = 'condemned'"#)
        .fetch_one(connection)
        .await?)
}

/// Unlocks the jobs of all workers, so that new workers can run them. No worker may be running.
pub async fn unlock_jobs(connection: &mut Connection) -> Result<()> {
    // The schema of graphile_worker is not part of the migrations, so this query cannot be checked at compile time.
    const QUERY: &str = "\
        select graphile_worker.force_unlock_workers( \
          array(select locked_by from graphile_worker._private_jobs where locked_by is not null \
            union select locked_by from graphile_worker._private_job_queues where locked_by is not null))";
    sqlx::query(QUERY).execute(&mut *connection).await?;
    // Jobs that failed wait for their backoff otherwise.
    sqlx::query("update graphile_worker._private_jobs set run_at = now() where run_at > now()")
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns descriptions of all packs that are not live.
pub async fn unreferenced_packs(connection: &mut Connection) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"select format('pack %s with the key %s is still %s', id, object_key, state) as "finding!" from packs
           where state <> 'live'"#,
    )
    .fetch_all(connection)
    .await?)
}
