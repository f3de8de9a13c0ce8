//! What happened: written in the transaction in which it happens.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::{Action, Audience, SubjectKind};
use holdfast_domain::hooks::Kind;
use holdfast_domain::ids::{IssueId, MilestoneId, NoteId, ProjectId, UserId};
use serde_json::Value;

use crate::{Connection, Result};

/// What an event is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// The project itself, or its members.
    Project,
    Issue(IssueId),
    /// Something said about the issue.
    Note(IssueId, NoteId),
    Milestone(MilestoneId),
}

impl Subject {
    fn columns(self) -> (Option<i16>, Option<i64>, Option<i64>) {
        let (kind, id, note) = match self {
            Self::Project => return (None, None, None),
            Self::Issue(id) => (SubjectKind::Issue, id.get(), None),
            Self::Note(id, note) => (SubjectKind::Issue, id.get(), Some(note.get())),
            Self::Milestone(id) => (SubjectKind::Milestone, id.get(), None),
        };
        (Some(kind.code()), Some(id), note)
    }
}

/// An event that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent {
    pub project: ProjectId,
    pub author: UserId,
    pub action: Action,
    pub subject: Subject,
    pub audience: Audience,
}

impl NewEvent {
    /// Of the project itself, which everybody is told who sees it.
    pub const fn of_project(project: ProjectId, author: UserId, action: Action) -> Self {
        Self { project, author, action, subject: Subject::Project, audience: Audience::Everybody }
    }
}

/// What is told to those who listen.
#[derive(Clone, Debug)]
pub struct Notice {
    pub kind: Kind,
    pub payload: Value,
}

/// Writes what happened in a project into the feed and, if there is something to tell, into the outbox; the project's
/// time of last activity follows once an hour, if nobody else is at it. One statement: together they cost hardly more than
/// one of them.
pub async fn record(
    connection: &mut Connection,
    event: NewEvent,
    notice: Option<&Notice>,
    now: DateTime<Utc>,
) -> Result<()> {
    let (kind, subject, note) = event.subject.columns();
    sqlx::query!(
        "with told as (insert into outbox (kind, project_id, payload, created_at)
             select $4, $1, $5, $6 where $4::text is not null returning id),
           queued as (insert into outbox_queue (outbox_id, kind, project_id, created_at) select id, $4, $1, $6 from told),
           active as (update projects set last_activity_at = $6 where id = (
             select id from projects where id = $1 and last_activity_at < $6::timestamptz - interval '1 hour'
             for no key update skip locked)),
           known as (insert into event_authors (author_id, project_id) values ($2, $1) on conflict do nothing)
         insert into events (project_id, author_id, action, created_at, subject_kind, subject_id, note_id, audience)
         values ($1, $2, $3, $6, $7, $8, $9, $10)",
        event.project.get(),
        event.author.get(),
        event.action.code(),
        notice.map(|it| it.kind.word()),
        notice.map(|it| &it.payload),
        now,
        kind,
        subject,
        note,
        event.audience.code(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes the moves of refs, each as an event with its details and as a notice of its kind. It never waits for the
/// project, whose row others take before its repository's.
pub async fn record_pushes(
    connection: &mut Connection,
    project: ProjectId,
    author: UserId,
    pushes: Vec<Notice>,
    now: DateTime<Utc>,
) -> Result<()> {
    let (kinds, details): (Vec<&str>, Vec<Value>) = pushes.into_iter().map(|it| (it.kind.word(), it.payload)).unzip();
    sqlx::query!(
        "with pushed as (select * from unnest($4::text[], $5::jsonb[]) with ordinality p (kind, details, place)),
           told as (insert into outbox (kind, project_id, payload, created_at)
             select kind, $1, details, $6 from pushed order by place returning id, kind),
           queued as (insert into outbox_queue (outbox_id, kind, project_id, created_at) select id, kind, $1, $6 from told),
           active as (update projects set last_activity_at = $6 where id = (
             select id from projects where id = $1 and last_activity_at < $6::timestamptz - interval '1 hour'
             for no key update skip locked)),
           known as (insert into event_authors (author_id, project_id) values ($2, $1) on conflict do nothing)
         insert into events (project_id, author_id, action, data, created_at, audience)
         select $1, $2, $3, details, $6, $7 from pushed order by place",
        project.get(),
        author.get(),
        Action::Pushed.code(),
        &kinds as &[&str],
        &details,
        now,
        Audience::CodeReaders.code(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Tells what the feed does not record.
pub async fn tell(
    connection: &mut Connection,
    project: Option<ProjectId>,
    notice: &Notice,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "with told as (
           insert into outbox (kind, project_id, payload, created_at) values ($1, $2, $3, $4) returning id)
         insert into outbox_queue (outbox_id, kind, project_id, created_at) select id, $1, $2, $4 from told",
        notice.kind.word(),
        project.map(ProjectId::get),
        notice.payload,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// What is about an issue follows it when it becomes confidential or ceases to be.
pub async fn set_audience(connection: &mut Connection, issue: IssueId, audience: Audience) -> Result<()> {
    sqlx::query!(
        "update events set audience = $3 where subject_id = $1 and subject_kind = $2",
        issue.get(),
        SubjectKind::Issue.code(),
        audience.code(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_of_issue(connection: &mut Connection, issue: IssueId) -> Result<()> {
    sqlx::query!(
        "delete from events where subject_id = $1 and subject_kind = $2",
        issue.get(),
        SubjectKind::Issue.code(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_of_note(connection: &mut Connection, issue: IssueId, note: NoteId) -> Result<()> {
    sqlx::query!(
        "delete from events where subject_id = $1 and subject_kind = $2 and note_id = $3",
        issue.get(),
        SubjectKind::Issue.code(),
        note.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes some events of a project away; how many there were.
pub async fn delete_some_of_project(connection: &mut Connection, project: ProjectId, at_most: i64) -> Result<u64> {
    let gone = sqlx::query!(
        "delete from events e using (select id, created_at from events where project_id = $1 limit $2) old
         where e.id = old.id and e.created_at = old.created_at and e.project_id = $1",
        project.get(),
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(gone.rows_affected())
}

/// Gives a batch of events of a deleted user to the ghost account. Returns how many. The details of pushes name the user,
/// so they name the ghost account afterwards.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, ghost: UserId, at_most: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "update events e set author_id = $2, data = e.data || jsonb_build_object('user_id', g.id, 'user_name', g.name,
           'user_email', g.email, 'user_username', g.username)
         from (select id, created_at from events where author_id = $1 limit $3) old, users g
         where e.id = old.id and e.created_at = old.created_at and e.author_id = $1 and g.id = $2",
        from.get(),
        ghost.get(),
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}

/// Records that one author was active wherever another was, and forgets the other. A project that is just being removed
/// is left out.
pub async fn reassign_places(connection: &mut Connection, from: UserId, to: UserId) -> Result<()> {
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
