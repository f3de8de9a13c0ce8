//! One change of several issues of a project.

use std::collections::BTreeSet;

use holdfast_domain::ids::{IssueId, ProjectId};
use holdfast_domain::planning::{LabelTitle, StateEvent};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::INVALID;
use holdfast_domain::{Field, Violations};
use holdfast_store::Connection;
use holdfast_store::planning::{issue as issues, milestone};

use super::issue_update::{IssueChanges, can_be_assigned};
use super::{assignee, issue};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, access};

/// Maximum number of issues that are changed at once: as many as a page of a list has at most.
pub const MAX_ISSUES: usize = 100;

/// A change of several issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BulkChange {
    Close,
    Reopen,
    AddLabel(String),
    RemoveLabel(String),
    /// The username of the new assignee, or None for nobody.
    Assign(Option<String>),
    /// The title of the new milestone, or None for none.
    SetMilestone(Option<String>),
}

/// How many issues were changed, and how many were not, because they do not exist, the actor may not see them, or they
/// cannot be changed in this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkResult {
    pub changed_count: usize,
    pub skipped_count: usize,
}

/// Changes the issues with these numbers, each with the same update as if it were changed alone. A change that is
/// invalid for every issue is rejected before the first one changes; issues for which alone it is invalid are skipped.
/// Numbers beyond [`MAX_ISSUES`] are rejected. Returns None if no issue or no change was chosen. Only users who manage
/// issues may do this.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iids: &[i64],
    change: Option<BulkChange>,
) -> Result<Option<BulkResult>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageIssues).await?;
    let Some(change) = change.filter(|_| !iids.is_empty()) else { return Ok(None) };
    let iids: BTreeSet<i64> = iids.iter().copied().collect();
    if iids.len() > MAX_ISSUES {
        return Err(Violations::single("issues", format!("are too many (maximum is {MAX_ISSUES})")).into());
    }
    let changes = change.into_changes(app, &mut connection, actor, &project).await?;
    let iids: Vec<i64> = iids.into_iter().collect();
    let ids = issues::list_ids(&mut connection, project.id, &iids).await?;
    drop(connection);
    let mut changed_count = 0;
    for id in ids {
        changed_count += usize::from(update_one(app, actor, project.id, id, changes.clone()).await?);
    }
    Ok(Some(BulkResult { changed_count, skipped_count: iids.len() - changed_count }))
}

/// Updates one issue. Returns false if it was deleted or became hidden from the actor since it was listed, or if the
/// change is invalid for it: for example if an old label of the issue has a title that is not allowed any more.
async fn update_one(app: &App, actor: &Actor, project: ProjectId, id: IssueId, changes: IssueChanges) -> Result<bool> {
    match issue::update(app, actor, &ProjectRef::Id(project), id, changes).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound(_) | Error::Forbidden(_) | Error::Invalid(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

impl BulkChange {
    async fn into_changes(
        self,
        app: &App,
        connection: &mut Connection,
        actor: &Actor,
        project: &Project,
    ) -> Result<IssueChanges> {
        let mut changes = IssueChanges::default();
        match self {
            Self::Close => changes.state_event = Some(StateEvent::Close),
            Self::Reopen => changes.state_event = Some(StateEvent::Reopen),
            Self::AddLabel(title) => {
                let title = LabelTitle::parse(&title).map_err(|message| Violations::single("label", message))?;
                changes.label_edit.added.push(title.as_str().to_owned());
            }
            Self::RemoveLabel(title) => changes.label_edit.removed.push(title.trim().to_owned()),
            Self::Assign(None) => changes.assignee = Field::Null,
            Self::Assign(Some(name)) => match assignee::find_by_name(connection, actor, &name).await? {
                Some(user) if can_be_assigned(app, connection, project.id, user).await? => {
                    changes.assignee = Field::Value(user);
                }
                _ => return Err(Violations::single("assignee", INVALID).into()),
            },
            Self::SetMilestone(None) => changes.milestone = Field::Null,
            Self::SetMilestone(Some(title)) => match milestone::find_id(connection, project.id, &title).await? {
                Some(id) => changes.milestone = Field::Value(id),
                None => return Err(Violations::single("milestone", INVALID).into()),
            },
        }
        Ok(changes)
    }
}
