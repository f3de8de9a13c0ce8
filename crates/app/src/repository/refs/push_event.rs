//! Builds the events of ref updates. Their payloads have the values at the time of the push.

use chrono::SecondsFormat;
use holdfast_domain::hooks::EventKind;
use holdfast_domain::planning::issues_closed_by;
use holdfast_domain::text::{MAX_TEXT_BYTES, fair_share};
use holdfast_git::reader::{Commit, NewCommits, Reader};
use holdfast_git::{ObjectId, RefName};
use holdfast_store::activity::event::OutboxEvent;
use holdfast_store::repository::ref_update::RefUpdate;
use holdfast_store::worker::close_issues::IssueClosure;
use serde_json::{Value, json};

use crate::Result;
use crate::actor::CurrentUser;
use crate::events::project_json;
use crate::repository::browse::commit::{clean_name, clean_text, signature_time};
use crate::repository::open_repository::OpenRepository;

/// Maximum number of commits that an event lists. Their messages together have at most [`MAX_TEXT_BYTES`]: a feed shows
/// 100 pushes at a time.
const MAX_LISTED_COMMITS: usize = 20;

/// The commits that a ref update adds, as its event lists them.
#[derive(Default)]
pub struct AddedCommits {
    newest: Vec<Value>,
    total: u64,
}

impl AddedCommits {
    /// Reads the commits that an update adds. `head` is the tip of the default branch.
    pub(super) fn read(reader: &Reader, update: &RefUpdate, head: Option<ObjectId>) -> Result<Self> {
        let commits = new_commits(reader, update, head)?;
        let share = fair_share(commits.newest.iter().map(|commit| commit.message.len()), MAX_TEXT_BYTES);
        Ok(Self { newest: commits.newest.iter().map(|it| commit_json(it, share)).collect(), total: commits.total })
    }

    /// Returns the event of the update, which this user makes. The default branch is given if the same batch sets it.
    pub(super) fn to_event(
        &self,
        author: &CurrentUser,
        repository: &OpenRepository,
        update: &RefUpdate,
        default_branch: Option<&str>,
    ) -> OutboxEvent {
        let hex = |id: Option<ObjectId>| id.unwrap_or(ObjectId::null(holdfast_git::SHA1)).to_string();
        let mut project = project_json(&repository.project);
        if let Some(branch) = default_branch {
            project["default_branch"] = branch.into();
        }
        let user = &author.account.summary;
        let payload = json!({
            "before": hex(update.old),
            "after": hex(update.new.map(|new| new.id)),
            "ref": update.name.as_str(),
            "checkout_sha": update.new.map(|new| new.peeled_or_self().to_string()),
            "user_id": author.account.id(),
            "user_name": user.name,
            "user_email": user.email,
            "user_username": user.username,
            "project": project,
            "commits": self.newest,
            "total_commits_count": self.total,
        });
        OutboxEvent { kind: event_kind(&update.name), payload }
    }

    /// Returns the issues that the listed commits close.
    pub(super) fn issue_closures(&self) -> Vec<IssueClosure> {
        let to_closure = |commit: &Value| {
            let iids = issues_closed_by(commit["message"].as_str().unwrap_or_default());
            IssueClosure { commit: commit["id"].as_str().unwrap_or_default().to_owned(), iids }
        };
        self.newest.iter().map(to_closure).filter(|it| !it.iids.is_empty()).collect()
    }
}

fn new_commits(reader: &Reader, update: &RefUpdate, head: Option<ObjectId>) -> Result<NewCommits> {
    let Some(new) = update.new else { return Ok(NewCommits::default()) };
    if update.name.as_branch().is_none() {
        return Ok(NewCommits::default());
    }
    // A new branch most likely starts from the default branch.
    let excluded: Vec<ObjectId> = update.old.or(head).into_iter().collect();
    Ok(reader.new_commits(new.id, &excluded, MAX_LISTED_COMMITS)?)
}

fn event_kind(name: &RefName) -> EventKind {
    if name.as_tag().is_some() {
        EventKind::TagPush
    } else if name.as_branch().is_some() {
        EventKind::Push
    } else {
        EventKind::RefPush
    }
}

/// Returns a commit as an event lists it, with at most `max_message_bytes` of its message.
pub(super) fn commit_json(commit: &Commit, max_message_bytes: usize) -> Value {
    json!({
        "id": commit.id.to_string(),
        "message": clean_text(&commit.message, max_message_bytes),
        "timestamp": signature_time(&commit.committer).map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true)),
        "author": { "name": clean_name(&commit.author.name), "email": clean_name(&commit.author.email) },
    })
}
