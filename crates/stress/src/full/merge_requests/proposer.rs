//! A client that opens merge requests and changes them through random nodes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use reqwest::Method;
use serde_json::Value;

use super::MergeRequest;
use crate::Harness;
use crate::client::Client;
use crate::faults::Attempt;
use crate::git::NewCommit;
use crate::history::UpdateOutcome;
use crate::merge_history::{KnownState, Proposal, ProposedHead, SOURCE_BRANCH_INFIX};
use crate::push::{Expected, RefUpdate, push};
use crate::rest::Project;

/// Limits of the merge requests of one client that are not merged.
const MIN_OPEN: usize = 3;
const MAX_OPEN: usize = 8;

pub struct Proposer {
    pub client: Client,
    /// Indexes of the merge requests that can still change.
    active: Vec<usize>,
    opened: u64,
    commits: u64,
    /// Projects that have the target branch of this client.
    targets: HashSet<i64>,
}

pub async fn run(harness: Arc<Harness>, number: u16) -> anyhow::Result<()> {
    let client = Client::new(harness, number).await?;
    let mut proposer = Proposer { client, active: Vec::new(), opened: 0, commits: 0, targets: HashSet::new() };
    while !proposer.client.harness.finished.is_cancelled() {
        proposer.run_operation().await?;
    }
    Ok(())
}

impl Proposer {
    async fn run_operation(&mut self) -> anyhow::Result<()> {
        let harness = self.client.harness.clone();
        let is_active = |index: &usize| {
            let proposal = harness.merges.get(*index);
            proposal.state != KnownState::Merged && !harness.deleted().contains(&proposal.target)
        };
        self.active.retain(is_active);
        let is_full = self.active.len() >= MAX_OPEN;
        if self.active.len() < MIN_OPEN || !is_full && self.client.random.random_bool(0.2) {
            return self.open().await;
        }
        let Some(index) = self.active.choose(&mut self.client.random).copied() else { return Ok(()) };
        match self.client.random.random_range(0..100) {
            0..30 => self.update(index).await,
            30..70 => self.accept(index).await,
            70..85 => self.change_state(index).await,
            _ => self.show(index).await,
        }
    }

    pub fn violate(&self, proposal: &Proposal, text: &str) {
        let seed = self.client.harness.seed;
        self.client.harness.history.report_violation(format!("seed {seed}: {text}: {proposal:?}"));
    }

    /// Returns whether both projects of a merge request exist, and nobody has begun to delete them.
    pub fn exists(&self, proposal: &Proposal) -> bool {
        let deleted = self.client.harness.deleted();
        !deleted.contains(&proposal.source) && !deleted.contains(&proposal.target)
    }

    /// Sends a request to a random node. Returns None if there was no response, or a server error that a fault explains.
    pub async fn send(
        &mut self,
        method: Method,
        project: i64,
        path: &str,
        fields: &[(&str, &str)],
    ) -> anyhow::Result<Option<(u16, Value)>> {
        let node = self.client.pick_node().await;
        let harness = &self.client.harness;
        let (run, since) = (node.life(), Instant::now());
        let path = format!("/projects/{project}/merge_requests{path}");
        let error = match harness.rest.send(method.clone(), &node, &path, fields).await {
            Ok((status, text)) if status < 500 => {
                return Ok(Some((status, serde_json::from_str(&text).unwrap_or(Value::String(text)))));
            }
            Ok((status, text)) => format!("{status} {text}"),
            Err(error) => format!("{error:#}"),
        };
        let was_killed = run.is_none() || node.life() != run;
        let attempt = Attempt { node: &node.name, project: Some(project), since };
        if !was_killed && !harness.is_explained(attempt, &error) {
            let text = format!("{method} {path} failed though {} was not killed: {error}", node.name);
            harness.history.report_violation(format!("seed {}: {text}", harness.seed));
        }
        Ok(None)
    }

    /// Picks a source and a target: a fork and its origin, or twice the same project.
    async fn pick_projects(&mut self) -> anyhow::Result<Option<(Project, Project)>> {
        let projects = self.client.harness.projects().clone();
        let forks: Vec<(Project, Project)> = projects
            .iter()
            .filter_map(|fork| {
                let origin = fork.forked_from_project.as_ref()?["id"].as_i64()?;
                Some((fork.clone(), projects.iter().find(|it| it.id == origin)?.clone()))
            })
            .collect();
        let project = projects.choose(&mut self.client.random).cloned();
        if forks.is_empty()
            && let Some(project) = project.as_ref().filter(|it| !it.is_fork())
        {
            self.client.fork(project).await?;
        }
        let fork = forks.choose(&mut self.client.random).cloned();
        let is_from_fork = self.client.random.random_bool(0.5);
        Ok(fork.filter(|_| is_from_fork).or_else(|| project.map(|project| (project.clone(), project))))
    }

    /// Creates the target branch that only this client uses. Returns whether it exists.
    async fn create_target(&mut self, project: &Project, name: &str, commit: &str) -> anyhow::Result<bool> {
        if self.targets.contains(&project.id) {
            return Ok(true);
        }
        let (name, new) = (format!("refs/heads/{name}"), Some(commit.to_owned()));
        let update = RefUpdate { name, new, is_forced: false, expected: Expected::Anything };
        let exists = !self.push(project, update).await?.is_uncertain();
        if exists {
            self.targets.insert(project.id);
        }
        Ok(exists)
    }

    async fn push(&mut self, project: &Project, update: RefUpdate) -> anyhow::Result<UpdateOutcome> {
        let node = self.client.pick_node().await;
        let outcomes = push(&self.client.harness, &self.client.repository, project, &node, &[update], false).await?;
        Ok(outcomes.into_iter().next().unwrap_or(UpdateOutcome::Unknown))
    }

    /// Creates a commit that changes the file of a merge request, which conflicts with no other one.
    async fn commit(&mut self, branch: &str, parent: &str) -> anyhow::Result<String> {
        self.commits += 1;
        let name = format!("{}-proposed-{}", self.client.name, self.commits);
        let file = branch.replace('/', "-");
        let new = NewCommit { name: &name, parent: Some(parent), file: &file, content: name.as_bytes() };
        self.client.harness.git.commit(&self.client.repository, &new).await
    }

    async fn open(&mut self) -> anyhow::Result<()> {
        let Some((source, target)) = self.pick_projects().await? else { return Ok(()) };
        let commits = self.client.harness.first_commits().get(&target.id).cloned();
        let Some(commits) = commits else { return Ok(()) };
        let (Some(first), Some(parent)) = (commits.first(), commits.choose(&mut self.client.random)) else {
            return Ok(());
        };
        let mut target_branch = format!("target-{}", self.client.name);
        let is_main = self.client.random.random_bool(0.5);
        if is_main || !self.create_target(&target, &target_branch, first).await? {
            target_branch = "main".into();
        }
        self.opened += 1;
        let source_branch = format!("{}{SOURCE_BRANCH_INFIX}{}", self.client.name, self.opened);
        let head = self.commit(&source_branch, parent).await?;
        let update = RefUpdate {
            name: format!("refs/heads/{source_branch}"),
            new: Some(head.clone()),
            is_forced: false,
            expected: Expected::Success,
        };
        if !matches!(self.push(&source, update).await?, UpdateOutcome::Updated { .. }) {
            return Ok(());
        }
        let target_id = target.id.to_string();
        let fields = [
            ("title", source_branch.as_str()),
            ("source_branch", &source_branch),
            ("target_branch", &target_branch),
            ("target_project_id", &target_id),
        ];
        let response = self.send(Method::POST, source.id, "", &fields).await?;
        let mut proposal = Proposal {
            id: None,
            target: target.id,
            source: source.id,
            source_branch,
            target_branch,
            heads: vec![ProposedHead { id: head, is_acknowledged: true, must_be_version: false }],
            is_branch_uncertain: false,
            state: KnownState::Uncertain,
            merge: None,
            unknown_accepts: 0,
        };
        let merges = &self.client.harness.merges;
        match response {
            Some((201, body)) => {
                let created: MergeRequest = serde_json::from_value(body)?;
                if !created.is_open() || created.sha != proposal.last_acknowledged() {
                    self.violate(&proposal, &format!("a new merge request is {created:?}"));
                }
                proposal.id = Some(created.id);
                proposal.state = KnownState::Open;
                proposal.mark_seen(&created.sha);
                merges.count(|counts| {
                    counts.opened += 1;
                    counts.opened_from_forks += u64::from(source.id != target.id);
                });
                self.active.push(merges.add(proposal));
            }
            None => _ = merges.add(proposal),
            Some((status, body)) => {
                // Maintenance has pruned objects of the target that the fork shares.
                let can_try_again = body.to_string().contains("were pruned during");
                if self.exists(&proposal) && !can_try_again {
                    self.violate(&proposal, &format!("a merge request was not created: {status} {body}"));
                }
            }
        }
        Ok(())
    }

    /// Pushes to the source branch, sometimes by force.
    async fn update(&mut self, index: usize) -> anyhow::Result<()> {
        let proposal = self.client.harness.merges.get(index);
        let source = self.client.harness.projects().iter().find(|it| it.id == proposal.source).cloned();
        let Some(source) = source else { return self.show(index).await };
        let commits = self.client.harness.first_commits().get(&proposal.source).cloned();
        let is_reset = self.client.random.random_bool(0.2);
        let base = commits.and_then(|commits| commits.choose(&mut self.client.random).cloned()).filter(|_| is_reset);
        let is_forced = base.is_some() || proposal.is_branch_uncertain;
        let parent = base.unwrap_or_else(|| proposal.last_acknowledged().to_owned());
        let new = self.commit(&proposal.source_branch, &parent).await?;
        let update = RefUpdate {
            name: format!("refs/heads/{}", proposal.source_branch),
            new: Some(new.clone()),
            is_forced,
            expected: if proposal.is_branch_uncertain { Expected::Anything } else { Expected::Success },
        };
        let outcome = self.push(&source, update).await?;
        let merges = &self.client.harness.merges;
        merges.update(index, |proposal| {
            let is_acknowledged = matches!(outcome, UpdateOutcome::Updated { .. });
            let is_open = proposal.state == KnownState::Open;
            if is_acknowledged || outcome.is_uncertain() {
                let must_be_version = is_acknowledged && is_open && !proposal.is_from_fork();
                proposal.heads.push(ProposedHead { id: new, is_acknowledged, must_be_version });
                proposal.is_branch_uncertain = !is_acknowledged;
                merges.count(|counts| counts.updates += u64::from(is_acknowledged && is_open));
            }
        });
        Ok(())
    }

    /// Closes an open merge request, or reopens a closed one.
    async fn change_state(&mut self, index: usize) -> anyhow::Result<()> {
        let proposal = self.client.harness.merges.get(index);
        let Some(id) = proposal.id else { return Ok(()) };
        let is_closed = proposal.state == KnownState::Closed;
        let event = if is_closed { "reopen" } else { "close" };
        let response = self.send(Method::PUT, proposal.target, &format!("/{id}"), &[("state_event", event)]).await?;
        let merges = &self.client.harness.merges;
        let changed: MergeRequest = match response {
            Some((200, body)) => serde_json::from_value(body)?,
            None => {
                merges.update(index, |proposal| proposal.state = KnownState::Uncertain);
                return Ok(());
            }
            Some((status, body)) => {
                if self.exists(&proposal) {
                    self.violate(&proposal, &format!("{event} was rejected: {status} {body}"));
                }
                return Ok(());
            }
        };
        merges.count(|counts| counts.state_changes += 1);
        let state = match changed.state.as_str() {
            "closed" => KnownState::Closed,
            "merged" => KnownState::Merged,
            _ => KnownState::Open,
        };
        let expected = if is_closed { KnownState::Open } else { KnownState::Closed };
        let can_be_merged = proposal.state == KnownState::Uncertain && proposal.unknown_accepts > 0;
        let is_expected = state == expected || state == KnownState::Merged && can_be_merged;
        // Reopening adds the version of a head that was pushed while the request was closed.
        let has_new_head = state == KnownState::Open && !proposal.is_branch_uncertain && !proposal.is_from_fork();
        if !is_expected || has_new_head && changed.sha != proposal.last_acknowledged() {
            self.violate(&proposal, &format!("after {event} it is {changed:?}"));
        }
        merges.update(index, |proposal| {
            proposal.state = state;
            proposal.mark_seen(&changed.sha);
        });
        Ok(())
    }

    /// Reads a merge request, and compares it with what this client knows.
    async fn show(&mut self, index: usize) -> anyhow::Result<()> {
        let proposal = self.client.harness.merges.get(index);
        let Some(id) = proposal.id else { return Ok(()) };
        let shown: MergeRequest = match self.send(Method::GET, proposal.target, &format!("/{id}"), &[]).await? {
            Some((200, body)) => serde_json::from_value(body)?,
            None => return Ok(()),
            Some((status, body)) => {
                if self.exists(&proposal) {
                    self.violate(&proposal, &format!("not shown: {status} {body}"));
                }
                return Ok(());
            }
        };
        let is_expected_state = match proposal.state {
            KnownState::Open => shown.is_open(),
            KnownState::Closed => shown.state == "closed",
            KnownState::Merged => shown.state == "merged",
            KnownState::Uncertain => true,
        };
        // A job adds the heads of a fork.
        let is_current = proposal.is_certainly_open() && !proposal.is_from_fork();
        let is_expected_head =
            if is_current { shown.sha == proposal.last_acknowledged() } else { proposal.has_head(&shown.sha) };
        if !is_expected_state || !is_expected_head {
            self.violate(&proposal, &format!("shown as {shown:?}"));
        }
        self.client.harness.merges.update(index, |proposal| {
            proposal.mark_seen(&shown.sha);
            // A merge is final, while the transaction of a lost response may still be committed.
            if shown.state == "merged" {
                proposal.state = KnownState::Merged;
            }
        });
        Ok(())
    }
}
