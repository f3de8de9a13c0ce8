//! The list of pipelines, and the page of a pipeline with its builds.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::build::Build;
use holdfast_app::ci::pending_reason::PendingExplanation;
use holdfast_app::ci::pipeline::{Pipeline, PipelineStage, PipelineWithBuilds, ProjectPipelines};
use holdfast_app::projects::project::Project;
use holdfast_app::repository::refs::ref_address::RefAddresses;
use holdfast_domain::ci::Status;
use holdfast_domain::ci::file::When;

use super::pending::{PendingView, pending_view};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::repository::commit_line::{short_id, title};
use crate::views::status::StatusView;
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "ci/pipelines.html")]
pub struct PipelinesPage {
    pub layout: Layout,
    pub pipelines: Vec<PipelineRow>,
    pub pages: Pages,
    /// The form that runs a pipeline. None if the viewer may not, or if the repository is empty.
    pub run: Option<RunForm>,
    pub lint_url: String,
}

/// The form that runs a pipeline on a branch or tag.
#[derive(Clone, Debug)]
pub struct RunForm {
    pub action: String,
    pub ref_name: String,
    /// Why the pipeline was not created.
    pub error: Option<String>,
}

#[derive(Clone, Debug)]
pub struct PipelineRow {
    pub id: i64,
    pub url: String,
    pub status: StatusView,
    pub ref_name: String,
    /// None if the ref does not exist any more, or the viewer may not read code.
    pub ref_url: Option<String>,
    pub is_tag: bool,
    pub commit_title: String,
    pub short_id: String,
    /// None if the viewer may not read code.
    pub commit_url: Option<String>,
    pub user: Option<Person>,
    pub duration: Option<String>,
    pub created: Time,
    /// The same time as a part of a sentence.
    pub created_ago: Time,
    /// The stages, in the list of pipelines.
    pub stages: Vec<StageGlyph>,
}

/// A stage of a pipeline as an icon.
#[derive(Clone, Debug)]
pub struct StageGlyph {
    pub name: String,
    pub status: StatusView,
}

/// What the form that runs a pipeline shows after it was rejected.
#[derive(Clone, Debug, Default)]
pub struct RejectedRun {
    pub ref_name: String,
    pub error: Option<String>,
}

/// Builds the list of pipelines.
pub fn pipelines_page(
    layout: Layout,
    abilities: Abilities,
    found: &ProjectPipelines,
    rejected: RejectedRun,
    now: DateTime<Utc>,
) -> PipelinesPage {
    let ProjectPipelines { project, pipelines, stages, refs } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("Pipelines · {}", project.full_path());
    PipelinesPage {
        layout,
        pipelines: pipelines
            .items
            .iter()
            .map(|pipeline| PipelineRow { stages: glyphs(pipeline, stages), ..row(pipeline, &links, refs, now) })
            .collect(),
        pages: Pages::new(pipelines, &links.pipelines(), &[]),
        run: abilities.can_manage_builds.then(|| run_form(project, &links, rejected)).flatten(),
        lint_url: links.ci_lint(),
    }
}

/// Returns the form that runs a pipeline, with the default branch at first. Returns None for an empty repository.
fn run_form(project: &Project, links: &ProjectLinks, rejected: RejectedRun) -> Option<RunForm> {
    let default_branch = project.repository.default_branch()?;
    let ref_name = if rejected.error.is_some() { rejected.ref_name } else { default_branch.to_owned() };
    Some(RunForm { action: links.pipelines(), ref_name, error: rejected.error })
}

fn glyphs(pipeline: &Pipeline, stages: &[PipelineStage]) -> Vec<StageGlyph> {
    let own = stages.iter().filter(|stage| stage.pipeline == pipeline.id);
    own.map(|stage| StageGlyph { name: stage.name.clone(), status: stage.status.into() }).collect()
}

fn row(pipeline: &Pipeline, links: &ProjectLinks, refs: &RefAddresses, now: DateTime<Utc>) -> PipelineRow {
    PipelineRow {
        id: pipeline.id.get(),
        url: links.pipeline(pipeline.id),
        status: pipeline.status.into(),
        ref_name: pipeline.ref_name.clone(),
        ref_url: ref_url(links, refs, &pipeline.ref_name, pipeline.tag),
        is_tag: pipeline.tag,
        commit_title: title(&pipeline.commit.message).to_owned(),
        short_id: short_id(&pipeline.sha).to_owned(),
        commit_url: commit_url(links, refs, &pipeline.sha),
        user: pipeline.user.as_ref().map(Person::from_user),
        duration: pipeline.duration.filter(|_| pipeline.status.is_complete()).map(words::duration),
        created: Time::age(pipeline.created_at, now),
        created_ago: Time::ago(pipeline.created_at, now),
        stages: Vec::new(),
    }
}

#[derive(Template)]
#[template(path = "ci/pipeline.html", blocks = ["live_head", "live_body"])]
pub struct PipelinePage {
    pub layout: Layout,
    pub pipeline: PipelineRow,
    /// Why the CI file could not be used.
    pub yaml_errors: Option<String>,
    pub stages: Vec<StageView>,
    pub build_count: usize,
    /// Why builds are pending, unless they merely wait for their turn. At most [`MAX_REASONS`].
    pub pending: Vec<PendingView>,
    pub retry_url: Option<String>,
    /// The text of the button that retries builds.
    pub retry_label: &'static str,
    pub cancel_url: Option<String>,
    /// The stream of events, while something can change.
    pub live_url: Option<String>,
}

/// Maximum number of pending builds that the page of a pipeline explains.
const MAX_REASONS: usize = 5;

/// The builds of a stage.
#[derive(Clone, Debug)]
pub struct StageView {
    pub name: String,
    pub builds: Vec<BuildRow>,
}

#[derive(Clone, Debug)]
pub struct BuildRow {
    /// None for an external status, which has no page here.
    pub url: Option<String>,
    pub name: String,
    pub status: StatusView,
    pub duration: Option<String>,
    /// The action that starts a manual build, if the viewer may start it.
    pub play_url: Option<String>,
}

/// Builds the page of a pipeline.
pub fn pipeline_page(
    layout: Layout,
    abilities: Abilities,
    found: &PipelineWithBuilds,
    now: DateTime<Utc>,
) -> PipelinePage {
    let PipelineWithBuilds { project, pipeline, builds, pending, refs } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("Pipeline #{} · {}", pipeline.id, project.full_path());
    let mut stages: Vec<StageView> = Vec::new();
    for build in builds {
        let mut row = build_row(build, &links, now);
        row.play_url =
            (abilities.can_manage_builds && is_playable(build)).then(|| links.build_action(build.id, "play"));
        match stages.iter_mut().find(|stage| stage.name == build.stage) {
            Some(stage) => stage.builds.push(row),
            None => stages.push(StageView { name: build.stage.clone(), builds: vec![row] }),
        }
    }
    let has = |is_wanted: fn(Status) -> bool| builds.iter().any(|it| !it.external && is_wanted(it.status));
    let action = |name| links.pipeline_action(pipeline.id, name);
    let can_retry = abilities.can_manage_builds && has(|status| matches!(status, Status::Failed | Status::Canceled));
    let can_cancel = abilities.can_manage_builds && has(Status::is_active);
    let explain = |explanation: &PendingExplanation| {
        let build = builds.iter().find(|build| build.id == explanation.build)?;
        Some(pending_view(explanation, &build.name, now)).filter(|view| view.is_stuck)
    };
    PipelinePage {
        layout,
        pending: pending.iter().filter_map(explain).take(MAX_REASONS).collect(),
        retry_url: can_retry.then(|| action("retry")),
        retry_label: if has(|status| status == Status::Failed) { "Retry failed" } else { "Retry" },
        cancel_url: can_cancel.then(|| action("cancel")),
        live_url: pipeline.status.is_active().then(|| action("live")),
        pipeline: row(pipeline, &links, refs, now),
        yaml_errors: pipeline.yaml_errors.clone(),
        stages,
        build_count: builds.len(),
    }
}

/// Returns the address of the files of a branch or tag. Returns None if it does not exist.
pub fn ref_url(links: &ProjectLinks, refs: &RefAddresses, name: &str, is_tag: bool) -> Option<String> {
    let revision = if is_tag { refs.tag(name) } else { refs.branch(name) };
    revision.map(|revision| links.tree(&revision, ""))
}

/// Returns the address of a commit. Returns None if the viewer may not read code.
pub fn commit_url(links: &ProjectLinks, refs: &RefAddresses, sha: &str) -> Option<String> {
    refs.is_code_readable().then(|| links.commit(sha))
}

/// Builds the row of a build in its stage.
pub fn build_row(build: &Build, links: &ProjectLinks, now: DateTime<Utc>) -> BuildRow {
    BuildRow {
        url: (!build.external).then(|| links.build(build.id)),
        name: build.name.clone(),
        status: build_status(build),
        duration: build_seconds(build, now).map(words::duration),
        play_url: None,
    }
}

/// Returns whether a build waits for a user who starts it.
pub fn is_playable(build: &Build) -> bool {
    build.run_when == When::Manual && build.status == Status::Skipped && !build.external
}

/// Returns the status of a build as pages show it.
pub fn build_status(build: &Build) -> StatusView {
    StatusView::for_build(build)
}

/// Returns how long a build ran, or has been running. `None` if it did not start.
pub fn build_seconds(build: &Build, now: DateTime<Utc>) -> Option<i64> {
    Some((build.finished_at.unwrap_or(now) - build.started_at?).num_seconds())
}
