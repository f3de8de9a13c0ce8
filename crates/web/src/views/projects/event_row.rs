//! An event of a project as one row.

use chrono::{DateTime, Utc};
use holdfast_app::activity::feed::Event;
use holdfast_app::activity::push_details::{PushDetails, PushedCommit};
use holdfast_app::repository::refs::ref_address::RefAddresses;
use holdfast_domain::activity::{Action, SubjectKind};

use crate::icons::{self, Icon};
use crate::views::repository::commit_line::{short_id, title};
use crate::views::{Person, ProjectLinks};
use crate::words::{self, Time};

pub struct EventRow {
    pub author: Person,
    pub icon: Icon,
    /// What the author did, such as `opened issue`.
    pub text: String,
    pub target: Option<EventTarget>,
    pub commits: Vec<EventCommit>,
    /// The beginning of a note.
    pub note: Option<String>,
    pub time: Time,
}

/// What an event is about.
pub struct EventTarget {
    pub text: String,
    /// None if it does not exist any more.
    pub url: Option<String>,
}

pub struct EventCommit {
    pub short_id: String,
    pub title: String,
    pub url: String,
}

/// Maximum number of commits of a push that are shown.
const MAX_COMMITS: usize = 3;
/// Maximum number of characters of a note that are shown.
const MAX_NOTE_CHARS: usize = 200;

/// Builds the row of an event.
pub fn event_row(event: &Event, links: &ProjectLinks, refs: &RefAddresses, now: DateTime<Utc>) -> EventRow {
    let row = |icon, text: String, target| EventRow {
        author: Person::from_user(&event.author),
        icon,
        text,
        target,
        commits: Vec::new(),
        note: None,
        time: Time::ago(event.created_at, now),
    };
    if let Some(push) = PushDetails::from_event(event) {
        return push_row(&push, links, refs, row(icons::COMMIT, String::new(), None));
    }
    if let Some((kind, _)) = event.subject() {
        let (noun, url) = match kind {
            SubjectKind::Issue => ("issue", event.subject_iid.map(|iid| links.issue(iid))),
            // Merge requests have no page yet.
            SubjectKind::MergeRequest => ("merge request", None),
            SubjectKind::Milestone => ("milestone", event.subject_iid.map(|iid| links.milestone(iid))),
            SubjectKind::Commit => ("commit", event.commented_commit.as_ref().map(|id| links.commit(id))),
        };
        let icon = match (event.action, kind) {
            (Action::Commented, _) => icons::NOTE,
            (_, SubjectKind::MergeRequest) => icons::BRANCH,
            (Action::Closed, _) => icons::ISSUE_CLOSED,
            (_, SubjectKind::Milestone) => icons::MILESTONE,
            _ => icons::ISSUE_OPEN,
        };
        let verb = if event.action == Action::Reopened { "reopened" } else { event.action.feed_name(true) };
        let commit = event.commented_commit.as_deref().map(|id| short_id(id).to_owned());
        let text = event.subject_title.clone().or(commit).unwrap_or_else(|| format!("a deleted {noun}"));
        let note = event.comment().map(|comment| comment.body.chars().take(MAX_NOTE_CHARS).collect());
        return EventRow { note, ..row(icon, format!("{verb} {noun}"), Some(EventTarget { text, url })) };
    }
    let (icon, text) = match event.action {
        Action::Created => (icons::PROJECT, "created the project"),
        Action::Imported => (icons::PROJECT, "imported the project"),
        Action::Joined => (icons::USER, "joined the project"),
        Action::Left => (icons::USER, "left the project"),
        Action::Expired => (icons::USER, "is not a member any more, because the membership expired"),
        Action::Pushed => (icons::COMMIT, "pushed to the repository"),
        Action::Closed | Action::Reopened | Action::Commented | Action::Merged => {
            (icons::ACTIVITY, "changed something that was deleted")
        }
    };
    row(icon, text.to_owned(), None)
}

/// Builds the row of a push from the row of an event without details.
fn push_row(push: &PushDetails, links: &ProjectLinks, refs: &RefAddresses, row: EventRow) -> EventRow {
    let name = push.ref_name.as_str();
    let (noun, short, url) = match name.strip_prefix("refs/tags/") {
        Some(tag) => ("tag", tag, refs.tag(tag).map(|_| links.tag(tag))),
        None => {
            let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
            ("branch", branch, refs.branch(branch).map(|revision| links.tree(&revision, "")))
        }
    };
    let text = match push {
        push if push.is_deletion => format!("deleted {noun}"),
        push if push.is_creation => format!("created {noun}"),
        push if push.commit_count > 0 => format!("pushed {} to {noun}", words::commits(push.commit_count)),
        _ => format!("changed {noun}"),
    };
    let icon = match noun {
        _ if push.is_deletion => icons::DELETE,
        "tag" => icons::TAG,
        _ => icons::COMMIT,
    };
    let commit = |commit: &PushedCommit| EventCommit {
        short_id: short_id(&commit.id).to_owned(),
        title: title(&commit.message).to_owned(),
        url: links.commit(&commit.id),
    };
    let commits = push.commits.iter().take(MAX_COMMITS).map(commit).collect();
    EventRow { icon, text, target: Some(EventTarget { text: short.to_owned(), url }), commits, ..row }
}
