//! Validates the attributes of an issue that is created or updated.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{MilestoneId, ProjectId, UserId};
use holdfast_domain::planning::{Color, LabelTitle, StateEvent};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_domain::violations::{BLANK, INVALID};
use holdfast_domain::{Field, Violations};
use holdfast_store::Connection;
use holdfast_store::accounts::user;
use holdfast_store::planning::issue::Attributes;
use holdfast_store::planning::label::{self, TitledLabel};
use holdfast_store::planning::milestone;
use holdfast_store::projects::project;

use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// The attributes that a creation or an update sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssueChanges {
    pub title: Option<String>,
    pub description: Field<String>,
    pub assignee: Field<UserId>,
    pub milestone: Field<MilestoneId>,
    /// The titles of all labels.
    pub labels: Option<Vec<String>>,
    /// Labels to add and to remove, if `labels` is None. Only for updates.
    pub label_edit: LabelEdit,
    pub due_date: Field<NaiveDate>,
    pub confidential: Option<bool>,
    pub state_event: Option<StateEvent>,
    /// The time of the change instead of the current one. Only honored for actors who may delete issues.
    pub requested_at: Option<DateTime<Utc>>,
}

/// Labels to add to an issue and to remove from it. Its other labels are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelEdit {
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

impl LabelEdit {
    /// Returns the titles of all labels after the edit of these ones, or None if it changes nothing.
    pub(crate) fn apply(&self, current: &[String]) -> Option<Vec<String>> {
        let Self { added, removed } = self;
        if added.is_empty() && removed.is_empty() {
            return None;
        }
        let kept = current.iter().filter(|title| !removed.contains(title));
        Some(kept.chain(added).cloned().collect())
    }
}

/// The validated new attributes of an issue. Labels that are None do not change.
pub(super) struct IssueUpdate {
    pub attributes: Attributes,
    pub labels: Option<Vec<TitledLabel>>,
    /// The commit that closes the issue.
    pub commit: Option<String>,
}

impl IssueChanges {
    /// Replaces the labels to add and to remove by the titles of all labels, from those that the issue has.
    pub(super) fn with_labels_of(self, current: &[String]) -> Self {
        let labels = self.labels.or_else(|| self.label_edit.apply(current));
        Self { labels, ..self }
    }

    /// Validates the changes and applies them to the current attributes. Labels, assignee and milestone are ignored
    /// unless the actor manages issues.
    pub(super) async fn apply(
        self,
        app: &App,
        connection: &mut Connection,
        actor: &Actor,
        project: &Project,
        current: Attributes,
    ) -> Result<IssueUpdate> {
        let manages = access::can(actor, project, ProjectAction::ManageIssues);
        let mut violations = Violations::default();
        let old_description = current.description.as_deref();
        violations.check_changed_size("description", &self.description, old_description, MAX_TEXT_BYTES);
        let mut attributes = Attributes {
            title: self.title.unwrap_or(current.title),
            description: self.description.or_nullable(current.description),
            state: self.state_event.and_then(|event| current.state.apply(event)).unwrap_or(current.state),
            confidential: self.confidential.unwrap_or(current.confidential),
            due_date: self.due_date.or_nullable(current.due_date),
            ..current
        };
        if attributes.title.trim().is_empty() {
            violations.add("title", BLANK);
        }
        violations.check_single_line("title", &attributes.title);
        let mut labels = None;
        if manages {
            if let Field::Value(assignee) = self.assignee
                && Some(assignee) != attributes.assignee
                && !can_be_assigned(app, connection, project.id, assignee).await?
            {
                violations.add("assignee_id", INVALID);
            }
            if let Field::Value(id) = self.milestone
                && milestone::find(connection, project.id, id).await?.is_none()
            {
                violations.add("milestone_id", INVALID);
            }
            attributes.assignee = self.assignee.or_nullable(attributes.assignee);
            attributes.milestone = self.milestone.or_nullable(attributes.milestone);
            let titles = self.labels.map(|titles| parse_label_titles(&titles, &mut violations));
            violations.into_result()?;
            if let Some(titles) = titles {
                labels = Some(find_or_create_labels(app, connection, project.id, titles).await?);
            }
        } else {
            violations.into_result()?;
        }
        Ok(IssueUpdate { attributes, labels, commit: None })
    }
}

/// Returns whether issues and merge requests of the project can be assigned to a user: the user is active and can see the
/// project. A bot must be a member.
pub(crate) async fn can_be_assigned(
    app: &App,
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
) -> Result<bool> {
    let Some(assignee) = user::find(connection, user).await? else { return Ok(false) };
    let account = assignee.account();
    let Some(found) = project::find(connection, &ProjectRef::Id(project), Some(user), app.today()).await? else {
        return Ok(false);
    };
    let can_read = ProjectAction::Read.is_allowed(found.visibility, account.role(), found.level());
    Ok(account.is_active() && can_read && (!assignee.bot || found.level().is_some()))
}

/// Parses the titles of labels, without duplicates. Blank titles are ignored.
pub(crate) fn parse_label_titles(titles: &[String], violations: &mut Violations) -> Vec<LabelTitle> {
    let parsed = titles.iter().filter(|title| !title.trim().is_empty()).map(|title| LabelTitle::parse(title));
    let mut titles: Vec<LabelTitle> = parsed.filter_map(|title| violations.check("labels", title)).collect();
    titles.sort();
    titles.dedup();
    titles
}

/// Returns the labels of a project with these titles. Those that do not exist are created.
pub(crate) async fn find_or_create_labels(
    app: &App,
    connection: &mut Connection,
    project: ProjectId,
    titles: Vec<LabelTitle>,
) -> Result<Vec<TitledLabel>> {
    let wanted: Vec<&str> = titles.iter().map(LabelTitle::as_str).collect();
    let mut labels = label::find_by_titles(connection, project, &wanted).await?;
    let missing: Vec<&str> =
        wanted.into_iter().filter(|title| labels.iter().all(|label| label.title != *title)).collect();
    if !missing.is_empty() {
        let color = Color::default();
        labels.extend(label::insert_all(connection, project, &missing, &color, app.clock.now()).await?);
    }
    Ok(labels)
}

/// Returns the requested time if the actor may delete issues, otherwise the current time.
pub(super) fn effective_time(
    app: &App,
    actor: &Actor,
    project: &Project,
    requested_at: Option<DateTime<Utc>>,
) -> DateTime<Utc> {
    requested_at.filter(|_| access::can(actor, project, ProjectAction::DeleteIssue)).unwrap_or_else(|| app.clock.now())
}
