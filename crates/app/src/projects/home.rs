//! The home page of a project: one use case for everything it shows.

use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::ImportPhase;
use holdfast_domain::text::compare_naturally;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::Connection;
use holdfast_store::namespaces::access_request;
use holdfast_store::namespaces::member::MembershipScope;
use holdfast_store::projects::home::{self, BranchTip, HomeDetails};
use holdfast_store::projects::star;
use holdfast_store::repository::import;
use holdfast_store::repository::snapshot::{RefKind, Snapshot};

pub use holdfast_store::projects::home::{LatestPipeline, LatestRelease};

use super::project::{Project, ProjectRef};
use crate::repository::browse::overview;
use crate::repository::open_repository::{OpenRepository, load_refs};
use crate::{Actor, App, Result, access};

pub use crate::repository::browse::overview::{Readme, RepositoryOverview};

/// A project with what its home page shows.
#[derive(Clone, Debug)]
pub struct ProjectHome {
    pub project: Project,
    /// Whether the actor has starred the project.
    pub is_starred: bool,
    /// Whether the actor is not a member and has requested access.
    pub has_requested_access: bool,
    /// None if the actor may not read code.
    pub repository: Option<HomeRepository>,
}

/// The part of the home page that needs the permission to read code.
#[derive(Clone, Debug)]
pub struct HomeRepository {
    pub branch_count: usize,
    pub tag_count: usize,
    /// None if the default branch does not exist, as in an empty repository.
    pub overview: Option<RepositoryOverview>,
    /// The newest pipeline of the last commit on the default branch. None if the actor may not read builds.
    pub pipeline: Option<LatestPipeline>,
    pub release: Option<LatestRelease>,
    /// The tag with the highest version in its name.
    pub latest_tag: Option<String>,
    /// The import of a repository that is still empty.
    pub import: Option<ImportProgress>,
}

/// How far the import of a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportProgress {
    pub percent: i16,
    pub is_finished: bool,
    /// Why the import failed. None for viewers who may not change the project.
    pub error: Option<String>,
}

impl HomeRepository {
    /// Returns whether the repository has neither branches nor tags.
    pub fn is_empty(&self) -> bool {
        self.branch_count == 0 && self.tag_count == 0
    }
}

/// Returns a project with what its home page shows. Needs few statements: the refs, if this node does not know them yet;
/// then pipeline, release and star; the import of an empty repository; the request for access of a viewer who is no
/// member.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<ProjectHome> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    if !access::is_authorized(actor, &project, ProjectAction::ReadCode) {
        let is_starred = is_starred(app, actor, project.id).await?;
        let mut connection = app.database.connection().await?;
        let has_requested_access = has_requested_access(&mut connection, actor.user_id(), &project).await?;
        return Ok(ProjectHome { project, is_starred, has_requested_access, repository: None });
    }
    let can_read_builds = access::is_authorized(actor, &project, ProjectAction::ReadBuilds);
    let repository = load_refs(app, actor, project).await?;
    let refs = repository.refs.clone();
    let (branch_count, tag_count) = (refs.count(RefKind::Branches), refs.count(RefKind::Tags));
    let load_details = async {
        let viewer = actor.user_id();
        let commit = refs.head_target().filter(|_| can_read_builds).map(|id| id.to_string());
        let branch = refs.head().strip_prefix("refs/heads/");
        let tip = branch.zip(commit.as_deref()).map(|(branch, commit)| BranchTip { branch, commit });
        let mut connection = app.database.connection().await?;
        let details = home::find(&mut connection, repository.project.id, tip, viewer).await?;
        let import = find_import(&mut connection, actor, &repository).await?;
        Ok((details, import, has_requested_access(&mut connection, viewer, &repository.project).await?))
    };
    let (overview, (details, import, has_requested_access)) =
        tokio::try_join!(overview::load(app, &repository), load_details)?;
    let HomeDetails { pipeline, release, is_starred } = details;
    let latest_tag = find_latest_tag(&refs, tag_count);
    let project = repository.project;
    let repository = HomeRepository { branch_count, tag_count, overview, pipeline, release, latest_tag, import };
    Ok(ProjectHome { project, is_starred, has_requested_access, repository: Some(repository) })
}

/// Returns the import of an empty repository. Queries nothing for others.
async fn find_import(
    connection: &mut Connection,
    actor: &Actor,
    repository: &OpenRepository,
) -> Result<Option<ImportProgress>> {
    if !repository.refs.is_empty() {
        return Ok(None);
    }
    let found = import::find(connection, repository.project.id).await?;
    let can_update = access::is_authorized(actor, &repository.project, ProjectAction::Update);
    Ok(found.map(|import| ImportProgress {
        percent: import.percent,
        is_finished: import.is_finished(),
        error: import.error.filter(|_| can_update && import.phase == ImportPhase::Failed.as_str()),
    }))
}

/// Returns whether a viewer who is not a member has requested access. Queries nothing for members.
async fn has_requested_access(connection: &mut Connection, viewer: Option<UserId>, project: &Project) -> Result<bool> {
    match viewer {
        Some(viewer) if project.level().is_none() => {
            Ok(access_request::exists(connection, MembershipScope::Project(project.id), viewer).await?)
        }
        _ => Ok(false),
    }
}

async fn is_starred(app: &App, actor: &Actor, project: ProjectId) -> Result<bool> {
    let Some(user) = actor.user_id() else { return Ok(false) };
    Ok(star::exists(&mut *app.database.connection().await?, user, project).await?)
}

/// Maximum number of tags that are compared to find the latest one. Comparing this many takes about a millisecond.
const MAX_COMPARED_TAGS: usize = 10_000;

/// Returns the tag with the highest version in its name. If there are too many, compares those that are last by name.
fn find_latest_tag(refs: &Snapshot, tag_count: usize) -> Option<String> {
    let tags = refs.list(RefKind::Tags, tag_count.saturating_sub(MAX_COMPARED_TAGS)..tag_count);
    let latest = tags.into_iter().map(|(name, _)| name).max_by(|one, other| compare_naturally(one, other));
    latest.map(str::to_owned)
}
