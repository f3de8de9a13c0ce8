//! Presents issues.

use chrono::NaiveDate;
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::time_tracking::TimeStats;
use holdfast_domain::planning::IssueState;
use serde::Serialize;
use utoipa::ToSchema;

use super::label::LabelList;
use super::milestone::{ProjectMilestone, present_milestone};
use super::references::{References, TaskCompletionStatus, references, task_completion};
use super::user::{UserBasic, present_basic as present_user};
use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::time_stats::{TimeStatsBody, present_time_stats};

/// An issue of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectIssue {
    pub id: i64,
    /// Number of the issue within its project.
    pub iid: i64,
    pub project_id: i64,
    pub title: String,
    pub description: Option<String>,
    /// `opened` or `closed`.
    pub state: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Always null: the time is not stored. A system note has it.
    pub closed_at: Option<Timestamp>,
    /// Always null: the user is not stored. A system note has it.
    pub closed_by: Option<UserBasic>,
    pub labels: LabelList,
    pub milestone: Option<ProjectMilestone>,
    /// Assignee, or nobody. There is at most one.
    pub assignees: Vec<UserBasic>,
    pub author: UserBasic,
    /// Always `ISSUE`.
    pub r#type: &'static str,
    /// Always `issue`.
    pub issue_type: &'static str,
    pub assignee: Option<UserBasic>,
    pub user_notes_count: i32,
    /// Always 0: merge requests that mention the issue are not counted.
    pub merge_requests_count: i32,
    pub upvotes: i32,
    pub downvotes: i32,
    pub due_date: Option<NaiveDate>,
    pub start_date: Option<NaiveDate>,
    pub confidential: bool,
    pub discussion_locked: Option<bool>,
    pub web_url: String,
    pub time_stats: TimeStatsBody,
    pub task_completion_status: TaskCompletionStatus,
    pub has_tasks: bool,
    /// Such as `1 of 3 checklist items completed`. Omitted if there are no tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status: Option<String>,
    #[serde(rename = "_links")]
    pub links: IssueLinks,
    pub references: References,
    /// Always `UNKNOWN`.
    pub severity: &'static str,
    /// Id of the issue in another project that this one was moved to.
    pub moved_to_id: Option<i64>,
    pub imported: bool,
    pub imported_from: &'static str,
    pub service_desk_reply_to: Option<String>,
}

/// The URLs of an issue and of its parts in the API.
#[derive(Serialize, ToSchema)]
pub struct IssueLinks {
    #[serde(rename = "self")]
    pub own: String,
    pub notes: String,
    pub award_emoji: String,
    pub project: String,
    pub closed_as_duplicate_of: Option<String>,
}

/// An issue that is shown alone.
#[derive(Serialize, ToSchema)]
pub struct SingleIssue {
    #[serde(flatten)]
    pub issue: ProjectIssue,
    /// Whether the current user is subscribed.
    pub subscribed: bool,
}

pub fn present_issue(issue: Issue, today: NaiveDate, site: &InstanceUrls) -> ProjectIssue {
    let assignee = || issue.assignee.as_ref().map(|assignee| present_user(assignee, site));
    let tasks = task_completion(issue.description.as_deref());
    let times = TimeStats { time_estimate: issue.time_estimate, time_spent: issue.time_spent };
    ProjectIssue {
        id: issue.id.get(),
        iid: issue.iid,
        project_id: issue.project_id.get(),
        state: match issue.state {
            IssueState::Opened | IssueState::Reopened => "opened",
            IssueState::Closed => "closed",
        },
        created_at: issue.created_at.into(),
        updated_at: issue.updated_at.into(),
        closed_at: None,
        closed_by: None,
        assignees: assignee().into_iter().collect(),
        author: present_user(&issue.author, site),
        r#type: "ISSUE",
        issue_type: "issue",
        assignee: assignee(),
        user_notes_count: issue.notes_count,
        merge_requests_count: 0,
        upvotes: issue.upvotes,
        downvotes: issue.downvotes,
        due_date: issue.due_date,
        start_date: None,
        confidential: issue.confidential,
        discussion_locked: None,
        web_url: site.url(&format!("/{}/issues/{}", issue.project_path, issue.iid)),
        time_stats: present_time_stats(times),
        has_tasks: tasks.count > 0,
        task_status: (tasks.count > 0)
            .then(|| format!("{} of {} checklist items completed", tasks.completed_count, tasks.count)),
        task_completion_status: tasks,
        links: links(issue.project_id.get(), issue.iid, site),
        references: references('#', issue.iid, &issue.project_path),
        severity: "UNKNOWN",
        moved_to_id: issue.moved_to_id,
        imported: false,
        imported_from: "none",
        service_desk_reply_to: None,
        milestone: issue.milestone.map(|milestone| present_milestone(milestone, &issue.project_path, today, site)),
        labels: LabelList::Names(issue.labels),
        title: issue.title,
        description: issue.description,
    }
}

pub fn present_single_issue(issue: Issue, today: NaiveDate, site: &InstanceUrls) -> SingleIssue {
    SingleIssue { subscribed: issue.subscribed, issue: present_issue(issue, today, site) }
}

fn links(project: i64, iid: i64, site: &InstanceUrls) -> IssueLinks {
    let project = site.url(&format!("/api/v4/projects/{project}"));
    let own = format!("{project}/issues/{iid}");
    IssueLinks {
        notes: format!("{own}/notes"),
        award_emoji: format!("{own}/award_emoji"),
        own,
        project,
        closed_as_duplicate_of: None,
    }
}
