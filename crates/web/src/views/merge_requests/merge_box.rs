//! What keeps a merge request from being merged, and the form that merges it.

use chrono::{DateTime, Utc};
use holdfast_app::merge_requests::blocker::Blocker;
use holdfast_app::merge_requests::page::Overview;
use holdfast_domain::ci::Status;
use holdfast_domain::merge_requests::{MergeRequestState, MergeStatus};

use crate::icons::{self, Icon};
use crate::views::ProjectLinks;
use crate::views::repository::commit_line::short_id;
use crate::views::status::StatusView;
use crate::words;

/// The box that merges a merge request, or says why it cannot be merged.
#[derive(Clone, Debug)]
pub struct MergeBox {
    pub icon: Icon,
    pub title: String,
    pub checks: Vec<Check>,
    pub action: MergeAction,
}

/// A condition of the merge.
#[derive(Clone, Debug)]
pub struct Check {
    pub icon: Icon,
    pub text: String,
    /// The branch after the text.
    pub branch: Option<String>,
    /// What can be done about it.
    pub advice: Option<String>,
    /// The files that conflict.
    pub paths: Vec<String>,
    pub link: Option<CheckLink>,
}

#[derive(Clone, Debug)]
pub struct CheckLink {
    pub url: String,
    pub label: &'static str,
}

impl Check {
    fn new(icon: Icon, text: String) -> Self {
        Self { icon, text, branch: None, advice: None, paths: Vec::new(), link: None }
    }
}

/// What the viewer can do.
#[derive(Clone, Debug)]
pub enum MergeAction {
    Nothing,
    Merge(MergeForm),
    /// The merge waits for a pipeline. The address cancels it, for viewers who may.
    Waiting(Option<String>),
}

/// The form that merges.
#[derive(Clone, Debug)]
pub struct MergeForm {
    pub action: String,
    /// The head that the viewer has seen. A newer one is not merged.
    pub head: String,
    /// The target branch that the viewer has seen.
    pub target_branch: String,
    pub can_merge_now: bool,
    /// Whether the merge can wait for the pipeline of the head.
    pub can_wait: bool,
    /// The source branch, if the form offers to delete it.
    pub removable_branch: Option<String>,
    /// The source branch, if it is deleted because the author said so.
    pub removed_branch: Option<String>,
}

const WAITING: &str = "Merges when the pipeline succeeds";

/// Maximum number of files with conflicts that are listed.
const MAX_PATHS: usize = 100;

/// Builds the box. `can_cancel` tells whether the viewer may cancel a waiting merge.
pub fn merge_box(found: &Overview, links: &ProjectLinks, can_cancel: bool, now: DateTime<Utc>) -> MergeBox {
    let request = &found.page.request;
    match request.state {
        MergeRequestState::Opened | MergeRequestState::Reopened => open_box(found, links, can_cancel),
        MergeRequestState::Merged => {
            let time = request.merged_at.map(|at| words::ago(at, now));
            let title = time.map_or_else(|| "Merged".to_owned(), |time| format!("Merged {time}"));
            let text = match &request.merge_commit {
                Some(id) => format!("The merge commit is {}.", short_id(id)),
                None => "A push brought the commits into the target branch.".to_owned(),
            };
            let link = request.merge_commit.as_ref().map(|id| CheckLink { url: links.commit(id), label: "Show" });
            let check = Check { link, ..Check::new(icons::COMMIT, text) };
            let icon = icons::PASSED.colored("violet").named("merged");
            MergeBox { icon, title, checks: vec![check], action: MergeAction::Nothing }
        }
        MergeRequestState::Closed => MergeBox {
            icon: icons::CANCELED.colored("off").named("closed"),
            title: "Closed without a merge".to_owned(),
            checks: Vec::new(),
            action: MergeAction::Nothing,
        },
    }
}

fn open_box(found: &Overview, links: &ProjectLinks, can_cancel: bool) -> MergeBox {
    let (request, blockers) = (&found.page.request, &found.blockers);
    let iid = request.iid;
    let pipeline_url = found.pipeline.as_ref().map(|pipeline| {
        let url = ProjectLinks::new(&pipeline.project_path).pipeline(pipeline.id);
        CheckLink { url, label: "Show" }
    });
    let mut checks: Vec<Check> =
        blockers.iter().map(|blocker| check(blocker, links, iid, pipeline_url.as_ref())).collect();
    let has_pipeline_blocker = blockers.iter().any(|blocker| matches!(blocker, Blocker::Pipeline(_)));
    if let Some(pipeline) = found.pipeline.as_ref().filter(|_| !has_pipeline_blocker) {
        let status = StatusView::from(pipeline.status);
        let text = format!("The pipeline of the last commit is {}.", status.text);
        checks.push(Check { link: pipeline_url, ..Check::new(status.named_icon(), text) });
    }
    if request.merge_status == MergeStatus::CanBeMerged {
        let check = Check::new(icons::PASSED.colored("ok").named("passed"), "No conflicts with".to_owned());
        checks.push(Check { branch: Some(request.target_branch.clone()), ..check });
    }
    if !request.discussions_resolved && !blockers.contains(&Blocker::UnresolvedDiscussions) {
        let icon = icons::WARNING.colored("wait").named("not resolved");
        checks.push(Check::new(icon, "Some discussions are not resolved.".to_owned()));
    }
    let is_active = |status: &Status| status.is_active();
    let can_wait = found.pipeline.as_ref().is_some_and(|pipeline| is_active(&pipeline.status))
        && blockers.iter().all(|blocker| matches!(blocker, Blocker::Pipeline(Some(status)) if is_active(status)));
    let can_merge_now = blockers.is_empty();
    let is_removed = request.removes_source_branch == Some(true);
    let source_branch = |is_shown: bool| is_shown.then(|| request.source_branch.clone());
    let form = MergeForm {
        action: links.merge_request_page(iid, "merge"),
        head: request.head.clone(),
        target_branch: request.target_branch.clone(),
        can_merge_now,
        can_wait,
        removable_branch: source_branch(!is_removed && found.can_remove_source_branch),
        removed_branch: source_branch(is_removed),
    };
    let action = match () {
        () if request.waits_for_build => {
            MergeAction::Waiting(can_cancel.then(|| links.merge_request_page(iid, "cancel_merge")))
        }
        () if can_wait || can_merge_now => MergeAction::Merge(form),
        () => MergeAction::Nothing,
    };
    let (icon, title) = match action {
        MergeAction::Waiting(_) => (icons::PENDING.colored("wait").named("waiting"), WAITING.to_owned()),
        _ if can_merge_now && request.merge_status == MergeStatus::Unchecked => {
            (icons::PENDING.colored("wait").named("not tested"), "Not tested for conflicts yet".to_owned())
        }
        _ if can_merge_now && has_warning(found) => {
            (icons::WARNING.colored("wait").named("can be merged"), "Can be merged".to_owned())
        }
        _ if can_merge_now => (icons::PASSED.colored("ok").named("ready"), "Ready to merge".to_owned()),
        _ => {
            let title = format!("Cannot be merged yet: {}", words::reasons(blockers.len()));
            (icons::WARNING.colored("bad").named("blocked"), title)
        }
    };
    MergeBox { icon, title, checks, action }
}

/// Returns whether something advises against the merge, although it does not prevent it.
fn has_warning(found: &Overview) -> bool {
    let has_failed = found.pipeline.as_ref().is_some_and(|pipeline| pipeline.status == Status::Failed);
    has_failed || !found.page.request.discussions_resolved
}

fn check(blocker: &Blocker, links: &ProjectLinks, iid: i64, pipeline: Option<&CheckLink>) -> Check {
    let icon = match blocker {
        Blocker::Pipeline(None) => icons::PENDING.colored("wait").named("pending"),
        Blocker::Pipeline(Some(status)) => StatusView::from(*status).named_icon(),
        _ => icons::FAILED.colored("bad").named("blocked"),
    };
    let message = blocker.message();
    let (text, advice) = message.split_once(". ").map_or((message.as_str(), None), |(text, rest)| (text, Some(rest)));
    let page = |name, label| Some(CheckLink { url: links.merge_request_page(iid, name), label });
    Check {
        icon,
        text: format!("{text}."),
        branch: None,
        advice: advice.map(|advice| format!("{advice}.")),
        paths: match blocker {
            Blocker::Conflicts(paths) => paths.iter().take(MAX_PATHS).cloned().collect(),
            _ => Vec::new(),
        },
        link: match blocker {
            Blocker::Pipeline(_) => pipeline.cloned(),
            Blocker::Conflicts(_) | Blocker::NoCommits => page("changes", "Show the changes"),
            _ => None,
        },
    }
}
