//! Validates the attributes of a merge request that is created or updated.

use holdfast_domain::ids::{MilestoneId, UserId};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_domain::violations::{BLANK, INVALID};
use holdfast_domain::{Field, Violations};
use holdfast_store::Connection;
use holdfast_store::merge_requests::merge_request::Attributes;
use holdfast_store::planning::label::TitledLabel;
use holdfast_store::planning::milestone;

use crate::planning::issue_update::{LabelEdit, can_be_assigned, find_or_create_labels, parse_label_titles};
use crate::projects::project::Project;
use crate::{Actor, App, Result, access};

/// The attributes that a creation or an update sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeRequestChanges {
    pub title: Option<String>,
    pub description: Field<String>,
    pub target_branch: Option<String>,
    pub assignee: Field<UserId>,
    pub milestone: Field<MilestoneId>,
    /// The titles of all labels.
    pub labels: Option<Vec<String>>,
    /// Labels to add and to remove, if `labels` is None. Only for updates.
    pub label_edit: LabelEdit,
    pub removes_source_branch: Option<bool>,
    pub state_event: Option<StateEvent>,
}

/// The validated new attributes of a merge request. Labels that are None do not change.
pub(super) struct MergeRequestUpdate {
    pub attributes: Attributes,
    pub labels: Option<Vec<TitledLabel>>,
}

impl MergeRequestChanges {
    /// Replaces the labels to add and to remove by the titles of all labels, from those that the merge request has.
    pub(super) fn with_labels_of(self, current: &[String]) -> Self {
        let labels = self.labels.or_else(|| self.label_edit.apply(current));
        Self { labels, label_edit: LabelEdit::default(), ..self }
    }

    /// Checks the texts of a new merge request, before its commits are copied.
    pub(super) fn check_texts(&self) -> Result<()> {
        let mut violations = Violations::default();
        violations.check_changed_size("description", &self.description, None, MAX_TEXT_BYTES);
        check_title(self.title.as_deref().unwrap_or_default(), &mut violations);
        if self.target_branch.as_deref().unwrap_or_default().is_empty() {
            violations.add("target_branch", BLANK);
        }
        Ok(violations.into_result()?)
    }

    /// Validates the changes and applies them to the current attributes. Labels, assignee and milestone are ignored
    /// unless the actor manages merge requests, and so is a milestone of another project.
    pub(super) async fn apply(
        self,
        app: &App,
        connection: &mut Connection,
        actor: &Actor,
        project: &Project,
        current: Attributes,
    ) -> Result<MergeRequestUpdate> {
        let mut violations = Violations::default();
        let old_description = current.description.as_deref();
        violations.check_changed_size("description", &self.description, old_description, MAX_TEXT_BYTES);
        // What was merged stays as it was.
        let is_merged = current.state == MergeRequestState::Merged;
        let target_branch = self.target_branch.filter(|_| !is_merged);
        let mut attributes = Attributes {
            title: self.title.unwrap_or(current.title),
            description: self.description.or_nullable(current.description),
            state: self.state_event.and_then(|event| current.state.apply(event)).unwrap_or(current.state),
            target_branch: target_branch.unwrap_or(current.target_branch),
            removes_source_branch: self.removes_source_branch.or(current.removes_source_branch),
            ..current
        };
        check_title(&attributes.title, &mut violations);
        if attributes.target_branch.is_empty() {
            violations.add("target_branch", BLANK);
        }
        let mut labels = None;
        if access::can(actor, project, ProjectAction::ManageMergeRequests) {
            if let Field::Value(assignee) = self.assignee
                && Some(assignee) != attributes.assignee
                && !can_be_assigned(app, connection, project.id, assignee).await?
            {
                violations.add("assignee_id", INVALID);
            }
            attributes.assignee = self.assignee.or_nullable(attributes.assignee);
            attributes.milestone = match self.milestone {
                Field::Absent => attributes.milestone,
                Field::Null => None,
                Field::Value(id) => milestone::find(connection, project.id, id).await?.map(|found| found.id),
            };
            let titles = self.labels.map(|titles| parse_label_titles(&titles, &mut violations));
            violations.into_result()?;
            if let Some(titles) = titles {
                labels = Some(find_or_create_labels(app, connection, project.id, titles).await?);
            }
        } else {
            violations.into_result()?;
        }
        Ok(MergeRequestUpdate { attributes, labels })
    }
}

fn check_title(title: &str, violations: &mut Violations) {
    if title.trim().is_empty() {
        violations.add("title", BLANK);
    }
    violations.check_single_line("title", title);
}
