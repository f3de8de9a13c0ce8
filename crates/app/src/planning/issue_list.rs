//! Lists of issues.

use holdfast_domain::ids::{LabelId, MilestoneId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_store::Connection;
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::issue_list::{self, Conditions, Filter, IssueScope, Labels};
use holdfast_store::planning::{label, milestone};

pub use holdfast_store::planning::issue_list::SortKey;

use super::issue_visibility::confidential_access;
use crate::projects::list::viewer;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// The filters and the order of a list.
#[derive(Clone, Debug)]
pub struct ListIssues {
    pub closed: Option<bool>,
    /// Titles of labels. Empty means that labels do not matter.
    pub labels: Vec<String>,
    pub milestone_title: Option<String>,
    pub milestone: Option<MilestoneId>,
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    pub conditions: Conditions,
    pub sort_key: SortKey,
    pub descending: bool,
}

impl Default for ListIssues {
    fn default() -> Self {
        Self {
            closed: None,
            labels: Vec::new(),
            milestone_title: None,
            milestone: None,
            iids: Vec::new(),
            conditions: Conditions::default(),
            sort_key: SortKey::CreatedAt,
            descending: true,
        }
    }
}

impl ListIssues {
    pub(super) fn into_filter(self, app: &App, actor: &Actor, scope: IssueScope) -> Filter {
        let labels = if self.labels.is_empty() { Labels::Any } else { Labels::AllOf(self.labels) };
        Filter {
            scope,
            viewer: viewer(app, actor),
            closed: self.closed,
            labels,
            milestone_title: self.milestone_title,
            milestone: self.milestone,
            iids: self.iids,
            conditions: self.conditions,
            sort_key: self.sort_key,
            descending: self.descending,
        }
    }
}

/// Lists the issues of a project. With several labels, an issue must have one of them.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListIssues,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    list_for_project(app, &mut connection, actor, &project, input, page).await
}

pub(super) async fn list_for_project(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    mut input: ListIssues,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let scope = IssueScope::Project(project.id, confidential_access(actor, project));
    let empty_page = || Ok(Page::with_total(Vec::new(), page, 0));
    if let Some(title) = input.milestone_title.take() {
        match milestone::find_id(connection, project.id, &title).await? {
            Some(id) => input.milestone = Some(id),
            None => return empty_page(),
        }
    }
    let titles = std::mem::take(&mut input.labels);
    let mut filter = input.into_filter(app, actor, scope);
    if !titles.is_empty() {
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let labels = label::find_by_titles(connection, project.id, &titles).await?;
        if labels.is_empty() {
            return empty_page();
        }
        filter.labels = Labels::OneOf(labels.into_iter().map(|label| label.id).collect());
    }
    Ok(issue_list::list(connection, &filter, page).await?)
}

/// Lists the open issues with a label.
pub(super) async fn list_for_label(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    label: LabelId,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let scope = IssueScope::Project(project.id, confidential_access(actor, project));
    let open = ListIssues { closed: Some(false), ..ListIssues::default() };
    let filter = Filter { labels: Labels::OneOf(vec![label]), ..open.into_filter(app, actor, scope) };
    Ok(issue_list::list(connection, &filter, page).await?)
}

/// Lists the issues of a group's projects that the current user can see. With several labels, an issue must have all of
/// them.
#[crate::boxed]
pub async fn list_for_group(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    input: ListIssues,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let mut connection = app.database.connection().await?;
    let group = access::authorize_group(app, &mut connection, actor, group, GroupAction::ReadIssues).await?;
    let filter = input.into_filter(app, actor, IssueScope::Group(group.id));
    Ok(issue_list::list(&mut connection, &filter, page).await?)
}

/// Lists the issues that the current user has written, in all projects.
#[crate::boxed]
pub async fn list_own(app: &App, actor: &Actor, input: ListIssues, page: PageRequest) -> Result<Page<Issue>> {
    access::authorize_instance(actor, InstanceAction::ListIssues)?;
    let scope = IssueScope::Author(actor.current_user()?.account.id());
    let filter = input.into_filter(app, actor, scope);
    Ok(issue_list::list(&mut *app.database.connection().await?, &filter, page).await?)
}

/// Lists the issues that are assigned to the current user, in all projects.
#[crate::boxed]
pub async fn list_assigned(app: &App, actor: &Actor, input: ListIssues, page: PageRequest) -> Result<Page<Issue>> {
    access::authorize_instance(actor, InstanceAction::ListIssues)?;
    let scope = IssueScope::Assignee(actor.current_user()?.account.id());
    let filter = input.into_filter(app, actor, scope);
    Ok(issue_list::list(&mut *app.database.connection().await?, &filter, page).await?)
}
