//! The activity feeds of projects and users.
//!
//! However many events are hidden from the viewer, a page reads a bounded number of rows: it depends on the end of the
//! page and on the number of visible projects, or is limited by `MAX_RECENT_EVENTS`.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::{Action, Audience, SubjectKind};
use holdfast_domain::ids::{NoteId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::UserSummary;
use crate::page::{CountedList, PagedQuery, Purpose, Total};
use crate::projects::list::{Viewer, push_can_see, push_has_level};
use crate::{Connection, Database, Result};

/// An event in the feed of a project or a user.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Event {
    #[sqlx(rename = "event_id")]
    pub id: i64,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    /// The path of the project, with its namespace.
    pub project_path: String,
    #[sqlx(try_from = "i16")]
    pub action: Action,
    #[sqlx(rename = "happened_at")]
    pub created_at: DateTime<Utc>,
    pub data: Option<Value>,
    #[sqlx(flatten)]
    pub author: UserSummary,
    subject_kind: Option<i16>,
    subject_id: Option<i64>,
    /// The number of the subject in its project.
    pub subject_iid: Option<i64>,
    /// The title of the subject.
    pub subject_title: Option<String>,
    /// The id of the commit that a comment is about.
    pub commented_commit: Option<String>,
    #[sqlx(flatten)]
    comment: CommentColumns,
}

#[derive(Clone, Debug, sqlx::FromRow)]
struct CommentColumns {
    note_id: Option<i64>,
    body: Option<String>,
    said_at: Option<DateTime<Utc>>,
    edited_at: Option<DateTime<Utc>>,
}

/// The note of an event, written by the event's author about its subject.
#[derive(Clone, Debug)]
pub struct Comment<'a> {
    pub id: NoteId,
    pub body: &'a str,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Event {
    pub fn subject(&self) -> Option<(SubjectKind, i64)> {
        Some((SubjectKind::from_i16(self.subject_kind?)?, self.subject_id?))
    }

    pub fn comment(&self) -> Option<Comment<'_>> {
        let CommentColumns { note_id, body, said_at, edited_at } = &self.comment;
        let comment_id = self.subject_id.filter(|_| self.subject_kind == Some(SubjectKind::Commit.as_i16()));
        let (id, body) = (note_id.or(comment_id)?.into(), body.as_deref()?);
        Some(Comment { id, body, created_at: (*said_at)?, updated_at: (*edited_at)? })
    }
}

/// The time in which the events of a list happened. By default it has no bounds. The table is partitioned by time, so a
/// page reads at most the events of one month that are outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// The first moment.
    pub from: Option<DateTime<Utc>>,
    /// The moment after the last one.
    pub until: Option<DateTime<Utc>>,
}

impl Period {
    /// Writes the conditions about the events of the only table of a query, each after `and`.
    pub(super) fn push(self, query: &mut QueryBuilder<Postgres>) {
        if let Some(from) = self.from {
            query.push(" and created_at >= ").push_bind(from);
        }
        if let Some(until) = self.until {
            query.push(" and created_at < ").push_bind(until);
        }
    }

    /// Returns how the total of a list is determined. Only lists without bounds are remembered as large.
    fn total(self, list: CountedList, database: &Database) -> Total<'_> {
        match self == Self::default() {
            true => Total::SkipIfKnownLarge(list, &database.large_lists),
            false => Total::Bounded,
        }
    }
}

/// Lists the events of a project for an audience and the wider ones, newest first.
pub async fn list_for_project(
    database: &Database,
    project: ProjectId,
    max_audience: Audience,
    period: Period,
    page: PageRequest,
) -> Result<Page<Event>> {
    let from = |query: &mut QueryBuilder<Postgres>, purpose: Purpose| {
        query.push("from (");
        for audience in Audience::ALL.into_iter().filter(|audience| *audience <= max_audience) {
            query.push(if audience == Audience::Everybody { "(" } else { " union all (" });
            query.push("select ").push(KEY_COLUMNS).push(" from events where project_id = ").push_bind(project.get());
            query.push(" and audience = ").push(audience.as_i16());
            period.push(query);
            purpose.push_newest_first(query, "id");
            query.push(")");
        }
        query.push(") e");
    };
    let total = period.total(CountedList::ProjectFeed(project, max_audience), database);
    list(&mut *database.connection().await?, from, total, page).await
}

/// Lists the events of a user that the viewer may see, newest first.
pub async fn list_for_user(
    database: &Database,
    user: UserId,
    viewer: Viewer,
    period: Period,
    page: PageRequest,
) -> Result<Page<Event>> {
    let mut connection = database.connection().await?;
    let total = || period.total(CountedList::UserFeed(user, viewer.user), database);
    // A viewer who sees everything needs no filter, except for deleted projects that are not removed yet.
    if viewer.min_visibility.is_none() {
        let from = |query: &mut QueryBuilder<Postgres>, _: Purpose| {
            query.push("from events e where e.author_id = ").push_bind(user.get());
            period.push(query);
            query.push(" and exists (select from projects p where p.id = e.project_id and p.namespace_id is not null)");
        };
        return list(&mut connection, from, total(), page).await;
    }
    let projects = VisibleProjects::load(&mut connection, user, viewer, period).await?;
    if projects.by_audience.iter().all(Vec::is_empty) {
        return Ok(Page::with_total(Vec::new(), page, 0));
    }
    // Usually the page is within the user's most recent events, even if some of them are hidden.
    let from = |query: &mut QueryBuilder<Postgres>, purpose: Purpose| match purpose {
        Purpose::Rows(_) => projects.push_recent(query, user),
        _ => projects.push_merged(query, user, purpose),
    };
    let recent = list(&mut connection, from, total(), page).await?;
    let is_last = recent.total == Some(page.offset() + recent.items.len() as i64);
    if recent.has_next || is_last {
        return Ok(recent);
    }
    let from = |query: &mut QueryBuilder<Postgres>, purpose: Purpose| projects.push_merged(query, user, purpose);
    list(&mut connection, from, total(), page).await
}

/// The columns that identify an event by an index, within one partition. The indexes contain all of them.
pub(super) const KEY_COLUMNS: &str = "id, created_at, project_id, audience";

/// The columns of an event. Details of pushes and bodies of notes that were stored before there was a limit are
/// truncated: such details may contain two megabytes of commit messages. Small details are recognized by their stored
/// size, without decompressing them.
const COLUMNS: &str = "e.id as event_id, e.project_id, pn.path || '/' || p.path as project_path, e.action, \
    case when pg_column_size(e.data) > 1900 and octet_length(e.data::text) > 262144 then jsonb_set(e.data, '{commits}', \
      (select coalesce(jsonb_agg(jsonb_set(c, '{message}', to_jsonb(left(c ->> 'message', 1000)))), '[]') \
      from jsonb_array_elements(e.data -> 'commits') c)) else e.data end as data, \
    e.created_at as happened_at, e.subject_kind, e.subject_id, e.note_id, \
    coalesce(i.iid, mr.iid, m.iid) as subject_iid, coalesce(i.title, mr.title, m.title) as subject_title, \
    left(coalesce(nt.body, cc.body), 65536) as body, coalesce(nt.created_at, cc.created_at) as said_at, \
    coalesce(nt.updated_at, cc.created_at) as edited_at, cc.commit_id as commented_commit, \
    u.id, u.username, u.name, u.email, u.state";

async fn list(
    connection: &mut Connection,
    from: impl Fn(&mut QueryBuilder<Postgres>, Purpose),
    total: Total<'_>,
    page: PageRequest,
) -> Result<Page<Event>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "e.id, e.created_at, e.project_id, e.audience",
        from,
        order: "e.id desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("page join events e on e.id = page.id and e.created_at = page.created_at ");
            query.push("and e.project_id = page.project_id and e.audience = page.audience join users u on u.id = ");
            push_author_or_ghost(query, "e.author_id");
            query.push(" join projects p on p.id = e.project_id join namespaces pn on pn.id = p.namespace_id");
            query.push(" left join issues i on i.id = e.subject_id and e.subject_kind = ");
            query.push(SubjectKind::Issue.as_i16());
            query.push(" left join merge_requests mr on mr.id = e.subject_id and e.subject_kind = ");
            query.push(SubjectKind::MergeRequest.as_i16());
            query.push(" left join milestones m on m.id = e.subject_id and e.subject_kind = ");
            query.push(SubjectKind::Milestone.as_i16()).push(" left join notes nt on nt.id = e.note_id");
            query.push(" left join commit_comments cc on cc.id = e.subject_id and e.subject_kind = ");
            query.push(SubjectKind::Commit.as_i16());
        },
        total,
        needs_custom_plan: false,
    };
    list.fetch(connection, page).await
}

/// For each audience, the projects with events of a user that the viewer may see. Each event is compared with it, so
/// that visibility does not depend on the index of authors alone.
pub(super) struct VisibleProjects {
    by_audience: [Vec<i64>; Audience::ALL.len()],
    period: Period,
}

/// Maximum number of a user's most recent events that are scanned. Scanning them is less work than merging many
/// projects.
pub(super) const MAX_RECENT_EVENTS: i64 = 20_000;

impl VisibleProjects {
    pub(super) async fn load(
        connection: &mut Connection,
        user: UserId,
        viewer: Viewer,
        period: Period,
    ) -> Result<Self> {
        let mut query = QueryBuilder::new("select p.id, case when ");
        push_has_level(&mut query, viewer, AccessLevel::Reporter);
        query.push(" then ").push(Audience::IssueManagers.as_i16()).push("::smallint when p.visibility_level >= ");
        query.push(viewer.min_visibility.unwrap_or(Visibility::Private).as_i16()).push(" then ");
        query.push(Audience::CodeReaders.as_i16()).push("::smallint else ");
        query.push(Audience::Everybody.as_i16()).push("::smallint end");
        query.push(" from event_authors a join projects p on p.id = a.project_id where p.namespace_id is not null");
        query.push(" and a.author_id = ").push_bind(user.get());
        push_can_see(&mut query, viewer);
        let rows: Vec<(i64, i16)> = query.build_query_as().fetch_all(connection).await?;
        let visible_to = |audience: Audience| {
            rows.iter().filter(|(_, level)| *level >= audience.as_i16()).map(|(id, _)| *id).collect::<Vec<i64>>()
        };
        Ok(Self { by_audience: Audience::ALL.map(visible_to), period })
    }

    /// Writes a scan of the user's most recent events that skips hidden ones.
    pub(super) fn push_recent(&self, query: &mut QueryBuilder<Postgres>, user: UserId) {
        query.push("from (select ").push(KEY_COLUMNS).push(" from events where author_id = ").push_bind(user.get());
        self.period.push(query);
        query.push(" order by id desc limit ").push(MAX_RECENT_EVENTS).push(") e where false");
        for (audience, projects) in Audience::ALL.into_iter().zip(&self.by_audience) {
            query.push(" or e.audience = ").push(audience.as_i16());
            // A subquery is looked up by hash, independently of the number of projects.
            query.push(" and e.project_id in (select unnest(").push_bind(projects.clone()).push("::bigint[]))");
        }
    }

    /// Writes a merge of the newest events of each project, which reads no hidden events.
    fn push_merged(&self, query: &mut QueryBuilder<Postgres>, user: UserId, purpose: Purpose) {
        query.push("from (");
        for (audience, projects) in Audience::ALL.into_iter().zip(&self.by_audience) {
            query.push(if audience == Audience::Everybody { "" } else { " union all " });
            query.push("select e.* from unnest(").push_bind(projects.clone()).push("::bigint[]) p (id) ");
            query.push("cross join lateral (select ").push(KEY_COLUMNS).push(" from events where author_id = ");
            query.push_bind(user.get()).push(" and project_id = p.id and audience = ").push(audience.as_i16());
            self.period.push(query);
            purpose.push_newest_first(query, "id");
            query.push(") e");
        }
        query.push(") e");
    }
}
