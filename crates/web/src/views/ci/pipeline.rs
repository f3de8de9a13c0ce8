//! The list of pipelines, and the page of a pipeline with its builds.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::build::Build;
use holdfast_app::ci::pipeline::{Pipeline, PipelineWithBuilds};
use holdfast_app::projects::project::Project;
use holdfast_app::repository::refs::ref_address::RefAddresses;
use holdfast_domain::page::Page;

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
    pub user: Option<Person>,
    pub duration: Option<String>,
    pub created: Time,
    /// The same time as a part of a sentence.
    pub created_ago: Time,
}

/// Builds the list of pipelines.
pub fn pipelines_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    pipelines: &Page<Pipeline>,
    refs: &RefAddresses,
    now: DateTime<Utc>,
) -> PipelinesPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("Pipelines · {}", project.full_path());
    PipelinesPage {
        layout,
        pipelines: pipelines.items.iter().map(|pipeline| row(pipeline, &links, refs, now)).collect(),
        pages: Pages::new(pipelines, &links.pipelines(), &[]),
    }
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
        user: pipeline.user.as_ref().map(Person::from_user),
        duration: pipeline.duration.filter(|_| pipeline.status.is_complete()).map(words::duration),
        created: Time::age(pipeline.created_at, now),
        created_ago: Time::ago(pipeline.created_at, now),
    }
}

#[derive(Template)]
#[template(path = "ci/pipeline.html")]
pub struct PipelinePage {
    pub layout: Layout,
    pub pipeline: PipelineRow,
    /// Why the CI file could not be used.
    pub yaml_errors: Option<String>,
    pub stages: Vec<StageView>,
    pub build_count: usize,
}

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
}

/// Builds the page of a pipeline.
pub fn pipeline_page(
    layout: Layout,
    abilities: Abilities,
    found: &PipelineWithBuilds,
    now: DateTime<Utc>,
) -> PipelinePage {
    let PipelineWithBuilds { project, pipeline, builds, refs } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("Pipeline #{} · {}", pipeline.id, project.full_path());
    let mut stages: Vec<StageView> = Vec::new();
    for build in builds {
        let row = build_row(build, &links, now);
        match stages.iter_mut().find(|stage| stage.name == build.stage) {
            Some(stage) => stage.builds.push(row),
            None => stages.push(StageView { name: build.stage.clone(), builds: vec![row] }),
        }
    }
    PipelinePage {
        layout,
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

/// Builds the row of a build in its stage.
pub fn build_row(build: &Build, links: &ProjectLinks, now: DateTime<Utc>) -> BuildRow {
    BuildRow {
        url: (!build.external).then(|| links.build(build.id)),
        name: build.name.clone(),
        status: build_status(build),
        duration: build_seconds(build, now).map(words::duration),
    }
}

/// Returns the status of a build as pages show it.
pub fn build_status(build: &Build) -> StatusView {
    StatusView::for_build(build)
}

/// Returns how long a build ran, or has been running. `None` if it did not start.
pub fn build_seconds(build: &Build, now: DateTime<Utc>) -> Option<i64> {
    Some((build.finished_at.unwrap_or(now) - build.started_at?).num_seconds())
}
