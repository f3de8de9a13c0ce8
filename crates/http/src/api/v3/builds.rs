use axum::http::Method;
use holdfast_app::ci::{artifact, build, trace};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use crate::api::shared::builds::{BuildScope, to_statuses};
use crate::present::build::{BuildBody, present_build};
use crate::response::{Body, Created, PageBody};
use crate::user_content::{ArtifactResponse, TraceResponse};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListBuilds {
        required id: ProjectRef,
        /// Only builds with one of these statuses.
        list scope: BuildScope,
    }
}

async fn list(context: RequestContext, params: ListBuilds) -> ApiResult<PageBody<BuildBody>> {
    let page = build::list(context.app(), &context.actor, &params.id, to_statuses(params.scope), context.page).await?;
    Ok(PageBody(page.map(|it| present_build(it, context.site()))))
}

params! {
    struct BuildsOfCommit {
        flatten builds: ListBuilds,
        /// Commit, branch or tag.
        required sha: String,
    }
}

async fn list_for_commit(context: RequestContext, params: BuildsOfCommit) -> ApiResult<PageBody<BuildBody>> {
    let BuildsOfCommit { builds, sha } = params;
    let page = build::list_for_commit(
        context.app(),
        &context.actor,
        &builds.id,
        &sha,
        to_statuses(builds.scope),
        context.page,
    )
    .await?;
    Ok(PageBody(page.map(|it| present_build(it, context.site()))))
}

params! {
    struct OneBuild {
        required id: ProjectRef,
        required build_id: BuildId,
    }
}

async fn show(context: RequestContext, params: OneBuild) -> ApiResult<Body<BuildBody>> {
    Ok(Body(present_build(
        build::show(context.app(), &context.actor, &params.id, params.build_id).await?,
        context.site(),
    )))
}

async fn show_trace(context: RequestContext, params: OneBuild) -> ApiResult<TraceResponse> {
    let trace = trace::show(context.app(), &context.actor, &params.id, params.build_id).await?;
    Ok(TraceResponse { build: params.build_id, trace })
}

async fn download_artifacts(context: RequestContext, params: OneBuild) -> ApiResult<ArtifactResponse> {
    Ok(ArtifactResponse(artifact::show(context.app(), &context.actor, &params.id, params.build_id).await?))
}

params! {
    struct ArtifactsOfRef {
        required id: ProjectRef,
        /// Branch or tag, with slashes as %2F.
        required ref_name: String,
        /// Name of the build in the CI file.
        required job: String,
    }
}

async fn download_latest_artifacts(context: RequestContext, params: ArtifactsOfRef) -> ApiResult<ArtifactResponse> {
    Ok(ArtifactResponse(
        artifact::show_latest(context.app(), &context.actor, &params.id, &params.ref_name, &params.job).await?,
    ))
}

async fn cancel(context: RequestContext, params: OneBuild) -> ApiResult<Created<BuildBody>> {
    Ok(Created(present_build(
        build::cancel(context.app(), &context.actor, &params.id, params.build_id).await?,
        context.site(),
    )))
}

async fn retry(context: RequestContext, params: OneBuild) -> ApiResult<Created<BuildBody>> {
    Ok(Created(present_build(
        build::retry(context.app(), &context.actor, &params.id, params.build_id).await?,
        context.site(),
    )))
}

async fn erase(context: RequestContext, params: OneBuild) -> ApiResult<Created<BuildBody>> {
    Ok(Created(present_build(
        build::erase(context.app(), &context.actor, &params.id, params.build_id).await?,
        context.site(),
    )))
}

async fn keep_artifacts(context: RequestContext, params: OneBuild) -> ApiResult<Body<BuildBody>> {
    Ok(Body(present_build(
        build::keep_artifacts(context.app(), &context.actor, &params.id, params.build_id).await?,
        context.site(),
    )))
}

async fn play(context: RequestContext, params: OneBuild) -> ApiResult<Body<BuildBody>> {
    Ok(Body(present_build(
        build::play(context.app(), &context.actor, &params.id, params.build_id).await?,
        context.site(),
    )))
}

pub fn routes(routes: &mut Routes) {
    let (read, manage) = (Access::Project(ReadBuilds), Access::Project(ManageBuilds));
    routes.add(Method::GET, "/projects/:id/builds", read, "List the builds of a project", list);
    const OF_COMMIT: &str = "/projects/:id/repository/commits/:sha/builds";
    routes.add(Method::GET, OF_COMMIT, read, "List the builds of a commit", list_for_commit);
    routes.add(Method::GET, "/projects/:id/builds/:build_id", read, "Get a build", show);
    const TRACE: &str = "/projects/:id/builds/:build_id/trace";
    routes.add(Method::GET, TRACE, read, "Get the trace of a build", show_trace);
    const ARTIFACTS: &str = "/projects/:id/builds/:build_id/artifacts";
    routes.add(Method::GET, ARTIFACTS, read, "Download the artifacts of a build", download_artifacts);
    const OF_REF: &str = "/projects/:id/builds/artifacts/:ref_name/download";
    let summary = "Download the artifacts of the latest successful pipeline of a ref";
    routes.add(Method::GET, OF_REF, read, summary, download_latest_artifacts);
    const CANCEL: &str = "/projects/:id/builds/:build_id/cancel";
    routes.add(Method::POST, CANCEL, manage, "Cancel a build", cancel);
    const RETRY: &str = "/projects/:id/builds/:build_id/retry";
    routes.add(Method::POST, RETRY, manage, "Retry a build", retry);
    const ERASE: &str = "/projects/:id/builds/:build_id/erase";
    routes.add(Method::POST, ERASE, manage, "Erase a build", erase);
    const KEEP: &str = "/projects/:id/builds/:build_id/artifacts/keep";
    routes.add(Method::POST, KEEP, manage, "Keep the artifacts of a build", keep_artifacts);
    const PLAY: &str = "/projects/:id/builds/:build_id/play";
    routes.add(Method::POST, PLAY, manage, "Start a manual build", play);
}
