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

/// Runs quick actions as one update of the issue, and returns the kinds of those that were refused: because the actor
/// may not make the change, or because a name or a date is invalid.
pub(super) async fn run(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: IssueId,
    actions: &[QuickAction],
) -> Result<Vec<QuickActionKind>> {
    if actions.is_empty() {
        return Ok(Vec::new());
    }
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::CreateIssue).await?;
    let before = find_visible(&mut connection, actor, &project, id).await?;
    let mut changes = IssueChanges::default();
    let mut refused = BTreeSet::new();
    for action in actions {
        let is_allowed = can_edit(actor, &project, &before);
        if !(is_allowed && add_action(app, &mut connection, actor, &project, &before, &mut changes, action).await?) {
            refused.insert(action.kind());
        }
    }
    drop(connection);
    if changes != IssueChanges::default() {
        match issue::update(app, actor, &ProjectRef::Id(project.id), id, changes).await {
            Ok(_) => {}
            Err(Error::Forbidden(_) | Error::Invalid(_)) => refused.extend(actions.iter().map(QuickAction::kind)),
            Err(error) => return Err(error),
        }
    }
    Ok(refused.into_iter().collect())
}

/// Adds an action to the changes of the issue. Returns false if the actor may not make the change, or if it is invalid.
async fn add_action(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    changes: &mut IssueChanges,
    action: &QuickAction,
) -> Result<bool> {
    let needs_manager =
        matches!(action.kind(), QuickActionKind::Label | QuickActionKind::Assign | QuickActionKind::Milestone);
    if needs_manager && !access::can(actor, project, ProjectAction::ManageIssues) {
        return Ok(false);
    }
    match action {
        QuickAction::Label(titles) => {
            if titles.iter().any(|title| LabelTitle::parse(title).is_err()) {
                return Ok(false);
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
                _ => return Ok(false),
            }
        }
        QuickAction::Unassign => changes.assignee = Field::Null,
        QuickAction::Milestone(None) => changes.milestone = Field::Null,
        QuickAction::Milestone(Some(title)) => match milestone::find_id(connection, project.id, title).await? {
            Some(id) => changes.milestone = Field::Value(id),
            None => return Ok(false),
        },
        QuickAction::Due(date) => changes.due_date = date.map_or(Field::Null, Field::Value),
        QuickAction::InvalidDue => return Ok(false),
        QuickAction::Close => changes.state_event = Some(StateEvent::Close),
        QuickAction::Reopen => changes.state_event = Some(StateEvent::Reopen),
        QuickAction::Confidential => changes.confidential = Some(true),
    }
    Ok(true)
}
