//! Presents todos.

use chrono::NaiveDate;
use holdfast_app::planning::todo::{Todo, TodoTarget};
use serde::Serialize;
use utoipa::ToSchema;

use super::issue::{ProjectIssue, present_issue};
use super::merge_request::{MergeRequestBasic, present_merge_request};
use super::project::{ProjectIdentity, present_identity};
use super::user::{UserBasic, present_basic};
use crate::InstanceUrls;
use crate::present::Timestamp;

/// An issue or a merge request that needs the attention of the current user.
#[derive(Serialize, ToSchema)]
pub struct TodoDetail {
    pub id: i64,
    pub project: ProjectIdentity,
    /// User whose action it comes from.
    pub author: UserBasic,
    /// `assigned`, `mentioned`, `build_failed` or `marked`.
    pub action_name: &'static str,
    /// `Issue` or `MergeRequest`.
    pub target_type: &'static str,
    /// Issue or merge request, as it is now.
    pub target: TodoDetailTarget,
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
pub enum TodoDetailTarget {
    Issue(Box<ProjectIssue>),
    MergeRequest(Box<MergeRequestBasic>),
}

pub fn present_todo(todo: Todo, today: NaiveDate, site: &InstanceUrls) -> TodoDetail {
    let (target, target_type, title, url) = match todo.target {
        TodoTarget::Issue(issue) => {
            let body = present_issue(*issue, today, site);
            let (title, url) = (body.title.clone(), body.web_url.clone());
            (TodoDetailTarget::Issue(Box::new(body)), "Issue", title, url)
        }
        TodoTarget::MergeRequest(request) => {
            let body = present_merge_request(*request, today, site);
            let (title, url) = (body.title.clone(), body.web_url.clone());
            (TodoDetailTarget::MergeRequest(Box::new(body)), "MergeRequest", title, url)
        }
    };
    let (target_url, body) = match todo.note {
        Some((note, text)) => (format!("{url}#note_{note}"), text),
        None => (url, title),
    };
    TodoDetail {
        id: todo.id.get(),
        project: present_identity(&todo.project),
        author: present_basic(&todo.author, site),
        action_name: todo.action.as_str(),
        target_type,
        target,
        target_url,
        body,
        state: if todo.is_done { "done" } else { "pending" },
        created_at: todo.created_at.into(),
    }
}
