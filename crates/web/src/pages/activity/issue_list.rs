//! The issues that are assigned to the viewer, or that the viewer wrote, in all projects.

use holdfast_app::planning::issue_list::{self, ListIssues};
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::activity::issue_list::{own_issue_filters, own_issues_page};

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ListIssues);
    pages.get("/dashboard/issues", own, Cost::Normal, "Your issues", list).api("GET /issues");
}

params! {
    struct OwnIssueParams {
        /// `created` for the issues that the viewer wrote.
        optional scope: String,
        /// `closed` or `all`.
        optional state: String,
    }
}

async fn list(context: RequestContext, params: OwnIssueParams) -> PageResult {
    let filters = own_issue_filters(params.scope.as_deref(), params.state.as_deref());
    let closed = match filters.state {
        "" => Some(false),
        "closed" => Some(true),
        _ => None,
    };
    let input = ListIssues { closed, ..ListIssues::default() };
    let issues = match filters.scope {
        "created" => issue_list::list_own(context.app(), &context.actor, input, context.page).await?,
        _ => issue_list::list_assigned(context.app(), &context.actor, input, context.page).await?,
    };
    respond::html(&own_issues_page(context.layout(), &issues, filters, context.now()))
}
