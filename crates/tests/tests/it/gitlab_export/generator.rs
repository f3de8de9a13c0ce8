//! Creates GitLab project exports whose contents the tests know.
//!
//! - Every row has times of its own, so that a test notices when two times are mixed up.
//! - The numbers of issues and merge requests have gaps, and lines are not in the order of their numbers.
//! - The ids of users do not exist on the server that imports.
//! - All contents are our own: nothing was copied from another server.

use std::io::Write;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use flate2::Compression;
use flate2::write::GzEncoder;
use holdfast_tests::WorkTree;
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

/// The id of the project on the server that the export was made on. Arbitrary.
const PROJECT_ID: i64 = 7001;
/// The id of a fork of the project on that server. Arbitrary.
const FORK_ID: i64 = 9001;
const GROUP_ID: i64 = 33;
/// The default branch, into which all merge requests are to be merged. It differs from the usual name.
pub const TRUNK: &str = "trunk";
/// A branch without a merge request, beside [`TRUNK`].
pub const STABLE: &str = "stable";
/// The branch of the open merge request.
pub const TOPIC: &str = "feature/topic";
/// The path of an uploaded file in the export. No text links to it.
const UPLOAD: &str = "uploads/0123456789abcdef0123456789abcdef/diagram.png";
/// The id of a commit that is not in the repository.
const MISSING_COMMIT: &str = "1234567890abcdef1234567890abcdef12345678";

/// A user of the server that the export was made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceUser {
    pub id: i64,
    pub username: &'static str,
    pub name: &'static str,
}

/// A member who also writes notes.
pub const ALICE: SourceUser = SourceUser { id: 101, username: "alice", name: "Alice Ångström" };
/// A member who also writes notes.
pub const BOB: SourceUser = SourceUser { id: 102, username: "bob", name: "Bob Bülow" };
/// A user who writes notes and is no member, so that the export does not have the username.
pub const CAROL: SourceUser = SourceUser { id: 103, username: "carol", name: "Carol Clark" };
/// A member who writes no notes, so that the export does not have the name.
pub const DORA: SourceUser = SourceUser { id: 104, username: "dora", name: "Dora Dahl" };
/// A user of whom the export has only the id, as the author of an issue.
pub const ERIN: SourceUser = SourceUser { id: 105, username: "erin", name: "Erin Evans" };

/// The size of an export. There are at least 5 issues, each of which is different.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub issues: usize,
    pub notes_per_issue: usize,
}

/// A size with all cases: each issue has more notes than a page.
pub const SMALL: Size = Size { issues: 8, notes_per_issue: 24 };

/// A label of the project or of its group.
pub struct Label {
    pub id: i64,
    pub title: &'static str,
    pub color: &'static str,
    pub description: Option<&'static str>,
    pub priority: Option<i64>,
    /// Whether it is a label of the group. The export has these only where they are used.
    pub is_of_group: bool,
    pub created_at: String,
    pub updated_at: String,
}

/// A milestone of the project.
pub struct Milestone {
    pub id: i64,
    pub iid: i64,
    pub title: &'static str,
    pub description: Option<&'static str>,
    pub state: &'static str,
    pub start_date: Option<&'static str>,
    pub due_date: Option<&'static str>,
    pub created_at: String,
    pub updated_at: String,
}

/// A note on an issue or a merge request.
pub struct Note {
    pub id: i64,
    pub body: String,
    pub author: SourceUser,
    pub is_system: bool,
    /// `DiscussionNote` if the discussion has several notes.
    pub kind: Option<&'static str>,
    pub discussion_id: String,
    pub has_award: bool,
    pub created_at: String,
    pub updated_at: String,
}

/// An issue with its notes. Labels and the milestone are indices of those of the [`Source`].
pub struct Issue {
    pub id: i64,
    pub iid: i64,
    pub title: String,
    pub description: Option<String>,
    pub state: &'static str,
    pub is_confidential: bool,
    pub due_date: Option<&'static str>,
    pub author: SourceUser,
    pub assignee: Option<SourceUser>,
    pub milestone: Option<usize>,
    pub labels: Vec<usize>,
    /// Seconds.
    pub time_estimate: i64,
    /// Seconds, the sum of two entries.
    pub time_spent: i64,
    pub created_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
    pub notes: Vec<Note>,
}

/// The commits of a merge request.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The commit of the target branch that the source branch began at.
    pub base: String,
    pub head: String,
    /// The ids of the commits from base to head, newest first. Empty if the repository does not have them.
    pub commits: Vec<String>,
}

/// A merge request into [`TRUNK`] with its notes. Labels and the milestone are indices of those of the [`Source`].
pub struct MergeRequest {
    pub id: i64,
    pub iid: i64,
    pub title: &'static str,
    pub description: Option<&'static str>,
    pub state: &'static str,
    pub source_branch: &'static str,
    pub is_from_fork: bool,
    pub proposal: Proposal,
    pub merge_commit: Option<String>,
    pub merged_at: Option<String>,
    pub closed_at: Option<String>,
    pub author: SourceUser,
    pub assignee: Option<SourceUser>,
    pub milestone: Option<usize>,
    pub labels: Vec<usize>,
    /// Seconds.
    pub time_estimate: i64,
    /// Seconds, the sum of two entries.
    pub time_spent: i64,
    pub created_at: String,
    pub updated_at: String,
    pub notes: Vec<Note>,
}

impl MergeRequest {
    /// Returns whether the repository has the commits.
    pub fn has_head(&self) -> bool {
        !self.proposal.commits.is_empty()
    }
}

/// A link of a release.
pub struct Link {
    pub id: i64,
    pub name: &'static str,
    pub url: &'static str,
    pub link_type: &'static str,
    pub created_at: String,
}

/// A release.
pub struct Release {
    pub id: i64,
    pub tag: &'static str,
    /// Whether the repository has the tag.
    pub has_tag: bool,
    pub name: &'static str,
    pub description: &'static str,
    pub sha: String,
    pub author: SourceUser,
    pub links: Vec<Link>,
    pub created_at: String,
    pub released_at: String,
}

/// A member of the project.
pub struct Member {
    pub id: i64,
    pub user: SourceUser,
    pub access_level: i64,
    pub created_at: String,
}

/// A project on another server.
pub struct Source {
    /// The repository of the project, with the refs of its merge requests.
    pub tree: WorkTree,
    pub description: &'static str,
    pub labels: Vec<Label>,
    pub milestones: Vec<Milestone>,
    pub issues: Vec<Issue>,
    pub merge_requests: Vec<MergeRequest>,
    pub releases: Vec<Release>,
    pub members: Vec<Member>,
}

/// A generator of ids, and of times of which no two are equal.
struct Rows {
    last_id: i64,
    last_time: DateTime<Utc>,
}

impl Rows {
    fn new() -> Self {
        Self { last_id: 5000, last_time: "2025-05-01T10:00:00.123Z".parse().expect("a timestamp") }
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 7;
        self.last_id
    }

    fn next_time(&mut self) -> String {
        self.last_time += TimeDelta::milliseconds(7_013);
        self.last_time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

impl Source {
    /// Creates a project of this size, with its repository.
    pub async fn new(size: Size) -> Self {
        let history = History::create().await;
        let mut rows = Rows::new();
        Self {
            description: "An engine that computes Bernoulli numbers",
            labels: create_labels(&mut rows),
            milestones: create_milestones(&mut rows),
            issues: create_issues(&mut rows, size),
            merge_requests: create_merge_requests(&mut rows, &history),
            releases: create_releases(&mut rows, &history),
            members: create_members(&mut rows),
            tree: history.tree,
        }
    }

    /// Returns the name of a user as far as the export has it: from a note, or else the username of a member.
    pub fn known_name(&self, user: SourceUser) -> Option<&'static str> {
        let notes_of_issues = self.issues.iter().flat_map(|issue| &issue.notes);
        let mut notes = notes_of_issues.chain(self.merge_requests.iter().flat_map(|request| &request.notes));
        if notes.any(|note| note.author == user) {
            return Some(user.name);
        }
        self.members.iter().find(|member| member.user == user).map(|member| member.user.username)
    }

    pub fn highest_issue_iid(&self) -> i64 {
        self.issues.iter().map(|issue| issue.iid).max().expect("there are issues")
    }

    pub fn highest_merge_request_iid(&self) -> i64 {
        self.merge_requests.iter().map(|request| request.iid).max().expect("there are merge requests")
    }

    /// Returns the names of all relations with their lines.
    pub fn relations(&self) -> Vec<(&'static str, Vec<Value>)> {
        let mut relations: Vec<(&'static str, Vec<Value>)> = vec![
            ("labels", self.labels.iter().filter(|label| !label.is_of_group).map(Label::to_json).collect()),
            ("milestones", self.milestones.iter().map(Milestone::to_json).collect()),
            ("issues", self.issues.iter().map(|issue| self.issue_json(issue)).collect()),
            ("merge_requests", self.merge_requests.iter().map(|request| self.merge_request_json(request)).collect()),
            ("releases", self.releases.iter().map(Release::to_json).collect()),
            ("project_members", self.members.iter().map(Member::to_json).collect()),
        ];
        relations.extend(uncarried_relations());
        relations
    }

    /// Returns the files of the export, without directories, with names that do not begin with `./`.
    pub async fn entries(&self) -> Vec<Entry> {
        let mut entries = vec![
            Entry::file("VERSION", "0.2.4"),
            Entry::file("GITLAB_VERSION", "17.5.1"),
            Entry::file("GITLAB_REVISION", "8d0b8bd3b1a"),
            Entry::file("project.bundle", self.bundle().await),
            Entry::file(UPLOAD, "\u{89}PNG, but not really"),
            Entry::file("tree/project.json", self.project_json().to_string()),
        ];
        for (name, lines) in self.relations() {
            let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
            entries.push(Entry::file(format!("tree/project/{name}.ndjson"), content));
        }
        entries
    }

    /// Returns the export as `tar` writes it: all names begin with `./`, and directories precede their files.
    pub async fn archive(&self) -> Vec<u8> {
        let directory_of_upload = UPLOAD.rsplit_once('/').expect("the upload is in a directory").0;
        let directories = ["", "lfs-objects", "tree", "tree/project", "uploads", directory_of_upload];
        let mut entries: Vec<Entry> = directories.into_iter().map(Entry::directory).collect();
        entries.extend(self.entries().await);
        for entry in &mut entries {
            entry.name.insert_str(0, "./");
        }
        pack(&entries)
    }

    /// Returns a bundle with all refs and `HEAD`.
    async fn bundle(&self) -> Vec<u8> {
        const FILE: &str = ".git/export.bundle";
        self.tree.git(["bundle", "create", "-q", FILE, "--all"]).await.ok();
        std::fs::read(self.tree.path().join(FILE)).expect("git has written the bundle")
    }

    fn project_json(&self) -> Value {
        let access = json!({
            "description": self.description,
            "visibility_level": 10,
            "archived": false,
            "shared_runners_enabled": true,
            "build_allow_git_fetch": true,
            "build_timeout": 3600,
            "public_builds": true,
            "request_access_enabled": true,
            "lfs_enabled": true,
            "ci_config_path": null,
        });
        let merges = json!({
            "merge_requests_template": null,
            "merge_requests_rebase_enabled": false,
            "merge_requests_ff_only_enabled": false,
            "issues_template": null,
            "approvals_before_merge": 0,
            "reset_approvals_on_push": true,
            "only_allow_merge_if_pipeline_succeeds": false,
            "only_allow_merge_if_all_discussions_are_resolved": false,
            "printing_merge_request_link_enabled": true,
            "remove_source_branch_after_merge": true,
            "suggestion_commit_message": null,
        });
        join(access, merges)
    }

    fn issue_json(&self, issue: &Issue) -> Value {
        let is_closed = issue.closed_at.is_some();
        let attributes = json!({
            "id": issue.id,
            "iid": issue.iid,
            "title": issue.title,
            "description": issue.description,
            "author_id": issue.author.id,
            "project_id": PROJECT_ID,
            "state": issue.state,
            "confidential": issue.is_confidential,
            "created_at": issue.created_at,
            "updated_at": issue.updated_at,
            "closed_at": issue.closed_at,
            "closed_by_id": is_closed.then_some(BOB.id),
            "due_date": issue.due_date,
            "updated_by_id": null,
            "lock_version": 1,
            "time_estimate": issue.time_estimate,
            "relative_position": 513 * issue.iid,
            "last_edited_at": null,
            "last_edited_by_id": null,
            "discussion_locked": null,
        });
        let assignees: Vec<Value> =
            issue.assignee.iter().map(|user| json!({ "user_id": user.id, "issue_id": issue.id })).collect();
        let notes: Vec<Value> = issue.notes.iter().map(|note| note.to_json("Issue")).collect();
        let label_links = self.label_links(&issue.labels, "Issue", issue.id);
        let timelogs = timelogs(issue.id, issue.time_spent, &issue.updated_at);
        let parts = json!({
            "label_links": label_links,
            "issue_assignees": assignees,
            "notes": notes,
            "award_emoji": [award(issue.id, BOB, "Issue", &issue.created_at)],
            "timelogs": timelogs,
            "resource_label_events": [],
            "resource_milestone_events": [],
            "resource_state_events": [],
            "events": [],
            "zoom_meetings": [],
            "designs": [],
            "design_versions": [],
        });
        self.with_milestone(join(attributes, parts), issue.milestone)
    }

    fn merge_request_json(&self, request: &MergeRequest) -> Value {
        let attributes = json!({
            "id": request.id,
            "iid": request.iid,
            "title": request.title,
            "description": request.description,
            "author_id": request.author.id,
            "assignee_id": null,
            "state": request.state,
            "merge_status": "can_be_merged",
            "source_branch": request.source_branch,
            "target_branch": TRUNK,
            "source_project_id": if request.is_from_fork { FORK_ID } else { PROJECT_ID },
            "target_project_id": PROJECT_ID,
            "created_at": request.created_at,
            "updated_at": request.updated_at,
            "merge_params": { "force_remove_source_branch": "1" },
            "merge_user_id": request.merged_at.as_ref().map(|_| BOB.id),
            "merge_commit_sha": request.merge_commit,
            "squash_commit_sha": null,
            "time_estimate": request.time_estimate,
        });
        let metrics = json!({
            "merged_at": request.merged_at,
            "merged_by_id": request.merged_at.as_ref().map(|_| BOB.id),
            "latest_closed_at": request.closed_at,
            "latest_closed_by_id": request.closed_at.as_ref().map(|_| BOB.id),
            "created_at": request.created_at,
            "updated_at": request.updated_at,
        });
        let assignees: Vec<Value> = request
            .assignee
            .iter()
            .map(|user| json!({ "user_id": user.id, "created_at": request.created_at, "state": "unreviewed" }))
            .collect();
        let notes: Vec<Value> = request.notes.iter().map(|note| note.to_json("MergeRequest")).collect();
        let label_links = self.label_links(&request.labels, "MergeRequest", request.id);
        let timelogs = timelogs(request.id, request.time_spent, &request.updated_at);
        let diff = merge_request_diff(request);
        let parts = json!({
            "merge_request_diff": diff,
            "metrics": metrics,
            "label_links": label_links,
            "merge_request_assignees": assignees,
            "merge_request_reviewers": [{ "user_id": BOB.id, "created_at": request.created_at, "state": "unreviewed" }],
            "approvals": [],
            "notes": notes,
            "award_emoji": [award(request.id, BOB, "MergeRequest", &request.created_at)],
            "events": [],
            "timelogs": timelogs,
            "resource_label_events": [],
            "resource_milestone_events": [],
            "resource_state_events": [],
        });
        self.with_milestone(join(attributes, parts), request.milestone)
    }

    /// Adds a milestone to an issue or a merge request. Without one, the line has no such field.
    fn with_milestone(&self, line: Value, milestone: Option<usize>) -> Value {
        match milestone {
            Some(index) => join(line, json!({ "milestone": self.milestones[index].to_json() })),
            None => line,
        }
    }

    fn label_links(&self, labels: &[usize], target_type: &str, target_id: i64) -> Vec<Value> {
        let link = |index: &usize| {
            let label = &self.labels[*index];
            json!({
                "id": 10 * target_id + *index as i64,
                "label_id": label.id,
                "target_id": target_id,
                "target_type": target_type,
                "created_at": label.created_at,
                "updated_at": label.updated_at,
                "label": label.to_json(),
            })
        };
        labels.iter().map(link).collect()
    }
}

/// Joins the fields of two JSON objects. The macro `json!` cannot write objects with many fields.
fn join(first: Value, second: Value) -> Value {
    let (Value::Object(mut fields), Value::Object(more)) = (first, second) else {
        panic!("only objects have fields");
    };
    fields.extend(more);
    Value::Object(fields)
}

fn award(target_id: i64, user: SourceUser, target_type: &str, time: &str) -> Value {
    json!({
        "id": 10 * target_id + 1,
        "name": "thumbsup",
        "user_id": user.id,
        "awardable_type": target_type,
        "awardable_id": target_id,
        "created_at": time,
        "updated_at": time,
    })
}

/// Returns two entries with this sum, or none.
fn timelogs(target_id: i64, time_spent: i64, time: &str) -> Vec<Value> {
    let entries = if time_spent == 0 { Vec::new() } else { vec![time_spent - 600, 600] };
    let to_json = |(index, seconds): (usize, i64)| {
        json!({
            "id": 10 * target_id + index as i64,
            "time_spent": seconds,
            "user_id": ALICE.id,
            "project_id": PROJECT_ID,
            "note_id": null,
            "summary": null,
            "spent_at": time,
            "created_at": time,
            "updated_at": time,
        })
    };
    entries.into_iter().enumerate().map(to_json).collect()
}

fn merge_request_diff(request: &MergeRequest) -> Value {
    let Proposal { base, head, commits } = &request.proposal;
    let person = json!({ "name": "Ada", "email": "ada@example.com" });
    let commit = |(index, sha): (usize, &String)| {
        json!({
            "sha": sha,
            "relative_order": index,
            "message": format!("Commit {index}\n"),
            "authored_date": request.created_at,
            "committed_date": request.created_at,
            "trailers": {},
            "commit_author": person,
            "committer": person,
        })
    };
    let lines: Vec<Value> = commits.iter().enumerate().map(commit).collect();
    let file = json!({
        "relative_order": 0,
        "new_file": true,
        "renamed_file": false,
        "deleted_file": false,
        "too_large": false,
        "a_mode": "0",
        "b_mode": "100644",
        "new_path": "added.txt",
        "old_path": "added.txt",
        "binary": false,
        "utf8_diff": "@@ -0,0 +1 @@\n+added\n",
    });
    json!({
        "id": request.id + 3,
        "state": "collected",
        "created_at": request.created_at,
        "updated_at": request.created_at,
        "base_commit_sha": base,
        "start_commit_sha": base,
        "head_commit_sha": head,
        "real_size": "1",
        "commits_count": commits.len(),
        "files_count": 1,
        "sorted": true,
        "diff_type": "regular",
        "merge_request_diff_commits": lines,
        "merge_request_diff_files": [file],
    })
}

impl Label {
    fn to_json(&self) -> Value {
        let project = (!self.is_of_group).then_some(PROJECT_ID);
        let group = self.is_of_group.then_some(GROUP_ID);
        let to_priority = |priority: i64| {
            json!({
                "id": self.id + 1,
                "project_id": PROJECT_ID,
                "label_id": self.id,
                "priority": priority,
                "created_at": self.created_at,
                "updated_at": self.updated_at,
            })
        };
        let priorities: Vec<Value> = self.priority.into_iter().map(to_priority).collect();
        json!({
            "id": self.id,
            "title": self.title,
            "color": self.color,
            "project_id": project,
            "group_id": group,
            "type": if self.is_of_group { "GroupLabel" } else { "ProjectLabel" },
            "template": false,
            "description": self.description,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "priorities": priorities,
        })
    }
}

impl Milestone {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "iid": self.iid,
            "title": self.title,
            "project_id": PROJECT_ID,
            "group_id": null,
            "description": self.description,
            "state": self.state,
            "start_date": self.start_date,
            "due_date": self.due_date,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "events": [],
        })
    }
}

impl Note {
    fn to_json(&self, target_type: &str) -> Value {
        let awards = if self.has_award { vec![award(self.id, ALICE, "Note", &self.created_at)] } else { Vec::new() };
        let attributes = json!({
            "id": self.id,
            "note": self.body,
            "noteable_type": target_type,
            "author_id": self.author.id,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "project_id": PROJECT_ID,
            "attachment": { "url": null },
            "line_code": null,
            "commit_id": null,
            "system": self.is_system,
            "st_diff": null,
            "updated_by_id": null,
            "type": self.kind,
            "position": null,
            "original_position": null,
            "resolved_at": null,
            "resolved_by_id": null,
            "discussion_id": self.discussion_id,
        });
        let parts = json!({
            "author": { "name": self.author.name },
            "award_emoji": awards,
            "events": [],
        });
        let note = join(attributes, parts);
        if !self.is_system {
            return note;
        }
        let metadata = json!({
            "id": self.id + 1,
            "commit_count": null,
            "action": "description",
            "created_at": self.created_at,
            "updated_at": self.created_at,
        });
        join(note, json!({ "system_note_metadata": metadata }))
    }
}

impl Release {
    fn to_json(&self) -> Value {
        let link = |link: &Link| {
            json!({
                "id": link.id,
                "url": link.url,
                "name": link.name,
                "created_at": link.created_at,
                "updated_at": link.created_at,
                "filepath": null,
                "link_type": link.link_type,
            })
        };
        let links: Vec<Value> = self.links.iter().map(link).collect();
        json!({
            "id": self.id,
            "tag": self.tag,
            "name": self.name,
            "description": self.description,
            "project_id": PROJECT_ID,
            "author_id": self.author.id,
            "sha": self.sha,
            "created_at": self.created_at,
            "updated_at": self.created_at,
            "released_at": self.released_at,
            "links": links,
            "milestone_releases": [],
            "evidences": [],
        })
    }
}

impl Member {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "access_level": self.access_level,
            "source_id": PROJECT_ID,
            "source_type": "Project",
            "user_id": self.user.id,
            "notification_level": 3,
            "created_at": self.created_at,
            "updated_at": self.created_at,
            "created_by_id": null,
            "invite_email": null,
            "expires_at": null,
            "user": { "id": self.user.id, "public_email": "", "username": self.user.username },
        })
    }
}

/// The repository of a source, with the commits of its merge requests.
struct History {
    tree: WorkTree,
    first: String,
    merged: Proposal,
    merge_commit: String,
    abandoned: Proposal,
    topic: Proposal,
    forked: Proposal,
}

/// The numbers of the merge requests.
const MERGED: i64 = 2;
const FORKED: i64 = 9;
const OPENED: i64 = 48;
const LOST: i64 = 57;
const ABANDONED: i64 = 61;

impl History {
    async fn create() -> Self {
        let tree = WorkTree::new().await;
        tree.git(["checkout", "-q", "-b", TRUNK]).await.ok();
        let first = tree.commit("README.md", b"# Engine\n", "Describe the engine").await;
        tree.git(["branch", STABLE]).await.ok();
        tree.git(["tag", "-a", "v1.0", "-m", "Version 1.0"]).await.ok();
        let merged = propose(&tree, "done", &first, MERGED, &["done.txt"]).await;
        let abandoned = propose(&tree, "abandoned", &first, ABANDONED, &["abandoned.txt"]).await;
        tree.git(["checkout", "-q", TRUNK]).await.ok();
        tree.git(["merge", "-q", "--no-ff", "-m", "Merge branch 'done' into 'trunk'", "done"]).await.ok();
        let merge_commit = tree.head().await;
        tree.git(["tag", "v1.1"]).await.ok();
        let topic = propose(&tree, TOPIC, &merge_commit, OPENED, &["topic.txt", "notes.txt"]).await;
        let forked = propose(&tree, "patch-1", &merge_commit, FORKED, &["patch.txt"]).await;
        tree.git(["checkout", "-q", TRUNK]).await.ok();
        tree.git(["branch", "-q", "-D", "done", "abandoned", "patch-1"]).await.ok();
        Self { tree, first, merged, merge_commit, abandoned, topic, forked }
    }
}

/// Commits these files on a new branch, and creates the ref of the merge request.
async fn propose(tree: &WorkTree, branch: &str, base: &str, iid: i64, files: &[&str]) -> Proposal {
    tree.git(["checkout", "-q", "-b", branch, base]).await.ok();
    for file in files {
        tree.commit(file, format!("The content of {file}\n").as_bytes(), &format!("Add {file}")).await;
    }
    let head = tree.head().await;
    let ref_name = format!("refs/merge-requests/{iid}/head");
    tree.git(["update-ref", ref_name.as_str(), head.as_str()]).await.ok();
    let range = format!("{base}..{head}");
    let listed = tree.git(["rev-list", range.as_str()]).await.ok();
    let commits = listed.stdout.lines().map(str::to_owned).collect();
    Proposal { base: base.to_owned(), head, commits }
}

fn create_labels(rows: &mut Rows) -> Vec<Label> {
    let mut label = |title, color, description, priority, is_of_group| {
        let (id, created_at, updated_at) = (rows.next_id(), rows.next_time(), rows.next_time());
        Label { id, title, color, description, priority, is_of_group, created_at, updated_at }
    };
    vec![
        label("bug", "#D9534F", Some("Something is <b>wrong</b>"), Some(2), false),
        label("in progress", "#00ff7f", None, None, false),
        label("größer/1", "#112233", Some("Has a slash, and an umlaut"), Some(0), false),
        label("unused", "#ABCDEF", Some("Belongs to nothing"), None, false),
        label("company-wide", "#445566", Some("A label of the group"), None, true),
    ]
}

fn create_milestones(rows: &mut Rows) -> Vec<Milestone> {
    let mut milestone = |iid, title, description, state, dates: (Option<&'static str>, Option<&'static str>)| {
        let (id, created_at, updated_at) = (rows.next_id(), rows.next_time(), rows.next_time());
        let (start_date, due_date) = dates;
        Milestone { id, iid, title, description, state, start_date, due_date, created_at, updated_at }
    };
    vec![
        milestone(6, "2.0", Some("The second version"), "active", (Some("2025-11-01"), Some("2026-03-01"))),
        milestone(2, "1.0", None, "closed", (None, Some("2025-06-30"))),
        milestone(4, "Some day", Some("Ideas"), "active", (None, None)),
    ]
}

/// Creates the notes of a subject, which the bodies name.
fn create_notes(rows: &mut Rows, count: usize, subject: &str) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for number in 0..count {
        let (id, is_system) = (rows.next_id(), number % 5 == 4);
        // A reply is in the discussion of the note before, which becomes a note of a discussion, too.
        let mut previous = notes.last_mut().filter(|note| number % 7 == 3 && !is_system && !note.is_system);
        if let Some(note) = &mut previous {
            note.kind = Some("DiscussionNote");
        }
        let (kind, discussion_id) = match previous {
            Some(note) => (note.kind, note.discussion_id.clone()),
            None => (None, format!("{id:040x}")),
        };
        let body = match number {
            _ if is_system => format!("changed the description for the {number}th time"),
            0 => format!("The first note on {subject}\n\n- [ ] größer & <b>bold</b>\n- [x] `code`\n"),
            _ => format!("Note {number} on {subject}, for @alice and @bob"),
        };
        notes.push(Note {
            id,
            body,
            author: [ALICE, BOB, CAROL][number % 3],
            is_system,
            kind,
            discussion_id,
            has_award: number % 10 == 0,
            created_at: rows.next_time(),
            updated_at: rows.next_time(),
        });
    }
    notes
}

fn create_issues(rows: &mut Rows, size: Size) -> Vec<Issue> {
    assert!(size.issues >= 5, "there are 5 special issues");
    let mut iids: Vec<i64> = (0..size.issues as i64).map(|number| 2 + 3 * number).collect();
    iids.rotate_left(size.issues / 2);
    iids.into_iter().enumerate().map(|(place, iid)| create_issue(rows, place, iid, size.notes_per_issue)).collect()
}

/// Creates the issue at a place of the file. The first five are special, the others differ only in a few attributes.
fn create_issue(rows: &mut Rows, place: usize, iid: i64, notes: usize) -> Issue {
    let (id, created_at, updated_at) = (rows.next_id(), rows.next_time(), rows.next_time());
    let issue = Issue {
        id,
        iid,
        title: format!("Issue {iid} at place {place}"),
        description: Some(format!("What is wrong in issue {iid}:\n\n1. größer\n2. <i>smaller</i>\n")),
        state: "opened",
        is_confidential: false,
        due_date: None,
        author: [ALICE, BOB][place % 2],
        assignee: None,
        milestone: None,
        labels: vec![place % 3],
        time_estimate: 0,
        time_spent: 0,
        created_at,
        updated_at,
        closed_at: None,
        notes: create_notes(rows, notes, &format!("issue {iid}")),
    };
    match place {
        0 => Issue {
            assignee: Some(ALICE),
            milestone: Some(0),
            labels: vec![0, 1, 2],
            due_date: Some("2026-03-01"),
            time_estimate: 7200,
            time_spent: 5400,
            ..issue
        },
        1 => Issue { state: "closed", closed_at: Some(rows.next_time()), labels: vec![4], milestone: Some(1), ..issue },
        2 => Issue { is_confidential: true, author: CAROL, assignee: Some(CAROL), ..issue },
        3 => Issue { description: None, author: DORA, labels: Vec::new(), ..issue },
        4 => Issue { author: ERIN, due_date: Some("2025-12-24"), labels: vec![0, 4], ..issue },
        _ if place.is_multiple_of(3) => Issue { state: "closed", closed_at: Some(rows.next_time()), ..issue },
        _ => issue,
    }
}

fn create_merge_requests(rows: &mut Rows, history: &History) -> Vec<MergeRequest> {
    let mut request = |iid: i64, title, state: &'static str, source_branch, proposal: &Proposal| {
        let (id, created_at, updated_at) = (rows.next_id(), rows.next_time(), rows.next_time());
        MergeRequest {
            id,
            iid,
            title,
            description: None,
            state,
            source_branch,
            is_from_fork: false,
            proposal: proposal.clone(),
            merge_commit: None,
            merged_at: (state == "merged").then(|| rows.next_time()),
            closed_at: (state == "closed").then(|| rows.next_time()),
            author: BOB,
            assignee: None,
            milestone: None,
            labels: Vec::new(),
            time_estimate: 0,
            time_spent: 0,
            created_at,
            updated_at,
            notes: create_notes(rows, 6, &format!("merge request {iid}")),
        }
    };
    let lost = Proposal { base: history.first.clone(), head: MISSING_COMMIT.to_owned(), commits: Vec::new() };
    vec![
        MergeRequest {
            description: Some("Adds a *topic*, with notes"),
            author: ALICE,
            assignee: Some(CAROL),
            milestone: Some(0),
            labels: vec![0, 4],
            time_estimate: 3600,
            time_spent: 1800,
            ..request(OPENED, "Draft: Write about the topic", "opened", TOPIC, &history.topic)
        },
        MergeRequest {
            labels: vec![2],
            milestone: Some(1),
            ..request(ABANDONED, "Try something", "closed", "abandoned", &history.abandoned)
        },
        MergeRequest {
            description: Some("Finishes the first version"),
            author: CAROL,
            merge_commit: Some(history.merge_commit.clone()),
            ..request(MERGED, "Finish it", "merged", "done", &history.merged)
        },
        request(LOST, "Propose what is lost", "closed", "lost", &lost),
        MergeRequest {
            author: ERIN,
            is_from_fork: true,
            ..request(FORKED, "Patch from elsewhere", "opened", "patch-1", &history.forked)
        },
    ]
}

fn create_releases(rows: &mut Rows, history: &History) -> Vec<Release> {
    let links = [
        ("Manual", "https://example.com/engine/manual.pdf", "other"),
        ("Container", "https://registry.example.com/engine:1.0", "image"),
    ];
    let links = links.map(|(name, url, link_type)| {
        let (id, created_at) = (rows.next_id(), rows.next_time());
        Link { id, name, url, link_type, created_at }
    });
    let mut release = |tag: &'static str, name, description, sha: &str, author| {
        let (id, created_at, released_at) = (rows.next_id(), rows.next_time(), rows.next_time());
        let (has_tag, sha) = (tag != "v9.9", sha.to_owned());
        Release { id, tag, has_tag, name, description, sha, author, links: Vec::new(), created_at, released_at }
    };
    vec![
        release("v1.1", "The better one", "- größer\n- faster\n", &history.merge_commit, BOB),
        release("v9.9", "The deleted one", "Its tag is gone", &history.first, ALICE),
        Release { links: links.into(), ..release("v1.0", "The first one", "It *works*", &history.first, CAROL) },
    ]
}

fn create_members(rows: &mut Rows) -> Vec<Member> {
    let levels = [(DORA, 50), (ALICE, 40), (BOB, 30)];
    let members = levels.map(|(user, access_level)| {
        let (id, created_at) = (rows.next_id(), rows.next_time());
        Member { id, user, access_level, created_at }
    });
    members.into()
}

/// Returns the relations that an import does not carry, with their lines.
pub fn uncarried_relations() -> Vec<(&'static str, Vec<Value>)> {
    let mut relations = code_relations();
    relations.extend(pipeline_relations());
    relations.extend(other_relations());
    relations
}

/// A time of the rows that an import does not carry. Arbitrary.
const TIME: &str = "2025-04-02T08:30:00.000Z";

/// Returns the relations about the repository and merge requests that an import does not carry.
fn code_relations() -> Vec<(&'static str, Vec<Value>)> {
    let access = |level: i64| json!({ "id": level, "access_level": level, "created_at": TIME, "updated_at": TIME });
    let branch = |name: &str, level: i64| {
        json!({
            "id": 10 + level,
            "project_id": PROJECT_ID,
            "name": name,
            "created_at": TIME,
            "updated_at": TIME,
            "allow_force_push": false,
            "push_access_levels": [access(level)],
            "merge_access_levels": [access(30)],
        })
    };
    let tag = json!({
        "id": 21,
        "project_id": PROJECT_ID,
        "name": "v*",
        "created_at": TIME,
        "updated_at": TIME,
        "create_access_levels": [access(40)],
    });
    let commit_note = |number: i64| {
        json!({
            "id": 30 + number,
            "note": format!("Note {number} on a commit"),
            "noteable_type": "Commit",
            "author_id": BOB.id,
            "created_at": TIME,
            "updated_at": TIME,
            "project_id": PROJECT_ID,
            "commit_id": MISSING_COMMIT,
            "system": false,
            "author": { "name": BOB.name },
            "events": [],
        })
    };
    let rule = json!({ "id": 41, "name": "Two reviewers", "approvals_required": 2, "rule_type": "regular" });
    let external = json!({
        "id": 42,
        "project_id": PROJECT_ID,
        "pull_request_iid": 4,
        "status": "open",
        "source_branch": "elsewhere",
        "target_branch": TRUNK,
        "source_repository": "engine/engine",
        "target_repository": "engine/engine",
        "source_sha": MISSING_COMMIT,
        "target_sha": MISSING_COMMIT,
    });
    let push_rule = json!({ "id": 43, "deny_delete_tag": true, "max_file_size": 0, "commit_message_regex": "" });
    vec![
        ("protected_branches", vec![branch(TRUNK, 40), branch("release/*", 30)]),
        ("protected_tags", vec![tag]),
        ("commit_notes", (1..=3).map(commit_note).collect()),
        ("merge_request_rules", vec![rule]),
        ("external_pull_requests", vec![external]),
        ("push_rule", vec![push_rule]),
    ]
}

/// Returns the relations about pipelines and deployments that an import does not carry.
fn pipeline_relations() -> Vec<(&'static str, Vec<Value>)> {
    let pipeline = |number: i64, status: &str| {
        json!({
            "id": 50 + number,
            "iid": number,
            "project_id": PROJECT_ID,
            "ref": TRUNK,
            "sha": MISSING_COMMIT,
            "status": status,
            "source": "push",
            "created_at": TIME,
            "updated_at": TIME,
            "user_id": ALICE.id,
            "notes": [],
            "stages": [{ "id": 60 + number, "name": "test", "status": 3, "position": 0, "builds": [] }],
        })
    };
    let schedule = json!({
        "id": 71,
        "description": "Nightly",
        "ref": TRUNK,
        "cron": "0 3 * * *",
        "cron_timezone": "UTC",
        "active": true,
        "owner_id": ALICE.id,
        "created_at": TIME,
        "updated_at": TIME,
    });
    let environment =
        json!({ "id": 72, "name": "production", "deploy_access_levels": [{ "id": 73, "access_level": 40 }] });
    vec![
        ("ci_cd_settings", vec![json!({ "group_runners_enabled": true, "default_git_depth": 20 })]),
        ("ci_pipelines", vec![pipeline(1, "success"), pipeline(2, "failed"), pipeline(3, "canceled")]),
        ("pipeline_schedules", vec![schedule]),
        ("protected_environments", vec![environment]),
        ("auto_devops", vec![json!({ "id": 74, "enabled": false, "deploy_strategy": "continuous" })]),
        ("container_expiration_policy", vec![json!({ "enabled": false, "cadence": "1d", "keep_n": 10 })]),
    ]
}

/// Returns the relations about everything else that an import does not carry.
fn other_relations() -> Vec<(&'static str, Vec<Value>)> {
    let board = |id: i64, name: &str| {
        json!({
            "id": id,
            "project_id": PROJECT_ID,
            "name": name,
            "created_at": TIME,
            "updated_at": TIME,
            "hide_backlog_list": false,
            "hide_closed_list": false,
            "lists": [{ "id": id + 1, "board_id": id, "list_type": "closed", "position": null }],
        })
    };
    let snippet = |id: i64, title: &str| {
        json!({
            "id": id,
            "title": title,
            "content": "print(1)\n",
            "author_id": BOB.id,
            "project_id": PROJECT_ID,
            "file_name": "one.py",
            "visibility_level": 0,
            "created_at": TIME,
            "updated_at": TIME,
            "notes": [],
        })
    };
    let badge = |id: i64, name: &str| {
        json!({
            "id": id,
            "name": name,
            "link_url": "https://example.com",
            "image_url": "https://example.com/badge.svg",
            "project_id": PROJECT_ID,
            "type": "ProjectBadge",
        })
    };
    let feature = json!({
        "id": 81,
        "project_id": PROJECT_ID,
        "issues_access_level": 20,
        "merge_requests_access_level": 20,
        "repository_access_level": 20,
        "wiki_access_level": 0,
    });
    let metric = |id: i64| json!({ "id": id, "title": format!("Metric {id}"), "query": "up", "unit": "s", "group": 0 });
    let integration = json!({ "enabled": false, "api_url": "https://example.com", "project_name": "engine" });
    vec![
        ("boards", vec![board(91, "Development"), board(93, "Support")]),
        ("custom_attributes", vec![json!({ "id": 95, "key": "department", "value": "mathematics" })]),
        ("error_tracking_setting", vec![integration]),
        (
            "metrics_setting",
            vec![json!({ "external_dashboard_url": "https://example.com", "dashboard_timezone": "utc" })],
        ),
        ("project_badges", vec![badge(101, "build"), badge(102, "coverage")]),
        ("project_feature", vec![feature]),
        ("prometheus_metrics", vec![metric(103), metric(104), metric(105)]),
        ("security_setting", vec![json!({ "auto_fix_sast": true, "created_at": TIME, "updated_at": TIME })]),
        ("service_desk_setting", vec![json!({ "project_key": "engine", "outgoing_name": "Support" })]),
        ("snippets", vec![snippet(106, "One"), snippet(107, "Another")]),
        ("user_contributions", vec![json!({ "id": ALICE.id, "username": ALICE.username })]),
        ("design_management_repository", vec![json!({ "id": 108, "project_id": PROJECT_ID })]),
    ]
}

/// A member of a tar archive. Its name and the target of a link are written as they are, also if they are dangerous.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: String,
    pub entry_type: EntryType,
    /// The target of a link.
    pub target: String,
    pub content: Vec<u8>,
}

impl Entry {
    pub fn file(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let (target, content) = (String::new(), content.into());
        Self { name: name.into(), entry_type: EntryType::Regular, target, content }
    }

    pub fn directory(name: &str) -> Self {
        let name = if name.is_empty() { String::new() } else { format!("{name}/") };
        Self { name, entry_type: EntryType::Directory, target: String::new(), content: Vec::new() }
    }

    /// Returns a member without content, such as a link.
    pub fn special(name: &str, entry_type: EntryType, target: &str) -> Self {
        Self { name: name.to_owned(), entry_type, target: target.to_owned(), content: Vec::new() }
    }
}

/// Returns a compressed archive of these members.
pub fn pack(entries: &[Entry]) -> Vec<u8> {
    compress(&pack_tar(entries))
}

/// Returns an archive that is not compressed. Names must have fewer than 100 bytes.
pub fn pack_tar(entries: &[Entry]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_ustar();
        header.set_entry_type(entry.entry_type);
        header.set_mode(if entry.entry_type == EntryType::Directory { 0o755 } else { 0o644 });
        header.set_size(entry.content.len() as u64);
        header.set_mtime(1_746_000_000);
        // The methods of the header reject names with two dots.
        let fields = header.as_old_mut();
        fields.name[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
        fields.linkname[..entry.target.len()].copy_from_slice(entry.target.as_bytes());
        header.set_cksum();
        builder.append(&header, entry.content.as_slice()).expect("a vector can be written");
    }
    builder.into_inner().expect("a vector can be written")
}

/// Compresses bytes with gzip.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector can be written");
    encoder.finish().expect("a vector can be written")
}
