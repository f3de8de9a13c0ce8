//! Milestones with their issues.

use std::collections::BTreeSet;

use holdfast_domain::page::{MAX_COUNTED_TOTAL, Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::planning::milestone::{self, Filter, IssueCounts};

use super::issue::Issue;
use super::issue_list::{self, ListIssues};
use super::issue_visibility::confidential_access;
use super::label::{Label, list_by_titles};
use super::milestone::{Milestone, find_by_iid};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// Maximum number of issues that a list counts for each milestone. A list has up to a hundred milestones. Arbitrary.
const MAX_COUNTED_IN_LIST: i64 = 1_000;

/// A milestone with the numbers of its issues that the current user sees.
#[derive(Debug)]
pub struct CountedMilestone {
    pub milestone: Milestone,
    pub open_issues: i64,
    pub closed_issues: i64,
    /// Whether the milestone may have more issues than were counted.
    pub is_partial: bool,
}

/// The milestones of a project, with what their page shows.
#[derive(Debug)]
pub struct ProjectMilestones {
    pub project: Project,
    pub milestones: Page<CountedMilestone>,
}

/// Lists the open or the closed milestones of a project, newest first, with the numbers of their issues. If issues are
/// disabled, none are counted.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    is_closed: bool,
    page: PageRequest,
) -> Result<ProjectMilestones> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadMilestones).await?;
    let filter = Filter { closed: Some(is_closed), ..Filter::default() };
    let milestones = milestone::list(&app.database, project.id, &filter, page).await?;
    let mut connection = app.database.connection().await?;
    let ids: Vec<i64> = milestones.items.iter().map(|milestone| milestone.id.get()).collect();
    let counts = count_issues(&mut connection, actor, &project, &ids, MAX_COUNTED_IN_LIST).await?;
    let milestones = milestones.map(|milestone| counted(milestone, &counts, MAX_COUNTED_IN_LIST));
    Ok(ProjectMilestones { project, milestones })
}

async fn count_issues(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    ids: &[i64],
    max_counted: i64,
) -> Result<Vec<IssueCounts>> {
    if ids.is_empty() || !access::is_authorized(actor, project, ProjectAction::ReadIssues) {
        return Ok(Vec::new());
    }
    Ok(milestone::count_issues(connection, ids, confidential_access(actor, project), max_counted).await?)
}

fn counted(milestone: Milestone, counts: &[IssueCounts], max_counted: i64) -> CountedMilestone {
    let found = counts.iter().find(|counts| counts.milestone_id == milestone.id);
    let (open_issues, closed_issues) = found.map_or((0, 0), |counts| (counts.open, counts.closed));
    let is_partial = open_issues + closed_issues >= max_counted;
    CountedMilestone { milestone, open_issues, closed_issues, is_partial }
}

/// A milestone with what its page shows.
#[derive(Debug)]
pub struct MilestoneWithIssues {
    pub project: Project,
    pub milestone: CountedMilestone,
    pub issues: Page<Issue>,
    /// The labels of these issues.
    pub labels: Vec<Label>,
}

/// Returns a milestone by its number within the project, with a page of its open or closed issues. If issues are
/// disabled, there are none.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    is_closed: bool,
    page: PageRequest,
) -> Result<MilestoneWithIssues> {
    let mut connection = app.database.connection().await?;
    let project =
        access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadMilestones).await?;
    let milestone = find_by_iid(&mut connection, &project, iid).await?;
    let ids = [milestone.id.get()];
    let counts = count_issues(&mut connection, actor, &project, &ids, MAX_COUNTED_TOTAL).await?;
    let issues = if access::is_authorized(actor, &project, ProjectAction::ReadIssues) {
        let input = ListIssues { milestone: Some(milestone.id), closed: Some(is_closed), ..ListIssues::default() };
        issue_list::list_for_project(app, &mut connection, actor, &project, input, page).await?
    } else {
        Page::with_total(Vec::new(), page, 0)
    };
    let titles: BTreeSet<&str> = issues.items.iter().flat_map(|issue| &issue.labels).map(String::as_str).collect();
    let titles: Vec<&str> = titles.into_iter().collect();
    let labels = list_by_titles(&mut connection, actor, &project, &titles).await?;
    let milestone = counted(milestone, &counts, MAX_COUNTED_TOTAL);
    Ok(MilestoneWithIssues { project, milestone, issues, labels })
}
