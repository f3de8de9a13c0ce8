//! Transfer of a project to a group. The transfer of objects and refs with git is in `repository::transfer`.

use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_store::activity::event;
use holdfast_store::namespaces::group::{Group, GroupRef};
use holdfast_store::namespaces::namespace;
use holdfast_store::projects::{fork, project, redirect, share};

use super::project::{ProjectRef, load};
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Result, access, events};

/// Moves a project to a group. The visibility of the project and of its forks is lowered to that of the group.
#[crate::boxed]
pub async fn transfer(app: &App, actor: &Actor, group: &GroupRef, project_ref: &ProjectRef) -> Result<Group> {
    access::authorize_instance(actor, InstanceAction::TransferProject)?;
    let mut transaction = app.database.begin().await?;
    let group = access::authorize_group(app, &mut transaction, actor, group, GroupAction::Read).await?;
    namespace::lock_shared(&mut transaction, group.id).await?;
    let before =
        access::lock_project_and_namespace(app, &mut transaction, actor, project_ref, ProjectAction::Read).await?;
    let group =
        access::authorize_group(app, &mut transaction, actor, &GroupRef::Id(group.id), GroupAction::Read).await?;
    if before.namespace.id == group.id {
        return Err(rejection("is invalid"));
    }
    let now = app.clock.now();
    let exists = || rejection("Project with same path in target namespace already exists");
    project::set_namespace(&mut transaction, before.id, group.id, group.visibility, now)
        .await
        .on_constraint("projects_path_key", exists)
        .on_constraint("projects_name_key", exists)?;
    if group.visibility < before.visibility {
        fork::cap_visibility(&mut transaction, before.id, group.visibility).await?;
    }
    share::delete(&mut transaction, before.id, group.id).await?;
    redirect::insert_for_project(&mut transaction, before.namespace.id, &before.path, before.id).await?;
    let project = load(app, &mut transaction, before.id, None).await?;
    event::publish(
        &mut transaction,
        Some(project.id),
        &events::project::project_transferred(&project, &before.full_path()),
        now,
    )
    .await?;
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

/// Returns an error with the text that existing clients expect.
fn rejection(reason: &str) -> Error {
    Error::Rejected(format!("Failed to transfer project {{:new_namespace=>[\"{reason}\"]}}"))
}
