//! What needs the attention of a user: failed pipelines, failing hooks and requests for access. The pipelines and the
//! hooks are bounded ranges of indexes.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{PipelineId, ProjectId, UserId};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::UserSummary;
use crate::projects::list::{Viewer, push_has_level};
use crate::{Connection, Result};

/// A kind of failure that needs the attention of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The newest pipeline of a ref.
    Pipeline,
    /// A hook whose deliveries are tried again.
    FailingHook,
    /// A hook that has failed for so long that its deliveries are tried only from time to time.
    PausedHook,
}

/// A pipeline or a hook that has failed.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Failure {
    kind: i16,
    /// The id of the pipeline or of the hook.
    pub id: i64,
    /// The path of the project, with its namespace.
    pub project_path: String,
    /// The short name of the branch or tag, or the URL of the hook.
    pub name: String,
    /// The message of the commit.
    pub message: Option<String>,
    /// The end of the pipeline, or the first failure since the last successful delivery.
    pub failed_at: DateTime<Utc>,
}

impl Failure {
    pub const fn kind(&self) -> FailureKind {
        match self.kind {
            1 => FailureKind::Pipeline,
            2 => FailureKind::FailingHook,
            _ => FailureKind::PausedHook,
        }
    }
}

/// Maximum number of failed pipelines of a user that are compared with the newer pipelines of their refs.
const MAX_COMPARED_PIPELINES: i64 = 200;
/// Maximum number of failing hooks of the instance whose projects are compared with those of the user. Arbitrary.
const MAX_COMPARED_HOOKS: i64 = 2_000;

/// Lists pipelines of the viewer's pushes that failed and were not followed by another pipeline of the same ref, without
/// those whose builds the viewer may not read any more, and failing hooks of projects that the user manages by a
/// membership. Of each kind, these are the last ones that failed, and all together are sorted from the first one on.
pub async fn list_failures(
    connection: &mut Connection,
    user: UserId,
    viewer: Viewer,
    limit: i64,
) -> Result<Vec<Failure>> {
    let mut query = QueryBuilder::<Postgres>::new(
        "select kind, id, project_path, name, message, failed_at from (\
         (select 1::smallint as kind, l.id, n.path || '/' || p.path as project_path, l.ref as name, \
         l.commit ->> 'message' as message, coalesce(l.finished_at, l.created_at) as failed_at \
         from (select * from pipelines where status = 'failed' and user_id = ",
    );
    query.push_bind(user.get()).push(" order by id desc limit ").push(MAX_COMPARED_PIPELINES);
    query.push(") l join projects p on p.id = l.project_id join namespaces n on n.id = p.namespace_id ");
    query.push("where p.builds_enabled and not p.archived and not exists (select from pipelines newer ");
    query.push("where newer.project_id = l.project_id and newer.ref = l.ref and newer.tag = l.tag ");
    query.push("and newer.id > l.id) and (");
    if let Some(min_visibility) = viewer.min_visibility {
        query.push("(p.public_builds and p.visibility_level >= ").push_bind(min_visibility.as_i16()).push(") or ");
    }
    push_has_level(&mut query, viewer, AccessLevel::Reporter);
    query.push(") order by l.id desc limit ").push(limit).push(") union all (");
    // A user can manage very many projects, so the hooks are not found by project: the failing ones of the whole instance
    // are read, and each is checked by index lookups.
    query.push("select case when q.paused_at is null then 2::smallint else 3::smallint end, h.id, n.path || '/' || p.path, h.url, null, ");
    query.push("q.failing_since from (select * from hook_queues where failing_since is not null ");
    query.push("order by failing_since desc limit ").push(MAX_COMPARED_HOOKS);
    query.push(") q join hooks h on h.id = q.hook_id join projects p on p.id = h.project_id ");
    query.push("join namespaces n on n.id = p.namespace_id where not p.archived and (");
    push_has_level(&mut query, own_viewer(user, viewer.today), AccessLevel::Master);
    query.push(") order by q.failing_since desc, h.id desc limit ").push(limit);
    query.push(")) found order by failed_at, id");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// Returns a viewer who has only the rights of memberships: administrators are not asked to decide about, or to repair,
/// all projects of the instance.
const fn own_viewer(user: UserId, today: NaiveDate) -> Viewer {
    Viewer { user: Some(user), min_visibility: Some(Visibility::Public), today }
}

/// A request for access to a group or a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct PendingRequest {
    #[sqlx(flatten)]
    pub user: UserSummary,
    /// The path of the group, or of the project with its namespace.
    pub path: String,
    pub is_group: bool,
    pub requested_at: DateTime<Utc>,
}

/// Lists requests for access that the user decides by a membership: as owner of the group, or as master of the project,
/// oldest first.
pub async fn list_access_requests(
    connection: &mut Connection,
    user: UserId,
    today: NaiveDate,
    limit: i64,
) -> Result<Vec<PendingRequest>> {
    // The requests for groups are found by the user's groups. These can have very many projects, so the requests for
    // projects are not found by project: those of the whole instance are read, and each is checked by index lookups.
    // There are few, because each waits for a decision.
    let mut query = QueryBuilder::<Postgres>::new(
        "select u.id, u.username, u.name, u.email, u.state, found.path, found.is_group, found.requested_at from (\
         (select r.user_id, n.path, true as is_group, r.requested_at \
         from access_requests r join namespaces n on n.id = r.group_id \
         where r.group_id = any(array(select group_id from group_members where user_id = ",
    );
    query.push_bind(user.get()).push(" and access_level >= ").push(AccessLevel::Owner.as_i16());
    query.push(" and (expires_at is null or expires_at > ").push_bind(today).push(")))) union all ");
    query.push("(select r.user_id, n.path || '/' || p.path, false, r.requested_at from access_requests r ");
    query.push("join projects p on p.id = r.project_id join namespaces n on n.id = p.namespace_id ");
    query.push("where r.project_id is not null and (");
    push_has_level(&mut query, own_viewer(user, today), AccessLevel::Master);
    query.push("))) found join users u on u.id = found.user_id order by found.requested_at, u.id limit ");
    query.push_bind(limit);
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// The newest pipeline of a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct LastPipeline {
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    #[sqlx(try_from = "i64")]
    pub id: PipelineId,
    #[sqlx(try_from = "String")]
    pub status: Status,
}

/// Finds the newest pipeline of each of these projects.
pub async fn list_last_pipelines(connection: &mut Connection, projects: &[ProjectId]) -> Result<Vec<LastPipeline>> {
    const QUERY: &str = "select p.id as project_id, l.id, l.status from unnest($1::bigint[]) p (id) \
         cross join lateral (select id, status from pipelines where project_id = p.id order by id desc limit 1) l";
    let ids: Vec<i64> = projects.iter().map(|id| id.get()).collect();
    Ok(sqlx::query_as(QUERY).bind(ids).fetch_all(connection).await?)
}
