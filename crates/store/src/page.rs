//! Pages of rows with a bounded total, in one statement.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use holdfast_domain::Visibility;
use holdfast_domain::activity::Audience;
use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::page::{COUNTED_AT_MOST, Page, PageRequest};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Postgres, QueryBuilder};

use crate::{Connection, Result};

/// A list that may be known to hold more than is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WholeList {
    Users,
    Namespaces,
    /// One bit for each visibility of groups.
    Groups(u8),
    /// One bit for each visibility of projects, archived or not.
    Projects(u8),
    /// What happened in a project, for an audience.
    FeedOfProject(ProjectId, Audience),
    /// What a user did, for a reader.
    FeedOfUser(UserId, Option<UserId>),
}

/// The bits of these visibilities, in a [`WholeList`].
pub(crate) fn bits(levels: impl IntoIterator<Item = Visibility>) -> u8 {
    levels.into_iter().map(|level| 1 << (level.level() / 10)).sum()
}

impl WholeList {
    /// If one of these holds too many, so does this.
    fn parts(self) -> Vec<Self> {
        let subsets = |bits: u8| (1..=bits).filter(move |some| some & bits == *some);
        match self {
            Self::Projects(bits) => subsets(bits).map(Self::Projects).collect(),
            Self::Groups(bits) => subsets(bits).map(Self::Groups).collect(),
            Self::Users | Self::Namespaces | Self::FeedOfProject(..) | Self::FeedOfUser(..) => vec![self],
        }
    }
}

/// Lists seen to hold more than is counted. Counting ten thousand rows only to leave the total out would cost more
/// than the page itself, so it is tried anew only once a minute.
#[derive(Default)]
pub struct LargeLists(Mutex<HashMap<WholeList, Instant>>);

impl LargeLists {
    const REMEMBERED: Duration = Duration::from_secs(60);
    /// More than these are forgotten at once.
    const MOST: usize = 10_000;

    fn contains(&self, list: WholeList) -> bool {
        let seen = self.0.lock().expect("nothing panics while holding it");
        let is_known = |part| seen.get(&part).is_some_and(|at| at.elapsed() < Self::REMEMBERED);
        list.parts().into_iter().any(is_known)
    }

    fn insert(&self, list: WholeList) {
        let mut seen = self.0.lock().expect("nothing panics while holding it");
        if seen.len() >= Self::MOST {
            seen.clear();
        }
        seen.insert(list, Instant::now());
    }
}

/// A list query in parts: `select COLUMNS from (select ROWS FROM order by ORDER limit …) PAGE order by ORDER`. What the
/// columns compute is computed for the rows of the page alone, not for those before it.
pub(crate) struct List<'a, F, P> {
    pub columns: &'static str,
    pub rows: &'static str,
    /// Writes everything from `from` on, filters included; written twice, for the rows and for the total.
    pub from: F,
    pub order: &'a str,
    /// Writes what the page is called, and what it is joined with.
    pub page: P,
    pub total: Total<'a>,
    /// Whether the best plan depends on the values, such as a search term. PostgreSQL then plans anew each time, instead
    /// of settling for a plan that suits the first few.
    pub varies: bool,
}

/// How a list is counted.
pub(crate) enum Total<'a> {
    /// By itself, up to the bound.
    Bounded,
    /// With the rows: all of them are read anyway.
    WithRows,
    /// Not while everybody's list of that kind is known to be too large.
    UnlessLarge(WholeList, &'a LargeLists),
    /// The same for a list that holds all of such a list and something more.
    UnlessPartLarge(WholeList, &'a LargeLists),
}

/// What a list is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// This many rows from the first on, at the most.
    Rows(i64),
    /// All rows.
    AllRows,
    /// Counting, for which no column is needed.
    Total,
    /// Counting what is everybody's, without what is the reader's own.
    TotalOfPart,
}

impl Purpose {
    pub const fn is_counting(self) -> bool {
        matches!(self, Self::Total | Self::TotalOfPart)
    }

    /// Ends a part of a list that has the newest first.
    pub fn push_newest(self, query: &mut QueryBuilder<Postgres>, id: &'static str) {
        if let Self::Rows(_) = self {
            query.push(" order by ").push(id).push(" desc");
        }
        self.push_limit(query);
    }

    /// Ends a part of the list after the rows that can matter.
    pub fn push_limit(self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Rows(reach) => query.push(" limit ").push(reach),
            Self::AllRows => query,
            Self::Total | Self::TotalOfPart => query.push(" limit ").push(COUNTED_AT_MOST + 1),
        };
    }
}

#[derive(FromRow)]
struct Counted<T: for<'r> FromRow<'r, PgRow>> {
    #[sqlx(flatten)]
    row: T,
    total: Option<i64>,
}

impl<F: Fn(&mut QueryBuilder<Postgres>, Purpose), P: Fn(&mut QueryBuilder<Postgres>)> List<'_, F, P> {
    pub async fn fetch<T>(&self, connection: &mut Connection, request: PageRequest) -> Result<Page<T>>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let known_large = match self.total {
            Total::UnlessLarge(list, seen) | Total::UnlessPartLarge(list, seen) => seen.contains(list),
            Total::Bounded | Total::WithRows => false,
        };
        let mut rows: Vec<Counted<T>> = self.rows(&mut *connection, request, !known_large).await?;
        let total = match rows.first() {
            Some(row) => row.total,
            None if known_large => None,
            None if request.number() == 1 => Some(0),
            None => self.count(&mut *connection, Purpose::Total).await?,
        };
        let total = total.filter(|total| *total <= COUNTED_AT_MOST);
        if total.is_none() && !known_large {
            match self.total {
                Total::UnlessLarge(list, seen) => seen.insert(list),
                Total::UnlessPartLarge(list, seen) => {
                    let part = self.count(connection, Purpose::TotalOfPart).await?;
                    if part.is_some_and(|part| part > COUNTED_AT_MOST) {
                        seen.insert(list);
                    }
                }
                Total::Bounded | Total::WithRows => {}
            }
        }
        let has_next = rows.len() as i64 > request.size();
        rows.truncate(request.size() as usize);
        Ok(Page { items: rows.into_iter().map(|counted| counted.row).collect(), request, total, has_next })
    }

    /// The first page alone, for what is shown beside other things.
    pub async fn first<T>(&self, connection: &mut Connection, size: i64) -> Result<Vec<T>>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let mut rows = self.rows(connection, PageRequest::new(None, Some(size)), false).await?;
        rows.truncate(size as usize);
        Ok(rows.into_iter().map(|counted: Counted<T>| counted.row).collect())
    }

    async fn rows<T>(&self, connection: &mut Connection, request: PageRequest, counted: bool) -> Result<Vec<Counted<T>>>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let with_rows = counted && matches!(self.total, Total::WithRows);
        let mut query = QueryBuilder::new("select ");
        query.push(self.columns).push(", ");
        if with_rows {
            query.push("total");
        } else if counted {
            self.push_count(&mut query, Purpose::Total);
            query.push(" as total");
        } else {
            query.push("null::bigint as total");
        }
        // One row more than the page holds tells whether there is a next one.
        let limit = request.size() + 1;
        query.push(" from (select ").push(self.rows);
        query.push(if with_rows { ", count(*) over () as total " } else { " " });
        let reach = Purpose::Rows(request.offset().saturating_add(limit));
        (self.from)(&mut query, if with_rows { Purpose::AllRows } else { reach });
        query.push(" order by ").push(self.order).push(" limit ").push(limit);
        query.push(" offset ").push(request.offset());
        query.push(") ");
        (self.page)(&mut query);
        query.push(" order by ").push(self.order);
        // With the limits in plain sight the plan of a first page is made once and kept: without, PostgreSQL takes every
        // statement for a long one and plans it anew. Further pages have other limits each and are asked for seldom.
        let is_kept = !self.varies && request.number() == 1;
        Ok(query.build_query_as().persistent(is_kept).fetch_all(connection).await?)
    }

    fn push_count(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose) {
        query.push("(select count(*) from (select 1 ");
        (self.from)(query, purpose);
        query.push(" limit ").push(COUNTED_AT_MOST + 1).push(") counted)");
    }

    async fn count(&self, connection: &mut Connection, purpose: Purpose) -> Result<Option<i64>> {
        let mut query = QueryBuilder::new("select ");
        self.push_count(&mut query, purpose);
        Ok(query.build_query_scalar().persistent(!self.varies).fetch_one(connection).await?)
    }
}

/// A page that is joined with nothing that depends on the request.
pub(crate) fn named(page: &'static str) -> impl Fn(&mut QueryBuilder<Postgres>) {
    move |query| {
        query.push(page);
    }
}
