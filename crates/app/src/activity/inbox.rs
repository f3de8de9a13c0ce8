//! The start page of a user: what needs attention, the own projects, and the own activity. Clients also ask for the
//! numbers alone.

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceRole, ProjectAction, min_visibility_without_membership};
use holdfast_store::activity::{feed, inbox};
use holdfast_store::planning::todo;
use holdfast_store::projects::list::{self, Filter, Narrowing, Order, ProjectScope, SortKey, Viewer};

pub use holdfast_store::activity::inbox::{FailedPipeline, LastPipeline, PendingRequest};

use super::feed::{Event, Period};
use crate::merge_requests;
use crate::planning::issue::Issue;
use crate::planning::issue_list::{self, ListIssues};
use crate::projects::list::viewer;
use crate::projects::project::Project;
use crate::{Actor, App, Result, access};

/// Maximum number of entries of each kind.
pub const MAX_ENTRIES: i64 = 20;
/// Number of projects and of events.
const MAX_RECENT: i64 = 10;

/// What the start page of a user shows.
#[derive(Debug)]
pub struct Inbox {
    /// Open issues that are assigned to the user, oldest first.
    pub issues: Page<Issue>,
    pub failed_pipelines: Vec<FailedPipeline>,
    /// Requests for access that the user may decide, oldest first.
    pub access_requests: Vec<PendingRequest>,
    /// The own projects with the latest activity.
    pub projects: Vec<OwnProject>,
    /// What the user did last.
    pub events: Vec<Event>,
}

/// A project with the newest pipeline that its viewer may see.
#[derive(Clone, Debug)]
pub struct OwnProject {
    pub project: Project,
    pub pipeline: Option<LastPipeline>,
}

/// Lists what needs the attention of the current user, at most [`MAX_ENTRIES`] of each kind, with the own projects and
/// the own activity.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor) -> Result<Inbox> {
    let user = access::authorize_own_account(actor)?.account.id();
    let reader = viewer(app, actor);
    let open = ListIssues { closed: Some(false), descending: false, ..ListIssues::default() };
    let issues = issue_list::list_assigned(app, actor, open, PageRequest::new(None, Some(MAX_ENTRIES))).await?;
    let mut connection = app.database.connection().await?;
    let failed_pipelines = inbox::list_failed_pipelines(&mut connection, user, reader, MAX_ENTRIES).await?;
    let access_requests = inbox::list_access_requests(&mut connection, user, app.today(), MAX_ENTRIES).await?;
    // Administrators see the projects of which they are members, as in the list of own projects.
    let role = actor.role().min(InstanceRole::Regular);
    let filter = Filter {
        viewer: Viewer { min_visibility: min_visibility_without_membership(role), ..reader },
        scope: ProjectScope::Member,
        archived: Some(false),
        visibility: None,
        search: None,
        narrowing: Narrowing::default(),
        order: Order { sort_key: SortKey::LastActivityAt, descending: true, builds_first: false },
    };
    let projects = list::list_first(&mut connection, &filter, MAX_RECENT).await?;
    let can_read_builds = |project: &&Project| access::is_authorized(actor, project, ProjectAction::ReadBuilds);
    let with_builds: Vec<_> = projects.iter().filter(can_read_builds).map(|project| project.id).collect();
    let pipelines = inbox::list_last_pipelines(&mut connection, &with_builds).await?;
    drop(connection);
    let with_pipeline = |project: Project| {
        let pipeline = pipelines.iter().find(|pipeline| pipeline.project_id == project.id).cloned();
        OwnProject { project, pipeline }
    };
    let page = PageRequest::new(None, Some(MAX_RECENT));
    let events = feed::list_for_user(&app.database, user, reader, Period::default(), page).await?.items;
    let projects = projects.into_iter().map(with_pipeline).collect();
    Ok(Inbox { issues, failed_pipelines, access_requests, projects, events })
}

/// Numbers of what needs the attention of a user, each up to the largest total of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxCounts {
    /// Open merge requests that are assigned to the user.
    pub merge_requests: i64,
    /// Open issues that are assigned to the user.
    pub issues: i64,
    /// Todos that the user has not marked as done, about what the user can read.
    pub todos: i64,
}

/// Counts what needs the attention of the current user and that they can read.
#[crate::boxed]
pub async fn count(app: &App, actor: &Actor) -> Result<InboxCounts> {
    let user = access::authorize_own_account(actor)?.account.id();
    let mut connection = app.database.connection().await?;
    Ok(InboxCounts {
        merge_requests: merge_requests::list::count_assigned(app, &mut connection, actor).await?,
        issues: issue_list::count_assigned(app, &mut connection, actor).await?,
        todos: todo::count_pending(&mut connection, user, app.today()).await?,
    })
}
