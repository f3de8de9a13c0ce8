//! The activity of the viewer.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::activity::feed::Event;
use holdfast_app::repository::refs::ref_address::RefAddresses;
use holdfast_domain::page::Page;

use super::frame::{DashboardTab, dashboard_frame};
use crate::layout::Layout;
use crate::views::projects::event_row::{EventRow, event_row};
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "activity/feed.html")]
pub struct OwnActivityPage {
    pub layout: Layout,
    pub events: Vec<OwnEvent>,
    pub pages: Pages,
}

/// An event with its project.
pub struct OwnEvent {
    pub event: EventRow,
    /// The path of the project, with its namespace.
    pub project: String,
    pub project_url: String,
}

impl OwnEvent {
    /// Creates the row of an event. Branches and tags are not linked, because the refs of the projects are not loaded.
    pub fn new(event: &Event, now: DateTime<Utc>) -> Self {
        let links = ProjectLinks::new(&event.project_path);
        Self {
            event: event_row(event, &links, &RefAddresses::default(), now),
            project: event.project_path.clone(),
            project_url: links.home().to_owned(),
        }
    }
}

/// Builds the list of events.
pub fn own_activity_page(layout: Layout, events: &Page<Event>, now: DateTime<Utc>) -> OwnActivityPage {
    let mut layout = dashboard_frame(layout, DashboardTab::Activity);
    "Your activity".clone_into(&mut layout.title);
    OwnActivityPage {
        layout,
        events: events.items.iter().map(|event| OwnEvent::new(event, now)).collect(),
        pages: Pages::new(events, "/dashboard/activity", &[]),
    }
}
