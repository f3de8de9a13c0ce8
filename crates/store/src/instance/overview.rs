//! Figures about the whole instance.

use chrono::{DateTime, NaiveDate, Utc};

use crate::{Connection, Result};

/// Maximum number of users, groups and projects that are counted. Arbitrary; lists count up to the same number.
pub const MAX_COUNTED: i64 = 10_000;
/// Maximum number of events that are read for the numbers by hour. Arbitrary.
pub const MAX_READ_EVENTS: i64 = 10_000;

/// Numbers of what the instance has, each counted up to one more than [`MAX_COUNTED`].
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Counts {
    pub users: i64,
    pub groups: i64,
    pub projects: i64,
    /// Whether the tables that are partitioned by day have a partition for the day.
    pub has_partitions: bool,
}

/// Counts users, groups and projects, and checks the partitions of a day.
pub async fn count(connection: &mut Connection, day: NaiveDate) -> Result<Counts> {
    const QUERY: &str = "\
        select (select count(*) from (select from users where not bot and not ghost limit $1) u) as users, \
          (select count(*) from (select from namespaces where kind = 'group' limit $1) g) as groups, \
          (select count(*) from (select from projects where namespace_id is not null limit $1) p) as projects, \
          to_regclass('outbox_' || to_char($2::date, 'YYYY_MM_DD')) is not null \
            and to_regclass('events_' || to_char($2::date, 'YYYY_MM')) is not null as has_partitions";
    Ok(sqlx::query_as(QUERY).bind(MAX_COUNTED + 1).bind(day).fetch_one(connection).await?)
}

/// The number of events in one hour.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct HourlyEvents {
    /// How many whole hours before the time of the query.
    pub hours_ago: i32,
    pub events: i64,
}

/// Returns how many events each hour since the time `since` had, without hours without events. Reads the newest events,
/// at most [`MAX_READ_EVENTS`].
pub async fn count_events_by_hour(
    connection: &mut Connection,
    since: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<Vec<HourlyEvents>> {
    const QUERY: &str = "\
        select floor(extract(epoch from ($2 - created_at)) / 3600)::int as hours_ago, count(*) as events from ( \
          select created_at from outbox where created_at > $1 and created_at <= $2 order by id desc limit $3) e \
        group by 1 order by 1";
    Ok(sqlx::query_as(QUERY).bind(since).bind(now).bind(MAX_READ_EVENTS).fetch_all(connection).await?)
}
