//! Builds the events of ref updates. Their payloads have the values at the time of the push.

use chrono::SecondsFormat;
use holdfast_domain::hooks::EventKind;
use holdfast_domain::planning::issues_closed_by;
use holdfast_domain::text::{MAX_TEXT_BYTES, fair_share, shorten};
use holdfast_git::reader::{Commit, NewCommits, Reader};
use holdfast_git::{ObjectId, RefName};
use holdfast_store::activity::event::OutboxEvent;
use holdfast_store::repository::ref_update::RefUpdate;
use holdfast_store::worker::close_issues::IssueClosure;
use serde_json::{Value, json};

use super::commit::signature_time;
use super::fetch::OpenRepository;
use crate::Result;
use crate::actor::CurrentUser;
use crate::events::project_json;

/// Maximum number of commits that an event lists. Their messages together have at most [`MAX_TEXT_BYTES`]: a feed shows
/// 100 pushes at a time.
const MAX_LISTED_COMMITS: usize = 20;
/// Maximum number of updates of a push whose commits are counted and listed: more could take minutes.
const MAX_REFS_WITH_COMMITS: usize = 20;

/// What the events of a push are built from. Each event is built only when it is written: a push may update 60,000
/// refs.
pub struct PushDetails {
    current_user: CurrentUser,
    /// One entry for each of the first updates. The events of the others list no commits.
    commits: Vec<CommitDetails>,
}

/// The commits that one update adds.
#[derive(Default)]
struct CommitDetails {
    /// The newest commits, as the event lists them.
    newest: Vec<Value>,
    total: u64,
}

impl PushDetails {
    /// Reads the commits that these updates add.
    pub fn read(
        reader: &Reader,
        repository: &OpenRepository,
        current_user: CurrentUser,
        updates: &[RefUpdate],
    ) -> Result<Self> {
        let head = repository.refs.head_target();
        let read = |it| Ok(CommitDetails::new(&new_commits(reader, it, head)?));
        let commits = updates.iter().take(MAX_REFS_WITH_COMMITS).map(read).collect::<Result<_>>()?;
        Ok(Self { current_user, commits })
    }

    /// Returns the details of updates that add no commits.
    pub fn without_commits(current_user: &CurrentUser) -> Self {
        Self { current_user: current_user.clone(), commits: Vec::new() }
    }

    /// Returns the event of one update. `index` is its index among all updates of the push. The default branch is given
    /// if the push itself sets it.
    pub(super) fn to_event(
        &self,
        repository: &OpenRepository,
        index: usize,
        update: &RefUpdate,
        default_branch: Option<&str>,
    ) -> OutboxEvent {
        let no_commits = CommitDetails::default();
        let commits = self.commits.get(index).unwrap_or(&no_commits);
        let hex = |id: Option<ObjectId>| id.unwrap_or(ObjectId::null(holdfast_git::SHA1)).to_string();
        let mut project = project_json(&repository.project);
        if let Some(branch) = default_branch {
            project["default_branch"] = branch.into();
        }
        let user = &self.current_user.account.summary;
        let payload = json!({
            "before": hex(update.old),
            "after": hex(update.new.map(|new| new.id)),
            "ref": update.name.as_str(),
            "checkout_sha": update.new.map(|new| new.peeled_or_self().to_string()),
            "user_id": self.current_user.account.id(),
            "user_name": user.name,
            "user_email": user.email,
            "user_username": user.username,
            "project": project,
            "commits": commits.newest,
            "total_commits_count": commits.total,
        });
        OutboxEvent { kind: event_kind(&update.name), payload }
    }

    /// Returns the issues that the listed commits of one update close. `index` is its index among all updates of the
    /// push.
    pub(super) fn issue_closures(&self, index: usize) -> Vec<IssueClosure> {
        let commits = self.commits.get(index).into_iter().flat_map(|commits| &commits.newest);
        let to_closure = |commit: &Value| {
            let iids = issues_closed_by(commit["message"].as_str().unwrap_or_default());
            IssueClosure { commit: commit["id"].as_str().unwrap_or_default().to_owned(), iids }
        };
        commits.map(to_closure).filter(|it| !it.iids.is_empty()).collect()
    }
}

impl CommitDetails {
    fn new(commits: &NewCommits) -> Self {
        let share = fair_share(commits.newest.iter().map(|commit| commit.message.len()), MAX_TEXT_BYTES);
        Self { newest: commits.newest.iter().map(|it| commit_json(it, share)).collect(), total: commits.total }
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

/// Maximum size of a name or an email address in an event. Git has no limit.
const MAX_NAME_BYTES: usize = 1 << 10;

/// Returns the beginning of a text, at most `maximum` bytes of it, without zero bytes: git allows them in texts,
/// PostgreSQL does not.
pub(super) fn clean_text(text: &str, maximum: usize) -> String {
    let mut text = text.replace('\0', "");
    shorten(&mut text, maximum);
    text
}

pub(super) fn clean_name(name: &str) -> String {
    clean_text(name, MAX_NAME_BYTES)
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
