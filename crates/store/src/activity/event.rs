//! Writes events to the feed and to the outbox, in the transaction of the change that they describe.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::{Action, Audience, SubjectKind};
use holdfast_domain::hooks::EventKind;
use holdfast_domain::ids::{IssueId, MergeRequestId, MilestoneId, NoteId, ProjectId, UserId};
use serde_json::Value;

use crate::planning::note::NoteTarget;
use crate::{Connection, Result};

/// The subject of an event.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// The project itself, or its members.
    Project,
    Issue(IssueId),
    MergeRequest(MergeRequestId),
    /// A note on an issue or a merge request.
    Note(NoteTarget, NoteId),
    /// A comment on a commit.
    CommitComment(NoteId),
    Milestone(MilestoneId),
}

impl Subject {
    fn columns(self) -> (Option<i16>, Option<i64>, Option<i64>) {
        let (kind, id, note) = match self {
            Self::Project => return (None, None, None),
            Self::Issue(id) => (SubjectKind::Issue, id.get(), None),
            Self::MergeRequest(id) => (SubjectKind::MergeRequest, id.get(), None),
            Self::Note(target, note) => {
                let (kind, id) = target.subject();
                (kind, id, Some(note.get()))
            }
            Self::CommitComment(id) => (SubjectKind::Commit, id.get(), None),
            Self::Milestone(id) => (SubjectKind::Milestone, id.get(), None),
        };
        (Some(kind.as_i16()), Some(id), note)
    }
}

/// An event to be written to the feed.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent {
    pub project: ProjectId,
    pub author: UserId,
    pub action: Action,
    pub subject: Subject,
    pub audience: Audience,
}

impl NewEvent {
    /// Creates an event about the project itself, visible to everybody who can see the project.
    pub const fn for_project(project: ProjectId, author: UserId, action: Action) -> Self {
        Self { project, author, action, subject: Subject::Project, audience: Audience::Everybody }
    }
}

/// An event to be written to the outbox, from which it is delivered to hooks.
#[derive(Clone, Debug)]
pub struct OutboxEvent {
    pub kind: EventKind,
    pub payload: Value,
}

/// Writes an event of a project to the feed and, if there is one, an event to the outbox. Also updates the project's
/// time of last activity, at most once an hour and only if the project is not locked. All of it is one statement, which
/// costs hardly more than one of the inserts.
pub async fn record(
    connection: &mut Connection,
    event: NewEvent,
    outbox_event: Option<&OutboxEvent>,
    now: DateTime<Utc>,
) -> Result<()> {
    let (kind, subject, note) = event.subject.columns();
    sqlx::query!(
        "with inserted as (insert into outbox (kind, project_id, payload, created_at)
             select $4, $1, $5, $6 where $4::text is not null returning id),
           queued as (insert into outbox_queue (outbox_id, kind, project_id, created_at, newest_hook_id)
             select id, $4, $1, $6, coalesce((select max(id) from hooks), 0) from inserted),
           active as (update projects set last_activity_at = $6 where id = (
             select id from projects where id = $1 and last_activity_at < $6::timestamptz - interval '1 hour'
             for no key update skip locked)),
           known as (insert into event_authors (author_id, project_id) values ($2, $1) on conflict do nothing)
         insert into events (project_id, author_id, action, created_at, subject_kind, subject_id, note_id, audience)
         values ($1, $2, $3, $6, $7, $8, $9, $10)",
        event.project.get(),
        event.author.get(),
        event.action.as_i16(),
        outbox_event.map(|it| it.kind.as_str()),
        outbox_event.map(|it| &it.payload),
        now,
        kind,
        subject,
        note,
        event.audience.as_i16(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes ref updates to the feed, with their details, and to the outbox. Never waits for the lock of the project:
/// other transactions lock the project before its repository, so waiting could deadlock.
pub async fn record_pushes(
    connection: &mut Connection,
    project: ProjectId,
    author: UserId,
    pushes: Vec<OutboxEvent>,
    now: DateTime<Utc>,
) -> Result<()> {
    let (kinds, details): (Vec<&str>, Vec<Value>) = pushes.into_iter().map(|it| (it.kind.as_str(), it.payload)).unzip();
    sqlx::query!(
        "with pushed as (select * from unnest($4::text[], $5::jsonb[]) with ordinality p (kind, details, place)),
           inserted as (insert into outbox (kind, project_id, payload, created_at)
             select kind, $1, details, $6 from pushed order by place returning id, kind),
           queued as (insert into outbox_queue (outbox_id, kind, project_id, created_at, newest_hook_id)
             select id, kind, $1, $6, coalesce((select max(id) from hooks), 0) from inserted),
           active as (update projects set last_activity_at = $6 where id = (
             select id from projects where id = $1 and last_activity_at < $6::timestamptz - interval '1 hour'
             for no key update skip locked)),
           known as (insert into event_authors (author_id, project_id) values ($2, $1) on conflict do nothing)
         insert into events (project_id, author_id, action, data, created_at, audience)
         select $1, $2, $3, details, $6, $7 from pushed order by place",
        project.get(),
        author.get(),
        Action::Pushed.as_i16(),
        &kinds as &[&str],
        &details,
        now,
        Audience::CodeReaders.as_i16(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes an event to the outbox that has no entry in the feed.
pub async fn publish(
    connection: &mut Connection,
    project: Option<ProjectId>,
    event: &OutboxEvent,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "with inserted as (
           insert into outbox (kind, project_id, payload, created_at) values ($1, $2, $3, $4) returning id)
         insert into outbox_queue (outbox_id, kind, project_id, created_at, newest_hook_id)
         select id, $1, $2, $4, coalesce((select max(id) from hooks), 0) from inserted",
        event.kind.as_str(),
        project.map(ProjectId::get),
        event.payload,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes events with their projects to the outbox, in this order, with one statement. They have no entry in the feed.
pub async fn publish_batch(
    connection: &mut Connection,
    events: Vec<(Option<ProjectId>, OutboxEvent)>,
    now: DateTime<Utc>,
) -> Result<()> {
    let kinds: Vec<&str> = events.iter().map(|(_, event)| event.kind.as_str()).collect();
    let (projects, payloads): (Vec<Option<i64>>, Vec<Value>) =
        events.into_iter().map(|(project, event)| (project.map(ProjectId::get), event.payload)).unzip();
    sqlx::query!(
        "with inserted as (
           insert into outbox (kind, project_id, payload, created_at)
           select kind, project_id, payload, $4
           from unnest($1::text[], $2::bigint[], $3::jsonb[]) with ordinality e (kind, project_id, payload, place)
           order by place returning id, kind, project_id)
         insert into outbox_queue (outbox_id, kind, project_id, created_at, newest_hook_id)
         select id, kind, project_id, $4, coalesce((select max(id) from hooks), 0) from inserted",
        &kinds as &[&str],
        &projects as &[Option<i64>],
        &payloads,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Changes the audience of all events about an issue, after the issue became confidential or ceased to be.
pub async fn set_audience(connection: &mut Connection, issue: IssueId, audience: Audience) -> Result<()> {
    sqlx::query!(
        "update events set audience = $3 where subject_id = $1 and subject_kind = $2",
        issue.get(),
        SubjectKind::Issue.as_i16(),
        audience.as_i16(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the events about an issue or a merge request, and about its notes.
pub async fn delete_for_target(connection: &mut Connection, target: NoteTarget) -> Result<()> {
    let (kind, id) = target.subject();
    sqlx::query!("delete from events where subject_id = $1 and subject_kind = $2", id, kind.as_i16())
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete_for_note(connection: &mut Connection, target: NoteTarget, note: NoteId) -> Result<()> {
    let (kind, id) = target.subject();
    sqlx::query!(
        "delete from events where subject_id = $1 and subject_kind = $2 and note_id = $3",
        id,
        kind.as_i16(),
        note.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes at most `limit` events of a project and returns how many were deleted.
pub async fn delete_project_batch(connection: &mut Connection, project: ProjectId, limit: i64) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from events e using (select id, created_at from events where project_id = $1 limit $2) old
         where e.id = old.id and e.created_at = old.created_at and e.project_id = $1",
        project.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Reassigns at most `limit` events of a deleted user to the ghost account and returns how many were changed. The
/// details of a push contain the user's name and address, which are replaced as well.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, ghost: UserId, limit: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "update events e set author_id = $2, data = e.data || jsonb_build_object('user_id', g.id, 'user_name', g.name,
           'user_email', g.email, 'user_username', g.username)
         from (select id, created_at from events where author_id = $1 limit $3) old, users g
         where e.id = old.id and e.created_at = old.created_at and e.author_id = $1 and g.id = $2",
        from.get(),
        ghost.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}

/// Moves the index entries of one author to another: the projects in which the author has events. Projects that are
/// being deleted are left out.
pub async fn reassign_author_index(connection: &mut Connection, from: UserId, to: UserId) -> Result<()> {
    sqlx::query!(
        "with kept as (select p.id from event_authors a join projects p on p.id = a.project_id where a.author_id = $1
           for key share of p skip locked)
         insert into event_authors (author_id, project_id) select $2, id from kept on conflict do nothing",
        from.get(),
        to.get(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("delete from event_authors where author_id = $1", from.get()).execute(connection).await?;
    Ok(())
}
