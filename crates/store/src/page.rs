//! Pages of rows with a bounded total, in one statement.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use holdfast_domain::page::{COUNTED_AT_MOST, Page, PageRequest};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Postgres, QueryBuilder};

use crate::{Connection, Result};

/// A list over a whole table, whose total may be known to be too large to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeList {
    Users,
    Groups,
    Namespaces,
    Projects,
}

/// Lists seen to hold more than is counted. Counting ten thousand rows only to leave the total out would cost more
/// than the page itself, so it is tried anew only once a minute.
#[derive(Default)]
pub struct LargeLists(Mutex<[Option<Instant>; 4]>);

impl LargeLists {
    const REMEMBERED: Duration = Duration::from_secs(60);

    fn contains(&self, list: WholeList) -> bool {
        let seen = self.0.lock().expect("nothing panics while holding it")[list as usize];
        seen.is_some_and(|at| at.elapsed() < Self::REMEMBERED)
    }

    fn insert(&self, list: WholeList) {
        self.0.lock().expect("nothing panics while holding it")[list as usize] = Some(Instant::now());
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
    pub whole: Option<(WholeList, &'a LargeLists)>,
    /// Whether the best plan depends on the values, such as a search term. PostgreSQL then plans anew each time, instead
    /// of settling for a plan that suits the first few.
    pub varies: bool,
}

/// What a list is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// This many rows from the first on, at the most.
    Rows(i64),
    /// Counting, for which no column is needed.
    Total,
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
        let known_large = self.whole.is_some_and(|(list, seen)| seen.contains(list));
        let mut rows: Vec<Counted<T>> = self.rows(connection, request, !known_large).await?;
        let total = match rows.first() {
            Some(row) => row.total,
            None if known_large => None,
            None if request.number() == 1 => Some(0),
            None => self.count(connection).await?,
        };
        let total = total.filter(|total| *total <= COUNTED_AT_MOST);
        if let (None, false, Some((list, seen))) = (total, known_large, self.whole) {
            seen.insert(list);
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
        let mut query = QueryBuilder::new("select ");
        query.push(self.columns).push(", ");
        if counted {
            self.push_count(&mut query);
        } else {
            query.push("null::bigint");
        }
        // One row more than the page holds tells whether there is a next one.
        let limit = request.size() + 1;
        query.push(" as total from (select ").push(self.rows).push(" ");
        (self.from)(&mut query, Purpose::Rows(request.offset().saturating_add(limit)));
        query.push(" order by ").push(self.order).push(" limit ").push_bind(limit);
        query.push(" offset ").push_bind(request.offset());
        query.push(") ");
        (self.page)(&mut query);
        query.push(" order by ").push(self.order);
        Ok(query.build_query_as().persistent(!self.varies).fetch_all(connection).await?)
    }

    fn push_count(&self, query: &mut QueryBuilder<Postgres>) {
        query.push("(select count(*) from (select 1 ");
        (self.from)(query, Purpose::Total);
        query.push(" limit ").push(COUNTED_AT_MOST + 1).push(") counted)");
    }

    async fn count(&self, connection: &mut Connection) -> Result<Option<i64>> {
        let mut query = QueryBuilder::new("select ");
        self.push_count(&mut query);
        Ok(query.build_query_scalar().persistent(!self.varies).fetch_one(connection).await?)
    }
}

/// A page that is joined with nothing that depends on the request.
pub(crate) fn named(page: &'static str) -> impl Fn(&mut QueryBuilder<Postgres>) {
    move |query| {
        query.push(page);
    }
}
