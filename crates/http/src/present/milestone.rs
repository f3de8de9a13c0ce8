//! Presents milestones.

use chrono::NaiveDate;
use holdfast_app::planning::milestone::Milestone;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

/// A milestone of a project.
#[derive(Serialize, ToSchema)]
pub struct MilestoneBody {
    pub id: i64,
    /// Number of the milestone within its project.
    pub iid: i64,
    pub project_id: i64,
    pub title: String,
    pub description: Option<String>,
    /// `active` or `closed`.
    pub state: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub due_date: Option<NaiveDate>,
    pub start_date: Option<NaiveDate>,
}

pub fn present_milestone(milestone: Milestone) -> MilestoneBody {
    MilestoneBody {
        id: milestone.id.get(),
        iid: milestone.iid,
        project_id: milestone.project_id.get(),
        title: milestone.title,
        description: milestone.description,
        state: if milestone.closed { "closed" } else { "active" },
        created_at: milestone.created_at.into(),
        updated_at: milestone.updated_at.into(),
        due_date: milestone.due_date,
        start_date: milestone.start_date,
    }
}
