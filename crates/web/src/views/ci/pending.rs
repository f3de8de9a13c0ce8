//! Why a build does not run yet, in words.

use chrono::{DateTime, Utc};
use holdfast_app::ci::pending_reason::{PendingExplanation, PendingReason};

use crate::words::{self, Time};

/// Why a build does not run yet.
#[derive(Clone, Debug)]
pub struct PendingView {
    pub title: String,
    pub details: Vec<String>,
    pub tags: Vec<String>,
    pub fails_at: Option<Time>,
    /// Whether the build does not run before somebody does something.
    pub is_stuck: bool,
}

/// Explains why a build with this name does not run yet.
pub fn pending_view(explanation: &PendingExplanation, name: &str, now: DateTime<Utc>) -> PendingView {
    let PendingExplanation { reason, tags, queue, .. } = explanation;
    let cause = cause(reason);
    let details = details(reason);
    let title = match queue {
        Some(times) => {
            let waited = words::duration((now - times.queued_at).num_seconds());
            format!("{name} has been pending for {waited}: {cause}")
        }
        None => format!("{name} has not started: {cause}"),
    };
    let is_stuck = !matches!(reason, PendingReason::EarlierStage(_) | PendingReason::Queued { .. });
    let fails_at = queue.map(|times| Time::date(times.fails_at));
    PendingView { title, details, tags: tags.clone(), fails_at, is_stuck }
}

fn cause(reason: &PendingReason) -> String {
    match reason {
        PendingReason::EarlierStage(stage) => format!("it waits for the stage {stage}"),
        PendingReason::NoRunner { .. } => "the project has no runner".to_owned(),
        PendingReason::NoRunnerWithTags { .. } => "no runner has all of its tags".to_owned(),
        PendingReason::NoRunnerForUntagged => "no runner accepts builds without tags".to_owned(),
        PendingReason::Paused { .. } => "all runners that can run it are paused".to_owned(),
        PendingReason::Offline { .. } => "no runner that can run it is online".to_owned(),
        PendingReason::Queued { builds_ahead: 0, .. } => "it is the next build for its runners".to_owned(),
        PendingReason::Queued { builds_ahead, .. } => {
            let more = if *builds_ahead >= 1_000 { "at least " } else { "" };
            format!("it waits behind {more}{}", words::builds(builds_ahead))
        }
    }
}

fn details(reason: &PendingReason) -> Vec<String> {
    match reason {
        PendingReason::EarlierStage(_) => Vec::new(),
        PendingReason::NoRunner { are_shared_runners_enabled: true } => vec![
            "The instance has no shared runner. Register a runner for the project, or ask an administrator.".to_owned(),
        ],
        PendingReason::NoRunner { are_shared_runners_enabled: false } => vec![
            "Shared runners are disabled for the project. Enable them in its settings, or register a runner for it."
                .to_owned(),
        ],
        PendingReason::NoRunnerWithTags { missing } if missing.is_empty() => {
            vec!["Each tag is one of some runner, but no runner has all of them.".to_owned()]
        }
        PendingReason::NoRunnerWithTags { missing } => {
            vec![format!("No runner of the project has: {}.", missing.join(", "))]
        }
        PendingReason::NoRunnerForUntagged => {
            vec!["Add tags to the build in the CI file, or let a runner accept builds without tags.".to_owned()]
        }
        PendingReason::Paused { runners } => {
            vec![format!("{} can run it. Resume one of them.", words::runners(runners))]
        }
        PendingReason::Offline { runners } => {
            vec![format!("{} can run it, and none has contacted the server for an hour.", words::runners(runners))]
        }
        PendingReason::Queued { runners, .. } => vec![format!("{} online can run it.", words::runners(runners))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_active_runners_is_stuck() {
        let now = DateTime::UNIX_EPOCH;
        let explain = |reason| PendingExplanation { build: 1_i64.into(), reason, tags: Vec::new(), queue: None };
        let stuck = pending_view(&explain(PendingReason::Paused { runners: 1 }), "b", now).is_stuck;
        let waits = pending_view(&explain(PendingReason::EarlierStage("s".into())), "b", now).is_stuck;
        assert!(stuck && !waits);
    }
}
