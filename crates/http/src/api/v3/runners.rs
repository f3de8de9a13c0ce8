use axum::http::Method;
use holdfast_app::ci::runner::{self, RunnerChanges, Scope};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::policy::InstanceAction::{ManageRunners, ReadRunners};
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::params::Words;
use crate::present::runner::{RunnerBody, RunnerDetail, detail, runner as present};
use crate::{Access, Cx, Routes, choice, params};

choice! {
    enum Which {
        Active = "active",
        Paused = "paused",
        Online = "online",
        Specific = "specific",
        Shared = "shared",
    }
}

fn scope(which: Which) -> Scope {
    match which {
        Which::Active => Scope::Active,
        Which::Paused => Scope::Paused,
        Which::Online => Scope::Online,
        Which::Specific => Scope::Specific,
        Which::Shared => Scope::Shared,
    }
}

choice! {
    enum State { Active = "active", Paused = "paused", Online = "online" }
}

params! {
    struct ListRunners {
        optional scope: State,
    }
}

async fn list(cx: Cx, params: ListRunners) -> ApiResult<Listed<RunnerBody>> {
    let only = params.scope.map(|state| match state {
        State::Active => Scope::Active,
        State::Paused => Scope::Paused,
        State::Online => Scope::Online,
    });
    let page = runner::list(cx.app(), &cx.actor, only, cx.page).await?;
    Ok(Listed(page.map(|it| present(&it))))
}

params! {
    struct ListAllRunners {
        optional scope: Which,
    }
}

async fn list_all(cx: Cx, params: ListAllRunners) -> ApiResult<Listed<RunnerBody>> {
    let page = runner::list_all(cx.app(), &cx.actor, params.scope.map(scope), cx.page).await?;
    Ok(Listed(page.map(|it| present(&it))))
}

params! {
    struct OneRunner {
        required id: RunnerId,
    }
}

async fn show(cx: Cx, params: OneRunner) -> ApiResult<Body<RunnerDetail>> {
    Ok(Body(detail(runner::show(cx.app(), &cx.actor, params.id).await?, cx.site())))
}

params! {
    struct UpdateRunner {
        required id: RunnerId,
        optional description: String,
        /// False pauses it.
        optional active: bool,
        /// Words with commas between them, or a list.
        optional tag_list: Words,
        optional run_untagged: bool,
        optional locked: bool,
    }
}

async fn update(cx: Cx, params: UpdateRunner) -> ApiResult<Body<RunnerDetail>> {
    let changes = RunnerChanges {
        description: params.description,
        active: params.active,
        tags: params.tag_list.map(|Words(tags)| tags),
        run_untagged: params.run_untagged,
        locked: params.locked,
    };
    if changes == RunnerChanges::default() {
        return Err(ApiError::at_least_one(&["description", "active", "tag_list", "run_untagged", "locked"]));
    }
    Ok(Body(detail(runner::update(cx.app(), &cx.actor, params.id, changes).await?, cx.site())))
}

async fn delete(cx: Cx, params: OneRunner) -> ApiResult<Body<RunnerBody>> {
    Ok(Body(present(&runner::delete(cx.app(), &cx.actor, params.id).await?)))
}

params! {
    struct RunnersOfProject {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        optional scope: Which,
    }
}

async fn list_of_project(cx: Cx, params: RunnersOfProject) -> ApiResult<Listed<RunnerBody>> {
    let only = params.scope.map(scope);
    let page = runner::list_of_project(cx.app(), &cx.actor, &params.id, only, cx.page).await?;
    Ok(Listed(page.map(|it| present(&it))))
}

params! {
    struct RunnerOfProject {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required runner_id: RunnerId,
    }
}

async fn assign(cx: Cx, params: RunnerOfProject) -> ApiResult<Created<RunnerBody>> {
    Ok(Created(present(&runner::assign(cx.app(), &cx.actor, &params.id, params.runner_id).await?)))
}

async fn unassign(cx: Cx, params: RunnerOfProject) -> ApiResult<Body<RunnerBody>> {
    Ok(Body(present(&runner::unassign(cx.app(), &cx.actor, &params.id, params.runner_id).await?)))
}

pub fn routes(routes: &mut Routes) {
    let read = Access::Instance(ReadRunners);
    routes.add(Method::GET, "/runners", read, "Lists the runners of projects that the caller manages", list);
    routes.add(Method::GET, "/runners/all", Access::Instance(ManageRunners), "Lists all runners", list_all);
    routes.add(Method::GET, "/runners/:id", read, "Shows a runner", show);
    routes.add(Method::PUT, "/runners/:id", read, "Changes a runner", update);
    routes.add(Method::DELETE, "/runners/:id", read, "Removes a runner", delete);
    const OF_PROJECT: &str = "/projects/:id/runners";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, OF_PROJECT, manage, "Lists a project's own runners and everybody's", list_of_project);
    routes.add(Method::POST, OF_PROJECT, manage, "Lets a runner serve another project", assign);
    const ONE: &str = "/projects/:id/runners/:runner_id";
    routes.add(Method::DELETE, ONE, manage, "Ends a runner's service for a project", unassign);
}
