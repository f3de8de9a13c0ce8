//! Imports labels, milestones and issues, and the parts that merge requests share with issues.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{LabelId, MilestoneId, UserId};
use holdfast_domain::planning::{Color, IssueState, LabelTitle};
use holdfast_domain::text::{MAX_MILESTONE_TEXT_BYTES, MAX_TEXT_BYTES};
use holdfast_store::Connection;
use holdfast_store::planning::imported::{self, ImportedIssue, ImportedNote};
use holdfast_store::planning::issue::{self, CounterDelta};
use holdfast_store::planning::label;
use holdfast_store::planning::milestone;
use holdfast_store::planning::note::NoteTarget;

use super::records::{Issuable, Label, Milestone};
use super::relations::Relation;
use super::run::Batch;
use super::texts::{clean_text, clean_title};
use crate::Result;

/// The color of a label whose color is missing or malformed.
const DEFAULT_COLOR: &str = "#428bca";
/// Maximum number of characters of the description of a label.
const MAX_LABEL_DESCRIPTION_CHARS: usize = 2000;
/// Maximum number of notes of one issue or merge request that one statement inserts. Arbitrary.
const NOTES_PER_STATEMENT: usize = 500;
/// Maximum time that is estimated or spent, in seconds: a thousand years. Arbitrary.
const MAX_SECONDS: i64 = 31_536_000_000;

const NUMBER_TAKEN: &str = "the project has another one with this number";

impl Batch<'_> {
    pub async fn import_label(&mut self, connection: &mut Connection, record: &Label) -> Result<()> {
        match self.find_or_insert_label(connection, Relation::Labels, record).await? {
            Some((_, true)) => self.progress.add_imported(Relation::Labels.name(), 1),
            Some((_, false)) => {
                self.leave_out(Relation::Labels, "the project has another one with this title", &record.title)
            }
            None => {}
        }
        Ok(())
    }

    /// Returns the label with this title, and whether it was inserted. Returns None if the title is not accepted.
    async fn find_or_insert_label(
        &mut self,
        connection: &mut Connection,
        relation: Relation,
        record: &Label,
    ) -> Result<Option<(LabelId, bool)>> {
        // A title may contain a comma there, but not here.
        let Ok(title) = LabelTitle::parse(&record.title.replace(',', " ")) else {
            self.leave_out(relation, "the title of the label is not valid", &record.title);
            return Ok(None);
        };
        if let Some(id) = label::find_id(connection, self.project.id, title.as_str()).await? {
            return Ok(Some((id, false)));
        }
        let color = record.color.as_deref().and_then(|color| Color::parse(color).ok());
        let color = color.unwrap_or_else(|| Color::parse(DEFAULT_COLOR).expect("the default color is valid"));
        let description = record.description.as_deref().filter(|text| !text.is_empty());
        let attributes = label::Attributes {
            title,
            color,
            description: description.map(|text| {
                let text = clean_text(&mut self.progress, relation, text, MAX_TEXT_BYTES);
                text.chars().take(MAX_LABEL_DESCRIPTION_CHARS).collect()
            }),
            priority: record.priorities.0.first().map(|it| it.priority.max(0)),
        };
        let created_at = record.created_at.0.unwrap_or(self.now);
        Ok(Some((label::insert(connection, self.project.id, &attributes, created_at).await?, true)))
    }

    pub async fn import_milestone(&mut self, connection: &mut Connection, record: &Milestone) -> Result<()> {
        match self.insert_milestone(connection, Relation::Milestones, record.iid, record).await? {
            true => self.progress.add_imported(Relation::Milestones.name(), 1),
            false => self.leave_out(
                Relation::Milestones,
                "the project has another one with this number or title",
                &record.title,
            ),
        }
        Ok(())
    }

    async fn insert_milestone(
        &mut self,
        connection: &mut Connection,
        relation: Relation,
        iid: i64,
        record: &Milestone,
    ) -> Result<bool> {
        let attributes = milestone::Attributes {
            title: clean_title(&mut self.progress, relation, &record.title),
            description: self.clean_optional(relation, record.description.as_deref(), MAX_MILESTONE_TEXT_BYTES),
            closed: record.state.as_deref() == Some("closed"),
            start_date: record.start_date.0,
            due_date: record.due_date.0,
        };
        let created_at = record.created_at.0.unwrap_or(self.now);
        let updated_at = record.updated_at.0.unwrap_or(created_at);
        Ok(imported::insert_milestone(connection, self.project.id, iid, &attributes, created_at, updated_at).await?)
    }

    /// Returns the milestone with the title of this one. A milestone of a group becomes one of the project, with a new
    /// number.
    pub(super) async fn find_milestone(
        &mut self,
        connection: &mut Connection,
        relation: Relation,
        record: Option<&Milestone>,
    ) -> Result<Option<MilestoneId>> {
        let Some(record) = record else { return Ok(None) };
        let title = clean_title(&mut self.progress, relation, &record.title);
        if let Some(id) = milestone::find_id(connection, self.project.id, &title).await? {
            return Ok(Some(id));
        }
        let iid = imported::reserve_milestone_number(connection, self.project.id).await?;
        self.insert_milestone(connection, relation, iid, record).await?;
        Ok(milestone::find_id(connection, self.project.id, &title).await?)
    }

    pub async fn import_issue(&mut self, connection: &mut Connection, record: &Issuable) -> Result<()> {
        let relation = Relation::Issues;
        let created_at = record.created_at.0.unwrap_or(self.now);
        let state = if record.state.as_deref() == Some("closed") { IssueState::Closed } else { IssueState::Opened };
        let assignees: Vec<i64> = record.issue_assignees.0.iter().filter_map(|it| it.user_id).collect();
        let assignee = self.find_assignee(connection, relation, &assignees).await?;
        let attributes = issue::Attributes {
            title: clean_title(&mut self.progress, relation, &record.title),
            description: self.clean_optional(relation, record.description.as_deref(), MAX_TEXT_BYTES),
            state,
            confidential: record.confidential.unwrap_or_default(),
            due_date: record.due_date.0,
            assignee,
            milestone: self.find_milestone(connection, relation, record.milestone.as_ref()).await?,
        };
        let new = ImportedIssue {
            iid: record.iid,
            author: self.users.find(self.app, connection, record.author_id).await?,
            attributes,
            time_estimate: seconds(record.time_estimate),
            time_spent: spent_seconds(record),
            created_at,
            updated_at: record.updated_at.0.unwrap_or(created_at),
        };
        let Some(id) = imported::insert_issue(connection, self.project.id, &new).await? else {
            self.leave_out(relation, NUMBER_TAKEN, &record.iid.to_string());
            return Ok(());
        };
        let labels = self.find_labels(connection, relation, record).await?;
        label::update_labels(connection, id, &[], &labels).await?;
        issue::adjust_counters(connection, id, CounterDelta::Increment).await?;
        self.import_notes(connection, relation, NoteTarget::Issue(id), record, created_at).await?;
        self.progress.add_imported(relation.name(), 1);
        Ok(())
    }

    /// Returns the user to whom an issue or a merge request is assigned: the first one, because there is only one here.
    pub(super) async fn find_assignee(
        &mut self,
        connection: &mut Connection,
        relation: Relation,
        assignees: &[i64],
    ) -> Result<Option<UserId>> {
        let Some((first, others)) = assignees.split_first() else { return Ok(None) };
        self.count_left_out(relation, "further assignees", others.len());
        Ok(Some(self.users.find(self.app, connection, Some(*first)).await?))
    }

    /// Returns the labels of an issue or a merge request. Labels of groups become labels of the project.
    pub(super) async fn find_labels(
        &mut self,
        connection: &mut Connection,
        relation: Relation,
        record: &Issuable,
    ) -> Result<Vec<LabelId>> {
        let mut ids = Vec::new();
        for link in record.label_links.0.iter().filter_map(|it| it.label.as_ref()) {
            ids.extend(self.find_or_insert_label(connection, relation, link).await?.map(|(id, _)| id));
        }
        ids.sort_unstable_by_key(|id| id.get());
        ids.dedup();
        Ok(ids)
    }

    /// Inserts the notes in the order in which they were written.
    pub(super) async fn import_notes(
        &mut self,
        connection: &mut Connection,
        relation: Relation,
        target: NoteTarget,
        record: &Issuable,
        default_time: DateTime<Utc>,
    ) -> Result<()> {
        let mut records: Vec<_> = record.notes.0.iter().collect();
        records.sort_by_key(|note| (note.created_at.0.unwrap_or(default_time), note.id));
        let mut awards = record.award_emoji.0.len();
        let mut notes = Vec::with_capacity(records.len().min(NOTES_PER_STATEMENT));
        for record in records {
            awards += record.award_emoji.0.len();
            if record.internal.or(record.confidential) == Some(true) {
                self.leave_out(relation, "internal notes: everybody who reads the project would read them", "");
                continue;
            }
            let body = record.note.as_deref().unwrap_or_default();
            let body = clean_text(&mut self.progress, relation, body, MAX_TEXT_BYTES);
            if body.trim().is_empty() {
                self.leave_out(relation, "notes without a text", "");
                continue;
            }
            if record.kind.as_deref() == Some("DiffNote") {
                self.count_left_out(relation, "the lines of notes: the notes are imported as ordinary ones", 1);
            }
            let created_at = record.created_at.0.unwrap_or(default_time);
            notes.push(ImportedNote {
                author: self.users.find(self.app, connection, record.author_id).await?,
                body,
                system: record.system,
                created_at,
                updated_at: record.updated_at.0.unwrap_or(created_at),
            });
            if notes.len() == NOTES_PER_STATEMENT {
                self.insert_notes(connection, target, &mut notes).await?;
            }
        }
        self.insert_notes(connection, target, &mut notes).await?;
        self.count_left_out(relation, "award emoji", awards);
        Ok(())
    }

    async fn insert_notes(
        &mut self,
        connection: &mut Connection,
        target: NoteTarget,
        notes: &mut Vec<ImportedNote>,
    ) -> Result<()> {
        imported::insert_notes(connection, target, notes).await?;
        if !notes.is_empty() {
            self.progress.add_imported("notes", notes.len() as u64);
        }
        notes.clear();
        Ok(())
    }

    pub(super) fn clean_optional(
        &mut self,
        relation: Relation,
        text: Option<&str>,
        max_bytes: usize,
    ) -> Option<String> {
        text.map(|text| clean_text(&mut self.progress, relation, text, max_bytes))
    }

    pub(super) fn leave_out(&mut self, relation: Relation, reason: &str, example: &str) {
        self.progress.leave_out(relation.name(), reason, 1, Some(example).filter(|example| !example.is_empty()));
    }

    pub(super) fn count_left_out(&mut self, relation: Relation, reason: &str, count: usize) {
        self.progress.leave_out(relation.name(), reason, count as u64, None);
    }
}

pub(super) fn seconds(estimate: Option<i64>) -> i64 {
    estimate.unwrap_or_default().clamp(0, MAX_SECONDS)
}

pub(super) fn spent_seconds(record: &Issuable) -> i64 {
    let spent = record.timelogs.0.iter().filter_map(|it| it.time_spent);
    seconds(Some(spent.fold(0, i64::saturating_add)))
}
