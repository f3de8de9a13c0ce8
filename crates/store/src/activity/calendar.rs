//! The events of a user by day.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::UserId;
use sqlx::{Postgres, QueryBuilder};

use super::feed::{KEY_COLUMNS, MAX_RECENT_EVENTS, Period, VisibleProjects};
use crate::projects::list::Viewer;
use crate::{Connection, Result};

/// Counts the events of a user from this time on that the viewer may see, for each day in UTC on which there are any,
/// from the first to the last day. Reads a range of the index of authors, at most the [`MAX_RECENT_EVENTS`] newest
/// events.
pub async fn count_by_day(
    connection: &mut Connection,
    user: UserId,
    viewer: Viewer,
    from: DateTime<Utc>,
) -> Result<Vec<(NaiveDate, i64)>> {
    let period = Period { from: Some(from), until: None };
    let mut query =
        QueryBuilder::<Postgres>::new("select (e.created_at at time zone 'utc')::date as day, count(*) as events ");
    if viewer.min_visibility.is_none() {
        // A viewer who sees everything needs no filter, except for deleted projects that are not removed yet.
        query.push("from (select ").push(KEY_COLUMNS).push(" from events where author_id = ").push_bind(user.get());
        period.push(&mut query);
        query.push(" order by id desc limit ").push(MAX_RECENT_EVENTS).push(") e ");
        query.push("where exists (select from projects p where p.id = e.project_id and p.namespace_id is not null)");
    } else {
        VisibleProjects::load(connection, user, viewer, period).await?.push_recent(&mut query, user);
    }
    query.push(" group by day order by day");
    Ok(query.build_query_as().fetch_all(connection).await?)
}
