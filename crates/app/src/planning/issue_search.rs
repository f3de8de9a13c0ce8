//! The list of a project's issues that its page shows, filtered by a line of the filter language.

use holdfast_domain::ids::LabelId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{ListOrder, ListQuery, MilestoneFilter, StateFilter};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::issue_list::{self, Filter, IssueScope, Labels, SortKey};
use holdfast_store::planning::label::TitledLabel;

use super::issue_form::{FormChoices, load_choices};
use super::issue_list::ListIssues;
use super::issue_visibility::confidential_access;
use super::label::Label;
use super::list_query::{self, load_other_labels};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// The issues that a filter selects, with what their page shows.
#[derive(Debug)]
pub struct IssueSearch {
    pub project: Project,
    pub issues: Page<Issue>,
    /// The labels, milestones and people by which the list can be filtered.
    pub choices: FormChoices,
    /// The labels of the issues that are not among the choices.
    pub other_labels: Vec<Label>,
    /// Messages about names in the filter that do not exist.
    pub problems: Vec<String>,
}

/// Lists the issues of a project that fulfill a query. A label or milestone that does not exist selects no issue.
#[crate::boxed]
pub async fn search(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    query: &ListQuery,
    page: PageRequest,
) -> Result<IssueSearch> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let mut problems = Vec::new();
    let filter = resolve(app, &mut connection, actor, &project, query, &mut problems).await?;
    let issues = match filter {
        Some(filter) => issue_list::list(&mut connection, &filter, page).await?,
        None => Page::with_total(Vec::new(), page, 0),
    };
    drop(connection);
    let choices = load_choices(app, actor, &project, ProjectAction::ManageIssues).await?;
    let titles = issues.items.iter().flat_map(|issue| &issue.labels);
    let other_labels = load_other_labels(app, actor, &project, &choices, titles).await?;
    Ok(IssueSearch { project, issues, choices, other_labels, problems })
}

/// Returns the filter of a query, or None if no issue can fulfill it.
async fn resolve(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    query: &ListQuery,
    problems: &mut Vec<String>,
) -> Result<Option<Filter>> {
    let Some(names) = list_query::resolve(connection, actor, project, query, problems).await? else { return Ok(None) };
    let mut input = ListIssues {
        closed: match query.state {
            StateFilter::Open => Some(false),
            // No issue is merged, and a query of issues has no such state.
            StateFilter::Closed | StateFilter::Merged => Some(true),
            StateFilter::All => None,
        },
        sort_key: match query.order {
            ListOrder::LastUpdated | ListOrder::LeastRecentlyUpdated => SortKey::UpdatedAt,
            ListOrder::Newest | ListOrder::Oldest => SortKey::CreatedAt,
        },
        descending: matches!(query.order, ListOrder::LastUpdated | ListOrder::Newest),
        milestone: names.milestone,
        ..ListIssues::default()
    };
    input.conditions.has_no_milestone = query.milestone == Some(MilestoneFilter::Missing);
    input.conditions.assignee = names.assignee;
    input.conditions.author = names.author;
    input.conditions.has_no_label = query.has_no_label;
    input.conditions.excluded_labels = labels_with_titles(&names.labels, &query.excluded_labels);
    input.conditions.due = query.due;
    input.conditions.words.clone_from(&query.text);
    let scope = IssueScope::Project(project.id, confidential_access(actor, project));
    let mut filter = input.into_filter(app, actor, scope);
    let required = labels_with_titles(&names.labels, &query.labels);
    if !required.is_empty() {
        filter.labels = Labels::EachOf(required);
    }
    Ok(Some(filter))
}

fn labels_with_titles(labels: &[TitledLabel], titles: &[String]) -> Vec<LabelId> {
    labels.iter().filter(|label| titles.contains(&label.title)).map(|label| label.id).collect()
}
