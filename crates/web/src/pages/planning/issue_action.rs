//! Actions on one issue: close, reopen, subscribe, move and delete.

use holdfast_app::Error;
use holdfast_app::planning::issue_action::{self, ProjectIssue};
use holdfast_domain::Violations;
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::BLANK;
use holdfast_http_core::{Access, params};

use super::issue::OneIssue;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::planning::issue_confirmation::{IssueMovePage, issue_delete_page, issue_move_page};

pub fn declare(pages: &mut Pages) {
    const MOVE: &str = "/:namespace/:project/issues/:iid/move";
    const DELETE: &str = "/:namespace/:project/issues/:iid/delete";
    let write = Access::Project(ProjectAction::CreateIssue);
    let manage = Access::Project(ProjectAction::ManageIssues);
    let delete = Access::Project(ProjectAction::DeleteIssue);
    pages
        .post("/:namespace/:project/issues/:iid/close", write, Cost::Normal, "Close an issue", close)
        .api("PUT /projects/:id/issues/:issue_id");
    pages
        .post("/:namespace/:project/issues/:iid/reopen", write, Cost::Normal, "Reopen an issue", reopen)
        .api("PUT /projects/:id/issues/:issue_id");
    pages
        .post("/:namespace/:project/issues/:iid/subscribe", write, Cost::Normal, "Subscribe to an issue", subscribe)
        .api("POST /projects/:id/issues/:issue_id/subscription");
    pages
        .post(
            "/:namespace/:project/issues/:iid/unsubscribe",
            write,
            Cost::Normal,
            "Unsubscribe from an issue",
            unsubscribe,
        )
        .api("DELETE /projects/:id/issues/:issue_id/subscription");
    pages.get(MOVE, manage, Cost::Normal, "Move an issue", show_move);
    pages.post(MOVE, manage, Cost::Normal, "Move an issue", move_to).api("POST /projects/:id/issues/:issue_id/move");
    pages.get(DELETE, delete, Cost::Normal, "Delete an issue", show_delete);
    pages
        .post(DELETE, delete, Cost::Normal, "Delete an issue", self::delete)
        .api("DELETE /projects/:id/issues/:issue_id");
}

async fn close(context: RequestContext, path: OneIssue) -> PageResult {
    set_state(&context, &path, StateEvent::Close, FlashCode::IssueClosed).await
}

async fn reopen(context: RequestContext, path: OneIssue) -> PageResult {
    set_state(&context, &path, StateEvent::Reopen, FlashCode::IssueReopened).await
}

async fn set_state(context: &RequestContext, path: &OneIssue, event: StateEvent, flash: FlashCode) -> PageResult {
    let reference = path.project.reference();
    let issue = issue_action::set_state(context.app(), &context.actor, &reference, path.iid, event).await?;
    let address = ProjectLinks::new(&issue.project_path).issue(issue.iid);
    Ok(respond::see_other(address).with_flash(flash))
}

async fn subscribe(context: RequestContext, path: OneIssue) -> PageResult {
    set_subscribed(&context, &path, true).await
}

async fn unsubscribe(context: RequestContext, path: OneIssue) -> PageResult {
    set_subscribed(&context, &path, false).await
}

async fn set_subscribed(context: &RequestContext, path: &OneIssue, is_subscribed: bool) -> PageResult {
    let reference = path.project.reference();
    let issue =
        issue_action::set_subscribed(context.app(), &context.actor, &reference, path.iid, is_subscribed).await?;
    let flash = if is_subscribed { FlashCode::IssueSubscribed } else { FlashCode::IssueUnsubscribed };
    Ok(respond::see_other(ProjectLinks::new(&issue.project_path).issue(issue.iid)).with_flash(flash))
}

params! {
    struct MoveIssue {
        flatten path: OneIssue,
        /// The path of the project that the issue is moved to.
        optional target: String,
    }
}

fn move_page(context: &RequestContext, found: &ProjectIssue, target: &str, violations: &Violations) -> IssueMovePage {
    let abilities = Abilities::new(&found.project, &context.actor);
    issue_move_page(context.layout(), abilities, found, target, violations)
}

async fn show_move(context: RequestContext, OneIssue { project, iid }: OneIssue) -> PageResult {
    let found = issue_action::show_movable(context.app(), &context.actor, &project.reference(), iid).await?;
    ensure_address(&context, &found.project)?;
    respond::html(&move_page(&context, &found, "", &Violations::default()))
}

async fn move_to(context: RequestContext, MoveIssue { path, target }: MoveIssue) -> PageResult {
    let (reference, target) = (path.project.reference(), target.unwrap_or_default());
    let violations = match target.trim() {
        "" => Violations::single("target", BLANK),
        path_of_target => {
            let (app, actor) = (context.app(), &context.actor);
            match issue_action::move_to(app, actor, &reference, path.iid, path_of_target).await {
                Ok(issue) => {
                    let address = ProjectLinks::new(&issue.project_path).issue(issue.iid);
                    return Ok(respond::see_other(address).with_flash(FlashCode::IssueMoved));
                }
                Err(Error::Invalid(violations)) => violations,
                Err(error) => return Err(error.into()),
            }
        }
    };
    let found = issue_action::show_movable(context.app(), &context.actor, &reference, path.iid).await?;
    respond::rejected(&move_page(&context, &found, &target, &violations))
}

params! {
    struct DeleteIssue {
        flatten path: OneIssue,
        /// Sent by the page that asks before the issue is deleted.
        optional confirm: bool,
    }
}

async fn show_delete(context: RequestContext, OneIssue { project, iid }: OneIssue) -> PageResult {
    let found = issue_action::show_deletable(context.app(), &context.actor, &project.reference(), iid).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    respond::html(&issue_delete_page(context.layout(), abilities, &found))
}

async fn delete(context: RequestContext, DeleteIssue { path, confirm }: DeleteIssue) -> PageResult {
    let reference = path.project.reference();
    if confirm != Some(true) {
        let found = issue_action::show_deletable(context.app(), &context.actor, &reference, path.iid).await?;
        let abilities = Abilities::new(&found.project, &context.actor);
        return respond::rejected(&issue_delete_page(context.layout(), abilities, &found));
    }
    let deleted = issue_action::delete(context.app(), &context.actor, &reference, path.iid).await?;
    let address = ProjectLinks::new(&deleted.project_path).issues();
    Ok(respond::see_other(address).with_flash(FlashCode::IssueDeleted))
}
