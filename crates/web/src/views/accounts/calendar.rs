//! The activity of a user as a drawing: a column for each week, a square for each day.

use std::fmt::Write as _;

use chrono::{Datelike, NaiveDate};
use holdfast_app::activity::calendar::ActivityCalendar;

use crate::words;

/// The side of a square, and the distance from one square to the next one.
const SIDE: i64 = 10;
const STEP: i64 = 13;
/// The least number of events of each level. The first one are days without events.
const LEVELS: [i64; 5] = [0, 1, 4, 10, 25];
const OPACITIES: [&str; 5] = [".1", ".35", ".55", ".75", "1"];

#[derive(Clone, Debug)]
pub struct CalendarView {
    pub width: i64,
    pub height: i64,
    pub levels: Vec<Level>,
    /// What the drawing shows, in a sentence.
    pub summary: String,
    /// The days with events and the number of events, newest first.
    pub days: Vec<(String, String)>,
}

/// The squares of all days with about the same number of events.
#[derive(Clone, Debug)]
pub struct Level {
    pub opacity: &'static str,
    /// The path of the squares.
    pub path: String,
}

impl CalendarView {
    pub fn new(activity: &ActivityCalendar) -> Self {
        let ActivityCalendar { first_day, last_day, days } = activity;
        let mut levels: Vec<Level> =
            OPACITIES.into_iter().map(|opacity| Level { opacity, path: String::new() }).collect();
        let mut found = days.iter().peekable();
        for day in first_day.iter_days().take_while(|day| day <= last_day) {
            let count = found.next_if(|(with_events, _)| *with_events == day).map_or(0, |(_, count)| *count);
            levels[level(count)].push(*first_day, day);
        }
        levels.retain(|level| !level.path.is_empty());
        let weeks = (*last_day - *first_day).num_days() / 7 + 1;
        let total: i64 = days.iter().map(|(_, count)| count).sum();
        let summary =
            format!("{} on {} since {}", words::events(total), words::days(days.len()), words::date(*first_day));
        Self {
            width: weeks * STEP - (STEP - SIDE),
            height: 7 * STEP - (STEP - SIDE),
            levels,
            summary,
            days: days.iter().rev().map(|(day, count)| (words::date(*day), words::number(*count))).collect(),
        }
    }
}

/// Returns the level of a day with this number of events.
fn level(count: i64) -> usize {
    LEVELS.iter().rposition(|least| count >= *least).unwrap_or(0)
}

impl Level {
    /// Adds the square of a day.
    fn push(&mut self, first_day: NaiveDate, day: NaiveDate) {
        let column = (day - first_day).num_days() / 7;
        let row = i64::from(day.weekday().num_days_from_monday());
        // Writing to a text does not fail.
        let _ = write!(self.path, "M{} {}h{SIDE}v{SIDE}h-{SIDE}z", column * STEP, row * STEP);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn days_are_squares_of_their_weeks() {
        let day = |day| NaiveDate::from_ymd_opt(2026, 11, day).unwrap();
        let days = vec![(day(3), 1), (day(9), 30)];
        let view = CalendarView::new(&ActivityCalendar { first_day: day(2), last_day: day(10), days });
        assert_eq!((view.width, view.height), (23, 88));
        assert_eq!(view.summary, "31 events on 2 days since 2 Nov 2026");
        let paths: Vec<_> = view.levels.iter().map(|level| (level.opacity, level.path.matches('M').count())).collect();
        assert_eq!(paths, [(".1", 7), (".35", 1), ("1", 1)]);
        assert_eq!(view.levels[2].path, "M13 0h10v10h-10z");
        assert_eq!(view.days[0], ("9 Nov 2026".to_owned(), "30".to_owned()));
    }

    #[test]
    fn more_events_are_a_higher_level() {
        assert_eq!([0, 1, 3, 4, 24, 25, 1_000].map(level), [0, 1, 1, 2, 3, 4, 4]);
    }
}
