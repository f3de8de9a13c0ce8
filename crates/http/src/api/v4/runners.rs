use axum::http::{Method, StatusCode};
use holdfast_app::ci::runner::{self, RunnerAttributes, RunnerChanges, RunnerConditions, RunnerFilter, RunnerStatus};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{ProjectId, RunnerId};
use holdfast_domain::policy::InstanceAction::{ManageRunners, ReadRunners};
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use crate::error::ApiError;
use crate::params::CommaSeparated;
use crate::present::v4::runner::{
    CreatedRunnerBody, RunnerDetailBody, RunnerSummary, present_created, present_detail, present_runner,
};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum RunnerType { Instance = "instance_type", Project = "project_type" }
}

choice! {
    enum StatusWord {
        Online = "online",
        Offline = "offline",
        Stale = "stale",
        NeverContacted = "never_contacted",
    }
}

params! {
    struct Filters {
        /// `instance_type` for shared runners, `project_type` for runners of projects.
        optional r#type: RunnerType,
        /// Whether the runner contacts the server: `online` within the last hour, `stale` not for more than a week.
        optional status: StatusWord,
        /// Whether the runner is paused.
        optional paused: bool,
        /// Only runners with all these tags, separated by commas or as an array.
        optional tag_list: CommaSeparated,
    }
}

impl From<Filters> for RunnerFilter {
    fn from(filters: Filters) -> Self {
        Self::All(RunnerConditions {
            is_active: filters.paused.map(|is_paused| !is_paused),
            is_shared: filters.r#type.map(|it| it == RunnerType::Instance),
            status: filters.status.map(|word| match word {
                StatusWord::Online => RunnerStatus::Online,
                StatusWord::Offline => RunnerStatus::Offline,
                StatusWord::Stale => RunnerStatus::Stale,
                StatusWord::NeverContacted => RunnerStatus::NeverContacted,
            }),
            tags: filters.tag_list.map(|CommaSeparated(tags)| tags).unwrap_or_default(),
        })
    }
}

async fn list(context: RequestContext, filters: Filters) -> ApiResult<PageBody<RunnerSummary>> {
    let page = runner::list(context.app(), &context.actor, Some(filters.into()), context.page).await?;
    Ok(PageBody(page.map(|it| present_runner(&it, context.app().now()))))
}

async fn list_all(context: RequestContext, filters: Filters) -> ApiResult<PageBody<RunnerSummary>> {
    let page = runner::list_all(context.app(), &context.actor, Some(filters.into()), context.page).await?;
    Ok(PageBody(page.map(|it| present_runner(&it, context.app().now()))))
}

params! {
    struct OneRunner {
        required id: RunnerId,
    }
}

async fn show(context: RequestContext, params: OneRunner) -> ApiResult<Body<RunnerDetailBody>> {
    let detail = runner::show(context.app(), &context.actor, params.id).await?;
    Ok(Body(present_detail(detail, context.app().now(), context.site())))
}

params! {
    struct UpdateRunner {
        required id: RunnerId,
        /// Description of the runner.
        optional description: String,
        /// Whether the runner receives no jobs.
        optional paused: bool,
        /// The opposite of `paused`, which takes precedence.
        optional active: bool,
        /// Tags of the runner, separated by commas or as an array.
        optional tag_list: CommaSeparated,
        /// Whether the runner executes jobs without tags.
        optional run_untagged: bool,
        /// Whether the runner cannot be assigned to further projects.
        optional locked: bool,
    }
}

async fn update(context: RequestContext, params: UpdateRunner) -> ApiResult<Body<RunnerDetailBody>> {
    let changes = RunnerChanges {
        description: params.description,
        active: params.paused.map(|is_paused| !is_paused).or(params.active),
        tags: params.tag_list.map(|CommaSeparated(tags)| tags),
        run_untagged: params.run_untagged,
        locked: params.locked,
    };
    if changes == RunnerChanges::default() {
        let names = ["description", "paused", "active", "tag_list", "run_untagged", "locked"];
        return Err(ApiError::at_least_one_required(&names));
    }
    let detail = runner::update(context.app(), &context.actor, params.id, changes).await?;
    Ok(Body(present_detail(detail, context.app().now(), context.site())))
}

async fn delete(context: RequestContext, params: OneRunner) -> ApiResult<NoContent> {
    runner::delete(context.app(), &context.actor, params.id).await?;
    Ok(NoContent)
}

params! {
    struct CreateRunner {
        /// `instance_type` for a shared runner, which only administrators may create, or `project_type`.
        required runner_type: RunnerType,
        /// Id of the project of a runner of the type `project_type`.
        optional project_id: ProjectId,
        /// Description of the runner.
        optional description: String,
        /// Whether the runner receives no jobs.
        optional paused: bool,
        /// Whether the runner cannot be assigned to further projects.
        optional locked: bool,
        /// Whether the runner executes jobs without tags, `true` by default.
        optional run_untagged: bool,
        /// Tags of the runner, separated by commas or as an array.
        optional tag_list: CommaSeparated,
        /// Maximum duration of a job on this runner in seconds, at least 600.
        optional maximum_timeout: i32,
    }
}

async fn create(context: RequestContext, params: CreateRunner) -> ApiResult<Created<CreatedRunnerBody>> {
    let invalid = |text: &str| ApiError::error(StatusCode::BAD_REQUEST, text);
    let project = match (params.runner_type, params.project_id) {
        (RunnerType::Instance, None) => None,
        (RunnerType::Instance, Some(_)) => return Err(invalid("project_id is invalid")),
        (RunnerType::Project, None) => return Err(invalid("project_id is missing")),
        (RunnerType::Project, Some(id)) => Some(ProjectRef::Id(id)),
    };
    let attributes = RunnerAttributes {
        description: params.description,
        active: !params.paused.unwrap_or(false),
        locked: params.locked.unwrap_or(false),
        run_untagged: params.run_untagged.unwrap_or(true),
        tags: params.tag_list.map(|CommaSeparated(tags)| tags).unwrap_or_default(),
        max_run_seconds: params.maximum_timeout,
    };
    let created = runner::create(context.app(), &context.actor, project.as_ref(), attributes).await?;
    Ok(Created(present_created(created)))
}

params! {
    struct RunnersOfProject {
        required id: ProjectRef,
        flatten filters: Filters,
    }
}

async fn list_for_project(context: RequestContext, params: RunnersOfProject) -> ApiResult<PageBody<RunnerSummary>> {
    let filter = Some(params.filters.into());
    let page = runner::list_for_project(context.app(), &context.actor, &params.id, filter, context.page).await?;
    Ok(PageBody(page.map(|it| present_runner(&it, context.app().now()))))
}

params! {
    struct RunnerOfProject {
        required id: ProjectRef,
        /// Id of the runner.
        required runner_id: RunnerId,
    }
}

async fn assign(context: RequestContext, params: RunnerOfProject) -> ApiResult<Created<RunnerSummary>> {
    let assigned = runner::assign(context.app(), &context.actor, &params.id, params.runner_id).await?;
    Ok(Created(present_runner(&assigned, context.app().now())))
}

async fn unassign(context: RequestContext, params: RunnerOfProject) -> ApiResult<NoContent> {
    runner::unassign(context.app(), &context.actor, &params.id, params.runner_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    let read = Access::Instance(ReadRunners);
    routes.add(Method::GET, "/runners", read, "List the runners of projects that the current user manages", list);
    routes.add(Method::GET, "/runners/all", Access::Instance(ManageRunners), "List all runners", list_all);
    routes.add(Method::GET, "/runners/:id", read, "Get a runner", show);
    routes.add(Method::PUT, "/runners/:id", read, "Update a runner", update);
    routes.add(Method::DELETE, "/runners/:id", read, "Delete a runner", delete);
    routes.add(Method::POST, "/user/runners", read, "Create a runner and its token", create);
    const OF_PROJECT: &str = "/projects/:id/runners";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, OF_PROJECT, manage, "List the specific and shared runners of a project", list_for_project);
    routes.add(Method::POST, OF_PROJECT, manage, "Assign a runner to a project", assign);
    const ONE: &str = "/projects/:id/runners/:runner_id";
    routes.add(Method::DELETE, ONE, manage, "Remove a runner from a project", unassign);
}
