//! The state of the instance, for administrators.

use std::time::Duration;

use askama::Template;
use chrono::{DateTime, TimeDelta, Timelike, Utc};
use holdfast_app::instance::overview::{MAX_COUNTED, Overview, SHOWN_HOURS};

use super::admin_nav::admin_frame;
use crate::icons::{self, Icon};
use crate::layout::Layout;
use crate::words;

/// Age of something that waits from which it needs attention. Arbitrary.
const LONG_WAIT: Duration = Duration::from_secs(600);
/// Delay of a standby of the database from which it needs attention, in seconds. Arbitrary.
const LONG_LAG_SECONDS: f64 = 60.0;

/// Width of a column of the plot with its gap, and height of the plot, in its own units.
const COLUMN_WIDTH: i64 = 48;
const PLOT_HEIGHT: i64 = 120;

#[derive(Template)]
#[template(path = "instance/overview.html")]
pub struct OverviewPage {
    pub layout: Layout,
    pub problems: Vec<Problem>,
    pub figures: Vec<Figure>,
    pub plot: EventPlot,
}

/// Something that needs the attention of an administrator.
#[derive(Clone, Debug)]
pub struct Problem {
    pub icon: Icon,
    pub text: String,
    pub advice: &'static str,
    /// A page about it.
    pub url: Option<&'static str>,
}

/// A figure with its name.
#[derive(Clone, Debug)]
pub struct Figure {
    pub label: &'static str,
    pub value: String,
    /// The page with the things that are counted.
    pub url: Option<&'static str>,
}

/// The numbers of events in the last hours.
#[derive(Clone, Debug)]
pub struct EventPlot {
    /// What the plot shows, in a sentence.
    pub summary: String,
    /// The highest number, at the upper end of the axis.
    pub max: i64,
    /// One column for each hour, the oldest first.
    pub columns: Vec<PlotColumn>,
    /// Whether the oldest columns are too low, because not all events were read.
    pub is_incomplete: bool,
}

#[derive(Clone, Debug)]
pub struct PlotColumn {
    pub x: i64,
    pub y: i64,
    pub height: i64,
    pub events: i64,
    /// The hour, such as `14:05 to 15:05`.
    pub hour: String,
}

/// Builds the page.
pub fn overview_page(layout: Layout, overview: &Overview, now: DateTime<Utc>) -> OverviewPage {
    OverviewPage {
        layout: admin_frame(layout, "Overview"),
        problems: problems(overview),
        figures: figures(overview),
        plot: event_plot(overview, now),
    }
}

fn age(duration: Duration) -> String {
    words::duration(i64::try_from(duration.as_secs()).unwrap_or(i64::MAX))
}

fn problems(overview: &Overview) -> Vec<Problem> {
    let Overview { counts, jobs, hooks, builds, .. } = overview;
    let lag = overview.replication_lag_seconds.unwrap_or_default();
    let found = [
        (jobs.failed > 0).then(|| Problem {
            icon: icons::FAILED.colored("bad"),
            text: format!("{} failed", words::jobs(jobs.failed)),
            advice: "Failed jobs are not tried again by themselves. Read the error, and retry the job.",
            url: Some("/admin/jobs"),
        }),
        (jobs.pending > 0 && jobs.oldest_pending >= LONG_WAIT).then(|| Problem {
            icon: icons::CLOCK.colored("wait"),
            text: format!(
                "{} waiting for a worker, the first for {}",
                words::jobs(jobs.pending),
                age(jobs.oldest_pending)
            ),
            advice: "Check that a node runs with worker.concurrency above 0, or raise it.",
            url: Some("/admin/jobs"),
        }),
        (hooks.paused > 0).then(|| Problem {
            icon: icons::WARNING.colored("wait"),
            text: format!("{} paused", words::webhooks(hooks.paused)),
            advice: "Their receivers failed for three days. Each is tried once an hour, or at once when somebody resumes \
                its deliveries, in the settings of its project or among the system hooks.",
            url: None,
        }),
        (hooks.failing > hooks.paused).then(|| Problem {
            icon: icons::WARNING.colored("wait"),
            text: format!("{} failing", words::webhooks(hooks.failing - hooks.paused)),
            advice: "Their receivers cannot be reached, or respond with errors. Deliveries are tried again.",
            url: None,
        }),
        (hooks.oldest_undelivered >= LONG_WAIT).then(|| Problem {
            icon: icons::CLOCK.colored("wait"),
            text: format!("A delivery of a webhook has waited for {}", age(hooks.oldest_undelivered)),
            advice: "Check that a node runs with hooks.concurrency above 0.",
            url: None,
        }),
        (builds.pending > 0 && builds.oldest_pending >= LONG_WAIT).then(|| Problem {
            icon: icons::RUNNER.colored("wait"),
            text: format!(
                "{} waiting for a runner, the first for {}",
                words::builds(builds.pending),
                age(builds.oldest_pending)
            ),
            advice: "No runner that is online and idle may take them. Check the runners and the tags of the builds.",
            url: Some("/admin/runners"),
        }),
        (!counts.has_partitions).then(|| Problem {
            icon: icons::STORAGE.colored("bad"),
            text: "The database has no partitions for tomorrow".to_owned(),
            advice: "Run `holdfast admin sweep`, and read in the log why the daily cleanup does not run.",
            url: None,
        }),
        (lag >= LONG_LAG_SECONDS).then(|| Problem {
            icon: icons::STORAGE.colored("wait"),
            text: format!("A standby of the database is behind by {}", words::duration(lag as i64)),
            advice: "A failover now would lose what was committed since, unless commits wait for another standby.",
            url: None,
        }),
    ];
    found.into_iter().flatten().collect()
}

/// Returns a number that was counted up to [`MAX_COUNTED`].
fn counted(number: i64) -> String {
    if number > MAX_COUNTED { format!("more than {}", words::number(MAX_COUNTED)) } else { words::number(number) }
}

fn figures(overview: &Overview) -> Vec<Figure> {
    let Overview { counts, jobs, hooks, builds, .. } = overview;
    let figure = |label, value, url| Figure { label, value, url };
    vec![
        figure("Users", counted(counts.users), Some("/admin/users")),
        figure("Groups", counted(counts.groups), Some("/admin/groups")),
        figure("Projects", counted(counts.projects), Some("/admin/projects")),
        figure("Jobs that wait", words::number(jobs.pending), Some("/admin/jobs")),
        figure("Builds that wait", words::number(builds.pending), None),
        figure("Events not delivered yet", words::number(hooks.pending_fan_out), None),
        figure("Standbys of the database", words::number(overview.replicas), None),
        figure("Version", crate::views::VERSION.to_owned(), None),
    ]
}

fn event_plot(overview: &Overview, now: DateTime<Utc>) -> EventPlot {
    let events_of = |hours_ago: i64| {
        let hour = overview.events.iter().find(|hour| i64::from(hour.hours_ago) == hours_ago);
        hour.map_or(0, |hour| hour.events)
    };
    let max = (0..SHOWN_HOURS).map(events_of).max().unwrap_or_default();
    let total: i64 = (0..SHOWN_HOURS).map(events_of).sum();
    let time = |at: DateTime<Utc>| format!("{:02}:{:02}", at.hour(), at.minute());
    let column = |position: i64| {
        let hours_ago = SHOWN_HOURS - 1 - position;
        let events = events_of(hours_ago);
        let height = if events == 0 { 0 } else { (events * PLOT_HEIGHT / max.max(1)).max(1) };
        let end = now - TimeDelta::hours(hours_ago);
        let hour = format!("{} to {}", time(end - TimeDelta::hours(1)), time(end));
        PlotColumn { x: position * COLUMN_WIDTH, y: PLOT_HEIGHT - height, height, events, hour }
    };
    EventPlot {
        summary: format!(
            "{} in the last {SHOWN_HOURS} hours, at most {} in an hour",
            words::events(total),
            words::number(max)
        ),
        max,
        columns: (0..SHOWN_HOURS).map(column).collect(),
        is_incomplete: overview.has_more_events,
    }
}
