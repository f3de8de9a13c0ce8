//! The runners of a project: the list, the form of one, and the token with which they are registered.

use holdfast_app::Error;
use holdfast_app::ci::{project_runner, runner};
use holdfast_domain::Violations;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::runner_form::{RunnerFields, activation, changes};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::project_runner::{runner_page, runner_token_page, runners_page};
use crate::views::ci::runner::RunnerValues;

pub fn declare(pages: &mut Pages) {
    const LIST: &str = "/:namespace/:project/settings/runners";
    const ONE: &str = "/:namespace/:project/settings/runners/:id";
    const TOKEN: &str = "/:namespace/:project/settings/runners/token";
    let manage = Access::Project(ProjectAction::ManageCi);
    pages.get(LIST, manage, Cost::Normal, "Runners", list).api("GET /projects/:id/runners");
    pages.get(TOKEN, manage, Cost::Cheap, "Registration token", show_token).confirmed();
    pages.get(ONE, manage, Cost::Cheap, "Runner", show).api("GET /runners/:id");
    pages.post(ONE, manage, Cost::Cheap, "Save a runner", update).api("PUT /runners/:id");
    pages
        .post("/:namespace/:project/settings/runners/:id/pause", manage, Cost::Cheap, "Pause a runner", pause)
        .api("PUT /runners/:id");
    pages
        .post("/:namespace/:project/settings/runners/:id/resume", manage, Cost::Cheap, "Resume a runner", resume)
        .api("PUT /runners/:id");
    pages
        .post("/:namespace/:project/settings/runners/:id/enable", manage, Cost::Cheap, "Enable a runner", enable)
        .api("POST /projects/:id/runners");
    pages
        .post("/:namespace/:project/settings/runners/:id/disable", manage, Cost::Cheap, "Disable a runner", disable)
        .api("DELETE /projects/:id/runners/:runner_id");
    pages
        .post("/:namespace/:project/settings/runners/:id/delete", manage, Cost::Cheap, "Delete a runner", delete)
        .api("DELETE /runners/:id");
}

params! {
    struct OneRunner {
        flatten project: ProjectPathParams,
        required id: RunnerId,
    }
}

params! {
    struct UpdateRunner {
        flatten project: ProjectPathParams,
        required id: RunnerId,
        flatten fields: RunnerFields,
    }
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = project_runner::list(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&runners_page(layout, &found, abilities, context.site(), context.now()))
}

async fn show_token(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let project = project_runner::show_registration(context.app(), &context.actor, &path.reference()).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    Ok(respond::html(&runner_token_page(context.layout(), &project, abilities, context.site()))?.with_secret())
}

async fn show(context: RequestContext, OneRunner { project, id }: OneRunner) -> PageResult {
    let found = project_runner::show(context.app(), &context.actor, &project.reference(), id).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(id.get());
    let values = RunnerValues::from(&found.runner);
    respond::html(&runner_page(layout, &found, abilities, values, &Violations::default(), context.now()))
}

async fn update(context: RequestContext, UpdateRunner { project, id, fields }: UpdateRunner) -> PageResult {
    let (reference, values) = (project.reference(), fields.into_values());
    match project_runner::update(context.app(), &context.actor, &reference, id, changes(&values)).await {
        Ok(()) => Ok(see_list(&project).with_flash(FlashCode::RunnerSaved)),
        Err(Error::Invalid(violations)) => {
            let found = project_runner::show(context.app(), &context.actor, &reference, id).await?;
            let abilities = Abilities::new(&found.project, &context.actor);
            let layout = context.layout_with_id(id.get());
            respond::rejected(&runner_page(layout, &found, abilities, values, &violations, context.now()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Redirects to the runners of the project.
fn see_list(project: &ProjectPathParams) -> respond::PageResponse {
    respond::see_other(project.links().settings_page("runners"))
}

async fn pause(context: RequestContext, OneRunner { project, id }: OneRunner) -> PageResult {
    let reference = project.reference();
    project_runner::update(context.app(), &context.actor, &reference, id, activation(false)).await?;
    Ok(see_list(&project).with_flash(FlashCode::RunnerPaused))
}

async fn resume(context: RequestContext, OneRunner { project, id }: OneRunner) -> PageResult {
    let reference = project.reference();
    project_runner::update(context.app(), &context.actor, &reference, id, activation(true)).await?;
    Ok(see_list(&project).with_flash(FlashCode::RunnerResumed))
}

async fn enable(context: RequestContext, OneRunner { project, id }: OneRunner) -> PageResult {
    match runner::assign(context.app(), &context.actor, &project.reference(), id).await {
        // Another user, or another tab, has enabled it.
        Ok(_) | Err(Error::Conflict(_)) => Ok(see_list(&project).with_flash(FlashCode::RunnerEnabled)),
        Err(error) => Err(error.into()),
    }
}

async fn disable(context: RequestContext, OneRunner { project, id }: OneRunner) -> PageResult {
    runner::unassign(context.app(), &context.actor, &project.reference(), id).await?;
    Ok(see_list(&project).with_flash(FlashCode::RunnerDisabled))
}

async fn delete(context: RequestContext, OneRunner { project, id }: OneRunner) -> PageResult {
    project_runner::delete(context.app(), &context.actor, &project.reference(), id).await?;
    Ok(see_list(&project).with_flash(FlashCode::RunnerDeleted))
}
