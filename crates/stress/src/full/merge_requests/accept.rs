//! Accepts merge requests, and checks whether the response is allowed.

use rand::RngExt as _;
use reqwest::Method;

use super::MergeRequest;
use super::proposer::Proposer;
use crate::history::{AttemptedUpdate, Push, UpdateOutcome};
use crate::merge_history::{AcknowledgedMerge, KnownState};

impl Proposer {
    /// Accepts a merge request, with the head that this client knows or without it.
    pub async fn accept(&mut self, index: usize) -> anyhow::Result<()> {
        let proposal = self.client.harness.merges.get(index);
        let Some(id) = proposal.id else { return Ok(()) };
        let sha = proposal.last_acknowledged().to_owned();
        let (has_sha, removes_branch) = (self.client.random.random_bool(0.6), self.client.random.random_bool(0.3));
        let mut fields = Vec::new();
        fields.extend(has_sha.then_some(("sha", sha.as_str())));
        if removes_branch {
            fields.push(("should_remove_source_branch", "true"));
            // The branch may stay if it cannot be deleted.
            self.record_update(proposal.source, &proposal.source_branch, None, UpdateOutcome::Unknown);
        }
        let response = self.send(Method::PUT, proposal.target, &format!("/{id}/merge"), &fields).await?;
        let merges = &self.client.harness.merges;
        let is_certain = proposal.is_certainly_open() && self.exists(&proposal);
        match response {
            Some((200, body)) => {
                let merged: MergeRequest = serde_json::from_value(body)?;
                let merge_commit = merged.merge_commit_sha.clone().unwrap_or_default();
                let is_expected_head =
                    if has_sha || is_certain { merged.sha == sha } else { proposal.has_head(&merged.sha) };
                let can_be_merged = matches!(proposal.state, KnownState::Open | KnownState::Uncertain);
                if merged.state != "merged" || merge_commit.is_empty() || !is_expected_head || !can_be_merged {
                    self.violate(&proposal, &format!("accepted with sha {:?} as {merged:?}", has_sha.then_some(sha)));
                }
                let new = Some(merge_commit.clone());
                let outcome = UpdateOutcome::Updated { old: None };
                self.record_update(proposal.target, &proposal.target_branch, new, outcome);
                merges.update(index, |proposal| {
                    proposal.state = KnownState::Merged;
                    proposal.mark_seen(&merged.sha);
                    proposal.merge = Some(AcknowledgedMerge { head: merged.sha, merge_commit });
                });
                merges.count(|counts| {
                    counts.merged += 1;
                    counts.merged_from_forks += u64::from(proposal.is_from_fork());
                    counts.merged_with_sha += u64::from(has_sha);
                });
            }
            None => {
                merges.update(index, |proposal| {
                    proposal.state = KnownState::Uncertain;
                    proposal.is_branch_uncertain |= removes_branch;
                    proposal.unknown_accepts += 1;
                });
                merges.count(|counts| counts.unknown_accepts += 1);
            }
            Some((status, body)) => {
                merges.count(|counts| counts.rejected_accepts += 1);
                let text = body.to_string();
                let is_expected = match status {
                    // Other clients update the target branch all the time.
                    409 => !is_certain || !text.contains("SHA does not match"),
                    405 => !is_certain,
                    404 => !self.exists(&proposal),
                    _ => false,
                };
                if !is_expected {
                    self.violate(&proposal, &format!("not accepted: {status} {text}"));
                }
            }
        }
        Ok(())
    }

    /// Records an update of a branch that the server makes, for comparison with the ref log.
    fn record_update(&self, project: i64, branch: &str, new: Option<String>, outcome: UpdateOutcome) {
        let update = AttemptedUpdate { name: format!("refs/heads/{branch}"), new, outcome };
        let push = Push { project, node: self.client.name.clone(), is_atomic: false, refs: vec![update] };
        self.client.harness.history.record_server_update(push);
    }
}
