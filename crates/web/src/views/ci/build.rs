//! The page of a build with its trace.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::trace::BuildWithTrace;

use super::pipeline::{BuildRow, build_row, build_seconds, build_status, ref_url};
use super::trace::TraceLines;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::repository::commit_line::short_id;
use crate::views::status::StatusView;
use crate::views::{Person, ProjectLinks};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "ci/build.html")]
pub struct BuildPage {
    pub layout: Layout,
    pub name: String,
    pub status: StatusView,
    pub stage: String,
    pub pipeline_id: i64,
    pub pipeline_url: String,
    pub ref_name: String,
    /// None if the ref does not exist any more, or the viewer may not read code.
    pub ref_url: Option<String>,
    pub is_tag: bool,
    pub short_id: String,
    pub user: Option<Person>,
    pub created: Time,
    pub finished: Option<Time>,
    pub duration: Option<String>,
    pub runner: Option<String>,
    pub artifacts: Option<ArtifactFact>,
    pub is_erased: bool,
    pub is_active: bool,
    pub raw_url: String,
    pub trace_size: String,
    pub trace: TraceLines,
    /// The builds of the same stage.
    pub siblings: Vec<BuildRow>,
}

/// The artifacts of a build.
#[derive(Clone, Debug)]
pub struct ArtifactFact {
    pub name: String,
    pub size: String,
    pub expires: Option<Time>,
}

/// Builds the page of a build.
pub fn build_page(layout: Layout, abilities: Abilities, found: &BuildWithTrace, now: DateTime<Utc>) -> BuildPage {
    let BuildWithTrace { project, build, stage_builds, trace, refs } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("{} · #{} · {}", build.name, build.id, project.full_path());
    BuildPage {
        layout,
        name: build.name.clone(),
        status: build_status(build),
        stage: build.stage.clone(),
        pipeline_id: build.pipeline_id.get(),
        pipeline_url: links.pipeline(build.pipeline_id),
        ref_name: build.r#ref.clone(),
        ref_url: ref_url(&links, refs, &build.r#ref, build.tag),
        is_tag: build.tag,
        short_id: short_id(&build.sha).to_owned(),
        user: build.user.as_ref().map(Person::from_user),
        created: Time::ago(build.created_at, now),
        finished: build.finished_at.map(|at| Time::ago(at, now)),
        duration: build_seconds(build, now).map(words::duration),
        runner: build.runner.as_ref().map(|runner| {
            let description = runner.description.clone().filter(|text| !text.is_empty());
            description.unwrap_or_else(|| format!("#{}", runner.id))
        }),
        artifacts: build.artifacts_name.as_ref().map(|name| ArtifactFact {
            name: name.clone(),
            size: words::size(build.artifacts_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)),
            expires: build.artifacts_expire_at.map(Time::date),
        }),
        is_erased: build.erased_at.is_some(),
        is_active: build.status.is_active(),
        raw_url: links.build_raw(build.id),
        trace_size: words::size(build.trace_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)),
        trace: TraceLines::new(&trace.content, trace.skipped_lines),
        siblings: stage_builds.iter().map(|sibling| build_row(sibling, &links, now)).collect(),
    }
}
