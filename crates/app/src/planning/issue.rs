use chrono::{DateTime, Utc};
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{IssueId, LabelId, ProjectId, UserId};
use holdfast_domain::planning::{IssueState, StateEvent, mentioned_in};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::accounts::user;
use holdfast_store::activity::event::{self, NewEvent, Subject};
use holdfast_store::planning::issue::{self, Attributes, Count};
use holdfast_store::planning::{label, note};
use holdfast_store::{Connection, Transaction};

pub use holdfast_store::planning::issue::Issue;

use super::issue_change::{Changed, IssueChanges, time_of};
use super::notice;
use super::remark;
use super::sight::{audience, find, seen};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: IssueId) -> Result<Issue> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    find(&mut connection, actor, &project, id).await
}

pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, changes: IssueChanges) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::CreateIssue).await?;
    let blank = Attributes {
        title: String::new(),
        description: None,
        state: IssueState::Opened,
        confidential: false,
        due_date: None,
        assignee: None,
        milestone: None,
    };
    let at = time_of(app, actor, &project, changes.at);
    let made = changes.apply(app, &mut transaction, actor, &project, blank).await?;
    let author = keep_author(&mut transaction, actor).await?;
    let id = insert(&mut transaction, project.id, author, &made, at, app.clock.now()).await?;
    let issue = find(&mut transaction, actor, &project, id).await?;
    mention(app, &mut transaction, actor, &project, &issue, issue.description.as_deref().unwrap_or_default()).await?;
    tell(app, &mut transaction, actor, &project, &issue, Told::Opened).await?;
    holdfast_store::commit(transaction).await?;
    Ok(issue)
}

/// The caller, who cannot be deleted before what it writes is there to be removed.
pub(super) async fn keep_author(connection: &mut Connection, actor: &Actor) -> Result<UserId> {
    let author = actor.caller()?.account.id();
    let kept = user::keep(connection, &[author.get()]).await?;
    if kept.is_empty() { Err(Error::Unauthenticated) } else { Ok(author) }
}

/// Tells beneath the issues that a text in this one mentions.
pub(super) async fn mention(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    text: &str,
) -> Result<()> {
    let mentioned = mentioned_in(text);
    if mentioned.is_empty() {
        return Ok(());
    }
    let (author, now) = (actor.caller()?.account.id(), app.clock.now());
    let remark = format!("mentioned in issue #{}", issue.iid);
    Ok(note::insert_mentions(connection, issue, author, &mentioned, seen(actor, project), &remark, now).await?)
}

pub(super) async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    author: UserId,
    made: &Changed,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<IssueId> {
    let id = issue::insert(connection, project, author, &made.attributes, created_at, now).await?;
    let labels: Vec<LabelId> = made.labels.iter().flatten().map(|(id, _)| *id).collect();
    label::relabel(connection, id, &[], &labels).await?;
    issue::count(connection, id, Count::In).await?;
    Ok(id)
}

/// What is told of an issue.
#[derive(Clone, Copy)]
pub(super) enum Told {
    Opened,
    Edited,
    Closed,
    Reopened,
}

/// To the feed, but for mere edits, and to those who listen.
pub(super) async fn tell(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    what: Told,
) -> Result<()> {
    let caller = actor.caller()?;
    let (action, word) = match what {
        Told::Opened => (Some(Action::Created), "open"),
        Told::Edited => (None, "update"),
        Told::Closed => (Some(Action::Closed), "close"),
        Told::Reopened => (Some(Action::Reopened), "reopen"),
    };
    let notice = notice::issue(project, &caller.account.person, issue, word);
    let now = app.clock.now();
    match action {
        None => event::tell(connection, Some(project.id), &notice, now).await?,
        Some(action) => {
            let event = NewEvent {
                project: project.id,
                author: caller.account.id(),
                action,
                subject: Subject::Issue(issue.id),
                audience: audience(issue.confidential),
            };
            event::record(connection, event, Some(&notice), now).await?;
        }
    }
    Ok(())
}

/// Who manages issues, wrote this one or has it to do.
fn may_edit(actor: &Actor, project: &Project, issue: &Issue) -> bool {
    let is_own = actor.user_id().is_some_and(|user| issue.concerns(user));
    is_own || access::may(actor, project, ProjectAction::ManageIssues)
}

pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: IssueId,
    changes: IssueChanges,
) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::CreateIssue).await?;
    let before = find(&mut transaction, actor, &project, id).await?;
    // What the team said in a confidential issue is not its author's to publish.
    let publishes = before.confidential && changes.confidential == Some(false);
    let manages = access::may(actor, &project, ProjectAction::ManageIssues);
    if !may_edit(actor, &project, &before) || publishes && !manages {
        return Err(Error::Forbidden(None));
    }
    let at = time_of(app, actor, &project, changes.at);
    let after = changes.apply(app, &mut transaction, actor, &project, (&before).into()).await?;
    save(app, transaction, actor, &project, before, after, at).await
}

/// Changes an issue of a project that is locked, tells of it, and commits.
pub(super) async fn save(
    app: &App,
    mut transaction: Transaction,
    actor: &Actor,
    project: &Project,
    before: Issue,
    after: Changed,
    at: DateTime<Utc>,
) -> Result<Issue> {
    let was = Attributes::from(&before);
    let had = label::of_issue(&mut transaction, before.id).await?;
    let labels = after.labels.unwrap_or_else(|| had.clone());
    let taken: Vec<&(LabelId, String)> = had.iter().filter(|it| !labels.contains(it)).collect();
    let given: Vec<&(LabelId, String)> = labels.iter().filter(|it| !had.contains(it)).collect();
    let is_relabelled = !taken.is_empty() || !given.is_empty();
    if was == after.attributes && !is_relabelled {
        holdfast_store::commit(transaction).await?;
        return Ok(before);
    }
    let ids = |labels: &[&(LabelId, String)]| labels.iter().map(|(id, _)| *id).collect::<Vec<_>>();
    issue::count(&mut transaction, before.id, Count::Out).await?;
    issue::update(&mut transaction, before.id, &after.attributes, at).await?;
    if is_relabelled {
        label::relabel(&mut transaction, before.id, &ids(&taken), &ids(&given)).await?;
    }
    issue::count(&mut transaction, before.id, Count::In).await?;
    if was.confidential != after.attributes.confidential {
        event::set_audience(&mut transaction, before.id, audience(after.attributes.confidential)).await?;
    }
    let saved = issue::find(&mut transaction, project.id, before.id, actor.user_id()).await?;
    let saved = saved.ok_or(Error::NotFound(Thing::Issue))?;
    let titles = |labels: &[&(LabelId, String)]| labels.iter().map(|(_, title)| title.clone()).collect::<Vec<_>>();
    let remarks = remark::of_change(&before, &saved, &titles(&given), &titles(&taken), after.commit.as_deref());
    note::insert_system(&mut transaction, before.id, actor.caller()?.account.id(), &remarks, app.clock.now()).await?;
    if before.description != saved.description {
        mention(app, &mut transaction, actor, project, &saved, saved.description.as_deref().unwrap_or_default())
            .await?;
    }
    let is_changed = is_relabelled || Attributes { state: was.state, ..after.attributes } != was;
    if is_changed {
        tell(app, &mut transaction, actor, project, &saved, Told::Edited).await?;
    }
    if was.state != saved.state {
        let told = if saved.state == IssueState::Closed { Told::Closed } else { Told::Reopened };
        tell(app, &mut transaction, actor, project, &saved, told).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(saved)
}

/// With all that was said about it. The issue that was.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, id: IssueId) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::DeleteIssue).await?;
    let issue = find(&mut transaction, actor, &project, id).await?;
    remove(&mut transaction, issue.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(issue)
}

/// Of a project that is locked.
pub(crate) async fn remove(connection: &mut Connection, id: IssueId) -> Result<()> {
    issue::count(connection, id, Count::Out).await?;
    // First the issue: what is being said about it now is in the feed once its row is ours.
    issue::delete(connection, id).await?;
    event::delete_of_issue(connection, id).await?;
    Ok(())
}

/// None if the caller has said so already.
pub async fn set_subscribed(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: IssueId,
    subscribed: bool,
) -> Result<Option<Issue>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::CreateIssue).await?;
    let mut issue = find(&mut connection, actor, &project, id).await?;
    if issue.subscribed == subscribed {
        return Ok(None);
    }
    issue::set_subscribed(&mut connection, issue.id, actor.caller()?.account.id(), subscribed).await?;
    issue.subscribed = subscribed;
    Ok(Some(issue))
}

/// For a job: closes issues of a project because somebody's commit says so.
pub(super) async fn close(app: &App, actor: &Actor, project: ProjectId, iid: i64, commit: String) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let project = ProjectRef::Id(project);
    let project = access::locked_project(app, &mut transaction, actor, &project, ProjectAction::CreateIssue).await?;
    let Some(id) = issue::id_of(&mut transaction, project.id, iid).await? else { return Ok(()) };
    let before = find(&mut transaction, actor, &project, id).await?;
    let Some(state) = before.state.after(StateEvent::Close) else { return Ok(()) };
    if !may_edit(actor, &project, &before) {
        return Ok(());
    }
    let attributes = Attributes { state, ..(&before).into() };
    let after = Changed { attributes, labels: None, commit: Some(commit) };
    save(app, transaction, actor, &project, before, after, app.clock.now()).await?;
    Ok(())
}
