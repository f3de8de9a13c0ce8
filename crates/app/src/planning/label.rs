//! Labels of projects, and subscriptions to them.

use holdfast_domain::ids::LabelId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{Color, LabelTitle};
use holdfast_domain::policy::{Feature, ProjectAction};
use holdfast_domain::violations::TAKEN;
use holdfast_domain::{Field, Violations};
use holdfast_store::Connection;
use holdfast_store::planning::board_list;
use holdfast_store::planning::label::{self, Attributes, LabelViewer};

pub use holdfast_store::planning::label::{AttachedLabel, Label};

use super::issue_visibility::confidential_access;
use crate::error::OnConstraint;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// A reference to a label in a request.
#[derive(Clone, Debug)]
pub enum LabelRef {
    Title(String),
    Id(LabelId),
    /// An id or a title. An id is tried first, because a title can be a number.
    IdOrTitle(String),
}

/// Returns the labels with these titles, for their colors.
pub(crate) async fn list_by_titles(
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

/// Lists the labels of a project whose title contains a text, or all of them. The list is empty if issues and merge
/// requests are disabled.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    search: Option<&str>,
    page: PageRequest,
) -> Result<Page<Label>> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    if !access::is_feature_enabled(&project, Feature::IssuesOrMergeRequests) {
        return Ok(Page::with_total(Vec::new(), page, 0));
    }
    Ok(label::list(&app.database, project.id, viewer(actor, &project), search, page).await?)
}

/// The labels of a project, with what their page shows.
#[derive(Debug)]
pub struct ProjectLabels {
    pub project: Project,
    pub labels: Page<Label>,
}

/// Like [`list`] of all labels, but also returns the project.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectLabels> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    let labels = if access::is_feature_enabled(&project, Feature::IssuesOrMergeRequests) {
        label::list(&app.database, project.id, viewer(actor, &project), None, page).await?
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

/// Returns a label. There is none if issues and merge requests are disabled.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, label: &LabelRef) -> Result<Label> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::Read).await?;
    if !access::is_feature_enabled(&project, Feature::IssuesOrMergeRequests) {
        return Err(Error::NotFound(Resource::Label));
    }
    find_by_ref(&mut connection, actor, &project, label).await
}

/// Returns a label that the current user may change, with its project.
#[crate::boxed]
pub async fn show_for_update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    label: &LabelRef,
) -> Result<(Project, Label)> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageLabels).await?;
    let label = find_by_ref(&mut connection, actor, &project, label).await?;
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
    label: &LabelRef,
    changes: LabelChanges,
) -> Result<Label> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    let before = find_by_ref(&mut transaction, actor, &project, label).await?;
    let attributes = changes.apply(Some(&before))?;
    label::update(&mut transaction, project.id, before.id, &attributes, app.clock.now())
        .await
        .on_constraint("labels_title_key", || Violations::single("title", TAKEN).into())?;
    let updated = find(&mut transaction, actor, &project, before.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(updated)
}

/// Deletes a label and its board list, and returns it as it was before.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, label: &LabelRef) -> Result<Label> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    let label = find_by_ref(&mut transaction, actor, &project, label).await?;
    if let Some(list) = board_list::find_by_label(&mut transaction, project.id, label.id).await? {
        board_list::delete(&mut transaction, project.id, list, app.clock.now()).await?;
    }
    label::delete(&mut transaction, project.id, label.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(label)
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
    let label = find_by_ref(connection, actor, &project, label).await?;
    Ok((project, label))
}

async fn find_by_ref(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    reference: &LabelRef,
) -> Result<Label> {
    let text = match reference {
        LabelRef::Title(title) => return find_by_title(connection, actor, project, title).await,
        LabelRef::Id(id) => return find(connection, actor, project, *id).await,
        LabelRef::IdOrTitle(text) => text,
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let by_id = match text.parse::<i64>() {
        Ok(id) if is_number => label::find(connection, project.id, id.into(), viewer(actor, project)).await?,
        Ok(_) | Err(_) => None,
    };
    match by_id {
        Some(label) => Ok(label),
        None => find_by_title(connection, actor, project, text).await,
    }
}

async fn find(connection: &mut Connection, actor: &Actor, project: &Project, id: LabelId) -> Result<Label> {
    let found = label::find(connection, project.id, id, viewer(actor, project)).await?;
    found.ok_or(Error::NotFound(Resource::Label))
}

async fn find_by_title(connection: &mut Connection, actor: &Actor, project: &Project, title: &str) -> Result<Label> {
    let id = label::find_id(connection, project.id, title).await?.ok_or(Error::NotFound(Resource::Label))?;
    find(connection, actor, project, id).await
}
