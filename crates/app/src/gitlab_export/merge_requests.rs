//! Imports merge requests. Each gets one version: the newest one in the export.

use std::collections::HashSet;

use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_git::{ObjectId, RefName};
use holdfast_store::Connection;
use holdfast_store::merge_requests::imported::{self, ImportedMergeRequest};
use holdfast_store::merge_requests::merge_request::{self, Attributes};
use holdfast_store::merge_requests::version;
use holdfast_store::planning::issue::CounterDelta;
use holdfast_store::planning::label;
use holdfast_store::planning::note::NoteTarget;
use holdfast_store::repository::ref_update;

use super::planning::{seconds, spent_seconds};
use super::records::Issuable;
use super::relations::Relation;
use super::run::Batch;
use super::texts::clean_title;
use crate::Result;

const TAKEN: &str = "the project has another one with this number, or an open one of the same branches";

/// The commits of a merge request, as the export names them.
struct Commits {
    head: Option<ObjectId>,
    start: Option<ObjectId>,
    merge_commit: Option<ObjectId>,
}

impl Commits {
    fn of(record: &Issuable) -> Self {
        let parse = |hex: Option<&String>| hex.and_then(|hex| ObjectId::from_hex(hex.as_bytes()).ok());
        let diff = record.merge_request_diff.as_ref();
        Self {
            head: parse(diff.and_then(|diff| diff.head_commit_sha.as_ref())),
            start: parse(diff.and_then(|diff| diff.start_commit_sha.as_ref())),
            merge_commit: parse(record.merge_commit_sha.as_ref()),
        }
    }
}

/// Returns all commits that merge requests name, so that one look at the repository shows which of them it has.
pub fn named_commits<'a>(records: impl Iterator<Item = &'a Issuable>) -> HashSet<ObjectId> {
    let commits = records.map(Commits::of);
    commits.flat_map(|it| [it.head, it.start, it.merge_commit]).flatten().collect()
}

impl Batch<'_> {
    /// Returns the current tip of a branch. The repository is locked.
    async fn find_branch(&self, connection: &mut Connection, branch: &str) -> Result<Option<ObjectId>> {
        let name = format!("refs/heads/{branch}");
        Ok(ref_update::find_current(connection, self.project.repository.id, &[&name]).await?.remove(&name))
    }

    pub async fn import_merge_request(&mut self, connection: &mut Connection, record: &Issuable) -> Result<()> {
        let relation = Relation::MergeRequests;
        let number = record.iid.to_string();
        let commits = Commits::of(record);
        let known = |id: &ObjectId| self.commits.contains(id);
        let (head, start) = (commits.head.filter(known), commits.start.filter(known));
        let merge_commit = commits.merge_commit.filter(known);
        let is_own = record.source_project_id.is_some() && record.source_project_id == record.target_project_id;
        let Some(head) = head else {
            self.leave_out(relation, "the repository does not have the head commit", &number);
            return Ok(());
        };
        if [&record.source_branch, &record.target_branch].into_iter().any(|name| RefName::branch(name).is_err()) {
            self.leave_out(relation, "the name of a branch is not valid", &number);
            return Ok(());
        }
        if record.source_branch == record.target_branch && is_own {
            self.leave_out(relation, "the source branch is the target branch", &number);
            return Ok(());
        }
        let created_at = record.created_at.0.unwrap_or(self.now);
        let updated_at = record.updated_at.0.unwrap_or(created_at);
        let state = match record.state.as_deref() {
            Some("closed") => MergeRequestState::Closed,
            Some("merged") => MergeRequestState::Merged,
            _ => MergeRequestState::Opened,
        };
        let merged_at = record.metrics.as_ref().and_then(|metrics| metrics.merged_at.0).unwrap_or(updated_at);
        let mut assignees: Vec<i64> = record.merge_request_assignees.0.iter().filter_map(|it| it.user_id).collect();
        if assignees.is_empty() {
            assignees.extend(record.assignee_id);
        }
        let attributes = Attributes {
            title: clean_title(&mut self.progress, relation, &record.title),
            description: self.clean_optional(relation, record.description.as_deref(), MAX_TEXT_BYTES),
            state,
            target_branch: record.target_branch.clone(),
            removes_source_branch: None,
            assignee: self.find_assignee(connection, relation, &assignees).await?,
            milestone: self.find_milestone(connection, relation, record.milestone.as_ref()).await?,
        };
        let new = ImportedMergeRequest {
            iid: record.iid,
            author: self.users.find(self.app, connection, record.author_id).await?,
            source_project: is_own.then_some(self.project.id),
            source_branch: record.source_branch.clone(),
            attributes,
            merge_commit,
            merged_at: (state == MergeRequestState::Merged).then_some(merged_at),
            time_estimate: seconds(record.time_estimate),
            time_spent: spent_seconds(record),
            created_at,
            updated_at,
        };
        let Some(id) = imported::insert(connection, self.project.id, &new).await? else {
            self.leave_out(relation, TAKEN, &number);
            return Ok(());
        };
        let recorded_at = record.merge_request_diff.as_ref().and_then(|diff| diff.created_at.0).unwrap_or(created_at);
        version::insert(connection, id, head, start, true, recorded_at).await?;
        if is_own && state.is_open() {
            // The repository is locked: a push since the beginning of the import is in the refs.
            let tip = self.find_branch(connection, &record.source_branch).await?;
            if let Some(tip) = tip.filter(|tip| *tip != head) {
                let target = self.find_branch(connection, &record.target_branch).await?;
                version::insert(connection, id, tip, target, true, self.now).await?;
            }
        }
        if !is_own {
            self.count_left_out(relation, "the forks of source branches: the commits are imported", 1);
        }
        let labels = self.find_labels(connection, relation, record).await?;
        label::update_merge_request_labels(connection, id, &[], &labels).await?;
        merge_request::adjust_counters(connection, id, CounterDelta::Increment).await?;
        self.import_notes(connection, relation, NoteTarget::MergeRequest(id), record, created_at).await?;
        self.count_left_out(relation, "reviewers", record.merge_request_reviewers.0.len());
        self.progress.add_imported(relation.name(), 1);
        Ok(())
    }
}
