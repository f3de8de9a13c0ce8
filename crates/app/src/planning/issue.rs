//! Issues: show, create, update, delete and subscribe.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{IssueId, LabelId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{IssueState, StateEvent, issues_mentioned_in};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::activity::event::{self, NewEvent, Subject};
use holdfast_store::planning::issue::{self, Attributes, CounterDelta};
use holdfast_store::planning::label::{self, TitledLabel};
use holdfast_store::planning::note::{self, Note, NoteSelection, NoteTarget};
use holdfast_store::{Connection, Transaction};

pub use holdfast_store::planning::issue::Issue;

use super::events;
use super::issue_update::{IssueChanges, IssueUpdate, effective_time};
use super::issue_visibility::{audience, confidential_access, find_visible, find_visible_by_iid};
use super::label::{Label, list_by_titles};
use super::mention::{self, Mentioned};
use super::{system_note, todo};
use crate::accounts::user::lock_author;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: IssueId) -> Result<Issue> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    find_visible(&mut connection, actor, &project, id).await
}

/// Returns the id of an issue by its number within the project. Whether the actor may see that issue is checked by the use
/// case that the id is for.
#[crate::boxed]
pub async fn find_id(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<IssueId> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    issue::find_id(&mut connection, project.id, iid).await?.ok_or(Error::NotFound(Resource::Issue))
}

/// An issue with what its page shows.
#[derive(Debug)]
pub struct IssueWithNotes {
    pub project: Project,
    pub issue: Issue,
    pub notes: Page<Note>,
    /// The labels of the issue.
    pub labels: Vec<Label>,
    /// What the description and the notes mention.
    pub mentioned: Mentioned,
}

/// Returns an issue by its number within the project, with a page of its notes, the oldest first.
#[crate::boxed]
pub async fn show_with_notes(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    page: PageRequest,
) -> Result<IssueWithNotes> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let issue = find_visible_by_iid(&mut connection, actor, &project, iid).await?;
    let titles: Vec<&str> = issue.labels.iter().map(String::as_str).collect();
    let labels = list_by_titles(&mut connection, actor, &project, &titles).await?;
    drop(connection);
    let (target, selection) = (NoteTarget::Issue(issue.id), NoteSelection::default());
    let notes = note::list(&app.database, target, confidential_access(actor, &project), selection, page).await?;
    let texts = issue.description.iter().chain(notes.items.iter().filter(|note| !note.system).map(|note| &note.body));
    let mentioned = mention::find(app, actor, &project, texts.map(String::as_str)).await?;
    Ok(IssueWithNotes { project, issue, notes, labels, mentioned })
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, changes: IssueChanges) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::CreateIssue).await?;
    let blank = Attributes {
        title: String::new(),
        description: None,
        state: IssueState::Opened,
        confidential: false,
        due_date: None,
        assignee: None,
        milestone: None,
    };
    let created_at = effective_time(app, actor, &project, changes.requested_at);
    let update = changes.apply(app, &mut transaction, actor, &project, blank).await?;
    let author = lock_author(&mut transaction, actor).await?;
    let id = insert(&mut transaction, project.id, author, &update, created_at, app.clock.now()).await?;
    let issue = find_visible(&mut transaction, actor, &project, id).await?;
    add_mention_notes(app, &mut transaction, actor, &project, &issue, issue.description.as_deref().unwrap_or_default())
        .await?;
    let target = NoteTarget::Issue(id);
    todo::update(app, &mut transaction, author, project.id, target, None, (&issue).into()).await?;
    publish(app, &mut transaction, actor, &project, &issue, IssueEventKind::Opened).await?;
    holdfast_store::commit(transaction).await?;
    Ok(issue)
}

/// Adds a system note to each issue that a text in this issue mentions.
pub(super) async fn add_mention_notes(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    text: &str,
) -> Result<()> {
    let mentioned = issues_mentioned_in(text);
    if mentioned.is_empty() {
        return Ok(());
    }
    let (author, now) = (actor.current_user()?.account.id(), app.clock.now());
    let body = format!("mentioned in issue #{}", issue.iid);
    Ok(note::insert_mentions(connection, issue, author, &mentioned, confidential_access(actor, project), &body, now)
        .await?)
}

pub(super) async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    author: UserId,
    update: &IssueUpdate,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<IssueId> {
    let id = issue::insert(connection, project, author, &update.attributes, created_at, now).await?;
    let labels: Vec<LabelId> = update.labels.iter().flatten().map(|label| label.id).collect();
    label::update_labels(connection, id, &[], &labels).await?;
    issue::adjust_counters(connection, id, CounterDelta::Increment).await?;
    Ok(id)
}

/// The kind of an event about an issue.
#[derive(Clone, Copy)]
pub(super) enum IssueEventKind {
    Opened,
    Edited,
    Closed,
    Reopened,
}

/// Publishes an event about an issue to the outbox and, except for edits, records it in the feed.
pub(super) async fn publish(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    kind: IssueEventKind,
) -> Result<()> {
    let current_user = actor.current_user()?;
    let (action, action_name) = match kind {
        IssueEventKind::Opened => (Some(Action::Created), "open"),
        IssueEventKind::Edited => (None, "update"),
        IssueEventKind::Closed => (Some(Action::Closed), "close"),
        IssueEventKind::Reopened => (Some(Action::Reopened), "reopen"),
    };
    let outbox_event = events::issue_event(project, &current_user.account.summary, issue, action_name);
    let now = app.clock.now();
    match action {
        None => event::publish(connection, Some(project.id), &outbox_event, now).await?,
        Some(action) => {
            let event = NewEvent {
                project: project.id,
                author: current_user.account.id(),
                action,
                subject: Subject::Issue(issue.id),
                audience: audience(issue.confidential),
            };
            event::record(connection, event, Some(&outbox_event), now).await?;
        }
    }
    Ok(())
}

/// Returns whether the actor manages issues, or is the author or the assignee of this one. An actor who may not create
/// issues in the project may not edit them either.
pub fn can_edit(actor: &Actor, project: &Project, issue: &Issue) -> bool {
    let is_own = actor.user_id().is_some_and(|user| issue.is_author_or_assignee(user));
    is_own || access::can(actor, project, ProjectAction::ManageIssues)
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: IssueId,
    changes: IssueChanges,
) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::CreateIssue).await?;
    let before = find_visible(&mut transaction, actor, &project, id).await?;
    // The author of a confidential issue may not publish it with the notes that team members wrote.
    let is_publishing = before.confidential && changes.confidential == Some(false);
    let can_manage = access::can(actor, &project, ProjectAction::ManageIssues);
    if !can_edit(actor, &project, &before) || is_publishing && !can_manage {
        return Err(Error::Forbidden(None));
    }
    let updated_at = effective_time(app, actor, &project, changes.requested_at);
    let changes = changes.with_labels_of(&before.labels);
    let after = changes.apply(app, &mut transaction, actor, &project, (&before).into()).await?;
    save(app, transaction, actor, &project, before, after, updated_at).await
}

/// Updates an issue, adds system notes, publishes events and commits. The caller holds the lock of the project.
pub(super) async fn save(
    app: &App,
    mut transaction: Transaction,
    actor: &Actor,
    project: &Project,
    before: Issue,
    after: IssueUpdate,
    updated_at: DateTime<Utc>,
) -> Result<Issue> {
    let old_attributes = Attributes::from(&before);
    let old_labels = label::list_for_issue(&mut transaction, before.id).await?;
    let labels = after.labels.unwrap_or_else(|| old_labels.clone());
    let removed: Vec<&TitledLabel> = old_labels.iter().filter(|it| !labels.contains(it)).collect();
    let added: Vec<&TitledLabel> = labels.iter().filter(|it| !old_labels.contains(it)).collect();
    let has_label_changes = !removed.is_empty() || !added.is_empty();
    if old_attributes == after.attributes && !has_label_changes {
        holdfast_store::commit(transaction).await?;
        return Ok(before);
    }
    let ids = |labels: &[&TitledLabel]| labels.iter().map(|label| label.id).collect::<Vec<_>>();
    issue::adjust_counters(&mut transaction, before.id, CounterDelta::Decrement).await?;
    issue::update(&mut transaction, before.id, &after.attributes, updated_at).await?;
    if has_label_changes {
        label::update_labels(&mut transaction, before.id, &ids(&removed), &ids(&added)).await?;
    }
    issue::adjust_counters(&mut transaction, before.id, CounterDelta::Increment).await?;
    if old_attributes.confidential != after.attributes.confidential {
        event::set_audience(&mut transaction, before.id, audience(after.attributes.confidential)).await?;
    }
    let saved = issue::find(&mut transaction, project.id, before.id, actor.user_id()).await?;
    let saved = saved.ok_or(Error::NotFound(Resource::Issue))?;
    let titles = |labels: &[&TitledLabel]| labels.iter().map(|label| label.title.clone()).collect::<Vec<_>>();
    let system_notes =
        system_note::for_update(&before, &saved, &titles(&added), &titles(&removed), after.commit.as_deref());
    let (target, author) = (NoteTarget::Issue(before.id), actor.current_user()?.account.id());
    note::insert_system(&mut transaction, target, author, &system_notes, app.clock.now()).await?;
    let (old, new) = ((&before).into(), (&saved).into());
    todo::update(app, &mut transaction, author, project.id, target, Some(old), new).await?;
    if before.description != saved.description {
        add_mention_notes(
            app,
            &mut transaction,
            actor,
            project,
            &saved,
            saved.description.as_deref().unwrap_or_default(),
        )
        .await?;
    }
    let is_changed =
        has_label_changes || Attributes { state: old_attributes.state, ..after.attributes } != old_attributes;
    if is_changed {
        publish(app, &mut transaction, actor, project, &saved, IssueEventKind::Edited).await?;
    }
    if old_attributes.state != saved.state {
        let kind = if saved.state == IssueState::Closed { IssueEventKind::Closed } else { IssueEventKind::Reopened };
        publish(app, &mut transaction, actor, project, &saved, kind).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(saved)
}

/// Deletes an issue with its notes, and returns it as it was before.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, id: IssueId) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::DeleteIssue).await?;
    let issue = find_visible(&mut transaction, actor, &project, id).await?;
    delete_locked(&mut transaction, issue.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(issue)
}

/// Deletes an issue. The caller holds the lock of the project.
pub(crate) async fn delete_locked(connection: &mut Connection, id: IssueId) -> Result<()> {
    issue::adjust_counters(connection, id, CounterDelta::Decrement).await?;
    // The issue is deleted first: once its row is locked, the events of concurrently added notes are committed and can
    // be deleted.
    issue::delete(connection, id).await?;
    event::delete_for_target(connection, NoteTarget::Issue(id)).await?;
    Ok(())
}

/// Subscribes the current user to an issue or unsubscribes them. Returns None if nothing changed.
#[crate::boxed]
pub async fn set_subscribed(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: IssueId,
    is_subscribed: bool,
) -> Result<Option<Issue>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::CreateIssue).await?;
    let mut issue = find_visible(&mut connection, actor, &project, id).await?;
    if issue.subscribed == is_subscribed {
        return Ok(None);
    }
    issue::set_subscribed(&mut connection, issue.id, actor.current_user()?.account.id(), is_subscribed).await?;
    issue.subscribed = is_subscribed;
    Ok(Some(issue))
}

/// Closes an issue because of a commit. Does nothing if it does not exist, is closed already, or the actor may not edit
/// it.
pub(super) async fn close(app: &App, actor: &Actor, project: ProjectId, iid: i64, commit: String) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let project = ProjectRef::Id(project);
    let project = access::lock_project(app, &mut transaction, actor, &project, ProjectAction::CreateIssue).await?;
    let Some(id) = issue::find_id(&mut transaction, project.id, iid).await? else { return Ok(()) };
    let before = find_visible(&mut transaction, actor, &project, id).await?;
    let Some(state) = before.state.apply(StateEvent::Close) else { return Ok(()) };
    if !can_edit(actor, &project, &before) {
        return Ok(());
    }
    let attributes = Attributes { state, ..(&before).into() };
    let after = IssueUpdate { attributes, labels: None, commit: Some(commit) };
    save(app, transaction, actor, &project, before, after, app.clock.now()).await?;
    Ok(())
}
