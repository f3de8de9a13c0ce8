//! The action that changes several issues of a list.

use holdfast_app::Error;
use holdfast_app::planning::issue_bulk::{self, BulkChange};
use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, choice, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::ProjectPathParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};

pub fn declare(pages: &mut Pages) {
    let manage = Access::Project(ProjectAction::ManageIssues);
    pages.post("/:namespace/:project/issues/bulk", manage, Cost::Normal, "Change several issues", update);
}

choice! {
    enum ChangeName {
        Close = "close",
        Reopen = "reopen",
        AddLabel = "label",
        RemoveLabel = "unlabel",
        Assign = "assign",
        Unassign = "unassign",
        SetMilestone = "milestone",
        RemoveMilestone = "no_milestone",
    }
}

params! {
    struct BulkParams {
        flatten project: ProjectPathParams,
        /// The numbers of the selected issues.
        list issues: i64,
        optional change: ChangeName,
        optional label: String,
        /// A username.
        optional assignee: String,
        /// The title of a milestone.
        optional milestone: String,
        /// The list that the action was sent from, which it leads back to.
        optional to: String,
    }
}

async fn update(context: RequestContext, params: BulkParams) -> PageResult {
    let address = match params.to.as_deref() {
        Some(to) => context.destination(Some(to)),
        None => params.project.links().issues(),
    };
    let change = params.change.map(|name| match name {
        ChangeName::Close => BulkChange::Close,
        ChangeName::Reopen => BulkChange::Reopen,
        ChangeName::AddLabel => BulkChange::AddLabel(params.label.unwrap_or_default()),
        ChangeName::RemoveLabel => BulkChange::RemoveLabel(params.label.unwrap_or_default()),
        ChangeName::Assign => BulkChange::Assign(Some(params.assignee.unwrap_or_default())),
        ChangeName::Unassign => BulkChange::Assign(None),
        ChangeName::SetMilestone => BulkChange::SetMilestone(Some(params.milestone.unwrap_or_default())),
        ChangeName::RemoveMilestone => BulkChange::SetMilestone(None),
    });
    let reference = params.project.reference();
    let result = issue_bulk::update(context.app(), &context.actor, &reference, &params.issues, change).await;
    let flash = match result {
        Ok(None) => FlashCode::IssuesNotSelected,
        Ok(Some(result)) if result.skipped_count > 0 => FlashCode::IssuesSkipped,
        Ok(Some(_)) => FlashCode::IssuesChanged,
        Err(Error::Invalid(violations)) => rejection(&violations),
        Err(error) => return Err(error.into()),
    };
    Ok(respond::see_other(address).with_flash(flash))
}

/// Returns the message about a change that was rejected.
fn rejection(violations: &Violations) -> FlashCode {
    match violations.iter().next() {
        Some(("assignee", _)) => FlashCode::IssueAssigneeRejected,
        Some(("milestone", _)) => FlashCode::IssueMilestoneRejected,
        Some(("issues", _)) => FlashCode::IssuesTooMany,
        _ => FlashCode::IssueLabelRejected,
    }
}
