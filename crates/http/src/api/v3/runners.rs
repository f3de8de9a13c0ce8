use axum::http::Method;
use holdfast_app::ci::runner::{self, RunnerChanges, RunnerFilter};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::policy::InstanceAction::{ManageRunners, ReadRunners};
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use crate::error::ApiError;
use crate::params::CommaSeparated;
use crate::present::runner::{RunnerBody, RunnerDetail, detail, present_runner};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum Which {
        Active = "active",
        Paused = "paused",
        Online = "online",
        Specific = "specific",
        Shared = "shared",
    }
}

fn to_scope(which: Which) -> RunnerFilter {
    match which {
        Which::Active => RunnerFilter::Active,
        Which::Paused => RunnerFilter::Paused,
        Which::Online => RunnerFilter::Online,
        Which::Specific => RunnerFilter::Specific,
        Which::Shared => RunnerFilter::Shared,
    }
}

choice! {
    enum State { Active = "active", Paused = "paused", Online = "online" }
}

params! {
    struct ListRunners {
        /// Only runners of this state or type. `online` means contact within the last hour.
        optional scope: State,
    }
}

async fn list(context: RequestContext, params: ListRunners) -> ApiResult<PageBody<RunnerBody>> {
    let scope = params.scope.map(|state| match state {
        State::Active => RunnerFilter::Active,
        State::Paused => RunnerFilter::Paused,
        State::Online => RunnerFilter::Online,
    });
    let page = runner::list(context.app(), &context.actor, scope, context.page).await?;
    Ok(PageBody(page.map(|it| present_runner(&it))))
}

params! {
    struct ListAllRunners {
        /// Only runners of this state or type. `online` means contact within the last hour.
        optional scope: Which,
    }
}

async fn list_all(context: RequestContext, params: ListAllRunners) -> ApiResult<PageBody<RunnerBody>> {
    let page = runner::list_all(context.app(), &context.actor, params.scope.map(to_scope), context.page).await?;
    Ok(PageBody(page.map(|it| present_runner(&it))))
}

params! {
    struct OneRunner {
        required id: RunnerId,
    }
}

async fn show(context: RequestContext, params: OneRunner) -> ApiResult<Body<RunnerDetail>> {
    Ok(Body(detail(runner::show(context.app(), &context.actor, params.id).await?, context.site())))
}

params! {
    struct UpdateRunner {
        required id: RunnerId,
        /// Description of the runner.
        optional description: String,
        /// Whether the runner receives builds. `false` pauses it.
        optional active: bool,
        /// Tags of the runner, separated by commas or as an array.
        optional tag_list: CommaSeparated,
        /// Whether the runner executes builds without tags.
        optional run_untagged: bool,
        /// Whether the runner cannot be assigned to further projects.
        optional locked: bool,
    }
}

async fn update(context: RequestContext, params: UpdateRunner) -> ApiResult<Body<RunnerDetail>> {
    let changes = RunnerChanges {
        description: params.description,
        active: params.active,
        tags: params.tag_list.map(|CommaSeparated(tags)| tags),
        run_untagged: params.run_untagged,
        locked: params.locked,
    };
    if changes == RunnerChanges::default() {
        return Err(ApiError::at_least_one_required(&["description", "active", "tag_list", "run_untagged", "locked"]));
    }
    Ok(Body(detail(runner::update(context.app(), &context.actor, params.id, changes).await?, context.site())))
}

async fn delete(context: RequestContext, params: OneRunner) -> ApiResult<Body<RunnerBody>> {
    Ok(Body(present_runner(&runner::delete(context.app(), &context.actor, params.id).await?)))
}

params! {
    struct RunnersOfProject {
        required id: ProjectRef,
        /// Only runners of this state or type. `online` means contact within the last hour.
        optional scope: Which,
    }
}

async fn list_for_project(context: RequestContext, params: RunnersOfProject) -> ApiResult<PageBody<RunnerBody>> {
    let scope = params.scope.map(to_scope);
    let page = runner::list_for_project(context.app(), &context.actor, &params.id, scope, context.page).await?;
    Ok(PageBody(page.map(|it| present_runner(&it))))
}

params! {
    struct RunnerOfProject {
        required id: ProjectRef,
        /// Id of the runner.
        required runner_id: RunnerId,
    }
}

async fn assign(context: RequestContext, params: RunnerOfProject) -> ApiResult<Created<RunnerBody>> {
    Ok(Created(present_runner(&runner::assign(context.app(), &context.actor, &params.id, params.runner_id).await?)))
}

async fn unassign(context: RequestContext, params: RunnerOfProject) -> ApiResult<Body<RunnerBody>> {
    Ok(Body(present_runner(&runner::unassign(context.app(), &context.actor, &params.id, params.runner_id).await?)))
}

pub fn routes(routes: &mut Routes) {
    let read = Access::Instance(ReadRunners);
    routes.add(Method::GET, "/runners", read, "List the runners of projects that the current user manages", list);
    routes.add(Method::GET, "/runners/all", Access::Instance(ManageRunners), "List all runners", list_all);
    routes.add(Method::GET, "/runners/:id", read, "Get a runner", show);
    routes.add(Method::PUT, "/runners/:id", read, "Update a runner", update);
    routes.add(Method::DELETE, "/runners/:id", read, "Delete a runner", delete);
    const OF_PROJECT: &str = "/projects/:id/runners";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, OF_PROJECT, manage, "List the specific and shared runners of a project", list_for_project);
    routes.add(Method::POST, OF_PROJECT, manage, "Assign a runner to a project", assign);
    const ONE: &str = "/projects/:id/runners/:runner_id";
    routes.add(Method::DELETE, ONE, manage, "Remove a runner from a project", unassign);
}
