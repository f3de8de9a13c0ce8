//! Pages of a list with a bounded total count, read with one statement.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use holdfast_domain::Visibility;
use holdfast_domain::activity::Audience;
use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::page::{MAX_COUNTED_TOTAL, Page, PageRequest};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Postgres, QueryBuilder};

use crate::{Connection, Result};

/// A list that [`LargeListCache`] can remember as larger than the maximum that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountedList {
    Users,
    Namespaces,
    /// Groups, with one bit for each visibility.
    Groups(u8),
    /// Projects, with one bit for each visibility, separately for archived and other projects.
    Projects(u8),
    /// The feed of a project, for an audience.
    ProjectFeed(ProjectId, Audience),
    /// The feed of a user, for a viewer.
    UserFeed(UserId, Option<UserId>),
}

/// Returns the bits of these visibilities in a [`CountedList`].
pub(crate) fn visibility_bits(levels: impl IntoIterator<Item = Visibility>) -> u8 {
    levels.into_iter().map(|level| 1 << (level.as_i16() / 10)).sum()
}

impl CountedList {
    /// Returns the lists that this list contains, including itself. If one of them is too large to count, so is this
    /// list.
    fn subsets(self) -> Vec<Self> {
        let subsets = |bits: u8| (1..=bits).filter(move |subset| subset & bits == *subset);
        match self {
            Self::Projects(bits) => subsets(bits).map(Self::Projects).collect(),
            Self::Groups(bits) => subsets(bits).map(Self::Groups).collect(),
            Self::Users | Self::Namespaces | Self::ProjectFeed(..) | Self::UserFeed(..) => vec![self],
        }
    }
}

/// Lists that recently had more rows than are counted. Counting ten thousand rows only to omit the total would cost
/// more than the page itself, so such a list is counted again only after a minute.
#[derive(Default)]
pub struct LargeListCache(Mutex<HashMap<CountedList, Instant>>);

impl LargeListCache {
    const TTL: Duration = Duration::from_secs(60);
    /// Maximum number of remembered lists; the cache is cleared when it is reached. Arbitrary.
    const MAX_ENTRIES: usize = 10_000;

    fn contains(&self, list: CountedList) -> bool {
        let seen = self.0.lock().expect("mutex is never poisoned: no code panics while holding it");
        let is_recent = |part| seen.get(&part).is_some_and(|at| at.elapsed() < Self::TTL);
        list.subsets().into_iter().any(is_recent)
    }

    fn insert(&self, list: CountedList) {
        let mut seen = self.0.lock().expect("mutex is never poisoned: no code panics while holding it");
        if seen.len() >= Self::MAX_ENTRIES {
            seen.clear();
        }
        seen.insert(list, Instant::now());
    }
}

/// The parts of a list query: `select COLUMNS from (select ROWS FROM order by ORDER limit …) PAGE order by ORDER`. The
/// expressions in COLUMNS are only evaluated for the rows of the page, not for the rows before it.
pub(crate) struct PagedQuery<'a, F, P> {
    pub columns: &'a str,
    pub rows: &'static str,
    /// Writes the query from `from` on, including the filters. It is called twice, for the rows and for the total.
    pub from: F,
    pub order: &'a str,
    /// Writes the alias of the page, and the joins.
    pub page: P,
    pub total: Total<'a>,
    /// Whether the best plan depends on the values, such as a search term. PostgreSQL then plans the statement each
    /// time instead of reusing a plan that suits the first few values.
    pub needs_custom_plan: bool,
}

/// How the total of a list is determined.
pub(crate) enum Total<'a> {
    /// Counts separately, up to the maximum.
    Bounded,
    /// Counts together with the rows, for lists that are read completely anyway.
    WithRows,
    /// Does not count while this list is known to be too large.
    SkipIfKnownLarge(CountedList, &'a LargeListCache),
    /// Does not count while this list, which is a subset of the queried one, is known to be too large.
    SkipIfSubsetLarge(CountedList, &'a LargeListCache),
}

/// The purpose for which the `from` clause of a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reading at most this many rows from the first one on.
    Rows(i64),
    /// Reading all rows.
    AllRows,
    /// Counting all rows, for which no columns are needed.
    Total,
    /// Counting the subset that does not depend on the memberships of the viewer.
    SubsetTotal,
}

impl Purpose {
    pub const fn is_counting(self) -> bool {
        matches!(self, Self::Total | Self::SubsetTotal)
    }

    /// Writes the end of a part of a list that is sorted by descending id.
    pub fn push_newest_first(self, query: &mut QueryBuilder<Postgres>, id: &'static str) {
        if let Self::Rows(_) = self {
            query.push(" order by ").push(id).push(" desc");
        }
        self.push_limit(query);
    }

    /// Writes a limit that drops the rows of a part that cannot be on the page or in the total.
    pub fn push_limit(self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Rows(limit) => query.push(" limit ").push(limit),
            Self::AllRows => query,
            Self::Total | Self::SubsetTotal => query.push(" limit ").push(MAX_COUNTED_TOTAL + 1),
        };
    }
}

#[derive(FromRow)]
struct CountedRow<T: for<'r> FromRow<'r, PgRow>> {
    #[sqlx(flatten)]
    row: T,
    total: Option<i64>,
}

impl<F: Fn(&mut QueryBuilder<Postgres>, Purpose), P: Fn(&mut QueryBuilder<Postgres>)> PagedQuery<'_, F, P> {
    pub async fn fetch<T>(&self, connection: &mut Connection, request: PageRequest) -> Result<Page<T>>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let is_known_large = match self.total {
            Total::SkipIfKnownLarge(list, seen) | Total::SkipIfSubsetLarge(list, seen) => seen.contains(list),
            Total::Bounded | Total::WithRows => false,
        };
        let mut rows: Vec<CountedRow<T>> = self.rows(&mut *connection, request, !is_known_large).await?;
        let total = match rows.first() {
            Some(row) => row.total,
            None if is_known_large => None,
            None if request.number() == 1 => Some(0),
            None => self.count(&mut *connection, Purpose::Total).await?,
        };
        let total = total.filter(|total| *total <= MAX_COUNTED_TOTAL);
        if total.is_none() && !is_known_large {
            match self.total {
                Total::SkipIfKnownLarge(list, seen) => seen.insert(list),
                Total::SkipIfSubsetLarge(list, seen) => {
                    let part = self.count(connection, Purpose::SubsetTotal).await?;
                    if part.is_some_and(|part| part > MAX_COUNTED_TOTAL) {
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

    /// Fetches only the first page, without a total.
    pub async fn fetch_first<T>(&self, connection: &mut Connection, size: i64) -> Result<Vec<T>>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let mut rows = self.rows(connection, PageRequest::new(None, Some(size)), false).await?;
        rows.truncate(size as usize);
        Ok(rows.into_iter().map(|counted: CountedRow<T>| counted.row).collect())
    }

    async fn rows<T>(
        &self,
        connection: &mut Connection,
        request: PageRequest,
        needs_total: bool,
    ) -> Result<Vec<CountedRow<T>>>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let with_rows = needs_total && matches!(self.total, Total::WithRows);
        let mut query = QueryBuilder::new("select ");
        query.push(self.columns).push(", ");
        if with_rows {
            query.push("total");
        } else if needs_total {
            push_count(&mut query, &self.from, Purpose::Total);
            query.push(" as total");
        } else {
            query.push("null::bigint as total");
        }
        // One row more than the page holds shows whether there is a next page.
        let limit = request.size() + 1;
        query.push(" from (select ").push(self.rows);
        query.push(if with_rows { ", count(*) over () as total " } else { " " });
        let purpose = Purpose::Rows(request.offset().saturating_add(limit));
        (self.from)(&mut query, if with_rows { Purpose::AllRows } else { purpose });
        query.push(" order by ").push(self.order).push(" limit ").push(limit);
        query.push(" offset ").push(request.offset());
        query.push(") ");
        (self.page)(&mut query);
        query.push(" order by ").push(self.order);
        // The limits are literals instead of parameters, so that the plan of a first page is made once and kept: with
        // parameters PostgreSQL would estimate many rows and plan the statement each time. Other pages have different
        // limits and are rarely requested, so their statements are not kept.
        let is_persistent = !self.needs_custom_plan && request.number() == 1;
        Ok(query.build_query_as().persistent(is_persistent).fetch_all(connection).await?)
    }

    async fn count(&self, connection: &mut Connection, purpose: Purpose) -> Result<Option<i64>> {
        let mut query = QueryBuilder::new("select ");
        push_count(&mut query, &self.from, purpose);
        Ok(query.build_query_scalar().persistent(!self.needs_custom_plan).fetch_one(connection).await?)
    }
}

fn push_count(
    query: &mut QueryBuilder<Postgres>,
    push_from: impl Fn(&mut QueryBuilder<Postgres>, Purpose),
    purpose: Purpose,
) {
    query.push("(select count(*) from (select 1 ");
    push_from(query, purpose);
    query.push(" limit ").push(MAX_COUNTED_TOTAL + 1).push(") counted)");
}

/// Counts the rows of a list without reading a page, up to [`MAX_COUNTED_TOTAL`]. `push_from` is that of a
/// [`PagedQuery`].
pub(crate) async fn count_rows(
    connection: &mut Connection,
    push_from: impl Fn(&mut QueryBuilder<Postgres>, Purpose),
) -> Result<i64> {
    let mut query = QueryBuilder::new("select ");
    push_count(&mut query, push_from, Purpose::Total);
    let count: i64 = query.build_query_scalar().fetch_one(connection).await?;
    Ok(count.min(MAX_COUNTED_TOTAL))
}

/// Returns a `page` writer for an alias, with or without joins, that does not depend on the request.
pub(crate) fn table_alias(page: &'static str) -> impl Fn(&mut QueryBuilder<Postgres>) {
    move |query| {
        query.push(page);
    }
}
