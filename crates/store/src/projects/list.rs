//! Lists of projects.
//!
//! No list reads more rows than up to the end of the page, or than the projects of one user or group, independently of
//! the total number of projects (ADR 0010).

use chrono::NaiveDate;
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

pub use super::narrowing::Narrowing;

use super::project::{PROJECT_COLUMNS, PROJECT_JOINS, Project, load_associations};
use crate::page::{CountedList, LargeListCache, PagedQuery, Purpose, Total, visibility_bits};
use crate::{Connection, Database, Result, search};

/// The viewer of a list, and the visibility that a project must have to be seen without a membership. None means that
/// the viewer sees everything.
#[derive(Clone, Copy, Debug)]
pub struct Viewer {
    pub user: Option<UserId>,
    pub min_visibility: Option<Visibility>,
    pub today: NaiveDate,
}

/// The set of projects that a list selects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectScope {
    /// All projects.
    All,
    /// Projects to which the viewer has access by a membership of any kind.
    Member,
    /// Projects that the viewer can see.
    Visible,
    /// Projects in the viewer's namespace and in groups that the viewer owns.
    Owned,
    Starred,
    /// Projects of a group, or of a user's namespace, and projects that are shared with it. A member of the group sees all projects of the group.
    Group {
        group: NamespaceId,
        includes_own: bool,
        includes_shared: bool,
        is_member: bool,
    },
    /// The forks of a project that the viewer can see.
    ForksOf(ProjectId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    Id,
    Name,
    Path,
    CreatedAt,
    UpdatedAt,
    LastActivityAt,
}

impl SortKey {
    const fn column(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Path => "path",
            Self::CreatedAt => "created_at",
            Self::UpdatedAt => "updated_at",
            Self::LastActivityAt => "last_activity_at",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub sort_key: SortKey,
    pub descending: bool,
    /// Whether projects with builds come before projects without.
    pub builds_first: bool,
}

impl Order {
    fn sql(self) -> String {
        let direction = if self.descending { " desc" } else { "" };
        let first = if self.builds_first { "p.builds_enabled desc, " } else { "" };
        match self.sort_key {
            SortKey::Id => format!("{first}p.id{direction}"),
            key => format!("{first}p.{}{direction}, p.id{direction}", key.column()),
        }
    }

    /// Returns the columns that [`sql`](Self::sql) sorts by.
    fn columns(self) -> String {
        let first = if self.builds_first { ", p.builds_enabled" } else { "" };
        match self.sort_key {
            SortKey::Id => format!("p.id{first}"),
            key => format!("p.id{first}, p.{}", key.column()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub viewer: Viewer,
    pub scope: ProjectScope,
    pub archived: Option<bool>,
    pub visibility: Option<Visibility>,
    pub search: Option<String>,
    pub narrowing: Narrowing,
    pub order: Order,
}

pub async fn list(
    connection: &mut Connection,
    database: &Database,
    filter: &Filter,
    page: PageRequest,
) -> Result<Page<Project>> {
    let order = filter.order.sql();
    let total = filter.total(&database.large_lists);
    let mut page: Page<Project> = filter.query(&order, total).fetch(&mut *connection, page).await?;
    load_associations(connection, &mut page.items, filter.viewer.user, filter.viewer.today).await?;
    Ok(page)
}

/// Returns the first projects of a list, without a total.
pub async fn list_first(connection: &mut Connection, filter: &Filter, size: i64) -> Result<Vec<Project>> {
    let order = filter.order.sql();
    let mut projects: Vec<Project> = filter.query(&order, Total::Bounded).fetch_first(&mut *connection, size).await?;
    load_associations(connection, &mut projects, filter.viewer.user, filter.viewer.today).await?;
    Ok(projects)
}

impl Filter {
    #[expect(clippy::type_complexity, reason = "two closures cannot be named otherwise")]
    fn query<'a>(
        &'a self,
        order: &'a str,
        total: Total<'a>,
    ) -> PagedQuery<'a, impl Fn(&mut QueryBuilder<Postgres>, Purpose), impl Fn(&mut QueryBuilder<Postgres>)> {
        let Viewer { user, today, .. } = self.viewer;
        PagedQuery {
            columns: PROJECT_COLUMNS,
            rows: "p.id",
            from: move |query: &mut QueryBuilder<Postgres>, purpose| {
                FromClause { filter: self, query, purpose, order }.push()
            },
            order,
            page: move |query: &mut QueryBuilder<Postgres>| {
                query.push("page cross join (values (").push_bind(user.map(UserId::get)).push("::bigint, ");
                query.push_bind(today).push("::date)) viewer (id, today) join projects p on p.id = page.id");
                query.push(PROJECT_JOINS);
            },
            total,
            needs_custom_plan: self.search.is_some()
                || self.narrowing.has_range() && self.order.sort_key != SortKey::Id,
        }
    }

    fn total<'a>(&self, large_lists: &'a LargeListCache) -> Total<'a> {
        let levels = visibility_bits(self.levels());
        // The lower three bits are for projects that are not archived, the upper three for archived ones.
        let list = CountedList::Projects(match self.archived {
            None => levels | levels << 3,
            Some(false) => levels,
            Some(true) => levels << 3,
        });
        match self.scope {
            _ if self.search.is_some() || self.narrowing != Narrowing::default() => Total::Bounded,
            ProjectScope::All => Total::SkipIfKnownLarge(list, large_lists),
            ProjectScope::Visible if levels > 0 => Total::SkipIfSubsetLarge(list, large_lists),
            ProjectScope::Visible
            | ProjectScope::Member
            | ProjectScope::Owned
            | ProjectScope::Starred
            | ProjectScope::Group { .. }
            | ProjectScope::ForksOf(_) => Total::WithRows,
        }
    }

    /// Returns the visibilities that are read from the indexes over all projects.
    fn levels(&self) -> Vec<Visibility> {
        let min_visibility = match (self.scope, self.viewer.min_visibility) {
            (ProjectScope::All, _) | (ProjectScope::Visible, None) => Visibility::Private,
            (ProjectScope::Visible, Some(least)) => least,
            _ => return Vec::new(),
        };
        let wanted = |level: &Visibility| *level >= min_visibility && self.visibility.is_none_or(|only| only == *level);
        Visibility::ALL.into_iter().filter(wanted).collect()
    }
}

/// Writes the `from` clause of a list: a union of several selections of ids and sort keys with the alias `p`, each in
/// order and up to the end of the page.
struct FromClause<'a> {
    filter: &'a Filter,
    query: &'a mut QueryBuilder<Postgres>,
    purpose: Purpose,
    order: &'a str,
}

impl FromClause<'_> {
    fn push(mut self) {
        self.query.push("from (");
        let mut separator = "";
        for (level, archived) in self.parts() {
            self.query.push(separator);
            separator = " union all ";
            self.begin_select("projects p where p.namespace_id is not null");
            if let Some(level) = level {
                self.query.push(" and p.visibility_level = ").push(level.as_i16());
            } else {
                let levels: Vec<i16> = self.filter.levels().into_iter().map(Visibility::as_i16).collect();
                self.query.push(" and p.visibility_level = any(").push_bind(levels).push(")");
            }
            if let Some(archived) = archived {
                self.query.push(" and p.archived = ").push(archived);
            }
            self.push_search();
            self.push_narrowing();
            self.end_select();
        }
        match self.filter.scope {
            ProjectScope::All => {}
            ProjectScope::Visible if self.purpose == Purpose::SubsetTotal => {}
            ProjectScope::Visible if self.filter.viewer.min_visibility.is_none() => {}
            ProjectScope::Visible => {
                self.query.push(separator);
                self.push_accessible(true, true);
            }
            ProjectScope::Member => self.push_accessible(true, false),
            ProjectScope::Owned => self.push_accessible(false, false),
            ProjectScope::Starred => {
                self.begin_select(
                    "stars s join projects p on p.id = s.project_id where p.namespace_id is not null and s.user_id = ",
                );
                self.query.push_bind(self.filter.viewer.user.map(UserId::get));
                self.push_filters();
                self.push_can_see();
                self.end_select();
            }
            ProjectScope::Group { group, includes_own: own, includes_shared: shared, is_member: reader_is_member } => {
                self.push_for_group(group, own, shared, reader_is_member);
            }
            ProjectScope::ForksOf(source) => {
                self.begin_select("projects p where p.namespace_id is not null and p.forked_from_id = ");
                self.query.push_bind(source.get());
                self.push_filters();
                self.push_can_see();
                self.end_select();
            }
        }
        self.query.push(") p");
    }

    /// Returns the index ranges over all projects. A search or a count needs no order and reads them as one.
    fn parts(&self) -> Vec<(Option<Visibility>, Option<bool>)> {
        let levels = self.filter.levels();
        if levels.is_empty() {
            return Vec::new();
        }
        if self.filter.search.is_some() || self.purpose.is_counting() {
            return vec![(None, self.filter.archived)];
        }
        let archived = self.filter.archived.map_or(vec![false, true], |only| vec![only]);
        levels.iter().flat_map(|level| archived.iter().map(|archived| (Some(*level), Some(*archived)))).collect()
    }

    /// Writes the projects that the viewer is a member of, or owns if `any_level` is false. `hidden_only` leaves out
    /// projects that the viewer sees without a membership.
    fn push_accessible(&mut self, any_level: bool, hidden_only: bool) {
        let user = self.filter.viewer.user.map(UserId::get);
        let today = self.filter.viewer.today;
        // With arrays, PostgreSQL has only one plan to choose: one index lookup for each element.
        self.begin_select("projects p where p.namespace_id is not null and p.namespace_id = any(array(");
        self.query.push("select id from namespaces where owner_id = ").push_bind(user);
        self.query.push(" union all select group_id from group_members where user_id = ").push_bind(user);
        if !any_level {
            self.query.push(" and access_level = ").push(AccessLevel::Owner.as_i16());
        }
        self.push_not_expired("", today);
        self.query.push("))");
        self.push_accessible_conditions(hidden_only);
        if any_level {
            self.query.push(" union select ");
            self.push_columns();
            self.query.push(" from projects p where p.namespace_id is not null and p.id = any(array(");
            self.query.push("select project_id from project_members where user_id = ").push_bind(user);
            self.push_not_expired("", today);
            self.query.push(" union all select s.project_id from group_members m join project_shares s ");
            self.query.push("on s.group_id = m.group_id where m.user_id = ").push_bind(user);
            self.push_not_expired("m.", today);
            self.push_not_expired("s.", today);
            self.query.push("))");
            self.push_accessible_conditions(hidden_only);
        }
        self.end_select();
    }

    fn push_accessible_conditions(&mut self, hidden_only: bool) {
        self.push_filters();
        if let (true, Some(min_visibility)) = (hidden_only, self.filter.viewer.min_visibility) {
            self.query.push(" and p.visibility_level < ").push(min_visibility.as_i16());
        }
    }

    fn push_for_group(&mut self, group: NamespaceId, includes_own: bool, includes_shared: bool, is_member: bool) {
        if includes_own {
            self.begin_select("projects p where p.namespace_id is not null and p.namespace_id = ");
            self.query.push_bind(group.get());
            self.push_filters();
            if !is_member {
                self.push_can_see();
            }
            self.end_select();
        }
        if includes_own && includes_shared {
            self.query.push(" union ");
        }
        if includes_shared {
            self.begin_select("project_shares s join projects p on p.id = s.project_id where p.namespace_id is not null and s.group_id = ");
            self.query.push_bind(group.get());
            self.push_not_expired("s.", self.filter.viewer.today);
            self.push_filters();
            self.push_can_see();
            self.end_select();
        }
    }

    fn push_filters(&mut self) {
        if let Some(level) = self.filter.visibility {
            self.query.push(" and p.visibility_level = ").push_bind(level.as_i16());
        }
        if let Some(archived) = self.filter.archived {
            self.query.push(" and p.archived = ").push_bind(archived);
        }
        self.push_search();
        self.push_narrowing();
    }

    fn push_narrowing(&mut self) {
        let Narrowing { id_after, id_before, min_level, needs_issues, needs_merge_requests } = self.filter.narrowing;
        if let Some(id) = id_after {
            self.query.push(" and p.id > ").push_bind(id.get());
        }
        if let Some(id) = id_before {
            self.query.push(" and p.id < ").push_bind(id.get());
        }
        if let Some(level) = min_level {
            self.query.push(" and (");
            push_has_level(self.query, self.filter.viewer, level);
            self.query.push(")");
        }
        if needs_issues {
            self.query.push(" and p.issues_enabled");
        }
        if needs_merge_requests {
            self.query.push(" and p.merge_requests_enabled");
        }
    }

    fn push_search(&mut self) {
        if let Some(term) = &self.filter.search {
            self.query.push(" and ");
            search::push_contains(self.query, "p.search_text", term);
        }
    }

    fn push_can_see(&mut self) {
        push_can_see(self.query, self.filter.viewer);
    }

    fn push_not_expired(&mut self, alias: &'static str, today: NaiveDate) {
        push_not_expired(self.query, alias, today);
    }

    fn push_columns(&mut self) {
        match self.purpose.is_counting() {
            true => self.query.push("p.id"),
            false => self.query.push(self.filter.order.columns()),
        };
    }

    fn begin_select(&mut self, from: &'static str) {
        self.query.push("(select ");
        self.push_columns();
        self.query.push(" from ").push(from);
    }

    fn end_select(&mut self) {
        if let Purpose::Rows(_) = self.purpose {
            // A union is sorted by its output columns, which have no table alias.
            self.query.push(" order by ").push(self.order.replace("p.", ""));
        }
        self.purpose.push_limit(self.query);
        self.query.push(")");
    }
}

fn push_not_expired(query: &mut QueryBuilder<Postgres>, alias: &'static str, today: NaiveDate) {
    query.push(" and (").push(alias).push("expires_at is null or ").push(alias).push("expires_at > ");
    query.push_bind(today).push(")");
}

/// Writes the condition that the viewer can see the project `p`.
pub(crate) fn push_can_see(query: &mut QueryBuilder<Postgres>, viewer: Viewer) {
    let Some(min_visibility) = viewer.min_visibility else { return };
    query.push(" and (p.visibility_level >= ").push_bind(min_visibility.as_i16()).push(" or ");
    push_has_level(query, viewer, AccessLevel::Guest);
    query.push(")");
}

/// Writes the condition that the viewer has at least this level in the project `p`: by a membership of the project or
/// its group, by ownership or by a share. A viewer who sees everything has every level.
pub(crate) fn push_has_level(query: &mut QueryBuilder<Postgres>, viewer: Viewer, min_level: AccessLevel) {
    let user = match viewer {
        Viewer { min_visibility: None, .. } => {
            query.push("true");
            return;
        }
        Viewer { user: None, .. } => {
            query.push("false");
            return;
        }
        Viewer { user: Some(user), .. } => user.get(),
    };
    let push_user = |query: &mut QueryBuilder<Postgres>| {
        query.push_bind(user);
    };
    push_user_has_level(query, push_user, &min_level.as_i16().to_string(), viewer.today);
}

/// Writes the condition that a user has at least a level in the project `p`, in the same ways as [`push_has_level`]. Both
/// the user and the level are expressions.
pub(crate) fn push_user_has_level(
    query: &mut QueryBuilder<Postgres>,
    push_user: impl Fn(&mut QueryBuilder<Postgres>),
    min_code: &str,
    today: NaiveDate,
) {
    query.push("exists (select from project_members m where m.project_id = p.id and m.access_level >= ").push(min_code);
    query.push(" and m.user_id = ");
    push_user(query);
    push_not_expired(query, "m.", today);
    query.push(") or exists (select from namespaces n where n.id = p.namespace_id and n.owner_id = ");
    push_user(query);
    query.push(") or exists (select from group_members m where m.group_id = p.namespace_id and m.access_level >= ");
    query.push(min_code).push(" and m.user_id = ");
    push_user(query);
    push_not_expired(query, "m.", today);
    query.push(") or exists (select from project_shares s join group_members m on m.group_id = s.group_id ");
    query.push("where s.project_id = p.id and s.access_level >= ").push(min_code);
    query.push(" and m.access_level >= ").push(min_code).push(" and m.user_id = ");
    push_user(query);
    push_not_expired(query, "m.", today);
    push_not_expired(query, "s.", today);
    query.push(")");
}
