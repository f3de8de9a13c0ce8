//! Lists of issues.

use holdfast_domain::ids::{LabelId, MilestoneId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_store::Connection;
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::issue_list::{self, Filter, Labels, Whose};
use holdfast_store::planning::{label, milestone};

pub use holdfast_store::planning::issue_list::Key;

use super::sight::seen;
use crate::projects::list::reader;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// Which issues are asked for, and in which order.
#[derive(Clone, Debug)]
pub struct ListIssues {
    pub closed: Option<bool>,
    /// By title; empty for whatever labels.
    pub labels: Vec<String>,
    pub milestone_title: Option<String>,
    pub milestone: Option<MilestoneId>,
    pub iid: Option<i64>,
    pub key: Key,
    pub descending: bool,
}

impl Default for ListIssues {
    fn default() -> Self {
        Self {
            closed: None,
            labels: Vec::new(),
            milestone_title: None,
            milestone: None,
            iid: None,
            key: Key::CreatedAt,
            descending: true,
        }
    }
}

impl ListIssues {
    fn into_filter(self, app: &App, actor: &Actor, whose: Whose) -> Filter {
        let labels = if self.labels.is_empty() { Labels::Any } else { Labels::AllOf(self.labels) };
        Filter {
            whose,
            reader: reader(app, actor),
            closed: self.closed,
            labels,
            milestone_title: self.milestone_title,
            milestone: self.milestone,
            iid: self.iid,
            key: self.key,
            descending: self.descending,
        }
    }
}

/// Of a project; with several labels, those that have one of them.
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListIssues,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    of_project(app, &mut connection, actor, &project, input, page).await
}

pub(super) async fn of_project(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    mut input: ListIssues,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let whose = Whose::Project(project.id, seen(actor, project));
    let none = || Ok(Page::of_total(Vec::new(), page, 0));
    if let Some(title) = input.milestone_title.take() {
        match milestone::id_of(connection, project.id, &title).await? {
            Some(id) => input.milestone = Some(id),
            None => return none(),
        }
    }
    let titles = std::mem::take(&mut input.labels);
    let mut filter = input.into_filter(app, actor, whose);
    if !titles.is_empty() {
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let labels = label::of_titles(connection, project.id, &titles).await?;
        if labels.is_empty() {
            return none();
        }
        filter.labels = Labels::OneOf(labels.into_iter().map(|(id, _)| id).collect());
    }
    Ok(issue_list::list(connection, &filter, page).await?)
}

/// The open ones with a label.
pub(super) async fn of_label(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    label: LabelId,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let whose = Whose::Project(project.id, seen(actor, project));
    let open = ListIssues { closed: Some(false), ..ListIssues::default() };
    let filter = Filter { labels: Labels::OneOf(vec![label]), ..open.into_filter(app, actor, whose) };
    Ok(issue_list::list(connection, &filter, page).await?)
}

/// Of all projects of a group that the caller sees; with several labels, those that have all of them.
pub async fn list_of_group(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    input: ListIssues,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let mut connection = app.database.connection().await?;
    let group = access::group(app, &mut connection, actor, group, GroupAction::ReadIssues).await?;
    let filter = input.into_filter(app, actor, Whose::Group(group.id));
    Ok(issue_list::list(&mut connection, &filter, page).await?)
}

/// What the caller wrote, wherever.
pub async fn list_own(app: &App, actor: &Actor, input: ListIssues, page: PageRequest) -> Result<Page<Issue>> {
    access::instance(actor, InstanceAction::ListIssues)?;
    let whose = Whose::Author(actor.caller()?.account.id());
    let filter = input.into_filter(app, actor, whose);
    Ok(issue_list::list(&mut *app.database.connection().await?, &filter, page).await?)
}
