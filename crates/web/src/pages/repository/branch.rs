//! The list of branches, and the actions on them.

use holdfast_app::Error;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::{branch, merged_branches};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::rejection::rejection_text;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::layout::Flash;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::branch::{BranchValues, branches_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    let write = Access::Project(ProjectAction::WriteCode);
    let protect = Access::Project(ProjectAction::ProtectBranches);
    pages
        .get("/:namespace/:project/branches", read, Cost::Normal, "Branches", list)
        .api("GET /projects/:id/repository/branches");
    pages
        .post("/:namespace/:project/branches", write, Cost::Normal, "Create a branch", create)
        .api("POST /projects/:id/repository/branches");
    pages
        .post("/:namespace/:project/branches/delete", write, Cost::Normal, "Delete a branch", delete)
        .api("DELETE /projects/:id/repository/branches/:branch");
    let title = "Delete the merged branches";
    pages
        .post("/:namespace/:project/branches/delete_merged", write, Cost::Normal, title, delete_merged)
        .api("DELETE /projects/:id/repository/merged_branches");
    pages
        .post("/:namespace/:project/branches/protect", protect, Cost::Normal, "Protect a branch", protect_branch)
        .api("PUT /projects/:id/repository/branches/:branch/protect");
    let title = "Stop protecting a branch";
    pages
        .post("/:namespace/:project/branches/unprotect", protect, Cost::Normal, title, unprotect_branch)
        .api("PUT /projects/:id/repository/branches/:branch/unprotect");
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let page = context.long_page();
    let found = branch::list_with_project(context.app(), &context.actor, &path.reference(), page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&branches_page(layout, &found, abilities, BranchValues::default(), context.now()))
}

params! {
    struct CreateBranch {
        flatten path: ProjectPathParams,
        optional name: String,
        /// Branch, tag or commit at which the branch is created.
        optional from: String,
    }
}

async fn create(context: RequestContext, CreateBranch { path, name, from }: CreateBranch) -> PageResult {
    let project = path.reference();
    let values = BranchValues { name: name.unwrap_or_default(), from: from.unwrap_or_default(), is_open: true };
    match branch::create(context.app(), &context.actor, &project, &values.name, &values.from).await {
        Ok(_) => Ok(respond::see_other(path.links().branches()).with_flash(FlashCode::BranchCreated)),
        Err(error) => reject(&context, &project, values, error).await,
    }
}

params! {
    struct OneBranch {
        flatten path: ProjectPathParams,
        optional name: String,
    }
}

async fn delete(context: RequestContext, OneBranch { path, name }: OneBranch) -> PageResult {
    let project = path.reference();
    match branch::delete(context.app(), &context.actor, &project, &name.unwrap_or_default()).await {
        Ok(_) => Ok(respond::see_other(path.links().branches()).with_flash(FlashCode::BranchDeleted)),
        Err(error) => reject(&context, &project, BranchValues::default(), error).await,
    }
}

async fn delete_merged(context: RequestContext, path: ProjectPathParams) -> PageResult {
    merged_branches::delete(context.app(), &context.actor, &path.reference()).await?;
    Ok(respond::see_other(path.links().branches()).with_flash(FlashCode::MergedBranchesDeleted))
}

params! {
    struct ProtectBranch {
        flatten path: ProjectPathParams,
        optional name: String,
        optional developers_can_push: bool,
        optional developers_can_merge: bool,
    }
}

async fn protect_branch(context: RequestContext, params: ProtectBranch) -> PageResult {
    let ProtectBranch { path, name, developers_can_push, developers_can_merge } = params;
    let (project, name) = (path.reference(), name.unwrap_or_default());
    let (can_push, can_merge) = (developers_can_push.unwrap_or(false), developers_can_merge.unwrap_or(false));
    match branch::protect(context.app(), &context.actor, &project, &name, can_push, can_merge).await {
        Ok(_) => Ok(respond::see_other(path.links().branches()).with_flash(FlashCode::BranchProtected)),
        Err(error) => reject(&context, &project, BranchValues::default(), error).await,
    }
}

async fn unprotect_branch(context: RequestContext, OneBranch { path, name }: OneBranch) -> PageResult {
    let project = path.reference();
    match branch::unprotect(context.app(), &context.actor, &project, &name.unwrap_or_default()).await {
        Ok(branch) => {
            let is_protected = branch.protection.is_protected;
            let flash = if is_protected { FlashCode::BranchStillProtected } else { FlashCode::BranchUnprotected };
            Ok(respond::see_other(path.links().branches()).with_flash(flash))
        }
        Err(error) => reject(&context, &project, BranchValues::default(), error).await,
    }
}

/// Responds with the list and the reason why a change was rejected. Fails with any other error.
async fn reject(context: &RequestContext, project: &ProjectRef, values: BranchValues, error: Error) -> PageResult {
    let text = rejection_text(error)?;
    let found = branch::list_with_project(context.app(), &context.actor, project, context.long_page()).await?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let mut layout = context.layout_with_id(found.project.id.get());
    layout.flash = Some(Flash { kind: "bad", text });
    respond::rejected(&branches_page(layout, &found, abilities, values, context.now()))
}
