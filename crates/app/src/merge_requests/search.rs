//! The list of a project's merge requests that its page shows, filtered by a line of the filter language.

use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{ListOrder, ListQuery, MilestoneFilter, StateFilter};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::merge_requests::list::{self, Conditions, Filter, RequestScope};

use super::list::SortKey;
use super::merge_request::MergeRequest;
use crate::planning::issue_form::{FormChoices, load_choices};
use crate::planning::label::Label;
use crate::planning::list_query::{self, load_other_labels};
use crate::projects::list::viewer;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// The merge requests that a filter selects, with what their page shows.
#[derive(Debug)]
pub struct MergeRequestSearch {
    pub project: Project,
    pub requests: Page<MergeRequest>,
    /// The labels, milestones and people by which the list can be filtered.
    pub choices: FormChoices,
    /// The labels of the merge requests that are not among the choices.
    pub other_labels: Vec<Label>,
    /// Messages about names in the filter that do not exist.
    pub problems: Vec<String>,
}

/// Lists the merge requests of a project that fulfill a query.
#[crate::boxed]
pub async fn search(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    query: &ListQuery,
    page: PageRequest,
) -> Result<MergeRequestSearch> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let mut problems = Vec::new();
    let requests = match resolve(app, &mut connection, actor, &project, query, &mut problems).await? {
        Some(filter) => list::list(&mut connection, &filter, page).await?,
        None => Page::with_total(Vec::new(), page, 0),
    };
    drop(connection);
    let choices = load_choices(app, actor, &project, ProjectAction::ManageMergeRequests).await?;
    let titles = requests.items.iter().flat_map(|request| &request.labels);
    let other_labels = load_other_labels(app, actor, &project, &choices, titles).await?;
    Ok(MergeRequestSearch { project, requests, choices, other_labels, problems })
}

/// Returns the filter of a query, or None if no merge request can fulfill it.
async fn resolve(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    query: &ListQuery,
    problems: &mut Vec<String>,
) -> Result<Option<Filter>> {
    let Some(names) = list_query::resolve(connection, actor, project, query, problems).await? else { return Ok(None) };
    let conditions = Conditions {
        assignee: names.assignee,
        author: names.author,
        labels: query.labels.clone(),
        excluded_labels: query.excluded_labels.clone(),
        has_no_label: query.has_no_label,
        has_no_milestone: query.milestone == Some(MilestoneFilter::Missing),
        words: query.text.clone(),
        ..Conditions::default()
    };
    let sort_key = match query.order {
        ListOrder::LastUpdated | ListOrder::LeastRecentlyUpdated => SortKey::UpdatedAt,
        ListOrder::Newest | ListOrder::Oldest => SortKey::CreatedAt,
    };
    let scope = RequestScope::Project(project.id);
    Ok(Some(Filter {
        milestone: names.milestone,
        conditions,
        sort_key,
        descending: matches!(query.order, ListOrder::LastUpdated | ListOrder::Newest),
        ..Filter::new(scope, viewer(app, actor), states(query.state))
    }))
}

fn states(filter: StateFilter) -> Vec<MergeRequestState> {
    match filter {
        StateFilter::Open => MergeRequestState::OPEN.to_vec(),
        StateFilter::Merged => vec![MergeRequestState::Merged],
        StateFilter::Closed => vec![MergeRequestState::Closed],
        StateFilter::All => MergeRequestState::ALL.to_vec(),
    }
}
