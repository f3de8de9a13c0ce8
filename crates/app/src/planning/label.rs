//! Labels of projects, and subscriptions to them.

use holdfast_domain::ids::LabelId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{Color, LabelTitle};
use holdfast_domain::policy::{Feature, ProjectAction};
use holdfast_domain::violations::TAKEN;
use holdfast_domain::{Field, Violations};
use holdfast_store::planning::board_list;
use holdfast_store::planning::label::{self, Attributes, LabelViewer};
use holdfast_store::{Connection, Transaction};

pub use holdfast_store::planning::label::Label;

use super::issue_visibility::confidential_access;
use crate::error::OnConstraint;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// A reference to a label in a request: an id or a title. An id is tried first.
#[derive(Clone, Debug)]
pub struct LabelRef(pub String);

/// Returns the labels with these titles, for their colors.
pub(super) async fn list_by_titles(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    titles: &[&str],
) -> Result<Vec<Label>> {
    if titles.is_empty() {
        return Ok(Vec::new());
    }
    Ok(label::list_by_titles(connection, project.id, titles, viewer(actor, project)).await?)
}

pub(super) fn viewer(actor: &Actor, project: &Project) -> LabelViewer {
    LabelViewer { user: actor.user_id(), confidential_access: confidential_access(actor, project) }
}

/// Lists the labels of a project. The list is empty if issues and merge requests are disabled.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Label>> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    if !access::is_feature_enabled(&project, Feature::IssuesOrMergeRequests) {
        return Ok(Page::with_total(Vec::new(), page, 0));
    }
    Ok(label::list(&app.database, project.id, viewer(actor, &project), page).await?)
}

/// The labels of a project, with what their page shows.
#[derive(Debug)]
pub struct ProjectLabels {
    pub project: Project,
    pub labels: Page<Label>,
}

/// Like [`list`], but also returns the project.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectLabels> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    let labels = if access::is_feature_enabled(&project, Feature::IssuesOrMergeRequests) {
        label::list(&app.database, project.id, viewer(actor, &project), page).await?
    } else {
        Page::with_total(Vec::new(), page, 0)
    };
    Ok(ProjectLabels { project, labels })
}

/// Returns a project in which the current user may create labels.
#[crate::boxed]
pub async fn show_project(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    access::read_project(app, actor, project, ProjectAction::ManageLabels).await
}

/// Returns a label that the current user may change, with its project.
#[crate::boxed]
pub async fn show_for_update(app: &App, actor: &Actor, project: &ProjectRef, id: LabelId) -> Result<(Project, Label)> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageLabels).await?;
    let label = find(&mut connection, actor, &project, id).await?;
    Ok((project, label))
}

/// The attributes that a creation or an update sets.
#[derive(Clone, Debug, Default)]
pub struct LabelChanges {
    pub title: Option<String>,
    pub color: Option<String>,
    pub description: Field<String>,
    pub priority: Field<i32>,
}

impl LabelChanges {
    fn apply(self, before: Option<&Label>) -> Result<Attributes> {
        let title = self.title.or_else(|| before.map(|it| it.title.clone())).unwrap_or_default();
        let color = self.color.or_else(|| before.map(|it| it.color.clone())).unwrap_or_default();
        let description = self.description.or_nullable(before.and_then(|it| it.description.clone()));
        let priority = self.priority.or_nullable(before.and_then(|it| it.priority));
        let mut violations = Violations::default();
        let title = violations.check("title", LabelTitle::parse(&title));
        let color = violations.check("color", Color::parse(&color));
        violations.check_length("description", description.as_deref().unwrap_or_default(), 2000);
        if priority.is_some_and(|priority| priority < 0) {
            violations.add("priority", "must be greater than or equal to 0");
        }
        match (title, color) {
            (Some(title), Some(color)) => {
                violations.into_result()?;
                Ok(Attributes { title, color, description, priority })
            }
            _ => Err(violations.into()),
        }
    }
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, changes: LabelChanges) -> Result<Label> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    let attributes = changes.apply(None)?;
    let id = label::insert(&mut transaction, project.id, &attributes, app.clock.now())
        .await
        .on_constraint("labels_title_key", || Error::Conflict("Label already exists".into()))?;
    let created = find(&mut transaction, actor, &project, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(created)
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    title: &str,
    changes: LabelChanges,
) -> Result<Label> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    let before = find_by_title(&mut transaction, actor, &project, title).await;
    // The error text is as existing clients expect.
    let before = before.map_err(|error| match error {
        Error::NotFound(Resource::Label) => Error::NotFound(Resource::Literal("404 Label not found Not Found")),
        error => error,
    })?;
    save(app, transaction, actor, &project, &before, changes).await
}

/// Like [`update`], for a label by its id.
#[crate::boxed]
pub async fn update_by_id(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: LabelId,
    changes: LabelChanges,
) -> Result<Label> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    let before = find(&mut transaction, actor, &project, id).await?;
    save(app, transaction, actor, &project, &before, changes).await
}

/// Updates a label and commits. The caller holds the lock of the project.
async fn save(
    app: &App,
    mut transaction: Transaction,
    actor: &Actor,
    project: &Project,
    before: &Label,
    changes: LabelChanges,
) -> Result<Label> {
    let attributes = changes.apply(Some(before))?;
    label::update(&mut transaction, project.id, before.id, &attributes, app.clock.now())
        .await
        .on_constraint("labels_title_key", || Violations::single("title", TAKEN).into())?;
    let updated = find(&mut transaction, actor, project, before.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(updated)
}

/// Deletes a label and its board list, and returns it as it was before.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, title: &str) -> Result<Label> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    let label = find_by_title(&mut transaction, actor, &project, title).await?;
    delete_locked(app, transaction, &project, label.id).await?;
    Ok(label)
}

/// Like [`delete`], for a label by its id.
#[crate::boxed]
pub async fn delete_by_id(app: &App, actor: &Actor, project: &ProjectRef, id: LabelId) -> Result<Label> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    let label = find(&mut transaction, actor, &project, id).await?;
    delete_locked(app, transaction, &project, label.id).await?;
    Ok(label)
}

/// Deletes a label with its board list, and commits. The caller holds the lock of the project.
async fn delete_locked(app: &App, mut transaction: Transaction, project: &Project, id: LabelId) -> Result<()> {
    if let Some(list) = board_list::find_by_label(&mut transaction, project.id, id).await? {
        board_list::delete(&mut transaction, project.id, list, app.clock.now()).await?;
    }
    label::delete(&mut transaction, project.id, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(())
}

/// Subscribes the current user to a label. Returns None if the user is subscribed already.
#[crate::boxed]
pub async fn subscribe(app: &App, actor: &Actor, project: &ProjectRef, label: &LabelRef) -> Result<Option<Label>> {
    let mut connection = app.database.connection().await?;
    let (project, label) = find_subscribable(app, &mut connection, actor, project, label).await?;
    if !label::subscribe(&mut connection, label.id, actor.current_user()?.account.id(), app.clock.now()).await? {
        return Ok(None);
    }
    Ok(Some(find(&mut connection, actor, &project, label.id).await?))
}

/// Removes the current user's subscription to a label. Returns None if there is none.
#[crate::boxed]
pub async fn unsubscribe(app: &App, actor: &Actor, project: &ProjectRef, label: &LabelRef) -> Result<Option<Label>> {
    let mut connection = app.database.connection().await?;
    let (project, label) = find_subscribable(app, &mut connection, actor, project, label).await?;
    if !label::unsubscribe(&mut connection, label.id, actor.current_user()?.account.id()).await? {
        return Ok(None);
    }
    Ok(Some(find(&mut connection, actor, &project, label.id).await?))
}

async fn find_subscribable(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    label: &LabelRef,
) -> Result<(Project, Label)> {
    let project = access::authorize_project(app, connection, actor, project, ProjectAction::Subscribe).await?;
    let is_number = label.0.bytes().all(|byte| byte.is_ascii_digit());
    let by_id = match label.0.parse::<i64>() {
        Ok(id) if is_number => label::find(connection, project.id, id.into(), viewer(actor, &project)).await?,
        Ok(_) | Err(_) => None,
    };
    let label = match by_id {
        Some(label) => label,
        None => find_by_title(connection, actor, &project, &label.0).await?,
    };
    Ok((project, label))
}

async fn find(connection: &mut Connection, actor: &Actor, project: &Project, id: LabelId) -> Result<Label> {
    let found = label::find(connection, project.id, id, viewer(actor, project)).await?;
    found.ok_or(Error::NotFound(Resource::Label))
}

async fn find_by_title(connection: &mut Connection, actor: &Actor, project: &Project, title: &str) -> Result<Label> {
    let id = label::find_id(connection, project.id, title).await?.ok_or(Error::NotFound(Resource::Label))?;
    find(connection, actor, project, id).await
}
