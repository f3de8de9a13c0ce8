use axum::http::Method;
use holdfast_app::ci::artifact_files::ArtifactFile;
use holdfast_app::ci::build::{self, Build, ListBuilds};
use holdfast_app::ci::{artifact, artifact_files, trace};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::InstanceAction::ReadUsers;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use crate::api::shared::builds::{BuildScope, to_statuses};
use crate::present::v4::job::{JobBody, present_job};
use crate::response::{Body, Created, KeysetPage, ListBody, NoContent};
use crate::user_content::{ArtifactFileResponse, ArtifactResponse, TraceResponse};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum Pagination { Offset = "offset", Keyset = "keyset" }
}

choice! {
    enum Order { Id = "id" }
}

choice! {
    enum Sort { Desc = "desc" }
}

params! {
    struct ListJobs {
        required id: ProjectRef,
        /// Only jobs with one of these statuses.
        list scope: BuildScope,
        /// Whether to include jobs that were retried.
        optional include_retried: bool,
        /// `keyset` for parts that begin after a job instead of numbered pages. The header `Link` has the address of
        /// the next part.
        optional pagination: Pagination,
        /// Jobs are sorted by id.
        optional order_by: Order,
        /// The newest jobs are first.
        optional sort: Sort,
        /// Beginning of a part, from the header `Link` of the part before.
        optional cursor: BuildId,
    }
}

fn present(build: Build, context: &RequestContext) -> JobBody {
    present_job(build, context.app().now(), context.site())
}

async fn list(context: RequestContext, params: ListJobs) -> ApiResult<ListBody<JobBody>> {
    let statuses = to_statuses(params.scope);
    let input = ListBuilds { statuses, include_superseded: params.include_retried.unwrap_or(false) };
    let (app, actor, page) = (context.app(), &context.actor, context.page);
    if params.pagination != Some(Pagination::Keyset) {
        let page = build::list_selected(app, actor, &params.id, input, page).await?;
        return Ok(ListBody::Page(page.map(|it| present(it, &context))));
    }
    let part = build::list_before(app, actor, &params.id, input, params.cursor, page).await?;
    let last = part.builds.last().filter(|_| part.has_next);
    let next = last.map(|last| ("cursor", last.id.to_string()));
    let items = part.builds.into_iter().map(|it| present(it, &context)).collect();
    Ok(ListBody::Keyset(KeysetPage { items, next }))
}

params! {
    struct OneJob {
        required id: ProjectRef,
        required job_id: BuildId,
    }
}

async fn show(context: RequestContext, params: OneJob) -> ApiResult<Body<JobBody>> {
    let build = build::show(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(Body(present(build, &context)))
}

async fn show_own(context: RequestContext, (): ()) -> ApiResult<Body<JobBody>> {
    let build = build::show_own(context.app(), &context.actor).await?;
    Ok(Body(present(build, &context)))
}

async fn show_trace(context: RequestContext, params: OneJob) -> ApiResult<TraceResponse> {
    let trace = trace::show(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(TraceResponse { build: params.job_id, trace })
}

async fn download_artifacts(context: RequestContext, params: OneJob) -> ApiResult<ArtifactResponse> {
    Ok(ArtifactResponse(artifact::show(context.app(), &context.actor, &params.id, params.job_id).await?))
}

params! {
    struct ArtifactsOfRef {
        required id: ProjectRef,
        /// Branch or tag, with slashes as %2F.
        required ref_name: String,
        /// Name of the job in the CI file.
        required job: String,
    }
}

async fn download_latest_artifacts(context: RequestContext, params: ArtifactsOfRef) -> ApiResult<ArtifactResponse> {
    let ArtifactsOfRef { id, ref_name, job } = params;
    Ok(ArtifactResponse(artifact::show_latest(context.app(), &context.actor, &id, &ref_name, &job).await?))
}

/// Responds with a file, or with 404 if the job has no artifacts.
fn respond_with_file(found: Option<ArtifactFile>) -> ApiResult<ArtifactFileResponse> {
    Ok(ArtifactFileResponse(found.ok_or(Error::NotFound(Resource::Record))?))
}

params! {
    struct FileOfArtifacts {
        flatten job: OneJob,
        /// Path of the file in the artifacts.
        required artifact_path: String,
    }
}

async fn download_file(context: RequestContext, params: FileOfArtifacts) -> ApiResult<ArtifactFileResponse> {
    let (OneJob { id, job_id }, path) = (params.job, params.artifact_path);
    respond_with_file(artifact_files::open(context.app(), &context.actor, &id, job_id, &path).await?)
}

params! {
    struct FileOfRef {
        flatten artifacts: ArtifactsOfRef,
        /// Path of the file in the artifacts.
        required artifact_path: String,
    }
}

async fn download_latest_file(context: RequestContext, params: FileOfRef) -> ApiResult<ArtifactFileResponse> {
    let (ArtifactsOfRef { id, ref_name, job }, path) = (params.artifacts, params.artifact_path);
    let (app, actor) = (context.app(), &context.actor);
    respond_with_file(artifact_files::open_latest(app, actor, &id, &ref_name, &job, &path).await?)
}

async fn cancel(context: RequestContext, params: OneJob) -> ApiResult<Created<JobBody>> {
    let canceled = build::cancel(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(Created(present(canceled, &context)))
}

async fn retry(context: RequestContext, params: OneJob) -> ApiResult<Created<JobBody>> {
    let retried = build::retry(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(Created(present(retried, &context)))
}

async fn erase(context: RequestContext, params: OneJob) -> ApiResult<Created<JobBody>> {
    let erased = build::erase(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(Created(present(erased, &context)))
}

async fn play(context: RequestContext, params: OneJob) -> ApiResult<Created<JobBody>> {
    let played = build::play(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(Created(present(played, &context)))
}

async fn keep_artifacts(context: RequestContext, params: OneJob) -> ApiResult<Created<JobBody>> {
    let kept = build::keep_artifacts(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(Created(present(kept, &context)))
}

async fn delete_artifacts(context: RequestContext, params: OneJob) -> ApiResult<NoContent> {
    build::delete_artifacts(context.app(), &context.actor, &params.id, params.job_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    routes.add_for_builds(Method::GET, "/job", Access::Instance(ReadUsers), "Get the job of a job token", show_own);
    let (read, manage) = (Access::Project(ReadBuilds), Access::Project(ManageBuilds));
    routes.add(Method::GET, "/projects/:id/jobs", read, "List the jobs of a project", list);
    routes.add(Method::GET, "/projects/:id/jobs/:job_id", read, "Get a job", show);
    routes.add(Method::GET, "/projects/:id/jobs/:job_id/trace", read, "Get the trace of a job", show_trace);
    const ARTIFACTS: &str = "/projects/:id/jobs/:job_id/artifacts";
    routes.add_for_builds(Method::GET, ARTIFACTS, read, "Download the artifacts of a job", download_artifacts);
    routes.add(Method::DELETE, ARTIFACTS, manage, "Delete the artifacts of a job", delete_artifacts);
    const OF_REF: &str = "/projects/:id/jobs/artifacts/:ref_name/download";
    let summary = "Download the artifacts of the latest successful pipeline of a ref";
    routes.add_for_builds(Method::GET, OF_REF, read, summary, download_latest_artifacts);
    const FILE: &str = "/projects/:id/jobs/:job_id/artifacts/:artifact_path*";
    routes.add_for_builds(Method::GET, FILE, read, "Download a file of the artifacts of a job", download_file);
    const FILE_OF_REF: &str = "/projects/:id/jobs/artifacts/:ref_name/raw/:artifact_path*";
    let summary = "Download a file of the artifacts of the latest successful pipeline of a ref";
    routes.add_for_builds(Method::GET, FILE_OF_REF, read, summary, download_latest_file);
    routes.add(Method::POST, "/projects/:id/jobs/:job_id/cancel", manage, "Cancel a job", cancel);
    routes.add(Method::POST, "/projects/:id/jobs/:job_id/retry", manage, "Retry a job", retry);
    routes.add(Method::POST, "/projects/:id/jobs/:job_id/erase", manage, "Erase a job", erase);
    routes.add(Method::POST, "/projects/:id/jobs/:job_id/play", manage, "Start a manual job", play);
    const KEEP: &str = "/projects/:id/jobs/:job_id/artifacts/keep";
    routes.add(Method::POST, KEEP, manage, "Keep the artifacts of a job", keep_artifacts);
}
