//! Moving a project into a group.

use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_store::activity::event;
use holdfast_store::namespaces::group::{Group, GroupRef};
use holdfast_store::namespaces::namespace;
use holdfast_store::projects::{fork, project, redirect, share};

use super::notice;
use super::project::{ProjectRef, load};
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Result, access};

/// Moves a project into a group. A project that is more visible than the group takes the group's visibility, and so do its
/// forks.
pub async fn transfer(app: &App, actor: &Actor, group: &GroupRef, moved: &ProjectRef) -> Result<Group> {
    access::instance(actor, InstanceAction::TransferProject)?;
    let mut transaction = app.database.begin().await?;
    let group = access::group(app, &mut transaction, actor, group, GroupAction::Read).await?;
    namespace::hold(&mut transaction, group.id).await?;
    let before = access::locked_project_in_place(app, &mut transaction, actor, moved, ProjectAction::Read).await?;
    let group = access::group(app, &mut transaction, actor, &GroupRef::Id(group.id), GroupAction::Read).await?;
    if before.namespace.id == group.id {
        return Err(refusal("is invalid"));
    }
    let now = app.clock.now();
    let exists = || refusal("Project with same path in target namespace already exists");
    project::set_namespace(&mut transaction, before.id, group.id, group.visibility, now)
        .await
        .on_constraint("projects_path_key", exists)
        .on_constraint("projects_name_key", exists)?;
    if group.visibility < before.visibility {
        fork::lower(&mut transaction, before.id, group.visibility).await?;
    }
    share::delete(&mut transaction, before.id, group.id).await?;
    redirect::leave_for_project(&mut transaction, before.namespace.id, &before.path, before.id).await?;
    let project = load(app, &mut transaction, before.id, None).await?;
    event::tell(&mut transaction, Some(project.id), &notice::transferred(&project, &before.full_path()), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

/// As existing clients know it.
fn refusal(reason: &str) -> Error {
    Error::Refused(format!("Failed to transfer project {{:new_namespace=>[\"{reason}\"]}}"))
}
