//! All runners of the instance, and the token with which shared runners are registered. For administrators.

use holdfast_app::Error;
use holdfast_app::ci::all_runners;
use holdfast_app::ci::runner::{self, RunnerConditions, RunnerFilter, RunnerStatus};
use holdfast_domain::Violations;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use super::runner_form::{RunnerFields, activation, changes};
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::admin_runner::{admin_runner_page, admin_runners_page, admin_token_page};
use crate::views::ci::runner::RunnerValues;
use crate::views::links;

pub fn declare(pages: &mut Pages) {
    const TOKEN: &str = "/admin/runners/token";
    let manage = Access::Instance(InstanceAction::ManageRunners);
    pages.get("/admin/runners", manage, Cost::Normal, "Runners", list).api("GET /runners/all").confirmed();
    pages.get(TOKEN, manage, Cost::Cheap, "Registration token", show_token).confirmed();
    pages.post(TOKEN, manage, Cost::Cheap, "Reset the registration token", reset_token).confirmed();
    pages.get("/admin/runners/:id", manage, Cost::Cheap, "Runner", show).api("GET /runners/:id").confirmed();
    pages.post("/admin/runners/:id", manage, Cost::Cheap, "Save a runner", update).api("PUT /runners/:id").confirmed();
    pages
        .post("/admin/runners/:id/pause", manage, Cost::Cheap, "Pause a runner", pause)
        .api("PUT /runners/:id")
        .confirmed();
    pages
        .post("/admin/runners/:id/resume", manage, Cost::Cheap, "Resume a runner", resume)
        .api("PUT /runners/:id")
        .confirmed();
    pages
        .post("/admin/runners/:id/delete", manage, Cost::Cheap, "Delete a runner", delete)
        .api("DELETE /runners/:id")
        .confirmed();
}

params! {
    struct ListRunners {
        /// One of the filters of the page; all runners by default.
        optional state: String,
    }
}

params! {
    struct OneRunner {
        required id: RunnerId,
    }
}

params! {
    struct UpdateRunner {
        required id: RunnerId,
        flatten fields: RunnerFields,
    }
}

/// Returns the filter with this name. None lists all runners.
fn filter(name: &str) -> Option<RunnerFilter> {
    let with_status = |status| RunnerFilter::All(RunnerConditions { status: Some(status), ..Default::default() });
    match name {
        "online" => Some(RunnerFilter::Online),
        "offline" => Some(with_status(RunnerStatus::Offline)),
        "stale" => Some(with_status(RunnerStatus::Stale)),
        "never" => Some(with_status(RunnerStatus::NeverContacted)),
        "paused" => Some(RunnerFilter::Paused),
        "shared" => Some(RunnerFilter::Shared),
        _ => None,
    }
}

async fn list(context: RequestContext, ListRunners { state }: ListRunners) -> PageResult {
    let state = state.unwrap_or_default();
    let found = all_runners::list(context.app(), &context.actor, filter(&state), context.page).await?;
    respond::html(&admin_runners_page(context.layout(), &found, &state, context.now()))
}

async fn show(context: RequestContext, OneRunner { id }: OneRunner) -> PageResult {
    let found = all_runners::show(context.app(), &context.actor, id).await?;
    let values = RunnerValues::from(&found.runner);
    let layout = context.layout_with_id(id.get());
    respond::html(&admin_runner_page(layout, &found, values, &Violations::default(), context.now()))
}

async fn update(context: RequestContext, UpdateRunner { id, fields }: UpdateRunner) -> PageResult {
    let values = fields.into_values();
    match all_runners::update(context.app(), &context.actor, id, changes(&values)).await {
        Ok(()) => Ok(respond::see_other(links::all_runners()).with_flash(FlashCode::RunnerSaved)),
        Err(Error::Invalid(violations)) => {
            let found = all_runners::show(context.app(), &context.actor, id).await?;
            let layout = context.layout_with_id(id.get());
            respond::rejected(&admin_runner_page(layout, &found, values, &violations, context.now()))
        }
        Err(error) => Err(error.into()),
    }
}

async fn pause(context: RequestContext, OneRunner { id }: OneRunner) -> PageResult {
    all_runners::update(context.app(), &context.actor, id, activation(false)).await?;
    Ok(respond::see_other(links::all_runners()).with_flash(FlashCode::RunnerPaused))
}

async fn resume(context: RequestContext, OneRunner { id }: OneRunner) -> PageResult {
    all_runners::update(context.app(), &context.actor, id, activation(true)).await?;
    Ok(respond::see_other(links::all_runners()).with_flash(FlashCode::RunnerResumed))
}

async fn delete(context: RequestContext, OneRunner { id }: OneRunner) -> PageResult {
    all_runners::delete(context.app(), &context.actor, id).await?;
    Ok(respond::see_other(links::all_runners()).with_flash(FlashCode::RunnerDeleted))
}

async fn show_token(context: RequestContext, (): ()) -> PageResult {
    let token = runner::registration_token(context.app(), &context.actor).await?;
    Ok(respond::html(&admin_token_page(context.layout(), token, context.site()))?.with_secret())
}

async fn reset_token(context: RequestContext, (): ()) -> PageResult {
    runner::reset_registration_token(context.app(), &context.actor).await?;
    Ok(respond::see_other(links::runner("token")).with_flash(FlashCode::RunnerTokenReset))
}
