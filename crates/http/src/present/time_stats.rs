//! Presents estimated and spent times.

use holdfast_app::planning::time_tracking::TimeStats;
use holdfast_domain::planning::format_work_time;
use serde::Serialize;
use utoipa::ToSchema;

/// Estimated and spent time of an issue or a merge request.
#[derive(Serialize, ToSchema)]
pub struct TimeStatsBody {
    /// Seconds.
    pub time_estimate: i64,
    /// Seconds.
    pub total_time_spent: i64,
    /// Such as `3h 30m`, with days of 8 hours and weeks of 5 days.
    pub human_time_estimate: Option<String>,
    pub human_total_time_spent: Option<String>,
}

pub fn present_time_stats(stats: TimeStats) -> TimeStatsBody {
    TimeStatsBody {
        time_estimate: stats.time_estimate,
        total_time_spent: stats.time_spent,
        human_time_estimate: format_work_time(stats.time_estimate),
        human_total_time_spent: format_work_time(stats.time_spent),
    }
}
