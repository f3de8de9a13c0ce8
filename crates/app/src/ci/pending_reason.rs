//! Explains why builds do not run yet, from the rules of the queue.

use chrono::{DateTime, Utc};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::BuildId;
use holdfast_store::Connection;
use holdfast_store::ci::build_list::Build;
use holdfast_store::ci::pending_build::{self, PendingBuild};

use super::runner::ONLINE_WINDOW;
use super::stale_builds::PENDING_TIMEOUT;
use crate::projects::project::Project;
use crate::{App, Result};

/// Why a build does not run yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingReason {
    /// Builds of this earlier stage have not finished.
    EarlierStage(String),
    /// The project has no runner of its own, and does not use shared ones or there are none.
    NoRunner { are_shared_runners_enabled: bool },
    /// No runner has all tags of the build. These are the tags that no runner has at all, if there are such.
    NoRunnerWithTags { missing: Vec<String> },
    /// The build has no tags, and no runner accepts such builds.
    NoRunnerForUntagged,
    /// All suitable runners are paused.
    Paused { runners: i64 },
    /// No suitable runner has contacted the server for an hour.
    Offline { runners: i64 },
    /// The runners take this many builds first, counted up to 1,000.
    Queued { builds_ahead: i64, runners: i64 },
}

/// A build that does not run yet.
#[derive(Clone, Debug)]
pub struct PendingExplanation {
    pub build: BuildId,
    pub reason: PendingReason,
    pub tags: Vec<String>,
    /// None for a build of a later stage, which is not in the queue.
    pub queue: Option<QueueTimes>,
}

#[derive(Clone, Copy, Debug)]
pub struct QueueTimes {
    pub queued_at: DateTime<Utc>,
    /// When the build fails if no runner takes it.
    pub fails_at: DateTime<Utc>,
}

/// Maximum number of builds that are explained at once, because each of them counts runners and the builds before it. A
/// page shows fewer. Arbitrary.
const MAX_EXPLAINED: usize = 20;

/// Explains why those of the builds that are pending do not run yet: the first [`MAX_EXPLAINED`] of them.
pub(super) async fn explain_pending(
    app: &App,
    connection: &mut Connection,
    project: &Project,
    builds: impl Iterator<Item = &Build>,
) -> Result<Vec<PendingExplanation>> {
    let is_pending = |build: &&Build| build.status == Status::Pending && !build.external;
    let ids: Vec<BuildId> = builds.filter(is_pending).map(|build| build.id).take(MAX_EXPLAINED).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = pending_build::find_many(connection, &ids, app.clock.now() - ONLINE_WINDOW).await?;
    let explain = |pending: PendingBuild| PendingExplanation {
        build: pending.build_id,
        reason: reason(&pending, project.features.shared_runners_enabled),
        queue: Some(QueueTimes { queued_at: pending.queued_at, fails_at: pending.queued_at + PENDING_TIMEOUT }),
        tags: pending.tags,
    };
    Ok(found.into_iter().map(explain).collect())
}

/// Explains why a build that has not been reached does not run yet. `builds` are those of its pipeline, sorted by stage.
pub(super) fn explain_created(build: &Build, builds: &[Build]) -> Option<PendingExplanation> {
    if build.status != Status::Created {
        return None;
    }
    let earlier = builds.iter().take_while(|other| other.stage != build.stage);
    let stage = earlier.filter(|other| other.status.is_active()).map(|other| other.stage.clone()).next()?;
    let reason = PendingReason::EarlierStage(stage);
    Some(PendingExplanation { build: build.id, reason, tags: Vec::new(), queue: None })
}

fn reason(pending: &PendingBuild, are_shared_runners_enabled: bool) -> PendingReason {
    match *pending {
        PendingBuild { runners: 0, .. } => PendingReason::NoRunner { are_shared_runners_enabled },
        PendingBuild { suitable_runners: 0, ref tags, .. } if tags.is_empty() => PendingReason::NoRunnerForUntagged,
        PendingBuild { suitable_runners: 0, ref missing_tags, .. } => {
            PendingReason::NoRunnerWithTags { missing: missing_tags.clone() }
        }
        PendingBuild { active_runners: 0, suitable_runners, .. } => PendingReason::Paused { runners: suitable_runners },
        PendingBuild { online_runners: 0, active_runners, .. } => PendingReason::Offline { runners: active_runners },
        PendingBuild { builds_ahead, online_runners, .. } => {
            PendingReason::Queued { builds_ahead, runners: online_runners }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_for(counts: [i64; 4], tags: &[&str]) -> PendingReason {
        let [runners, suitable_runners, active_runners, online_runners] = counts;
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let pending = PendingBuild {
            build_id: 1_i64.into(),
            missing_tags: tags.clone(),
            tags,
            queued_at: DateTime::UNIX_EPOCH,
            runners,
            suitable_runners,
            active_runners,
            online_runners,
            builds_ahead: 7,
        };
        reason(&pending, true)
    }

    #[test]
    fn the_first_obstacle_is_the_reason() {
        let are_shared_runners_enabled = true;
        assert_eq!(reason_for([0; 4], &["a"]), PendingReason::NoRunner { are_shared_runners_enabled });
        assert_eq!(reason_for([3, 0, 0, 0], &[]), PendingReason::NoRunnerForUntagged);
        let missing = vec!["a".to_owned()];
        assert_eq!(reason_for([3, 0, 0, 0], &["a"]), PendingReason::NoRunnerWithTags { missing });
        assert_eq!(reason_for([3, 2, 0, 0], &["a"]), PendingReason::Paused { runners: 2 });
        assert_eq!(reason_for([3, 2, 1, 0], &["a"]), PendingReason::Offline { runners: 1 });
        assert_eq!(reason_for([3, 2, 2, 2], &["a"]), PendingReason::Queued { builds_ahead: 7, runners: 2 });
    }
}
