//! What happened, for those who read it. No page reads more than it reaches, whatever is hidden from its reader.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::{Action, Audience, SubjectKind};
use holdfast_domain::ids::{NoteId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::{Person, person_columns};
use crate::page::{List, Purpose, Total, named};
use crate::projects::list::{Reader, push_level, push_visible};
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
    subject_kind: Option<i16>,
    subject_id: Option<i64>,
    /// Of what it is about.
    pub subject_title: Option<String>,
    #[sqlx(flatten)]
    comment: NullableComment,
}

#[derive(Clone, Debug, sqlx::FromRow)]
struct NullableComment {
    note_id: Option<i64>,
    body: Option<String>,
    said_at: Option<DateTime<Utc>>,
    edited_at: Option<DateTime<Utc>>,
}

/// What was said in an event, by its author about its subject.
#[derive(Clone, Debug)]
pub struct Comment<'a> {
    pub id: NoteId,
    pub body: &'a str,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Event {
    pub fn subject(&self) -> Option<(SubjectKind, i64)> {
        Some((SubjectKind::from_code(self.subject_kind?)?, self.subject_id?))
    }

    pub fn comment(&self) -> Option<Comment<'_>> {
        let NullableComment { note_id, body, said_at, edited_at } = &self.comment;
        let (id, body) = ((*note_id)?.into(), body.as_deref()?);
        Some(Comment { id, body, created_at: (*said_at)?, updated_at: (*edited_at)? })
    }
}

/// What happened in a project, newest first, as far as the reader is told.
pub async fn list_of_project(
    database: &Database,
    project: ProjectId,
    told: Audience,
    page: PageRequest,
) -> Result<Page<Event>> {
    let from = |query: &mut QueryBuilder<Postgres>, purpose: Purpose| {
        query.push("from (");
        for audience in Audience::ALL.into_iter().filter(|audience| *audience <= told) {
            query.push(if audience == Audience::Everybody { "(" } else { " union all (" });
            query.push("select id, created_at from events where project_id = ").push_bind(project.get());
            query.push(" and audience = ").push(audience.code());
            // What a deleted user did is removed bit by bit.
            query.push(" and exists (select from users u where u.id = author_id)");
            purpose.push_newest(query, "id");
            query.push(")");
        }
        query.push(") e");
    };
    list(&mut *database.connection().await?, from, page).await
}

/// What a user did, newest first, in projects that the reader can see and as far as it is told.
pub async fn list_of_user(database: &Database, user: UserId, reader: Reader, page: PageRequest) -> Result<Page<Event>> {
    let mut connection = database.connection().await?;
    let places = Places::of(&mut connection, user, reader).await?;
    let from = |query: &mut QueryBuilder<Postgres>, purpose: Purpose| places.push(query, user, purpose);
    list(&mut connection, from, page).await
}

async fn list(
    connection: &mut Connection,
    from: impl Fn(&mut QueryBuilder<Postgres>, Purpose),
    page: PageRequest,
) -> Result<Page<Event>> {
    let list = List {
        columns: concat!(
            "e.project_id, e.action, e.data, e.created_at as happened_at, e.subject_kind, e.subject_id, e.note_id, \
             coalesce(i.title, m.title) as subject_title, nt.body, nt.created_at as said_at, nt.updated_at as edited_at, ",
            person_columns!()
        ),
        rows: "e.id, e.created_at",
        from,
        order: "e.id desc",
        // The time as well: it says in which part of the table the event is.
        page: named(concat!(
            "page join events e on e.id = page.id and e.created_at = page.created_at join users u on u.id = e.author_id ",
            "left join issues i on i.id = e.subject_id and e.subject_kind = 1 ",
            "left join milestones m on m.id = e.subject_id and e.subject_kind = 3 left join notes nt on nt.id = e.note_id"
        )),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(connection, page).await
}

/// Where a user did anything that a reader is told of: the projects for each audience.
struct Places {
    projects: [Vec<i64>; Audience::ALL.len()],
    /// Whether there is nothing that the reader is not told of.
    are_all: bool,
}

/// From so many entries on it is cheaper to walk past what is hidden.
const MOST_MERGED: i64 = 20_000;

impl Places {
    async fn of(connection: &mut Connection, user: UserId, reader: Reader) -> Result<Self> {
        let mut query = QueryBuilder::new("select p.id, case when ");
        push_level(&mut query, reader, AccessLevel::Reporter);
        query.push(" then 2::smallint when p.visibility_level >= ");
        query.push(reader.sees.unwrap_or(Visibility::Private).level()).push(" then 1::smallint else 0::smallint end");
        query.push(" from event_authors a join projects p on p.id = a.project_id where p.namespace_id is not null");
        query.push(" and a.author_id = ").push_bind(user.get());
        push_visible(&mut query, reader);
        let rows: Vec<(i64, i16)> = query.build_query_as().fetch_all(&mut *connection).await?;
        let active: Option<i64> =
            sqlx::query_scalar!("select count(*) from event_authors where author_id = $1", user.get())
                .fetch_one(connection)
                .await?;
        let told = |audience: Audience| {
            rows.iter().filter(|(_, told)| *told >= audience.code()).map(|(id, _)| *id).collect::<Vec<i64>>()
        };
        let projects = Audience::ALL.map(told);
        let are_all = projects.iter().all(|some| active == Some(some.len() as i64));
        Ok(Self { projects, are_all })
    }

    /// Either merges the newest of each place, of which none that is hidden is read, or walks through all that the user
    /// did, which is less work where little is hidden.
    fn push(&self, query: &mut QueryBuilder<Postgres>, user: UserId, purpose: Purpose) {
        let reach = match purpose {
            Purpose::Rows(reach) => reach,
            Purpose::AllRows | Purpose::Total | Purpose::TotalOfPart => 1,
        };
        let places: usize = self.projects.iter().map(Vec::len).sum();
        if self.are_all || reach.saturating_mul(places as i64) > MOST_MERGED {
            query.push("from events e where e.author_id = ").push_bind(user.get());
            if !self.are_all {
                query.push(" and (false");
                for (audience, projects) in Audience::ALL.into_iter().zip(&self.projects) {
                    query.push(" or e.audience = ").push(audience.code());
                    query.push(" and e.project_id = any(").push_bind(projects.clone()).push(")");
                }
                query.push(")");
            }
            return;
        }
        query.push("from (");
        for (audience, projects) in Audience::ALL.into_iter().zip(&self.projects) {
            query.push(if audience == Audience::Everybody { "" } else { " union all " });
            query.push("select e.* from unnest(").push_bind(projects.clone()).push("::bigint[]) p (id) ");
            query.push("cross join lateral (select id, created_at from events where author_id = ");
            query.push_bind(user.get()).push(" and project_id = p.id and audience = ").push(audience.code());
            purpose.push_newest(query, "id");
            query.push(") e");
        }
        query.push(") e");
    }
}
