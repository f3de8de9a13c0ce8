//! The list of a project's issues that its page shows, filtered by a line of the filter language.

use std::collections::BTreeSet;

use holdfast_domain::Field;
use holdfast_domain::ids::{LabelId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{IssueOrder, IssueQuery, MilestoneFilter, PersonFilter, StateFilter};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::issue_list::{self, Filter, IssueScope, Labels, SortKey};
use holdfast_store::planning::label::{self, TitledLabel};
use holdfast_store::planning::milestone;

use super::assignee;
use super::issue_form::{IssueChoices, load_choices};
use super::issue_list::ListIssues;
use super::issue_visibility::confidential_access;
use super::label::{Label, list_by_titles};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// The issues that a filter selects, with what their page shows.
#[derive(Debug)]
pub struct IssueSearch {
    pub project: Project,
    pub issues: Page<Issue>,
    /// The labels, milestones and people by which the list can be filtered.
    pub choices: IssueChoices,
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
    query: &IssueQuery,
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
    let choices = load_choices(app, actor, &project).await?;
    let titles: BTreeSet<&str> = issues.items.iter().flat_map(|issue| &issue.labels).map(String::as_str).collect();
    let is_known = |title: &str| choices.labels.iter().any(|label| label.title == title);
    let titles: Vec<&str> = titles.into_iter().filter(|title| !is_known(title)).collect();
    let other_labels = match titles.is_empty() {
        true => Vec::new(),
        false => list_by_titles(&mut *app.database.connection().await?, actor, &project, &titles).await?,
    };
    Ok(IssueSearch { project, issues, choices, other_labels, problems })
}

/// Finds what the names in a query refer to. Returns None if no issue can fulfill it.
async fn resolve(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    query: &IssueQuery,
    problems: &mut Vec<String>,
) -> Result<Option<Filter>> {
    let mut input = ListIssues {
        closed: match query.state {
            StateFilter::Open => Some(false),
            StateFilter::Closed => Some(true),
            StateFilter::All => None,
        },
        sort_key: match query.order {
            IssueOrder::LastUpdated | IssueOrder::LeastRecentlyUpdated => SortKey::UpdatedAt,
            IssueOrder::Newest | IssueOrder::Oldest => SortKey::CreatedAt,
        },
        descending: matches!(query.order, IssueOrder::LastUpdated | IssueOrder::Newest),
        ..ListIssues::default()
    };
    let titles: Vec<&str> = query.labels.iter().chain(&query.excluded_labels).map(String::as_str).collect();
    let labels = match titles.is_empty() {
        true => Vec::new(),
        false => label::find_by_titles(connection, project.id, &titles).await?,
    };
    let missing: Vec<&&str> = titles.iter().filter(|title| labels.iter().all(|label| label.title != **title)).collect();
    problems.extend(missing.iter().map(|title| format!("There is no label \u{201c}{title}\u{201d}.")));
    match &query.milestone {
        None => {}
        Some(MilestoneFilter::Missing) => input.conditions.has_no_milestone = true,
        Some(MilestoneFilter::Title(title)) => match milestone::find_id(connection, project.id, title).await? {
            Some(id) => input.milestone = Some(id),
            None => {
                problems.push(format!("There is no milestone \u{201c}{title}\u{201d}."));
                return Ok(None);
            }
        },
    }
    let assignee = find_person(connection, actor, query.assignee.as_ref()).await?;
    let author = find_person(connection, actor, query.author.as_ref()).await?;
    let (Some(assignee), Some(author)) = (assignee, author) else { return Ok(None) };
    let required = labels_with_titles(&labels, &query.labels);
    if required.len() < query.labels.len() {
        return Ok(None);
    }
    input.conditions.assignee = assignee;
    input.conditions.author = author.value();
    input.conditions.has_no_label = query.has_no_label;
    input.conditions.excluded_labels = labels_with_titles(&labels, &query.excluded_labels);
    input.conditions.due = query.due;
    input.conditions.words.clone_from(&query.text);
    let scope = IssueScope::Project(project.id, confidential_access(actor, project));
    let mut filter = input.into_filter(app, actor, scope);
    if !required.is_empty() {
        filter.labels = Labels::EachOf(required);
    }
    Ok(Some(filter))
}

fn labels_with_titles(labels: &[TitledLabel], titles: &[String]) -> Vec<LabelId> {
    labels.iter().filter(|label| titles.contains(&label.title)).map(|label| label.id).collect()
}

/// Finds a person of a query. Returns None if there is no such user; the page does not say so, because not every viewer
/// may know which usernames exist.
async fn find_person(
    connection: &mut Connection,
    actor: &Actor,
    person: Option<&PersonFilter>,
) -> Result<Option<Field<UserId>>> {
    let found = match person {
        None => return Ok(Some(Field::Absent)),
        Some(PersonFilter::Missing) => return Ok(Some(Field::Null)),
        Some(PersonFilter::Viewer) => actor.user_id(),
        Some(PersonFilter::Username(username)) => assignee::find_by_name(connection, actor, username).await?,
    };
    Ok(found.map(Field::Value))
}
