//! Lists of merge requests.

use holdfast_domain::ids::MilestoneId;
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::merge_requests::list::{self, Filter};
use holdfast_store::planning::milestone;

pub use holdfast_store::planning::issue_list::SortKey;

use super::merge_request::MergeRequest;
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Resource, Result, access};

/// The merge requests that a client asks for.
#[derive(Clone, Debug)]
pub struct ListMergeRequests {
    /// The states that are listed.
    pub states: Vec<MergeRequestState>,
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    pub sort_key: SortKey,
    pub descending: bool,
}

#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListMergeRequests,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let filter = Filter {
        project: project.id,
        states: input.states,
        iids: input.iids,
        milestone: None,
        sort_key: input.sort_key,
        descending: input.descending,
    };
    Ok(list::list(&mut connection, &filter, actor.user_id(), page).await?)
}

/// Lists the merge requests of a milestone, newest first.
#[crate::boxed]
pub async fn list_for_milestone(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    milestone: MilestoneId,
    page: PageRequest,
) -> Result<Page<MergeRequest>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let found = milestone::find(&mut connection, project.id, milestone).await?;
    found.ok_or(Error::NotFound(Resource::Record))?;
    let filter = Filter {
        project: project.id,
        states: MergeRequestState::ALL.to_vec(),
        iids: Vec::new(),
        milestone: Some(milestone),
        sort_key: SortKey::CreatedAt,
        descending: true,
    };
    Ok(list::list(&mut connection, &filter, actor.user_id(), page).await?)
}
