//! The page of a build with its trace.

use std::fmt;

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::build::{Build, BuildWithTrace};

use super::pending::{PendingView, pending_view};
use super::pipeline::{BuildRow, build_row, build_seconds, build_status, commit_url, is_playable, ref_url};
use super::trace::TraceView;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::repository::commit_line::short_id;
use crate::views::status::StatusView;
use crate::views::{Person, ProjectLinks};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "ci/build.html", blocks = ["live_head", "live_rail"])]
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
    /// None if the viewer may not read code.
    pub commit_url: Option<String>,
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
    pub trace: TraceView,
    /// The size of the beginning of the trace that was not read.
    pub unread_size: Option<String>,
    pub pending: Option<PendingView>,
    pub actions: BuildActions,
    /// The stream of events and the position at which it begins, while something can change.
    pub live: Option<LiveTrace>,
    /// The builds of the same stage.
    pub siblings: Vec<BuildRow>,
    /// The builds of the same name that were retried, named by their ids.
    pub attempts: Vec<BuildRow>,
}

/// The stream of events of a build.
#[derive(Clone, Debug)]
pub struct LiveTrace {
    pub url: String,
    /// The position after the lines of the page.
    pub from: TracePosition,
}

/// A position in a trace, which events have as their id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracePosition {
    /// The offset of the next byte.
    pub offset: i64,
    /// The number of the next line.
    pub number: usize,
}

impl TracePosition {
    /// Parses an offset, or an offset and the number of a line, such as `1200-37`.
    pub fn parse(text: &str) -> Option<Self> {
        let (offset, number) = text.split_once('-').unwrap_or((text, "1"));
        let (offset, number): (u64, u32) = (offset.parse().ok()?, number.parse().ok()?);
        Some(Self { offset: i64::try_from(offset).ok()?, number: usize::try_from(number).ok()? })
    }
}

impl fmt::Display for TracePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.offset, self.number)
    }
}

/// The addresses of the actions that the viewer may perform and that the state of the build permits.
#[derive(Clone, Debug, Default)]
pub struct BuildActions {
    pub retry: Option<String>,
    pub cancel: Option<String>,
    pub play: Option<String>,
    pub erase: Option<String>,
    pub keep: Option<String>,
}

impl BuildActions {
    fn new(found: &BuildWithTrace, links: &ProjectLinks) -> Self {
        let build = &found.build;
        let action = |is_possible: bool, name| is_possible.then(|| links.build_action(build.id, name));
        let is_complete = build.status.is_complete();
        let has_output = build.trace_bytes.unwrap_or(0) > 0 || build.artifacts_name.is_some();
        Self {
            retry: action(is_complete && found.is_latest(), "retry"),
            cancel: action(build.status.is_active(), "cancel"),
            play: action(is_playable(build) && found.is_latest(), "play"),
            erase: action(is_complete && has_output, "erase"),
            keep: action(build.artifacts_expire_at.is_some(), "keep"),
        }
    }
}

/// The artifacts of a build.
#[derive(Clone, Debug)]
pub struct ArtifactFact {
    pub name: String,
    pub browse_url: String,
    pub download_url: String,
    pub size: String,
    pub expires: Option<Time>,
}

/// Builds the page of a build.
pub fn build_page(layout: Layout, abilities: Abilities, found: &BuildWithTrace, now: DateTime<Utc>) -> BuildPage {
    let BuildWithTrace { project, build, stage_builds, superseded, pending, trace, refs } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("{} · #{} · {}", build.name, build.id, project.full_path());
    let view = TraceView::new(&trace.content, 1).into_page();
    let from = TracePosition { offset: trace.end(), number: view.next_number };
    let live = LiveTrace { url: links.build_action(build.id, "live"), from };
    let attempt = |build: &Build| BuildRow { name: format!("#{}", build.id), ..build_row(build, &links, now) };
    BuildPage {
        layout,
        unread_size: u64::try_from(trace.start).ok().filter(|bytes| *bytes > 0).map(words::size),
        pending: pending.as_ref().map(|explanation| pending_view(explanation, &build.name, now)),
        actions: if abilities.can_manage_builds { BuildActions::new(found, &links) } else { BuildActions::default() },
        live: build.status.is_active().then_some(live),
        name: build.name.clone(),
        status: build_status(build),
        stage: build.stage.clone(),
        pipeline_id: build.pipeline_id.get(),
        pipeline_url: links.pipeline(build.pipeline_id),
        ref_name: build.r#ref.clone(),
        ref_url: ref_url(&links, refs, &build.r#ref, build.tag),
        is_tag: build.tag,
        short_id: short_id(&build.sha).to_owned(),
        commit_url: commit_url(&links, refs, &build.sha),
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
            browse_url: links.artifact_directory(build.id, ""),
            download_url: links.artifacts(build.id),
            size: words::size(build.artifacts_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)),
            expires: build.artifacts_expire_at.map(Time::date),
        }),
        is_erased: build.erased_at.is_some(),
        is_active: build.status.is_active(),
        raw_url: links.build_raw(build.id),
        trace_size: words::size(build.trace_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)),
        trace: view,
        siblings: stage_builds.iter().map(|sibling| build_row(sibling, &links, now)).collect(),
        attempts: superseded.iter().map(attempt).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_back() {
        let position = TracePosition { offset: 1_200, number: 37 };
        assert_eq!(TracePosition::parse(&position.to_string()), Some(position));
        assert_eq!(TracePosition::parse("7"), Some(TracePosition { offset: 7, number: 1 }));
        for text in ["", "-1", "1-", "x", "1-2-3", "99999999999999999999"] {
            assert_eq!(TracePosition::parse(text), None, "{text}");
        }
    }
}
