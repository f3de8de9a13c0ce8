//! The activity of a user in the last year, by day.

use chrono::{Datelike, Days, NaiveDate, NaiveTime};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::activity::calendar;

use crate::accounts::bot::ensure_visible;
use crate::accounts::user::User;
use crate::projects::list::viewer;
use crate::{Actor, App, Result, access};

/// Number of weeks before the current one.
const WEEKS: u64 = 52;

/// The numbers of a user's events by day.
#[derive(Clone, Debug)]
pub struct ActivityCalendar {
    /// The first day, a Monday.
    pub first_day: NaiveDate,
    /// The last day, which is today.
    pub last_day: NaiveDate,
    /// The days with events and the number of events, from the first to the last day.
    pub days: Vec<(NaiveDate, i64)>,
}

/// Counts the events of a user in the last year that the current user may see, by day in UTC. A user with very many
/// events is counted from the day at which the feed of recent events begins.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, user: &User) -> Result<ActivityCalendar> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let mut connection = app.database.connection().await?;
    if user.bot {
        ensure_visible(app, &mut connection, actor, user.id).await?;
    }
    let last_day = app.today();
    let age = Days::new(u64::from(last_day.weekday().num_days_from_monday()) + 7 * WEEKS);
    let first_day = last_day.checked_sub_days(age).unwrap_or(last_day);
    let from = first_day.and_time(NaiveTime::MIN).and_utc();
    let days = calendar::count_by_day(&mut connection, user.id, viewer(app, actor), from).await?;
    Ok(ActivityCalendar { first_day, last_day, days })
}
