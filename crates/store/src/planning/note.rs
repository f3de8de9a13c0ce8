//! Notes and system notes on issues and merge requests.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::SubjectKind;
use holdfast_domain::ids::{DiscussionId, IssueId, MergeRequestId, NoteId, ProjectId, UserId};
use holdfast_domain::page::{MAX_COUNTED_TOTAL, Page, PageRequest};
use holdfast_domain::planning::ConfidentialAccess;
use sqlx::{Postgres, QueryBuilder};

use super::issue::Issue;
use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// What notes are written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteTarget {
    Issue(IssueId),
    MergeRequest(MergeRequestId),
}

impl NoteTarget {
    /// Returns the kind and the id, as events and responses name them.
    pub const fn subject(self) -> (SubjectKind, i64) {
        match self {
            Self::Issue(id) => (SubjectKind::Issue, id.get()),
            Self::MergeRequest(id) => (SubjectKind::MergeRequest, id.get()),
        }
    }

    /// Returns the values of `issue_id` and `merge_request_id`.
    pub(super) const fn columns(self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Issue(id) => (Some(id.get()), None),
            Self::MergeRequest(id) => (None, Some(id.get())),
        }
    }

    /// Writes the condition that the note `nt` is on this target.
    fn push_condition(self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Issue(id) => query.push("nt.issue_id = ").push_bind(id.get()),
            Self::MergeRequest(id) => query.push("nt.merge_request_id = ").push_bind(id.get()),
        };
    }

    /// Joins the author `u` and this target `t` to the note `nt`.
    fn push_joins(self, query: &mut QueryBuilder<Postgres>) {
        query.push(" join users u on u.id = ");
        push_author_or_ghost(query, "nt.author_id");
        query.push(match self {
            Self::Issue(_) => " join issues t on t.id = nt.issue_id",
            Self::MergeRequest(_) => " join merge_requests t on t.id = nt.merge_request_id",
        });
    }
}

/// A note on an issue or a merge request.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Note {
    #[sqlx(try_from = "i64", rename = "note_id")]
    pub id: NoteId,
    pub body: String,
    /// Whether it is a system note: written by the server about a change.
    pub system: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub author: UserSummary,
    /// The project of the issue or the merge request.
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    /// The number of the issue or the merge request within its project.
    pub target_iid: i64,
    issue_id: Option<i64>,
    merge_request_id: Option<i64>,
    discussion_id: Option<i64>,
}

impl Note {
    /// Returns the discussion that the note belongs to, if it does.
    pub fn discussion(&self) -> Option<DiscussionId> {
        self.discussion_id.map(Into::into)
    }

    pub fn target(&self) -> NoteTarget {
        match (self.issue_id, self.merge_request_id) {
            (Some(id), _) => NoteTarget::Issue(id.into()),
            (None, id) => NoteTarget::MergeRequest(id.unwrap_or_default().into()),
        }
    }
}

/// The columns of `nt` and of the tables that [`NoteTarget::push_joins`] adds.
const COLUMNS: &str = "nt.id as note_id, nt.issue_id, nt.merge_request_id, nt.discussion_id, nt.body, nt.system, \
    nt.created_at, nt.updated_at, t.project_id, t.iid as target_iid, u.id, u.username, u.name, u.email, u.state";

/// Like [`COLUMNS`], but truncates bodies that were stored before there was a limit.
const LIST_COLUMNS: &str = "nt.id as note_id, nt.issue_id, nt.merge_request_id, nt.discussion_id, \
    left(nt.body, 65536) as body, nt.system, nt.created_at, nt.updated_at, t.project_id, t.iid as target_iid, \
    u.id, u.username, u.name, u.email, u.state";

/// Writes the condition that the note `nt` does not mention a confidential issue that is hidden from the viewer.
fn push_visible(query: &mut QueryBuilder<Postgres>, confidential_access: ConfidentialAccess) {
    let user = match confidential_access {
        ConfidentialAccess::All => return,
        ConfidentialAccess::Own(user) => Some(user.get()),
        ConfidentialAccess::None => None,
    };
    query.push(" and (nt.mentioned_by_id is null or exists (select from issues s where s.id = nt.mentioned_by_id ");
    query.push("and (not s.confidential or s.author_id = ").push_bind(user);
    query.push(" or s.assignee_id = ").push_bind(user).push(")))");
}

/// The notes that a list shows, and their order. By default it shows all of them, oldest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoteSelection {
    pub kind: NoteKind,
    pub order: NoteOrder,
}

/// The kind of notes that a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteKind {
    #[default]
    All,
    /// Notes of users.
    Comment,
    /// Notes that the server has written about changes.
    System,
    /// The first note of each discussion, and the notes that belong to none.
    First,
}

/// The order of a list of notes. The first two orders are those of the ids, in which the notes were written. The others
/// have no index, so that all notes of the target are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteOrder {
    #[default]
    OldestFirst,
    NewestFirst,
    LeastRecentlyUpdated,
    LastUpdated,
}

impl NoteSelection {
    fn push_condition(self, query: &mut QueryBuilder<Postgres>) {
        query.push(match self.kind {
            NoteKind::All => "",
            NoteKind::Comment => " and not nt.system",
            NoteKind::System => " and nt.system",
            NoteKind::First => {
                " and not exists (select from notes e where e.discussion_id = nt.discussion_id and e.id < nt.id)"
            }
        });
    }

    const fn order(self) -> &'static str {
        match self.order {
            NoteOrder::OldestFirst => "nt.id",
            NoteOrder::NewestFirst => "nt.id desc",
            NoteOrder::LeastRecentlyUpdated => "nt.updated_at, nt.id",
            NoteOrder::LastUpdated => "nt.updated_at desc, nt.id desc",
        }
    }
}

/// Lists notes. Mentions in issues that are hidden from the viewer are left out.
pub async fn list(
    database: &Database,
    target: NoteTarget,
    confidential_access: ConfidentialAccess,
    selection: NoteSelection,
    page: PageRequest,
) -> Result<Page<Note>> {
    let list = PagedQuery {
        columns: LIST_COLUMNS,
        rows: "nt.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from notes nt where ");
            target.push_condition(query);
            selection.push_condition(query);
            push_visible(query, confidential_access);
        },
        order: selection.order(),
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("nt");
            target.push_joins(query);
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(
    connection: &mut Connection,
    target: NoteTarget,
    id: NoteId,
    confidential_access: ConfidentialAccess,
) -> Result<Option<Note>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from notes nt");
    target.push_joins(&mut query);
    query.push(" where ");
    target.push_condition(&mut query);
    query.push(" and nt.id = ").push_bind(id.get());
    push_visible(&mut query, confidential_access);
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Returns the notes of discussions of a merge request, oldest first.
pub async fn list_for_discussions(
    connection: &mut Connection,
    target: NoteTarget,
    discussions: &[DiscussionId],
) -> Result<Vec<Note>> {
    if discussions.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::new("select ");
    query.push(LIST_COLUMNS).push(" from notes nt");
    target.push_joins(&mut query);
    query.push(" where ");
    target.push_condition(&mut query);
    query.push(" and nt.discussion_id = any(");
    query.push_bind(discussions.iter().map(|id| id.get()).collect::<Vec<_>>()).push(") order by nt.id");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// Lists the users who take part in an issue or a merge request, by id: its author, its assignee and the authors of its
/// notes, without system notes.
pub async fn list_participants(
    database: &Database,
    target: NoteTarget,
    page: PageRequest,
) -> Result<Page<UserSummary>> {
    let list = PagedQuery {
        columns: "u.id, u.username, u.name, u.email, u.state",
        rows: "u.id, u.username, u.name, u.email, u.state",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            let (table, id) = match target {
                NoteTarget::Issue(id) => ("issues", id.get()),
                NoteTarget::MergeRequest(id) => ("merge_requests", id.get()),
            };
            query.push("from users u where not u.ghost and u.id in (");
            query.push("select unnest(array[t.author_id, t.assignee_id]) from ").push(table);
            query.push(" t where t.id = ").push_bind(id);
            query.push(" union select nt.author_id from notes nt where not nt.system and ");
            target.push_condition(query);
            query.push(")");
        },
        order: "u.id",
        page: table_alias("u"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Returns how many notes of a kind precede this one in its list, at most [`MAX_COUNTED_TOTAL`].
pub async fn count_before(
    connection: &mut Connection,
    target: NoteTarget,
    kind: NoteKind,
    id: NoteId,
    confidential_access: ConfidentialAccess,
) -> Result<i64> {
    let mut query = QueryBuilder::new("select count(*) from (select from notes nt where ");
    target.push_condition(&mut query);
    query.push(" and nt.id < ").push_bind(id.get());
    NoteSelection { kind, ..NoteSelection::default() }.push_condition(&mut query);
    push_visible(&mut query, confidential_access);
    query.push(" limit ").push(MAX_COUNTED_TOTAL).push(") counted");
    Ok(query.build_query_scalar().fetch_one(connection).await?)
}

/// Finds the first note of a discussion.
pub async fn find_first_of_discussion(connection: &mut Connection, id: DiscussionId) -> Result<Option<NoteId>> {
    const QUERY: &str = "select min(id) from notes where discussion_id = $1";
    let found: Option<i64> = sqlx::query_scalar(QUERY).bind(id.get()).fetch_one(connection).await?;
    Ok(found.map(Into::into))
}

/// Inserts a note of a user and increments the count of notes of its target.
pub async fn insert(
    connection: &mut Connection,
    target: NoteTarget,
    author: UserId,
    body: &str,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
    discussion: Option<DiscussionId>,
) -> Result<NoteId> {
    let (issue, merge_request) = target.columns();
    let id = sqlx::query_scalar!(
        "with counted as (update issues set notes_count = notes_count + 1, updated_at = $5 where id = $1),
           counted_request as (
             update merge_requests set notes_count = notes_count + 1, updated_at = $5 where id = $6)
         insert into notes (issue_id, merge_request_id, discussion_id, author_id, body, system, created_at, updated_at)
         values ($1, $6, $7, $2, $3, false, $4, $4) returning id",
        issue,
        author.get(),
        body,
        created_at,
        now,
        merge_request,
        discussion.map(DiscussionId::get),
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// Inserts system notes about a change that the author made.
pub async fn insert_system(
    connection: &mut Connection,
    target: NoteTarget,
    author: UserId,
    bodies: &[String],
    now: DateTime<Utc>,
) -> Result<()> {
    if bodies.is_empty() {
        return Ok(());
    }
    let (issue, merge_request) = target.columns();
    sqlx::query!(
        "insert into notes (issue_id, merge_request_id, author_id, body, system, created_at, updated_at)
         select $1, $5, $2, body, true, $4, $4 from unnest($3::text[]) with ordinality b (body, place) order by place",
        issue,
        author.get(),
        bodies,
        now,
        merge_request,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Inserts a system note into each issue that is mentioned in this one, if its author sees it. There is at most one
/// such note for each pair of issues.
pub async fn insert_mentions(
    connection: &mut Connection,
    issue: &Issue,
    author: UserId,
    mentioned: &[i64],
    confidential_access: ConfidentialAccess,
    body: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    // An issue that is being deleted is skipped instead of waited for.
    sqlx::query!(
        "with mentioned as (
           select id from issues where project_id = $1 and iid = any($4) and id <> $2
             and (not confidential or $7 or $3 in (author_id, assignee_id)) for key share skip locked)
         insert into notes (issue_id, author_id, body, system, mentioned_by_id, created_at, updated_at)
         select id, $3, $5, true, $2, $6, $6 from mentioned on conflict do nothing",
        issue.project_id.get(),
        issue.id.get(),
        author.get(),
        mentioned,
        body,
        now,
        confidential_access == ConfidentialAccess::All,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update(
    connection: &mut Connection,
    target: NoteTarget,
    id: NoteId,
    body: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let (issue, merge_request) = target.columns();
    sqlx::query!(
        "update notes set body = $3, updated_at = $4 where id = $2 and (issue_id = $1 or merge_request_id = $5)",
        issue,
        id.get(),
        body,
        now,
        merge_request,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a note and decrements the count of notes of its target. Returns false if there is no such note, or if it is a
/// system note.
pub async fn delete(connection: &mut Connection, target: NoteTarget, id: NoteId) -> Result<bool> {
    let (issue, merge_request) = target.columns();
    let deleted = sqlx::query_scalar!(
        "with gone as (delete from notes where id = $2 and (issue_id = $1 or merge_request_id = $3) and not system
             returning id),
           counted as (
             update issues set notes_count = notes_count - 1 where id = $1 and exists (select from gone)),
           counted_request as (
             update merge_requests set notes_count = notes_count - 1 where id = $3 and exists (select from gone))
         select id from gone",
        issue,
        id.get(),
        merge_request,
    )
    .fetch_optional(connection)
    .await?;
    Ok(deleted.is_some())
}

/// Copies the notes of one issue to another. Mention notes are not copied, since the mentioning text still links to the
/// old issue. Notes of authors who are not among `authors` are assigned to the ghost account, if there is one.
pub async fn copy_to_issue(
    connection: &mut Connection,
    from: IssueId,
    to: IssueId,
    authors: &[i64],
    ghost: Option<UserId>,
) -> Result<()> {
    sqlx::query!(
        "with copied as (
           insert into notes (issue_id, author_id, body, system, created_at, updated_at)
           select $2, case when author_id = any($3) then author_id else coalesce($4, author_id) end, body, system,
             created_at, updated_at
           from notes where issue_id = $1 and mentioned_by_id is null order by id
           returning system)
         update issues set notes_count = (select count(*) from copied where not system) where id = $2",
        from.get(),
        to.get(),
        authors,
        ghost.map(UserId::get),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns the ids of the users who have written notes on an issue.
pub async fn list_author_ids(connection: &mut Connection, issue: IssueId) -> Result<Vec<i64>> {
    Ok(sqlx::query_scalar!("select distinct author_id from notes where issue_id = $1", issue.get())
        .fetch_all(connection)
        .await?)
}

/// Reassigns at most `limit` notes of one author to another, and returns how many were changed. Counting the locked rows
/// makes PostgreSQL lock issues and merge requests before it updates their notes, in the same order as a transaction
/// that deletes one of them.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, to: UserId, limit: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "with batch as (select id, issue_id, merge_request_id from notes where author_id = $1
             order by issue_id, merge_request_id, id limit $3),
           locked as (select id from issues where id in (select issue_id from batch) order by id for key share),
           locked_requests as (select id from merge_requests where id in (select merge_request_id from batch)
             order by id for key share)
         update notes set author_id = $2 where id in (select id from batch)
           and (select count(*) from locked) + (select count(*) from locked_requests) >= 0",
        from.get(),
        to.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}
