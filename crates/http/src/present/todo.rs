//! Presents todos.

use holdfast_app::planning::todo::{Todo, TodoTarget};
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::issue::{IssueBody, present_issue};
use super::merge_request::{MergeRequestBody, present_merge_request};
use super::project_summary::{ProjectSummaryBody, present_project_summary};
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// An issue or a merge request that needs the attention of the current user.
#[derive(Serialize, ToSchema)]
pub struct TodoBody {
    pub id: i64,
    pub project: ProjectSummaryBody,
    /// User whose action it comes from.
    pub author: UserSummaryBody,
    /// `assigned`, `mentioned`, `build_failed` or `marked`.
    pub action_name: &'static str,
    /// `Issue` or `MergeRequest`.
    pub target_type: &'static str,
    /// Issue or merge request, as it is now.
    pub target: TodoTargetBody,
    /// Address of the target, or of the note on it.
    pub target_url: String,
    /// Text of the note, or title of the target.
    pub body: String,
    /// `pending` or `done`.
    pub state: &'static str,
    pub created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum TodoTargetBody {
    Issue(Box<IssueBody>),
    MergeRequest(Box<MergeRequestBody>),
}

pub fn present_todo(todo: Todo, site: &InstanceUrls) -> TodoBody {
    let (target, target_type, title, url) = match todo.target {
        TodoTarget::Issue(issue) => {
            let body = present_issue(*issue, site);
            let (title, url) = (body.title.clone(), body.web_url.clone());
            (TodoTargetBody::Issue(Box::new(body)), "Issue", title, url)
        }
        TodoTarget::MergeRequest(request) => {
            let body = present_merge_request(*request, site);
            let (title, url) = (body.title.clone(), body.web_url.clone());
            (TodoTargetBody::MergeRequest(Box::new(body)), "MergeRequest", title, url)
        }
    };
    let (target_url, body) = match todo.note {
        Some((note, text)) => (format!("{url}#note_{note}"), text),
        None => (url, title),
    };
    TodoBody {
        id: todo.id.get(),
        project: present_project_summary(todo.project, site),
        author: user::summary(&todo.author, site),
        action_name: todo.action.as_str(),
        target_type,
        target,
        target_url,
        body,
        state: if todo.is_done { "done" } else { "pending" },
        created_at: todo.created_at.into(),
    }
}
