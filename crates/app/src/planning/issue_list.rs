//! Lists of issues.

use holdfast_domain::Field;
use holdfast_domain::ids::{LabelId, MilestoneId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::DueFilter;
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_store::Connection;
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::issue_list::{self, Conditions, Filter, IssueScope, Labels};
use holdfast_store::planning::label::LabeledTargets;
use holdfast_store::planning::{label, milestone};

pub use holdfast_store::planning::issue_list::SortKey;

use super::issue_visibility::confidential_access;
use super::list_filter::{CommonFilter, FilteredPage, FilteredPeople, ListPlace, Requirement};
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
    pub(crate) fn into_filter(self, app: &App, actor: &Actor, scope: IssueScope) -> Filter {
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

/// Counts the open issues that are assigned to the current user.
pub(crate) async fn count_assigned(app: &App, connection: &mut Connection, actor: &Actor) -> Result<i64> {
    let assignee = actor.current_user()?.account.id();
    let open = ListIssues { closed: Some(false), ..ListIssues::default() };
    Ok(issue_list::count(connection, &open.into_filter(app, actor, IssueScope::Assignee(assignee))).await?)
}

/// A filter of issues that works for all places.
#[derive(Clone, Debug, Default)]
pub struct IssueFilter {
    pub common: CommonFilter,
    pub closed: Option<bool>,
    pub confidential: Option<bool>,
    pub due: Option<DueFilter>,
}

/// Lists the issues of a place that fulfill a filter and that the current user can see. With several labels, an issue
/// must have all of them.
#[crate::boxed]
pub async fn list_filtered(
    app: &App,
    actor: &Actor,
    place: ListPlace,
    filter: IssueFilter,
    page: PageRequest,
) -> Result<Page<Issue>> {
    Ok(list_with_labels(app, actor, place, filter, page).await?.page)
}

/// Like [`list_filtered`], but also returns the labels of the issues if the filter asks for them.
#[crate::boxed]
pub async fn list_with_labels(
    app: &App,
    actor: &Actor,
    place: ListPlace,
    filter: IssueFilter,
    page: PageRequest,
) -> Result<FilteredPage<Issue>> {
    let mut connection = app.database.connection().await?;
    let scope = match place {
        ListPlace::Project(project) => {
            let action = ProjectAction::ReadIssues;
            let project = access::authorize_project(app, &mut connection, actor, &project, action).await?;
            Some(IssueScope::Project(project.id, confidential_access(actor, &project)))
        }
        ListPlace::Group(group) => {
            let action = GroupAction::ReadIssues;
            Some(IssueScope::Group(access::authorize_group(app, &mut connection, actor, &group, action).await?.id))
        }
        ListPlace::Everywhere => {
            access::authorize_instance(actor, InstanceAction::ListIssues)?;
            None
        }
    };
    let IssueFilter { common, closed, confidential, due } = filter;
    let empty_page = || Ok(FilteredPage::empty(page));
    let Some(people) = common.find_people(&mut connection, actor).await? else { return empty_page() };
    let scope = match (scope, people.author, people.assignee) {
        (Some(scope), _, _) => scope,
        (None, Some(author), _) => IssueScope::Author(author),
        (None, None, Field::Value(assignee)) => IssueScope::Assignee(assignee),
        (None, None, Field::Absent | Field::Null) => return Err(FilteredPeople::missing()),
    };
    let conditions = Conditions {
        assignee: people.assignee,
        has_assignee: people.has_assignee,
        author: people.author,
        excluded_titles: common.excluded_labels,
        has_label: common.labels == Requirement::Present,
        has_no_label: common.labels == Requirement::Missing,
        has_milestone: common.milestone == Requirement::Present,
        has_no_milestone: common.milestone == Requirement::Missing,
        confidential,
        due,
        times: common.times,
        words: common.words,
        ..Conditions::default()
    };
    let mut filter = Filter {
        scope,
        viewer: viewer(app, actor),
        closed,
        labels: Labels::Any,
        milestone_title: None,
        milestone: None,
        iids: common.iids,
        conditions,
        sort_key: common.sort_key,
        descending: common.descending,
    };
    // Within a project, labels and milestones are found once instead of for each issue.
    let project = if let IssueScope::Project(id, _) = scope { Some(id) } else { None };
    match (common.labels, project) {
        (Requirement::Value(titles), Some(project)) => {
            let wanted: Vec<&str> = titles.iter().map(String::as_str).collect();
            let labels = label::find_by_titles(&mut connection, project, &wanted).await?;
            if labels.len() < titles.len() {
                return empty_page();
            }
            filter.labels = Labels::EachOf(labels.into_iter().map(|label| label.id).collect());
        }
        (Requirement::Value(titles), None) => filter.labels = Labels::AllOf(titles),
        (Requirement::Nothing | Requirement::Missing | Requirement::Present, _) => {}
    }
    match (common.milestone, project) {
        (Requirement::Value(title), Some(project)) => {
            filter.milestone = milestone::find_id(&mut connection, project, &title).await?;
            if filter.milestone.is_none() {
                return empty_page();
            }
        }
        (Requirement::Value(title), None) => filter.milestone_title = Some(title),
        (Requirement::Nothing | Requirement::Missing | Requirement::Present, _) => {}
    }
    let page = issue_list::list(&mut connection, &filter, page).await?;
    let ids: Vec<i64> = page.items.iter().map(|issue| issue.id.get()).collect();
    let labels = match common.with_labels {
        true => Some(label::list_attached(&mut connection, LabeledTargets::Issues(&ids)).await?),
        false => None,
    };
    Ok(FilteredPage { page, labels })
}
