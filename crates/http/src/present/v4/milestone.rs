//! Presents milestones.

use chrono::NaiveDate;
use holdfast_app::planning::milestone::Milestone;
use serde::Serialize;
use utoipa::ToSchema;

use crate::InstanceUrls;
use crate::present::milestone::{MilestoneBody as MilestoneFields, present_milestone as present_fields};

/// A milestone of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectMilestone {
    #[serde(flatten)]
    pub fields: MilestoneFields,
    /// Whether the due date has passed.
    pub expired: bool,
    pub web_url: String,
}

pub fn present_milestone(
    milestone: Milestone,
    project_path: &str,
    today: NaiveDate,
    site: &InstanceUrls,
) -> ProjectMilestone {
    let fields = present_fields(milestone);
    ProjectMilestone {
        expired: fields.due_date.is_some_and(|due| due < today),
        web_url: site.url(&format!("/{project_path}/milestones/{}", fields.iid)),
        fields,
    }
}
