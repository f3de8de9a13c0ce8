//! What is told of a push: facts as they were at that moment.

use chrono::SecondsFormat;
use holdfast_domain::hooks::Kind;
use holdfast_domain::planning::closed_by;
use holdfast_domain::text::{MAX_TEXT_BYTES, fair_share, shorten};
use holdfast_git::reader::{Commit, NewCommits, Reader};
use holdfast_git::{ObjectId, RefName};
use holdfast_store::activity::event::Notice;
use holdfast_store::projects::project::Project;
use holdfast_store::repository::ref_change::Move;
use holdfast_store::worker::closing::Closing;
use serde_json::{Value, json};

use super::commit::time;
use super::fetch::Opened;
use crate::Result;
use crate::actor::Caller;

/// Commits that are told of one by one. Their messages together have at most [`MAX_TEXT_BYTES`]: a feed shows 100 pushes at
/// a time.
const COMMITS: usize = 20;
/// Of a push that moves more refs than this, the commits of the others are not counted: that could take minutes.
const REFS: usize = 20;

/// What the notices of a push are made of. They are made only when they are written: a push may move 60,000 refs.
pub struct PushDetails {
    caller: Caller,
    /// One for each of the first moves. The notices of the others list no commits.
    commits: Vec<CommitDetails>,
}

/// The commits that one move brings.
#[derive(Default)]
struct CommitDetails {
    /// The newest commits, as a notice lists them.
    newest: Vec<Value>,
    total: u64,
}

impl PushDetails {
    /// Reads the commits that these moves bring.
    pub fn read(reader: &Reader, opened: &Opened, caller: Caller, moves: &[Move]) -> Result<Self> {
        let head = opened.refs.head_target();
        let read = |it| Ok(CommitDetails::new(&new_commits(reader, it, head)?));
        let commits = moves.iter().take(REFS).map(read).collect::<Result<_>>()?;
        Ok(Self { caller, commits })
    }

    /// Returns the details of moves that bring no commits.
    pub fn without_commits(caller: &Caller) -> Self {
        Self { caller: caller.clone(), commits: Vec::new() }
    }

    /// Returns the notice of one move. `place` is its index among all moves of the push. The default branch is given if the
    /// push itself sets it.
    pub(super) fn notice(&self, opened: &Opened, place: usize, it: &Move, default_branch: Option<&str>) -> Notice {
        let none = CommitDetails::default();
        let commits = self.commits.get(place).unwrap_or(&none);
        let hex = |id: Option<ObjectId>| id.unwrap_or(ObjectId::null(holdfast_git::SHA1)).to_string();
        let mut project = project_facts(&opened.project);
        if let Some(branch) = default_branch {
            project["default_branch"] = branch.into();
        }
        let person = &self.caller.account.person;
        let payload = json!({
            "before": hex(it.old),
            "after": hex(it.new.map(|new| new.id)),
            "ref": it.name.as_str(),
            "checkout_sha": it.new.map(|new| new.object().to_string()),
            "user_id": self.caller.account.id(),
            "user_name": person.name,
            "user_email": person.email,
            "user_username": person.username,
            "project": project,
            "commits": commits.newest,
            "total_commits_count": commits.total,
        });
        Notice { kind: kind(&it.name), payload }
    }

    /// Returns the issues that the listed commits of one move close. `place` is its index among all moves of the push.
    pub(super) fn closings(&self, place: usize) -> Vec<Closing> {
        let commits = self.commits.get(place).into_iter().flat_map(|commits| &commits.newest);
        let closing = |commit: &Value| {
            let iids = closed_by(commit["message"].as_str().unwrap_or_default());
            Closing { commit: commit["id"].as_str().unwrap_or_default().to_owned(), iids }
        };
        commits.map(closing).filter(|it| !it.iids.is_empty()).collect()
    }
}

impl CommitDetails {
    fn new(commits: &NewCommits) -> Self {
        let share = fair_share(commits.newest.iter().map(|commit| commit.message.len()), MAX_TEXT_BYTES);
        Self { newest: commits.newest.iter().map(|it| commit(it, share)).collect(), total: commits.total }
    }
}

fn new_commits(reader: &Reader, it: &Move, head: Option<ObjectId>) -> Result<NewCommits> {
    let Some(new) = it.new else { return Ok(NewCommits::default()) };
    if it.name.as_branch().is_none() {
        return Ok(NewCommits::default());
    }
    // What was there before, or what a new branch most likely grew from.
    let hidden: Vec<ObjectId> = it.old.or(head).into_iter().collect();
    Ok(reader.new_commits(new.id, &hidden, COMMITS)?)
}

pub(crate) fn project_facts(project: &Project) -> Value {
    json!({
        "id": project.id,
        "name": project.name,
        "path_with_namespace": project.full_path(),
        "namespace": project.namespace.name,
        "default_branch": project.repository.default_branch(),
        "description": project.description,
        "visibility_level": project.visibility.level(),
    })
}

fn kind(name: &RefName) -> Kind {
    if name.as_tag().is_some() {
        Kind::TagPush
    } else if name.as_branch().is_some() {
        Kind::Push
    } else {
        Kind::RefPush
    }
}

/// Maximum size of a name or an address that is told. Git has no limit.
const MAX_NAME_BYTES: usize = 1 << 10;

/// Returns the beginning of a text, at most `maximum` bytes of it, without zero bytes: git keeps them in texts, PostgreSQL
/// does not.
pub(super) fn text(text: &str, maximum: usize) -> String {
    let mut text = text.replace('\0', "");
    shorten(&mut text, maximum);
    text
}

pub(super) fn name(name: &str) -> String {
    text(name, MAX_NAME_BYTES)
}

/// Returns what is told of a commit, with at most so many bytes of its message.
pub(super) fn commit(commit: &Commit, max_message_bytes: usize) -> Value {
    json!({
        "id": commit.id.to_string(),
        "message": text(&commit.message, max_message_bytes),
        "timestamp": time(&commit.committer).map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true)),
        "author": { "name": name(&commit.author.name), "email": name(&commit.author.email) },
    })
}
