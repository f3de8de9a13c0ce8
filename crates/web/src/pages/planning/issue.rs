//! The page of an issue with its notes.

use holdfast_app::planning::issue;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::planning::issue::{IssueInput, issue_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadIssues);
    pages
        .get("/:namespace/:project/issues/:iid", read, Cost::Normal, "Issue", show)
        .api("GET /projects/:id/issues/:issue_id");
}

params! {
    struct OneIssue {
        flatten project: ProjectPathParams,
        required iid: i64,
    }
}

async fn show(context: RequestContext, OneIssue { project, iid }: OneIssue) -> PageResult {
    let page = context.long_page();
    let found = issue::show_with_notes(context.app(), &context.actor, &project.reference(), iid, page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_record(found.project.id.get(), ":issue_id", found.issue.id);
    let input = IssueInput { issue: &found.issue, notes: &found.notes, labels: &found.labels };
    respond::html(&issue_page(layout, &found.project, abilities, input, |_| None, context.now()))
}
