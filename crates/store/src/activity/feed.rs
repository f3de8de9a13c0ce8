//! What happened, for those who read it. No page reads more than it reaches, whatever is hidden from its reader.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::{Action, Audience, SubjectKind};
use holdfast_domain::ids::{NoteId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::ghost::author_or_ghost;
use crate::accounts::user::{Person, person_columns};
use crate::page::{List, Purpose, Total, WholeList, named};
use crate::projects::list::{Reader, push_level, push_visible};
use crate::text::listed_text;
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
            query.push("select ").push(FOUND).push(" from events where project_id = ").push_bind(project.get());
            query.push(" and audience = ").push(audience.code());
            purpose.push_newest(query, "id");
            query.push(")");
        }
        query.push(") e");
    };
    let total = Total::UnlessLarge(WholeList::FeedOfProject(project, told), &database.large_lists);
    list(&mut *database.connection().await?, from, total, page).await
}

/// What a user did, newest first, in projects that the reader can see and as far as it is told.
pub async fn list_of_user(database: &Database, user: UserId, reader: Reader, page: PageRequest) -> Result<Page<Event>> {
    let mut connection = database.connection().await?;
    let total = || Total::UnlessLarge(WholeList::FeedOfUser(user, reader.user), &database.large_lists);
    // Who sees everything needs no filter, but for projects that are deleted and still to be removed.
    if reader.sees.is_none() {
        let from = |query: &mut QueryBuilder<Postgres>, _: Purpose| {
            query.push("from events e where e.author_id = ").push_bind(user.get());
            query.push(" and exists (select from projects p where p.id = e.project_id and p.namespace_id is not null)");
        };
        return list(&mut connection, from, total(), page).await;
    }
    let places = Places::of(&mut connection, user, reader).await?;
    if places.0.iter().all(Vec::is_empty) {
        return Ok(Page::of_total(Vec::new(), page, 0));
    }
    // Mostly the page is among the newest of what the user did, hidden or not.
    let from = |query: &mut QueryBuilder<Postgres>, purpose: Purpose| match purpose {
        Purpose::Rows(_) => places.push_recent(query, user),
        _ => places.push_merged(query, user, purpose),
    };
    let recent = list(&mut connection, from, total(), page).await?;
    let is_last = recent.total == Some(page.offset() + recent.items.len() as i64);
    if recent.has_next || is_last {
        return Ok(recent);
    }
    let from = |query: &mut QueryBuilder<Postgres>, purpose: Purpose| places.push_merged(query, user, purpose);
    list(&mut connection, from, total(), page).await
}

/// What finds an event again, by an index and in one part of the table. All of it is in the indexes.
const FOUND: &str = "id, created_at, project_id, audience";

/// The details of a push. Those that were written before there was a limit may have two megabytes of messages: of each,
/// the beginning is shown. Small ones are told by their size on disk, without a look into them.
macro_rules! told_data {
    () => {
        "case when pg_column_size(e.data) > 1900 and octet_length(e.data::text) > 262144 then jsonb_set(e.data, '{commits}', \
         (select coalesce(jsonb_agg(jsonb_set(c, '{message}', to_jsonb(left(c ->> 'message', 1000)))), '[]') \
         from jsonb_array_elements(e.data -> 'commits') c)) else e.data end"
    };
}

async fn list(
    connection: &mut Connection,
    from: impl Fn(&mut QueryBuilder<Postgres>, Purpose),
    total: Total<'_>,
    page: PageRequest,
) -> Result<Page<Event>> {
    let list = List {
        columns: concat!(
            "e.project_id, e.action, ",
            told_data!(),
            " as data, e.created_at as happened_at, e.subject_kind, e.subject_id, e.note_id, \
             coalesce(i.title, m.title) as subject_title, ",
            listed_text!("nt.body"),
            " as body, nt.created_at as said_at, nt.updated_at as edited_at, ",
            person_columns!()
        ),
        rows: "e.id, e.created_at, e.project_id, e.audience",
        from,
        order: "e.id desc",
        page: named(concat!(
            "page join events e on e.id = page.id and e.created_at = page.created_at and e.project_id = page.project_id ",
            "and e.audience = page.audience join users u on u.id = ",
            author_or_ghost!("e.author_id"),
            " left join issues i on i.id = e.subject_id and e.subject_kind = 1 ",
            "left join milestones m on m.id = e.subject_id and e.subject_kind = 3 left join notes nt on nt.id = e.note_id"
        )),
        total,
        varies: false,
    };
    list.fetch(connection, page).await
}

/// Where a user did anything that a reader is told of: the projects for each audience. What is hidden is never left to
/// this alone: each event is compared with it.
struct Places([Vec<i64>; Audience::ALL.len()]);

/// So much of what a user did is walked through, which is less work than to merge many projects.
const RECENT: i64 = 20_000;

impl Places {
    async fn of(connection: &mut Connection, user: UserId, reader: Reader) -> Result<Self> {
        let mut query = QueryBuilder::new("select p.id, case when ");
        push_level(&mut query, reader, AccessLevel::Reporter);
        query.push(" then 2::smallint when p.visibility_level >= ");
        query.push(reader.sees.unwrap_or(Visibility::Private).level()).push(" then 1::smallint else 0::smallint end");
        query.push(" from event_authors a join projects p on p.id = a.project_id where p.namespace_id is not null");
        query.push(" and a.author_id = ").push_bind(user.get());
        push_visible(&mut query, reader);
        let rows: Vec<(i64, i16)> = query.build_query_as().fetch_all(connection).await?;
        let told = |audience: Audience| {
            rows.iter().filter(|(_, told)| *told >= audience.code()).map(|(id, _)| *id).collect::<Vec<i64>>()
        };
        Ok(Self(Audience::ALL.map(told)))
    }

    /// Walks through the newest of what the user did, past what is hidden.
    fn push_recent(&self, query: &mut QueryBuilder<Postgres>, user: UserId) {
        query.push("from (select ").push(FOUND).push(" from events where author_id = ").push_bind(user.get());
        query.push(" order by id desc limit ").push(RECENT).push(") e where false");
        for (audience, projects) in Audience::ALL.into_iter().zip(&self.0) {
            query.push(" or e.audience = ").push(audience.code());
            // Selected, they are looked up by hash, however many there are.
            query.push(" and e.project_id in (select unnest(").push_bind(projects.clone()).push("::bigint[]))");
        }
    }

    /// Merges the newest of each project; nothing hidden is read.
    fn push_merged(&self, query: &mut QueryBuilder<Postgres>, user: UserId, purpose: Purpose) {
        query.push("from (");
        for (audience, projects) in Audience::ALL.into_iter().zip(&self.0) {
            query.push(if audience == Audience::Everybody { "" } else { " union all " });
            query.push("select e.* from unnest(").push_bind(projects.clone()).push("::bigint[]) p (id) ");
            query.push("cross join lateral (select ").push(FOUND).push(" from events where author_id = ");
            query.push_bind(user.get()).push(" and project_id = p.id and audience = ").push(audience.code());
            purpose.push_newest(query, "id");
            query.push(") e");
        }
        query.push(") e");
    }
}
