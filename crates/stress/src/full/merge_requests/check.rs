//! Compares merge requests with what their clients know, and recounts the merges in the repositories.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use holdfast_app::Entropy;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde::Deserialize;

use super::MergeRequest;
use super::wait::list_requests;
use crate::Harness;
use crate::history::{AttemptedUpdate, Push, UpdateOutcome};
use crate::merge_history::{KnownState, Proposal};
use crate::node::{Node, NodeOptions, Program};
use crate::rest::Project;

/// Number of commits that one fetch requests by their ids.
const FETCH_BATCH_SIZE: usize = 50;

/// Numbers of events about merges by merge request.
type EventCounts = HashMap<i64, usize>;

#[derive(Deserialize)]
struct ProjectEvent {
    action_name: String,
    target_type: Option<String>,
    target_id: Option<i64>,
}

#[derive(Deserialize)]
struct Version {
    head_commit_sha: String,
}

#[derive(Default)]
struct Totals {
    checked: u64,
    versions: u64,
    unacknowledged_merges: u64,
    outdated_forks: u64,
}

/// Checks all merge requests with a new node, and returns lines for the report. `hook_events` are the merges that hooks
/// have received, by project. Merges without a response are recorded for the comparison with the ref log.
pub async fn check(
    harness: &Harness,
    program: &Program,
    hook_events: &HashMap<i64, EventCounts>,
) -> anyhow::Result<Vec<(&'static str, u64)>> {
    let mut random = StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes()));
    let load = NodeOptions { workers: 0, cache_bytes: 1 << 30, disk: None, is_fault_free: true, seed: 0 };
    let fresh = Node::new(program, "node-merges".into(), &load, &mut random)?;
    fresh.start().await?;
    let proposals = harness.merges.proposals();
    let targets: BTreeSet<i64> = proposals.iter().map(|proposal| proposal.target).collect();
    let projects: Vec<Project> = harness.projects().iter().filter(|it| targets.contains(&it.id)).cloned().collect();
    let mut totals = Totals::default();
    for project in projects {
        let own: Vec<&Proposal> = proposals.iter().filter(|proposal| proposal.target == project.id).collect();
        let audit =
            ProjectAudit { harness, node: &fresh, project: &project, hook_events: hook_events.get(&project.id) };
        audit.run(&own, &mut totals).await?;
    }
    fresh.kill().await?;
    let counts = harness.merges.counts();
    Ok(vec![
        ("merge requests opened", counts.opened),
        ("  from forks", counts.opened_from_forks),
        ("merge requests checked", totals.checked),
        ("pushes to source branches of open requests", counts.updates),
        ("merges acknowledged", counts.merged),
        ("  from forks", counts.merged_from_forks),
        ("  with the head that the client knows", counts.merged_with_sha),
        ("accepts without a response", counts.unknown_accepts),
        ("  merged nevertheless", totals.unacknowledged_merges),
        ("accepts rejected as expected", counts.rejected_accepts),
        ("merge requests closed or reopened", counts.state_changes),
        ("versions fetched by their ids", totals.versions),
        ("heads of forks that no job has added", totals.outdated_forks),
    ])
}

/// The check of the merge requests of one project.
struct ProjectAudit<'a> {
    harness: &'a Harness,
    node: &'a Node,
    project: &'a Project,
    /// None if the project has no hook for merge requests.
    hook_events: Option<&'a EventCounts>,
}

impl ProjectAudit<'_> {
    fn violate(&self, text: &str) {
        let (seed, project) = (self.harness.seed, self.project.id);
        self.harness.history.report_violation(format!("seed {seed}: merge requests of project {project}: {text}"));
    }

    async fn run(&self, proposals: &[&Proposal], totals: &mut Totals) -> anyhow::Result<()> {
        let listed = list_requests(self.harness, self.node, self.project.id).await?;
        let numbers: BTreeSet<i64> = listed.values().map(|request| request.iid).collect();
        if !numbers.iter().copied().eq(1..=listed.len() as i64) {
            self.violate(&format!("their numbers are {numbers:?}"));
        }
        for proposal in proposals.iter().filter(|it| it.id.is_some_and(|id| !listed.contains_key(&id))) {
            self.violate(&format!("an acknowledged one is missing: {proposal:?}"));
        }
        let path = format!("/projects/{}/events", self.project.id);
        let events: Vec<ProjectEvent> = self.harness.rest.list(self.node, &path).await?;
        let mut event_counts = EventCounts::new();
        for event in events {
            if let ("accepted", Some("MergeRequest"), Some(id)) =
                (event.action_name.as_str(), event.target_type.as_deref(), event.target_id)
            {
                *event_counts.entry(id).or_default() += 1;
            }
        }
        let directory = tempfile::Builder::new().prefix("merges-").tempdir_in(&self.harness.directory)?;
        let (url, path) = (self.project.url(self.node), directory.path().to_string_lossy());
        let git = &self.harness.git;
        git.run_local(&self.harness.directory, &["clone", "--quiet", "--mirror", &url, &path], b"").await?;
        let mut branches: HashMap<&str, TargetBranch> = HashMap::new();
        let mut heads = BTreeSet::new();
        for request in listed.values() {
            totals.checked += 1;
            // A creation without a response is known by its source branch.
            let is_proposed = |it: &&&Proposal| {
                it.id.map_or_else(|| it.source_branch == request.source_branch, |id| id == request.id)
            };
            let Some(proposal) = proposals.iter().find(is_proposed) else {
                self.violate(&format!("no client has created {request:?}"));
                continue;
            };
            let branch = request.target_branch.as_str();
            if !branches.contains_key(branch) {
                branches.insert(branch, TargetBranch::read(self.harness, directory.path(), branch).await?);
            }
            let versions = format!("/projects/{}/merge_requests/{}/versions", self.project.id, request.id);
            let versions: Vec<Version> = self.harness.rest.get(self.node, &versions).await?;
            let versions: Vec<String> = versions.into_iter().map(|version| version.head_commit_sha).collect();
            let mut found = find_contradictions(proposal, request, &branches[branch], &versions);
            let expected = usize::from(request.state == "merged");
            let events = [("in the feed", Some(&event_counts)), ("for hooks", self.hook_events)];
            for (name, counts) in events.into_iter().filter_map(|(name, counts)| Some((name, counts?))) {
                let count = counts.get(&request.id).copied().unwrap_or_default();
                if count != expected {
                    found.push(format!("there are {count} events {name} about its merge"));
                }
            }
            found.iter().for_each(|text| self.violate(&format!("{text}: {request:?} of {proposal:?}")));
            heads.extend(versions);
            self.count(proposal, request, totals);
        }
        totals.versions += heads.len() as u64;
        self.fetch_heads(&heads.into_iter().collect::<Vec<_>>()).await
    }

    /// Counts a merge without a response, and records it.
    fn count(&self, proposal: &Proposal, request: &MergeRequest, totals: &mut Totals) {
        if let (None, Some(merge_commit)) = (&proposal.merge, &request.merge_commit_sha) {
            totals.unacknowledged_merges += 1;
            let update = AttemptedUpdate {
                name: format!("refs/heads/{}", request.target_branch),
                new: Some(merge_commit.clone()),
                outcome: UpdateOutcome::Unknown,
            };
            let push = Push { project: self.project.id, node: "unknown".into(), is_atomic: false, refs: vec![update] };
            self.harness.history.record_server_update(push);
        }
        let has_fork = proposal.is_from_fork() && !self.harness.deleted().contains(&proposal.source);
        let is_outdated = proposal.is_certainly_open() && request.sha != proposal.last_acknowledged();
        totals.outdated_forks += u64::from(has_fork && is_outdated);
    }

    /// Fetches all heads by their ids into an empty repository.
    async fn fetch_heads(&self, heads: &[String]) -> anyhow::Result<()> {
        let directory = tempfile::Builder::new().prefix("heads-").tempdir_in(&self.harness.directory)?;
        let git = &self.harness.git;
        git.run_local(directory.path(), &["init", "--quiet", "--bare", "."], b"").await?;
        let url = self.project.url(self.node);
        for batch in heads.chunks(FETCH_BATCH_SIZE) {
            let mut arguments = vec!["fetch", "--quiet", "--no-tags", &url];
            arguments.extend(batch.iter().map(String::as_str));
            let fetched = git.run(directory.path(), &arguments, b"").await?;
            if !fetched.is_success {
                self.violate(&format!("the heads {batch:?} cannot be fetched: {}", fetched.stderr.trim()));
            }
        }
        Ok(())
    }
}

/// A target branch as git reads it.
#[derive(Default)]
struct TargetBranch {
    commits: HashSet<String>,
    /// Each merge commit with its second parent.
    merges: Vec<(String, String)>,
}

impl TargetBranch {
    async fn read(harness: &Harness, mirror: &Path, branch: &str) -> anyhow::Result<Self> {
        let name = format!("refs/heads/{branch}");
        let listed = harness.git.run_local(mirror, &["rev-list", "--parents", &name], b"").await?;
        let mut found = Self::default();
        for line in listed.lines() {
            let ids: Vec<&str> = line.split(' ').collect();
            found.commits.extend(ids.first().map(|id| (*id).to_owned()));
            if let [merge, _, second] = ids[..] {
                found.merges.push((merge.to_owned(), second.to_owned()));
            }
        }
        Ok(found)
    }
}

/// Returns what contradicts the acknowledged responses, or that a merge request is merged at most once.
fn find_contradictions(
    proposal: &Proposal,
    request: &MergeRequest,
    target: &TargetBranch,
    versions: &[String],
) -> Vec<String> {
    let mut found = Vec::new();
    let is_merged = request.state == "merged";
    let is_expected_state = match proposal.state {
        KnownState::Open => request.is_open(),
        KnownState::Closed => request.state == "closed",
        KnownState::Merged => is_merged,
        KnownState::Uncertain => true,
    };
    if !is_expected_state {
        found.push(format!("it must be {:?}", proposal.state));
    }
    if let Some(merge) = &proposal.merge
        && (request.merge_commit_sha.as_ref() != Some(&merge.merge_commit) || request.sha != merge.head)
    {
        found.push("another merge was acknowledged".into());
    }
    if is_merged && proposal.merge.is_none() && proposal.unknown_accepts == 0 {
        found.push("it is merged, but nobody has accepted it".into());
    }
    if target.commits.contains(&request.sha) != is_merged {
        found.push("it is merged if and only if its head is in the target branch, but git disagrees".into());
    }
    let is_own = |(_, second): &&(String, String)| proposal.has_head(second);
    let merges: Vec<&(String, String)> = target.merges.iter().filter(is_own).collect();
    let is_consistent = match (&request.merge_commit_sha, &merges[..]) {
        (None, []) => !is_merged,
        (Some(merge_commit), [(merge, second)]) => is_merged && merge == merge_commit && *second == request.sha,
        _ => false,
    };
    if !is_consistent {
        found.push(format!("the target branch has the merges {merges:?}"));
    }
    if versions.first() != Some(&request.sha) || versions.iter().any(|head| !proposal.has_head(head)) {
        found.push(format!("its versions are {versions:?}"));
    }
    for head in proposal.heads.iter().filter(|it| it.must_be_version && !versions.contains(&it.id)) {
        found.push(format!("there is no version {}", head.id));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge_history::{AcknowledgedMerge, ProposedHead};

    fn proposal(state: KnownState) -> Proposal {
        let merge = AcknowledgedMerge { head: "h".into(), merge_commit: "m".into() };
        Proposal {
            id: Some(1),
            target: 1,
            source: 1,
            source_branch: "s".into(),
            target_branch: "main".into(),
            heads: vec![ProposedHead { id: "h".into(), is_acknowledged: true, must_be_version: true }],
            is_branch_uncertain: false,
            merge: Some(merge).filter(|_| state == KnownState::Merged),
            state,
            unknown_accepts: 0,
        }
    }

    fn request(state: &str, merge_commit: Option<&str>) -> MergeRequest {
        MergeRequest {
            id: 1,
            iid: 1,
            state: state.into(),
            source_branch: "s".into(),
            target_branch: "main".into(),
            sha: "h".into(),
            merge_commit_sha: merge_commit.map(Into::into),
        }
    }

    fn target(merges: &[&str]) -> TargetBranch {
        let commits = merges.first().map(|_| "h".to_owned()).into_iter().chain(merges.iter().map(|it| (*it).into()));
        let merges = merges.iter().map(|merge| ((*merge).into(), "h".into()));
        TargetBranch { commits: commits.collect(), merges: merges.collect() }
    }

    fn count(proposal: &Proposal, request: &MergeRequest, merges: &[&str]) -> usize {
        find_contradictions(proposal, request, &target(merges), &["h".into()]).len()
    }

    #[test]
    fn an_acknowledged_merge_must_exist_once() {
        let merged = proposal(KnownState::Merged);
        assert_eq!(count(&merged, &request("merged", Some("m")), &["m"]), 0);
        assert_eq!(count(&merged, &request("merged", Some("m")), &["m", "n"]), 1);
        assert_eq!(count(&merged, &request("merged", Some("n")), &["n"]), 1);
        assert_eq!(count(&merged, &request("merged", Some("m")), &[]), 2);
        assert_eq!(count(&merged, &request("opened", None), &["m"]), 4);
    }

    #[test]
    fn a_merge_without_an_accept_is_detected() {
        let mut open = proposal(KnownState::Open);
        assert_eq!(count(&open, &request("opened", None), &[]), 0);
        assert_eq!(count(&open, &request("opened", None), &["m"]), 2);
        assert_eq!(count(&open, &request("closed", None), &[]), 1);
        assert_eq!(count(&open, &request("merged", Some("m")), &["m"]), 2);
        open.state = KnownState::Uncertain;
        assert_eq!(count(&open, &request("merged", Some("m")), &["m"]), 1);
        open.unknown_accepts = 1;
        assert_eq!(count(&open, &request("merged", Some("m")), &["m"]), 0);
    }

    #[test]
    fn missing_versions_are_detected() {
        let open = proposal(KnownState::Open);
        let found = find_contradictions(&open, &request("opened", None), &target(&[]), &["other".into()]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
