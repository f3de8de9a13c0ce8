use axum::http::Method;
use holdfast_app::ci::build::{self, ListBuilds};
use holdfast_app::ci::creation;
use holdfast_app::ci::pipeline::{self, PipelineFilter};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::PipelineId;
use holdfast_domain::page::Page;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder};
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use crate::api::shared::builds::{BuildScope, to_statuses};
use crate::params::{FromValue, ParamError};
use crate::present::v4::job::{JobBody, present_job};
use crate::present::v4::pipeline::{
    PipelineBasic, PipelineDetailBody, PipelineVariableBody, present_basic, present_pipeline, present_variable,
};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum Order { Id = "id" }
}

choice! {
    enum Sort { Asc = "asc", Desc = "desc" }
}

params! {
    struct ListPipelines {
        required id: ProjectRef,
        /// Only pipelines of this branch or tag.
        optional r#ref: String,
        /// Only pipelines of this commit.
        optional sha: String,
        /// Only pipelines with this status. Needs `sha`; the status `success` needs `sha` or `ref`.
        optional status: BuildScope,
        /// Pipelines are sorted by id.
        optional order_by: Order,
        /// `desc` by default: the newest first.
        optional sort: Sort,
    }
}

async fn list(context: RequestContext, params: ListPipelines) -> ApiResult<PageBody<PipelineBasic>> {
    let filter = PipelineFilter {
        ref_name: params.r#ref,
        sha: params.sha,
        status: params.status.map(Into::into),
        oldest_first: params.sort == Some(Sort::Asc),
    };
    let page = pipeline::list_filtered(context.app(), &context.actor, &params.id, filter, context.page).await?;
    Ok(PageBody(page.map(|it| present_basic(&it, &it.project_path, context.site()))))
}

params! {
    struct LatestPipeline {
        required id: ProjectRef,
        /// Branch or tag, by default the default branch.
        optional r#ref: String,
    }
}

async fn show_latest(context: RequestContext, params: LatestPipeline) -> ApiResult<Body<PipelineDetailBody>> {
    let ref_name = params.r#ref.as_deref();
    let latest = pipeline::show_latest(context.app(), &context.actor, &params.id, ref_name).await?;
    Ok(Body(present_pipeline(latest, context.site())))
}

params! {
    struct OnePipeline {
        required id: ProjectRef,
        required pipeline_id: PipelineId,
    }
}

async fn show(context: RequestContext, params: OnePipeline) -> ApiResult<Body<PipelineDetailBody>> {
    let pipeline = pipeline::show(context.app(), &context.actor, &params.id, params.pipeline_id).await?;
    Ok(Body(present_pipeline(pipeline, context.site())))
}

params! {
    struct JobsOfPipeline {
        flatten pipeline: OnePipeline,
        /// Only jobs with one of these statuses.
        list scope: BuildScope,
        /// Whether to include jobs that were retried.
        optional include_retried: bool,
    }
}

async fn list_jobs(context: RequestContext, params: JobsOfPipeline) -> ApiResult<PageBody<JobBody>> {
    let OnePipeline { id, pipeline_id } = params.pipeline;
    let statuses = to_statuses(params.scope);
    let input = ListBuilds { statuses, include_superseded: params.include_retried.unwrap_or(false) };
    let page = build::list_for_pipeline(context.app(), &context.actor, &id, pipeline_id, input, context.page).await?;
    let now = context.app().now();
    Ok(PageBody(page.map(|it| present_job(it, now, context.site()))))
}

async fn list_variables(context: RequestContext, params: OnePipeline) -> ApiResult<PageBody<PipelineVariableBody>> {
    let mut variables = pipeline::list_variables(context.app(), &context.actor, &params.id, params.pipeline_id).await?;
    let total = variables.len();
    let shown: Vec<_> = variables.drain(context.page.range(total)).map(present_variable).collect();
    Ok(PageBody(Page::with_total(shown, context.page, total)))
}

/// The variables of a new pipeline, as a list of objects: `[{"key": "NAME", "value": "text"}]`.
struct NewVariables(Vec<(String, String)>);

impl FromValue for NewVariables {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let variable = |item: &Value| {
            let kind = item.get("variable_type").filter(|kind| !kind.is_null());
            if kind.is_some_and(|kind| kind != "env_var") {
                return Err(ParamError::NotAllowed);
            }
            let text = |name: &str| String::from_value(item.get(name).unwrap_or(&Value::Null));
            Ok((text("key")?, text("value")?))
        };
        let items = value.as_array().ok_or(ParamError::Invalid)?;
        items.iter().map(variable).collect::<Result<_, _>>().map(Self)
    }

    fn schema() -> RefOr<Schema> {
        let variable = ObjectBuilder::new()
            .property("key", String::schema())
            .property("value", String::schema())
            .property("variable_type", String::schema())
            .required("key")
            .required("value");
        ArrayBuilder::new().items(variable).into()
    }
}

params! {
    struct CreatePipeline {
        required id: ProjectRef,
        /// Branch or tag.
        required r#ref: String,
        /// Variables for the jobs, with `key` and `value`; the only `variable_type` is `env_var`. Names reserved for
        /// the server, git, shells, the dynamic loader and proxies are rejected.
        optional variables: NewVariables,
    }
}

async fn create(context: RequestContext, params: CreatePipeline) -> ApiResult<Created<PipelineDetailBody>> {
    let variables = params.variables.map(|NewVariables(given)| given).unwrap_or_default();
    let (actor, ref_name) = (&context.actor, &params.r#ref);
    let created = creation::create_with_variables(context.app(), actor, &params.id, ref_name, &variables).await?;
    Ok(Created(present_pipeline(created, context.site())))
}

async fn retry(context: RequestContext, params: OnePipeline) -> ApiResult<Created<PipelineDetailBody>> {
    let retried = pipeline::retry(context.app(), &context.actor, &params.id, params.pipeline_id).await?;
    Ok(Created(present_pipeline(retried, context.site())))
}

async fn cancel(context: RequestContext, params: OnePipeline) -> ApiResult<Created<PipelineDetailBody>> {
    let canceled = pipeline::cancel(context.app(), &context.actor, &params.id, params.pipeline_id).await?;
    Ok(Created(present_pipeline(canceled, context.site())))
}

pub fn routes(routes: &mut Routes) {
    let (read, manage) = (Access::Project(ReadBuilds), Access::Project(ManageBuilds));
    routes.add(Method::GET, "/projects/:id/pipelines", read, "List the pipelines of a project", list);
    const LATEST: &str = "/projects/:id/pipelines/latest";
    routes.add(Method::GET, LATEST, read, "Get the newest pipeline of a branch or tag", show_latest);
    const ONE: &str = "/projects/:id/pipelines/:pipeline_id";
    routes.add(Method::GET, ONE, read, "Get a pipeline", show);
    const JOBS: &str = "/projects/:id/pipelines/:pipeline_id/jobs";
    routes.add(Method::GET, JOBS, read, "List the jobs of a pipeline", list_jobs);
    const VARIABLES: &str = "/projects/:id/pipelines/:pipeline_id/variables";
    let summary = "List the variables of the request that created a pipeline";
    routes.add(Method::GET, VARIABLES, manage, summary, list_variables);
    routes.add(Method::POST, "/projects/:id/pipeline", manage, "Create a pipeline for a branch or tag", create);
    const RETRY: &str = "/projects/:id/pipelines/:pipeline_id/retry";
    routes.add(Method::POST, RETRY, manage, "Retry the failed and canceled jobs of a pipeline", retry);
    const CANCEL: &str = "/projects/:id/pipelines/:pipeline_id/cancel";
    routes.add(Method::POST, CANCEL, manage, "Cancel the unfinished jobs of a pipeline", cancel);
}
