//! Waits after the last fault until jobs and hooks have followed the merge requests.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::MergeRequest;
use crate::Harness;
use crate::hooks::HookScenario;
use crate::report::log_line;

/// Longer than the backoff of a job after a few failures.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Waits until the newest head of each open merge request from a fork is the tip of its branch, and until the hooks have
/// received all merges. Returns after a timeout, too; [`super::check`] then finds what is missing.
pub async fn wait_for_updates(harness: &Harness, scenario: &HookScenario) -> anyhow::Result<()> {
    let (since, mut interval) = (Instant::now(), tokio::time::interval(Duration::from_secs(1)));
    loop {
        interval.tick().await;
        // A connection that was terminated at the end of the faults fails on its next use.
        let missing = count_missing(harness, scenario).await;
        match missing {
            Ok(0) => return Ok(()),
            Err(error) if since.elapsed() > TIMEOUT => return Err(error),
            Ok(missing) if since.elapsed() > TIMEOUT => {
                log_line(&format!("{missing} heads and merge events are missing: the wait ends"));
                return Ok(());
            }
            _ => {}
        }
    }
}

/// Lists all merge requests of a project by id.
pub async fn list_requests(
    harness: &Harness,
    node: &crate::node::Node,
    project: i64,
) -> anyhow::Result<HashMap<i64, MergeRequest>> {
    let path = format!("/projects/{project}/merge_requests?state=all");
    let listed: Vec<MergeRequest> = harness.rest.list(node, &path).await?;
    Ok(listed.into_iter().map(|request| (request.id, request)).collect())
}

async fn count_missing(harness: &Harness, scenario: &HookScenario) -> anyhow::Result<usize> {
    let node = &harness.nodes[0];
    let mut missing = 0;
    for (project, events) in scenario.count_merge_events() {
        let listed = list_requests(harness, node, project).await?;
        missing += listed.values().filter(|it| it.state == "merged" && !events.contains_key(&it.id)).count();
    }
    for proposal in harness.merges.proposals() {
        let is_gone = |project| harness.deleted().contains(project);
        let can_be_compared = proposal.is_from_fork() && proposal.is_certainly_open();
        if !can_be_compared || is_gone(&proposal.source) || is_gone(&proposal.target) {
            continue;
        }
        let Some(id) = proposal.id else { continue };
        let path = format!("/projects/{}/merge_requests/{id}", proposal.target);
        let shown: MergeRequest = harness.rest.get(node, &path).await?;
        missing += usize::from(shown.sha != proposal.last_acknowledged());
    }
    Ok(missing)
}
