//! The activity of a project, by day.

use askama::Template;
use chrono::{DateTime, NaiveDate, Utc};
use holdfast_app::activity::feed::ProjectFeed;

use super::event_row::{EventRow, event_row};
use super::frame::{ProjectTab, project_frame};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::{Pages, ProjectLinks};
use crate::words;

#[derive(Template)]
#[template(path = "projects/activity.html")]
pub struct ActivityPage {
    pub layout: Layout,
    pub days: Vec<ActivityDay>,
    pub pages: Pages,
}

/// The events of one day, newest first.
pub struct ActivityDay {
    pub date: String,
    pub events: Vec<EventRow>,
}

/// Builds the list of events.
pub fn activity_page(layout: Layout, feed: &ProjectFeed, abilities: Abilities, now: DateTime<Utc>) -> ActivityPage {
    let links = ProjectLinks::new(&feed.project.full_path());
    let mut layout = project_frame(layout, &feed.project, abilities, ProjectTab::Code);
    layout.title = format!("Activity · {}", feed.project.full_path());
    let mut days: Vec<(NaiveDate, ActivityDay)> = Vec::new();
    for event in &feed.events.items {
        let date = event.created_at.date_naive();
        let row = event_row(event, &links, &feed.refs, now);
        match days.last_mut() {
            Some((last, day)) if *last == date => day.events.push(row),
            _ => days.push((date, ActivityDay { date: words::date(date), events: vec![row] })),
        }
    }
    let days = days.into_iter().map(|(_, day)| day).collect();
    ActivityPage { layout, days, pages: Pages::new(&feed.events, &links.activity(), &[]) }
}
