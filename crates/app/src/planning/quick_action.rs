//! Runs the quick actions of a description or a note, after the text was saved.

use std::collections::BTreeSet;

use holdfast_domain::Field;
use holdfast_domain::ids::IssueId;
use holdfast_domain::planning::{LabelTitle, QuickAction, QuickActionKind, StateEvent};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::planning::milestone;

use super::assignee;
use super::issue::{self, Issue, can_edit};
use super::issue_update::{IssueChanges, can_be_assigned};
use super::issue_visibility::find_visible;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, access};

/// The quick actions of a text that were refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedActions {
    /// Each kind once, in a fixed order.
    pub kinds: Vec<QuickActionKind>,
    /// Whether the actor may not make one of the changes. Otherwise a name or a date is invalid.
    pub is_forbidden: bool,
    /// Whether other quick actions of the text changed the issue.
    pub has_changes: bool,
}

/// The result of a quick action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Added,
    /// The actor may not make the change.
    Forbidden,
    /// A name or a date is invalid.
    Invalid,
}

/// Runs quick actions as one update of the issue, and returns those that were refused: because the actor may not make
/// the change, or because a name or a date is invalid.
pub(super) async fn run(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: IssueId,
    actions: &[QuickAction],
) -> Result<RefusedActions> {
    if actions.is_empty() {
        return Ok(RefusedActions::default());
    }
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::CreateIssue).await?;
    let before = find_visible(&mut connection, actor, &project, id).await?;
    let mut changes = IssueChanges::default();
    let mut kinds = BTreeSet::new();
    let mut refused = RefusedActions::default();
    for action in actions {
        let outcome = match can_edit(actor, &project, &before) {
            true => add_action(app, &mut connection, actor, &project, &before, &mut changes, action).await?,
            false => Outcome::Forbidden,
        };
        if outcome != Outcome::Added {
            kinds.insert(action.kind());
        }
        refused.is_forbidden |= outcome == Outcome::Forbidden;
    }
    drop(connection);
    if changes != IssueChanges::default() {
        match issue::update(app, actor, &ProjectRef::Id(project.id), id, changes).await {
            Ok(_) => refused.has_changes = true,
            Err(error @ (Error::Forbidden(_) | Error::Invalid(_))) => {
                refused.is_forbidden |= matches!(error, Error::Forbidden(_));
                kinds.extend(actions.iter().map(QuickAction::kind));
            }
            Err(error) => return Err(error),
        }
    }
    refused.kinds = kinds.into_iter().collect();
    Ok(refused)
}

/// Adds an action to the changes of the issue, unless it is refused.
async fn add_action(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    changes: &mut IssueChanges,
    action: &QuickAction,
) -> Result<Outcome> {
    let needs_manager =
        matches!(action.kind(), QuickActionKind::Label | QuickActionKind::Assign | QuickActionKind::Milestone);
    if needs_manager && !access::can(actor, project, ProjectAction::ManageIssues) {
        return Ok(Outcome::Forbidden);
    }
    match action {
        QuickAction::Label(titles) => {
            if titles.iter().any(|title| LabelTitle::parse(title).is_err()) {
                return Ok(Outcome::Invalid);
            }
            changes.label_edit.removed.retain(|title| !titles.contains(title));
            changes.label_edit.added.extend(titles.iter().cloned());
        }
        QuickAction::Unlabel(titles) => {
            let removed = if titles.is_empty() { &issue.labels } else { titles };
            changes.label_edit.added.retain(|title| !titles.is_empty() && !removed.contains(title));
            changes.label_edit.removed.extend(removed.iter().cloned());
        }
        QuickAction::Assign(name) => {
            let name = if name == "me" { "@me" } else { name };
            match assignee::find_by_name(connection, actor, name).await? {
                Some(user) if can_be_assigned(app, connection, project.id, user).await? => {
                    changes.assignee = Field::Value(user);
                }
                _ => return Ok(Outcome::Invalid),
            }
        }
        QuickAction::Unassign => changes.assignee = Field::Null,
        QuickAction::Milestone(None) => changes.milestone = Field::Null,
        QuickAction::Milestone(Some(title)) => match milestone::find_id(connection, project.id, title).await? {
            Some(id) => changes.milestone = Field::Value(id),
            None => return Ok(Outcome::Invalid),
        },
        QuickAction::Due(date) => changes.due_date = date.map_or(Field::Null, Field::Value),
        QuickAction::InvalidDue => return Ok(Outcome::Invalid),
        QuickAction::Close => changes.state_event = Some(StateEvent::Close),
        QuickAction::Reopen => changes.state_event = Some(StateEvent::Reopen),
        QuickAction::Confidential => changes.confidential = Some(true),
    }
    Ok(Outcome::Added)
}
