//! The merge requests that are assigned to the viewer, or that the viewer created, in all projects.

use holdfast_app::merge_requests::list::{self, OwnRelation};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::activity::merge_request_list::{own_merge_request_filters, own_merge_requests_page};

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ListIssues);
    pages.get("/dashboard/merge_requests", own, Cost::Normal, "Your merge requests", show);
}

params! {
    struct OwnMergeRequestParams {
        /// `created` for the merge requests that the viewer created.
        optional scope: String,
        /// `merged`, `closed` or `all`.
        optional state: String,
    }
}

async fn show(context: RequestContext, params: OwnMergeRequestParams) -> PageResult {
    let filters = own_merge_request_filters(params.scope.as_deref(), params.state.as_deref());
    let states = match filters.state {
        "" => MergeRequestState::OPEN.to_vec(),
        "merged" => vec![MergeRequestState::Merged],
        "closed" => vec![MergeRequestState::Closed],
        _ => MergeRequestState::ALL.to_vec(),
    };
    let relation = if filters.scope == "created" { OwnRelation::Author } else { OwnRelation::Assignee };
    let requests = list::list_own(context.app(), &context.actor, relation, states, context.page).await?;
    respond::html(&own_merge_requests_page(context.layout(), &requests, filters, context.now()))
}
