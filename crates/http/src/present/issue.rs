//! Presents issues.

use chrono::NaiveDate;
use holdfast_app::planning::issue::Issue;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::milestone::{self, MilestoneBody};
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

#[derive(Serialize, ToSchema)]
pub struct IssueBody {
    pub id: i64,
    /// Number of the issue within its project.
    pub iid: i64,
    pub project_id: i64,
    pub title: String,
    pub description: Option<String>,
    /// `opened`, `closed` or `reopened`.
    pub state: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Names of the labels.
    pub labels: Vec<String>,
    pub milestone: Option<MilestoneBody>,
    pub assignee: Option<UserSummaryBody>,
    pub author: UserSummaryBody,
    pub user_notes_count: i32,
    pub upvotes: i32,
    pub downvotes: i32,
    pub due_date: Option<NaiveDate>,
    pub confidential: bool,
    pub web_url: String,
    /// Whether the current user is subscribed.
    pub subscribed: bool,
}

pub fn present_issue(issue: Issue, site: &InstanceUrls) -> IssueBody {
    IssueBody {
        id: issue.id.get(),
        iid: issue.iid,
        project_id: issue.project_id.get(),
        title: issue.title,
        description: issue.description,
        state: issue.state.as_str(),
        created_at: issue.created_at.into(),
        updated_at: issue.updated_at.into(),
        labels: issue.labels,
        milestone: issue.milestone.map(milestone::present_milestone),
        assignee: issue.assignee.as_ref().map(|assignee| user::summary(assignee, site)),
        author: user::summary(&issue.author, site),
        user_notes_count: issue.notes_count,
        upvotes: issue.upvotes,
        downvotes: issue.downvotes,
        due_date: issue.due_date,
        confidential: issue.confidential,
        web_url: site.url(&format!("/{}/issues/{}", issue.project_path, issue.iid)),
        subscribed: issue.subscribed,
    }
}
