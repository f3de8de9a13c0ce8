//! Lists of projects. None of them looks at more rows than its page reaches, or than one user's or group's projects
//! are, however many there are in all.

use chrono::NaiveDate;
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

use super::project::{Project, load_relatives, project_columns, project_joins};
use crate::page::{LargeLists, List, Purpose, Total, WholeList, bits};
use crate::{Connection, Database, Result, search};

/// Who looks, and how visible a project must be to be seen without a membership: None sees everything.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub user: Option<UserId>,
    pub sees: Option<Visibility>,
    pub today: NaiveDate,
}

/// Which projects a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// All there are.
    All,
    /// What the reader has access to by a membership of any kind.
    Member,
    /// What the reader can see.
    Visible,
    /// In the reader's namespace and in groups it owns.
    Owned,
    Starred,
    /// Of the group and, if asked for, shared with it; to a member of the group they are all shown.
    OfGroup {
        group: NamespaceId,
        own: bool,
        shared: bool,
        reader_is_member: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Id,
    Name,
    Path,
    CreatedAt,
    UpdatedAt,
    LastActivityAt,
}

impl Key {
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
    pub key: Key,
    pub descending: bool,
    /// Projects with builds before those without.
    pub builds_first: bool,
}

impl Order {
    fn sql(self) -> String {
        let direction = if self.descending { " desc" } else { "" };
        let first = if self.builds_first { "p.builds_enabled desc, " } else { "" };
        match self.key {
            Key::Id => format!("{first}p.id{direction}"),
            key => format!("{first}p.{}{direction}, p.id{direction}", key.column()),
        }
    }

    /// What [`sql`](Self::sql) needs of a row.
    fn columns(self) -> String {
        let first = if self.builds_first { ", p.builds_enabled" } else { "" };
        match self.key {
            Key::Id => format!("p.id{first}"),
            key => format!("p.id{first}, p.{}", key.column()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub reader: Reader,
    pub whose: Whose,
    pub archived: Option<bool>,
    pub visibility: Option<Visibility>,
    pub search: Option<String>,
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
    load_relatives(connection, &mut page.items, filter.reader.user, filter.reader.today).await?;
    Ok(page)
}

/// So many from the first on, uncounted.
pub async fn first(connection: &mut Connection, filter: &Filter, size: i64) -> Result<Vec<Project>> {
    let order = filter.order.sql();
    let mut projects: Vec<Project> = filter.query(&order, Total::Bounded).first(&mut *connection, size).await?;
    load_relatives(connection, &mut projects, filter.reader.user, filter.reader.today).await?;
    Ok(projects)
}

impl Filter {
    #[expect(clippy::type_complexity, reason = "two closures cannot be named otherwise")]
    fn query<'a>(
        &'a self,
        order: &'a str,
        total: Total<'a>,
    ) -> List<'a, impl Fn(&mut QueryBuilder<Postgres>, Purpose), impl Fn(&mut QueryBuilder<Postgres>)> {
        let Reader { user, today, .. } = self.reader;
        List {
            columns: project_columns!(),
            rows: "p.id",
            from: move |query: &mut QueryBuilder<Postgres>, purpose| Sql { filter: self, query, purpose, order }.push(),
            order,
            page: move |query: &mut QueryBuilder<Postgres>| {
                query.push("page cross join (values (").push_bind(user.map(UserId::get)).push("::bigint, ");
                query.push_bind(today).push("::date)) reader (id, today) join projects p on p.id = page.id");
                query.push(project_joins!());
            },
            total,
            varies: self.search.is_some(),
        }
    }

    fn total<'a>(&self, seen: &'a LargeLists) -> Total<'a> {
        let levels = bits(self.levels());
        // The lower three bits are of those in use, the upper three of archived ones.
        let whole = WholeList::Projects(match self.archived {
            None => levels | levels << 3,
            Some(false) => levels,
            Some(true) => levels << 3,
        });
        match self.whose {
            _ if self.search.is_some() => Total::Bounded,
            Whose::All => Total::UnlessLarge(whole, seen),
            Whose::Visible if levels > 0 => Total::UnlessPartLarge(whole, seen),
            Whose::Visible | Whose::Member | Whose::Owned | Whose::Starred | Whose::OfGroup { .. } => Total::WithRows,
        }
    }

    /// Visibilities to be read from the indexes over all projects.
    fn levels(&self) -> Vec<Visibility> {
        let least = match (self.whose, self.reader.sees) {
            (Whose::All, _) | (Whose::Visible, None) => Visibility::Private,
            (Whose::Visible, Some(least)) => least,
            _ => return Vec::new(),
        };
        let wanted = |level: &Visibility| *level >= least && self.visibility.is_none_or(|only| only == *level);
        Visibility::ALL.into_iter().filter(wanted).collect()
    }
}

/// A list's `from` clause while it is written: several selections of ids and sort keys, each in order and no longer than
/// the page reaches, merged under the name `p`.
struct Sql<'a> {
    filter: &'a Filter,
    query: &'a mut QueryBuilder<Postgres>,
    purpose: Purpose,
    order: &'a str,
}

impl Sql<'_> {
    fn push(mut self) {
        self.query.push("from (");
        let mut separator = "";
        for (level, archived) in self.parts() {
            self.query.push(separator);
            separator = " union all ";
            self.begin("projects p where p.namespace_id is not null");
            if let Some(level) = level {
                self.query.push(" and p.visibility_level = ").push(level.level());
            } else {
                let levels: Vec<i16> = self.filter.levels().into_iter().map(Visibility::level).collect();
                self.query.push(" and p.visibility_level = any(").push_bind(levels).push(")");
            }
            if let Some(archived) = archived {
                self.query.push(" and p.archived = ").push(archived);
            }
            self.push_search();
            self.end();
        }
        match self.filter.whose {
            Whose::All => {}
            Whose::Visible if self.purpose == Purpose::TotalOfPart => {}
            Whose::Visible if self.filter.reader.sees.is_none() => {}
            Whose::Visible => {
                self.query.push(separator);
                self.push_accessible(true, true);
            }
            Whose::Member => self.push_accessible(true, false),
            Whose::Owned => self.push_accessible(false, false),
            Whose::Starred => {
                self.begin(
                    "stars s join projects p on p.id = s.project_id where p.namespace_id is not null and s.user_id = ",
                );
                self.query.push_bind(self.filter.reader.user.map(UserId::get));
                self.push_filters();
                self.push_visible();
                self.end();
            }
            Whose::OfGroup { group, own, shared, reader_is_member } => {
                self.push_of_group(group, own, shared, reader_is_member);
            }
        }
        self.query.push(") p");
    }

    /// Whole ranges of the indexes over all projects. A search, or a count, needs no order and takes them at once.
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

    /// What the reader is a member of, or with `any_level` off what it owns. `hidden_only` leaves out what it sees
    /// anyway.
    fn push_accessible(&mut self, any_level: bool, hidden_only: bool) {
        let user = self.filter.reader.user.map(UserId::get);
        let today = self.filter.reader.today;
        // Arrays, so that there is but one way to read them: by the index, one entry after the other.
        self.begin("projects p where p.namespace_id is not null and p.namespace_id = any(array(");
        self.query.push("select id from namespaces where owner_id = ").push_bind(user);
        self.query.push(" union all select group_id from group_members where user_id = ").push_bind(user);
        if !any_level {
            self.query.push(" and access_level = 50");
        }
        self.push_active("", today);
        self.query.push("))");
        self.push_accessible_conditions(hidden_only);
        if any_level {
            self.query.push(" union select ");
            self.push_columns();
            self.query.push(" from projects p where p.namespace_id is not null and p.id = any(array(");
            self.query.push("select project_id from project_members where user_id = ").push_bind(user);
            self.push_active("", today);
            self.query.push(" union all select s.project_id from group_members m join project_shares s ");
            self.query.push("on s.group_id = m.group_id where m.user_id = ").push_bind(user);
            self.push_active("m.", today);
            self.push_active("s.", today);
            self.query.push("))");
            self.push_accessible_conditions(hidden_only);
        }
        self.end();
    }

    fn push_accessible_conditions(&mut self, hidden_only: bool) {
        self.push_filters();
        if let (true, Some(seen)) = (hidden_only, self.filter.reader.sees) {
            self.query.push(" and p.visibility_level < ").push(seen.level());
        }
    }

    fn push_of_group(&mut self, group: NamespaceId, own: bool, shared: bool, reader_is_member: bool) {
        if own {
            self.begin("projects p where p.namespace_id is not null and p.namespace_id = ");
            self.query.push_bind(group.get());
            self.push_filters();
            if !reader_is_member {
                self.push_visible();
            }
            self.end();
        }
        if own && shared {
            self.query.push(" union ");
        }
        if shared {
            self.begin("project_shares s join projects p on p.id = s.project_id where p.namespace_id is not null and s.group_id = ");
            self.query.push_bind(group.get());
            self.push_active("s.", self.filter.reader.today);
            self.push_filters();
            self.push_visible();
            self.end();
        }
    }

    fn push_filters(&mut self) {
        if let Some(level) = self.filter.visibility {
            self.query.push(" and p.visibility_level = ").push_bind(level.level());
        }
        if let Some(archived) = self.filter.archived {
            self.query.push(" and p.archived = ").push_bind(archived);
        }
        self.push_search();
    }

    fn push_search(&mut self) {
        if let Some(term) = &self.filter.search {
            self.query.push(" and ");
            search::push_contains(self.query, "p.search_text", term);
        }
    }

    fn push_visible(&mut self) {
        push_visible(self.query, self.filter.reader);
    }

    fn push_active(&mut self, alias: &'static str, today: NaiveDate) {
        push_active(self.query, alias, today);
    }

    fn push_columns(&mut self) {
        match self.purpose.is_counting() {
            true => self.query.push("p.id"),
            false => self.query.push(self.filter.order.columns()),
        };
    }

    fn begin(&mut self, from: &'static str) {
        self.query.push("(select ");
        self.push_columns();
        self.query.push(" from ").push(from);
    }

    fn end(&mut self) {
        if let Purpose::Rows(_) = self.purpose {
            // A union is ordered by what it selects, which is not known under the name of a table.
            self.query.push(" order by ").push(self.order.replace("p.", ""));
        }
        self.purpose.push_limit(self.query);
        self.query.push(")");
    }
}

fn push_active(query: &mut QueryBuilder<Postgres>, alias: &'static str, today: NaiveDate) {
    query.push(" and (").push(alias).push("expires_at is null or ").push(alias).push("expires_at > ");
    query.push_bind(today).push(")");
}

/// The condition that the reader can see the project `p`.
pub(crate) fn push_visible(query: &mut QueryBuilder<Postgres>, reader: Reader) {
    let Some(seen) = reader.sees else { return };
    query.push(" and (p.visibility_level >= ").push_bind(seen.level()).push(" or ");
    push_level(query, reader, AccessLevel::Guest);
    query.push(")");
}

/// The condition that the reader has at least this level in the project `p`, by whatever way. Who sees everything has
/// every level.
pub(crate) fn push_level(query: &mut QueryBuilder<Postgres>, reader: Reader, least: AccessLevel) {
    let user = match reader {
        Reader { sees: None, .. } => {
            query.push("true");
            return;
        }
        Reader { user: None, .. } => {
            query.push("false");
            return;
        }
        Reader { user: Some(user), .. } => user.get(),
    };
    let least = least.level();
    query.push("exists (select from project_members m where m.project_id = p.id and m.access_level >= ").push(least);
    query.push(" and m.user_id = ").push_bind(user);
    push_active(query, "m.", reader.today);
    query.push(") or exists (select from namespaces n where n.id = p.namespace_id and n.owner_id = ");
    query.push_bind(user);
    query.push(") or exists (select from group_members m where m.group_id = p.namespace_id and m.access_level >= ");
    query.push(least).push(" and m.user_id = ").push_bind(user);
    push_active(query, "m.", reader.today);
    query.push(") or exists (select from project_shares s join group_members m on m.group_id = s.group_id ");
    query.push("where s.project_id = p.id and s.access_level >= ").push(least);
    query.push(" and m.access_level >= ").push(least).push(" and m.user_id = ").push_bind(user);
    push_active(query, "m.", reader.today);
    push_active(query, "s.", reader.today);
    query.push(")");
}
