//! The start page of a user: what needs attention, the own projects, and the own activity. Clients also ask for the
//! numbers alone.

use holdfast_domain::ids::UserId;
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::{InstanceRole, ProjectAction, min_visibility_without_membership};
use holdfast_store::Connection;
use holdfast_store::activity::{feed, inbox, inbox_task};
use holdfast_store::merge_requests::list::{Filter as RequestFilter, RequestScope};
use holdfast_store::planning::issue_list::IssueScope;
use holdfast_store::planning::todo;
use holdfast_store::projects::list::{self, Filter, Narrowing, Order, ProjectScope, SortKey, Viewer};

pub use holdfast_store::activity::inbox::{Failure, FailureKind, LastPipeline, PendingRequest};
pub use holdfast_store::activity::inbox_task::InboxTask;

use super::feed::{Event, Period};
use crate::merge_requests;
use crate::planning::issue_list::{self, ListIssues};
use crate::planning::todo::TargetKind;
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
    /// Open merge requests that are assigned to the user, oldest first.
    pub merge_requests: TaskList,
    /// Open issues that are assigned to the user, oldest first.
    pub issues: TaskList,
    /// Pending todos of the user, oldest first, without those about assignments.
    pub todos: TaskList,
    /// Failed pipelines of the user's pushes, and failing hooks of projects that the user manages.
    pub failures: Vec<Failure>,
    /// Requests for access that the user may decide, oldest first.
    pub access_requests: Vec<PendingRequest>,
    /// The own projects with the latest activity.
    pub projects: Vec<OwnProject>,
    /// What the user did last.
    pub events: Vec<Event>,
}

/// The first entries of one kind.
#[derive(Debug, Default)]
pub struct TaskList {
    /// The oldest entries, at most [`MAX_ENTRIES`].
    pub items: Vec<InboxTask>,
    pub has_more: bool,
}

impl TaskList {
    fn push(&mut self, task: InboxTask) {
        match self.items.len() as i64 >= MAX_ENTRIES {
            true => self.has_more = true,
            false => self.items.push(task),
        }
    }
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
    let mut connection = app.database.connection().await?;
    let (merge_requests, issues, todos) = list_tasks(app, &mut connection, actor, user).await?;
    let failures = inbox::list_failures(&mut connection, user, reader, MAX_ENTRIES).await?;
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
    Ok(Inbox { merge_requests, issues, todos, failures, access_requests, projects, events })
}

/// Lists the assigned merge requests, the assigned issues and the todos of the current user, in this order.
async fn list_tasks(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    user: UserId,
) -> Result<(TaskList, TaskList, TaskList)> {
    let open = ListIssues { closed: Some(false), descending: false, ..ListIssues::default() };
    let issues = open.into_filter(app, actor, IssueScope::Assignee(user));
    let requests = RequestFilter {
        descending: false,
        ..RequestFilter::new(RequestScope::Assignee(user), viewer(app, actor), MergeRequestState::OPEN.to_vec())
    };
    // One entry more than is shown tells whether there are others.
    let tasks = inbox_task::list(connection, &issues, &requests, MAX_ENTRIES + 1).await?;
    let (mut merge_requests, mut issues, mut todos) = (TaskList::default(), TaskList::default(), TaskList::default());
    for task in tasks {
        match (task.todo(), task.target()) {
            (Some(_), _) => todos.push(task),
            (None, TargetKind::MergeRequest) => merge_requests.push(task),
            (None, TargetKind::Issue) => issues.push(task),
        }
    }
    Ok((merge_requests, issues, todos))
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
