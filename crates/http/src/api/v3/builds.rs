use axum::http::Method;
use holdfast_app::ci::{artifact, build, trace};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ci::Status;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::present::build::{BuildBody, build as present};
use crate::stored::{Left, Said};
use crate::{Access, Cx, Routes, choice, params};

choice! {
    pub(super) enum Scope {
        Created = "created",
        Pending = "pending",
        Running = "running",
        Failed = "failed",
        Success = "success",
        Canceled = "canceled",
        Skipped = "skipped",
    }
}

impl From<Scope> for Status {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Created => Self::Created,
            Scope::Pending => Self::Pending,
            Scope::Running => Self::Running,
            Scope::Failed => Self::Failed,
            Scope::Success => Self::Success,
            Scope::Canceled => Self::Canceled,
            Scope::Skipped => Self::Skipped,
        }
    }
}

fn statuses(scopes: Vec<Scope>) -> Vec<Status> {
    scopes.into_iter().map(Into::into).collect()
}

params! {
    struct ListBuilds {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Builds of these statuses alone.
        list scope: Scope,
    }
}

async fn list(cx: Cx, params: ListBuilds) -> ApiResult<Listed<BuildBody>> {
    let page = build::list(cx.app(), &cx.actor, &params.id, statuses(params.scope), cx.page).await?;
    Ok(Listed(page.map(|it| present(it, cx.site()))))
}

params! {
    struct BuildsOfCommit {
        including builds: ListBuilds,
        /// A commit, a branch or a tag.
        required sha: String,
    }
}

async fn of_commit(cx: Cx, params: BuildsOfCommit) -> ApiResult<Listed<BuildBody>> {
    let BuildsOfCommit { builds, sha } = params;
    let page = build::of_commit(cx.app(), &cx.actor, &builds.id, &sha, statuses(builds.scope), cx.page).await?;
    Ok(Listed(page.map(|it| present(it, cx.site()))))
}

params! {
    struct OneBuild {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required build_id: BuildId,
    }
}

async fn show(cx: Cx, params: OneBuild) -> ApiResult<Body<BuildBody>> {
    Ok(Body(present(build::show(cx.app(), &cx.actor, &params.id, params.build_id).await?, cx.site())))
}

async fn show_trace(cx: Cx, params: OneBuild) -> ApiResult<Said> {
    let trace = trace::show(cx.app(), &cx.actor, &params.id, params.build_id).await?;
    Ok(Said { build: params.build_id, trace })
}

async fn show_artifacts(cx: Cx, params: OneBuild) -> ApiResult<Left> {
    Ok(Left(artifact::show(cx.app(), &cx.actor, &params.id, params.build_id).await?))
}

params! {
    struct ArtifactsOfRef {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A branch or a tag, its slashes as %2F.
        required ref_name: String,
        /// The name of a build.
        required job: String,
    }
}

async fn artifacts_of_ref(cx: Cx, params: ArtifactsOfRef) -> ApiResult<Left> {
    Ok(Left(artifact::of_ref(cx.app(), &cx.actor, &params.id, &params.ref_name, &params.job).await?))
}

async fn cancel(cx: Cx, params: OneBuild) -> ApiResult<Created<BuildBody>> {
    Ok(Created(present(build::cancel(cx.app(), &cx.actor, &params.id, params.build_id).await?, cx.site())))
}

async fn retry(cx: Cx, params: OneBuild) -> ApiResult<Created<BuildBody>> {
    Ok(Created(present(build::retry(cx.app(), &cx.actor, &params.id, params.build_id).await?, cx.site())))
}

async fn erase(cx: Cx, params: OneBuild) -> ApiResult<Created<BuildBody>> {
    Ok(Created(present(build::erase(cx.app(), &cx.actor, &params.id, params.build_id).await?, cx.site())))
}

async fn keep(cx: Cx, params: OneBuild) -> ApiResult<Body<BuildBody>> {
    Ok(Body(present(build::keep_artifacts(cx.app(), &cx.actor, &params.id, params.build_id).await?, cx.site())))
}

async fn play(cx: Cx, params: OneBuild) -> ApiResult<Body<BuildBody>> {
    Ok(Body(present(build::play(cx.app(), &cx.actor, &params.id, params.build_id).await?, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    let (read, manage) = (Access::Project(ReadBuilds), Access::Project(ManageBuilds));
    routes.add(Method::GET, "/projects/:id/builds", read, "Lists builds, newest first", list);
    const OF_COMMIT: &str = "/projects/:id/repository/commits/:sha/builds";
    routes.add(Method::GET, OF_COMMIT, read, "Lists the builds of a commit", of_commit);
    routes.add(Method::GET, "/projects/:id/builds/:build_id", read, "Shows a build", show);
    const TRACE: &str = "/projects/:id/builds/:build_id/trace";
    routes.add(Method::GET, TRACE, read, "Shows what a build said", show_trace);
    const ARTIFACTS: &str = "/projects/:id/builds/:build_id/artifacts";
    routes.add(Method::GET, ARTIFACTS, read, "Gives the files that a build left", show_artifacts);
    const OF_REF: &str = "/projects/:id/builds/artifacts/:ref_name/download";
    let summary = "Gives the files that a build left in the newest pipeline of a ref that succeeded";
    routes.add(Method::GET, OF_REF, read, summary, artifacts_of_ref);
    const CANCEL: &str = "/projects/:id/builds/:build_id/cancel";
    routes.add(Method::POST, CANCEL, manage, "Cancels a build", cancel);
    const RETRY: &str = "/projects/:id/builds/:build_id/retry";
    routes.add(Method::POST, RETRY, manage, "Builds anew; the answer is the new build", retry);
    const ERASE: &str = "/projects/:id/builds/:build_id/erase";
    routes.add(Method::POST, ERASE, manage, "Removes what a build said and left", erase);
    const KEEP: &str = "/projects/:id/builds/:build_id/artifacts/keep";
    routes.add(Method::POST, KEEP, manage, "Keeps what a build left for ever; the answer is 200", keep);
    const PLAY: &str = "/projects/:id/builds/:build_id/play";
    routes.add(Method::POST, PLAY, manage, "Starts a manual build; the answer is 200", play);
}
