use chrono::{DateTime, Utc};
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::{Person, person_columns};
use crate::page::{List, Purpose, Total, named};
use crate::projects::list::{Reader, push_visible};
use crate::{Connection, Database, Result};

/// Something that somebody did in a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Event {
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    #[sqlx(try_from = "i16")]
    pub action: Action,
    #[sqlx(rename = "happened_at")]
    pub created_at: DateTime<Utc>,
    pub data: Option<Value>,
    #[sqlx(flatten)]
    pub author: Person,
}

/// What is told to those who listen.
#[derive(Clone, Debug)]
pub struct Notice {
    pub kind: &'static str,
    pub payload: Value,
}

/// Writes what happened in a project into the feed and, with what there is to tell, into the outbox; the project's time of
/// last activity follows once an hour. One statement: together they cost hardly more than one of them.
pub async fn record(
    connection: &mut Connection,
    project: ProjectId,
    author: UserId,
    action: Action,
    notice: &Notice,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "with told as (insert into outbox (kind, project_id, payload, created_at) values ($4, $1, $5, $6)),
           active as (update projects set last_activity_at = $6
             where id = $1 and last_activity_at < $6::timestamptz - interval '1 hour')
         insert into events (project_id, author_id, action, created_at) values ($1, $2, $3, $6)",
        project.get(),
        author.get(),
        action.code(),
        notice.kind,
        notice.payload,
        now,
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
    let (kinds, details): (Vec<&str>, Vec<Value>) = pushes.into_iter().map(|it| (it.kind, it.payload)).unzip();
    sqlx::query!(
        "with pushed as (select * from unnest($4::text[], $5::jsonb[]) with ordinality p (kind, details, place)),
           told as (insert into outbox (kind, project_id, payload, created_at)
             select kind, $1, details, $6 from pushed order by place),
           active as (update projects set last_activity_at = $6 where id = (
             select id from projects where id = $1 and last_activity_at < $6::timestamptz - interval '1 hour'
             for no key update skip locked))
         insert into events (project_id, author_id, action, data, created_at)
         select $1, $2, $3, details, $6 from pushed order by place",
        project.get(),
        author.get(),
        Action::Pushed.code(),
        &kinds as &[&str],
        &details,
        now,
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
        "insert into outbox (kind, project_id, payload, created_at) values ($1, $2, $3, $4)",
        notice.kind,
        project.map(ProjectId::get),
        notice.payload,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Whose feed.
#[derive(Clone, Copy, Debug)]
pub enum Feed {
    /// All of it: who asks has been found to see the project.
    Project(ProjectId),
    /// What the user did in projects that the reader can see.
    User(UserId, Reader),
}

/// Newest first.
pub async fn list(database: &Database, feed: Feed, page: PageRequest) -> Result<Page<Event>> {
    let list = List {
        columns: concat!("e.project_id, e.action, e.data, e.created_at as happened_at, ", person_columns!()),
        rows: "e.id, e.project_id, e.author_id, e.action, e.data, e.created_at",
        from: |query: &mut QueryBuilder<Postgres>, purpose| match feed {
            Feed::Project(project) => {
                query.push("from events e where e.project_id = ").push_bind(project.get());
                // What a deleted user did is removed bit by bit.
                query.push(" and exists (select from users u where u.id = e.author_id)");
            }
            Feed::User(user, reader) => push_of_user(query, user, reader, purpose),
        },
        order: "e.id desc",
        page: named("e join users u on u.id = e.author_id"),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Finds the projects in which the user did anything, one index entry each, and takes from those the reader can see no
/// more than the page reaches: what happened in hidden ones is never walked past.
fn push_of_user(query: &mut QueryBuilder<Postgres>, user: UserId, reader: Reader, purpose: Purpose) {
    query.push("from (with recursive active (project_id) as (select min(project_id) from events where author_id = ");
    query.push_bind(user.get());
    query.push(" union all select (select min(project_id) from events where author_id = ").push_bind(user.get());
    query.push(" and project_id > active.project_id) from active where active.project_id is not null) ");
    query.push("select p.id from active join projects p on p.id = active.project_id where p.namespace_id is not null");
    push_visible(query, reader);
    query.push(") p cross join lateral (select * from events where author_id = ").push_bind(user.get());
    query.push(" and project_id = p.id order by id desc");
    purpose.push_limit(query);
    query.push(") e");
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

/// The same of a user.
pub async fn delete_some_of_author(connection: &mut Connection, author: UserId, at_most: i64) -> Result<u64> {
    let gone = sqlx::query!(
        "delete from events e using (select id, created_at from events where author_id = $1 limit $2) old
         where e.id = old.id and e.created_at = old.created_at and e.author_id = $1",
        author.get(),
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(gone.rows_affected())
}
