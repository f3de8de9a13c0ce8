//! Projects, with their namespace, repository state and the access of a viewer.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NamespaceId, ProjectId, RepositoryId, UserId};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

use super::namespace::OwnerColumns;
use super::share::{self, Share};
use crate::{Connection, Result};

pub use super::namespace::{Owner, ProjectNamespace};

/// A project with everything that is shown of it, and with the access of its viewer.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Project {
    #[sqlx(try_from = "i64")]
    pub id: ProjectId,
    #[sqlx(try_from = "i64")]
    pub creator_id: UserId,
    pub name: String,
    pub path: String,
    pub description: Option<String>,
    #[sqlx(try_from = "i16", rename = "visibility_level")]
    pub visibility: Visibility,
    pub archived: bool,
    #[sqlx(flatten)]
    pub features: Features,
    pub runners_token: String,
    pub star_count: i32,
    pub forks_count: i32,
    open_issues: i32,
    open_confidential_issues: i32,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_activity_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub repository: RepositoryState,
    #[sqlx(flatten)]
    pub namespace: ProjectNamespace,
    #[sqlx(flatten)]
    owner: OwnerColumns,
    #[sqlx(flatten)]
    memberships: Memberships,
    has_shares: bool,
    forked_from_id: Option<i64>,
    /// Loaded afterwards, for the few projects that have any.
    #[sqlx(skip)]
    shares: Vec<Share>,
    #[sqlx(skip)]
    source: Option<Box<Project>>,
}

/// The state of the repository when the project was read.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct RepositoryState {
    #[sqlx(try_from = "i64", rename = "repository_id")]
    pub id: RepositoryId,
    pub generation: i64,
    pub prune_epoch: i64,
    /// The full name of the default branch. None if there are no branches.
    pub head: Option<String>,
}

impl RepositoryState {
    pub fn default_branch(&self) -> Option<&str> {
        self.head.as_deref()?.strip_prefix("refs/heads/")
    }
}

/// The features and options of a project that can be switched on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Features {
    pub issues_enabled: bool,
    pub merge_requests_enabled: bool,
    pub wiki_enabled: bool,
    pub builds_enabled: bool,
    pub snippets_enabled: bool,
    pub container_registry_enabled: bool,
    pub shared_runners_enabled: bool,
    pub public_builds: bool,
    pub lfs_enabled: bool,
    pub request_access_enabled: bool,
    pub only_allow_merge_if_build_succeeds: bool,
    pub only_allow_merge_if_all_discussions_are_resolved: bool,
}

#[derive(Clone, Copy, Debug, sqlx::FromRow)]
struct Memberships {
    viewer_id: Option<i64>,
    project_level: Option<i16>,
    group_level: Option<i16>,
}

impl Project {
    pub fn full_path(&self) -> String {
        format!("{}/{}", self.namespace.path, self.path)
    }

    /// Returns the number of open issues, with or without confidential ones.
    pub fn open_issues(&self, includes_confidential: bool) -> i32 {
        self.open_issues + if includes_confidential { self.open_confidential_issues } else { 0 }
    }

    /// Returns the name of the owner, or None in a group.
    pub fn owner_name(&self) -> Option<&str> {
        self.owner.owner_name.as_deref()
    }

    /// Returns the owner, or None in a group.
    pub fn owner(&self) -> Option<Owner> {
        self.owner.clone().into_owner(self.namespace.owner_id?.into())
    }

    /// Returns the level of the viewer's membership in the project.
    pub fn project_level(&self) -> Option<AccessLevel> {
        self.memberships.project_level?.try_into().ok()
    }

    /// Returns the level of the viewer's membership in the project's group.
    pub fn group_level(&self) -> Option<AccessLevel> {
        self.memberships.group_level?.try_into().ok()
    }

    /// Returns the groups that the project is shared with, including groups that the viewer may not see.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Returns the project that this one is a fork of, even if the viewer may not see it.
    pub fn source(&self) -> Option<&Project> {
        self.source.as_deref()
    }

    /// Sets the access level of a viewer that is no user, such as a deploy key.
    pub fn with_level(mut self, level: AccessLevel) -> Self {
        self.memberships.project_level = Some(level.as_i16());
        self
    }

    /// Returns the viewer's highest access level: by ownership, membership or share.
    pub fn level(&self) -> Option<AccessLevel> {
        let is_owner = self.memberships.viewer_id.is_some() && self.memberships.viewer_id == self.namespace.owner_id;
        let own = if is_owner { Some(AccessLevel::Owner) } else { None };
        let shared = self.shares().iter().filter_map(Share::level).max();
        [own, self.project_level(), self.group_level(), shared].into_iter().flatten().max()
    }
}

/// The columns of `p` and of [`PROJECT_JOINS`].
pub(crate) const PROJECT_COLUMNS: &str = "\
    p.id, p.creator_id, p.name, p.path, p.description, p.visibility_level, p.archived, p.issues_enabled, \
    p.merge_requests_enabled, p.wiki_enabled, p.builds_enabled, p.snippets_enabled, \
    p.container_registry_enabled, p.shared_runners_enabled, p.public_builds, p.lfs_enabled, \
    p.request_access_enabled, p.only_allow_merge_if_build_succeeds, \
    p.only_allow_merge_if_all_discussions_are_resolved, p.runners_token, p.star_count, p.forks_count, \
    p.open_issues, p.open_confidential_issues, p.forked_from_id, r.id as repository_id, r.generation, r.prune_epoch, r.head, p.created_at, \
    p.updated_at, p.last_activity_at, n.id as namespace_id, n.kind as namespace_kind, n.name as namespace_name, \
    n.path as namespace_path, n.description as namespace_description, n.owner_id as namespace_owner_id, \
    n.visibility_level as namespace_visibility_level, \
    n.share_with_group_lock as namespace_share_with_group_lock, \
    n.created_at as namespace_created_at, n.updated_at as namespace_updated_at, \
    o.username as owner_username, o.name as owner_name, o.email as owner_email, o.state as owner_state, \
    o.created_at as owner_created_at, viewer.id as viewer_id, \
    (select m.access_level from project_members m where m.project_id = p.id and m.user_id = viewer.id \
      and (m.expires_at is null or m.expires_at > viewer.today)) as project_level, \
    (select m.access_level from group_members m where m.group_id = p.namespace_id and m.user_id = viewer.id \
      and (m.expires_at is null or m.expires_at > viewer.today)) as group_level, \
    exists (select from project_shares s where s.project_id = p.id) as has_shares";

/// Joins the namespace, its owner and the repository to the projects `p`, as seen by `viewer (id, today)`. A deleted
/// project has no namespace, so it is left out.
pub(crate) const PROJECT_JOINS: &str = " join namespaces n on n.id = p.namespace_id left join users o on o.id = n.owner_id \
     join repositories r on r.project_id = p.id ";

/// The condition for the project with the id $3.
pub(crate) const ID_CONDITION: &str = "p.id = $3";

/// The condition for the project with the path $4 in the namespace with the path $3, both in lower case.
pub(crate) const PATH_CONDITION: &str = "\
    lower(n.path) = $3 and regexp_replace(lower(p.path), '(\\.wiki)+$', '') = regexp_replace($4, '(\\.wiki)+$', '') \
    and lower(p.path) = $4";

/// A reference to a project in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectRef {
    Id(ProjectId),
    Path { namespace: String, project: String },
}

/// Returns a query for projects, as seen by the viewer $1 on the day $2. `rest` is the condition, and what follows it,
/// such as an order or a lock.
fn select_where(rest: &'static str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("select ");
    query.push(PROJECT_COLUMNS);
    query.push(" from (values ($1::bigint, $2::date)) viewer (id, today) cross join projects p").push(PROJECT_JOINS);
    query.push("where ").push(rest);
    query
}

/// Finds a project as `viewer` sees it. A current path takes precedence over a former one.
pub async fn find(
    connection: &mut Connection,
    project: &ProjectRef,
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let found = match project {
        ProjectRef::Id(id) => find_by_id(connection, *id, viewer, today).await?,
        ProjectRef::Path { namespace, project } => {
            let (namespace, path) = (namespace.to_ascii_lowercase(), project.to_ascii_lowercase());
            match find_by_path(connection, &namespace, &path, viewer, today).await? {
                Some(found) => Some(found),
                None => match super::redirect::resolve_project(connection, &namespace, &path).await? {
                    Some(id) => find_by_id(connection, id, viewer, today).await?,
                    None => None,
                },
            }
        }
    };
    with_associations(connection, found, viewer, today).await
}

async fn find_by_id(
    connection: &mut Connection,
    id: ProjectId,
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let mut query = select_where(ID_CONDITION);
    let query = query.build_query_as().bind(viewer.map(UserId::get)).bind(today);
    Ok(query.bind(id.get()).fetch_optional(connection).await?)
}

async fn find_by_path(
    connection: &mut Connection,
    namespace: &str,
    path: &str,
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let mut query = select_where(PATH_CONDITION);
    let query = query.build_query_as().bind(viewer.map(UserId::get)).bind(today);
    Ok(query.bind(namespace).bind(path).fetch_optional(connection).await?)
}

/// Returns the existing projects among `ids`, without a viewer and without shares and fork sources.
pub async fn find_many(connection: &mut Connection, ids: &[ProjectId]) -> Result<Vec<Project>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let mut query = select_where("p.id = any($3)");
    let query = query.build_query_as().bind(None::<i64>).bind(None::<NaiveDate>);
    Ok(query.bind(ids).fetch_all(connection).await?)
}

/// Returns the existing projects among `ids` as `viewer` sees them, also those that the viewer may not see.
pub async fn find_many_for_viewer(
    connection: &mut Connection,
    ids: &[ProjectId],
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<Vec<Project>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let mut query = select_where("p.id = any($3)");
    let query = query.build_query_as().bind(viewer.map(UserId::get)).bind(today);
    let mut projects: Vec<Project> = query.bind(ids).fetch_all(&mut *connection).await?;
    load_associations(connection, &mut projects, viewer, today).await?;
    Ok(projects)
}

/// Returns at most `limit` projects of a namespace, sorted by id, without a viewer and without shares and fork sources.
/// `after` is the last one of the batch before.
pub async fn next_namespace_batch(
    connection: &mut Connection,
    namespace: NamespaceId,
    after: Option<ProjectId>,
    limit: i64,
) -> Result<Vec<Project>> {
    let mut query = select_where("p.namespace_id = $3 and p.id > $4 order by p.id limit $5");
    let query = query.build_query_as().bind(None::<i64>).bind(None::<NaiveDate>).bind(namespace.get());
    Ok(query.bind(after.map_or(0, ProjectId::get)).bind(limit).fetch_all(connection).await?)
}

pub(crate) async fn with_associations(
    connection: &mut Connection,
    found: Option<Project>,
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let Some(mut project) = found else { return Ok(None) };
    load_associations(connection, std::slice::from_mut(&mut project), viewer, today).await?;
    Ok(Some(project))
}

/// Loads shares and fork sources: one statement each for all projects, and none if there is nothing to load.
pub(super) async fn load_associations(
    connection: &mut Connection,
    projects: &mut [Project],
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<()> {
    let source_ids: Vec<i64> = projects.iter().filter_map(|it| it.forked_from_id).collect();
    if !source_ids.is_empty() {
        let mut query = select_where("p.id = any($3)");
        let query = query.build_query_as().bind(viewer.map(UserId::get)).bind(today);
        let mut sources: Vec<Project> = query.bind(source_ids).fetch_all(&mut *connection).await?;
        load_shares(connection, &mut sources, viewer, today).await?;
        for project in &mut *projects {
            let source = sources.iter().find(|it| Some(it.id.get()) == project.forked_from_id);
            project.source = source.cloned().map(Box::new);
        }
    }
    load_shares(connection, projects, viewer, today).await
}

async fn load_shares(
    connection: &mut Connection,
    projects: &mut [Project],
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<()> {
    let project_ids: Vec<i64> = projects.iter().filter(|it| it.has_shares).map(|it| it.id.get()).collect();
    if project_ids.is_empty() {
        return Ok(());
    }
    for (id, share) in share::list_for_projects(connection, &project_ids, viewer, today).await? {
        if let Some(project) = projects.iter_mut().find(|it| it.id == id) {
            project.shares.push(share);
        }
    }
    Ok(())
}

pub async fn set_archived(
    connection: &mut Connection,
    id: ProjectId,
    is_archived: bool,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update projects set archived = $2, updated_at = $3 where id = $1 and archived <> $2",
        id.get(),
        is_archived,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Moves a project to another namespace, and lowers its visibility to at most `max_visibility`.
pub async fn set_namespace(
    connection: &mut Connection,
    id: ProjectId,
    namespace: NamespaceId,
    max_visibility: Visibility,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update projects set namespace_id = $2, visibility_level = least(visibility_level, $3), updated_at = $4
         where id = $1",
        id.get(),
        namespace.get(),
        max_visibility.as_i16(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Locks the project's row until the end of the transaction.
pub async fn lock(connection: &mut Connection, id: ProjectId) -> Result<()> {
    sqlx::query_scalar!("select id from projects where id = $1 for no key update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Loads and locks a project in one statement. Returns None if it does not exist or another transaction holds the lock;
/// the caller then locks first and reads again, because a row that was waited for may have changed.
pub async fn try_lock(
    connection: &mut Connection,
    id: ProjectId,
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let mut query = select_where("p.id = $3 for no key update of p skip locked");
    let query = query.build_query_as().bind(viewer.map(UserId::get)).bind(today).bind(id.get());
    let found = query.fetch_optional(&mut *connection).await?;
    with_associations(connection, found, viewer, today).await
}

/// Returns the number of projects in a namespace, at most `limit`.
pub async fn count_in_namespace(connection: &mut Connection, namespace: NamespaceId, limit: i64) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from (select from projects where namespace_id = $1 limit $2) counted"#,
        namespace.get(),
        limit,
    )
    .fetch_one(connection)
    .await?)
}

/// Returns the numbers of projects in a namespace by their visibility. At most `limit` projects are counted.
pub async fn count_by_visibility(
    connection: &mut Connection,
    namespace: NamespaceId,
    limit: i64,
) -> Result<Vec<(Visibility, i64)>> {
    const QUERY: &str = "\
        select visibility_level, count(*) from (select visibility_level from projects where namespace_id = $1 limit $2) \
        counted group by visibility_level order by visibility_level";
    let rows: Vec<(i16, i64)> = sqlx::query_as(QUERY).bind(namespace.get()).bind(limit).fetch_all(connection).await?;
    Ok(rows.into_iter().filter_map(|(level, count)| Some((Visibility::try_from(level).ok()?, count))).collect())
}

/// Returns whether a namespace holds a project with a higher visibility.
pub async fn exists_more_visible_than(
    connection: &mut Connection,
    namespace: NamespaceId,
    level: Visibility,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from projects where namespace_id = $1 and visibility_level > $2) as "exists!""#,
        namespace.get(),
        level.as_i16(),
    )
    .fetch_one(connection)
    .await?)
}
