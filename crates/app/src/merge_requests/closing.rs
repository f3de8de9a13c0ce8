//! The issues that a merge closes: those that the description or a commit names with a closing word.

use holdfast_domain::ids::MergeRequestId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::issues_closed_by;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::merge_requests::version::Version;

use super::merge_request::MergeRequest;
use super::version;
use crate::planning::issue::Issue;
use crate::planning::issue_list::{self, ListIssues};
use crate::projects::project::{Project, ProjectRef};
use crate::repository::open_repository::OpenRepository;
use crate::{Actor, App, Result, access};

/// Maximum number of issues that a merge closes. Arbitrary.
const MAX_ISSUES: usize = 100;

/// Returns the numbers of the issues that a merge closes. Only merges into the default branch close issues.
pub(super) async fn find_closed_issue_iids(
    app: &App,
    repository: &OpenRepository,
    request: &MergeRequest,
    version: &Version,
) -> Result<Vec<i64>> {
    if !can_close_issues(&repository.project, request) {
        return Ok(Vec::new());
    }
    let commits = version::list_commits(app, repository, version).await?;
    let texts = request.description.iter().chain(commits.iter().map(|commit| &commit.message));
    let mut numbers: Vec<i64> = Vec::new();
    for number in texts.flat_map(|text| issues_closed_by(text)) {
        if !numbers.contains(&number) && numbers.len() < MAX_ISSUES {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

fn can_close_issues(project: &Project, request: &MergeRequest) -> bool {
    project.features.issues_enabled && project.repository.default_branch() == Some(request.target_branch.as_str())
}

/// Lists the issues that a merge would close and that the actor sees.
#[crate::boxed]
pub async fn list_issues(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let (repository, request, newest) = version::load_newest(app, actor, project, id).await?;
    let iids = find_closed_issue_iids(app, &repository, &request, &newest).await?;
    if iids.is_empty() || !access::is_authorized(actor, &repository.project, ProjectAction::ReadIssues) {
        return Ok(Page::with_total(Vec::new(), page, 0));
    }
    let input = ListIssues { iids, ..ListIssues::default() };
    issue_list::list(app, actor, &ProjectRef::Id(repository.project.id), input, page).await
}
