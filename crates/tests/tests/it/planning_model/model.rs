//! What there is and who sees it, kept the plain way.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

/// None is somebody without a token.
pub type Caller = Option<i64>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    External,
    Ordinary,
    Administrator,
}

pub struct User {
    pub standing: Standing,
    pub blocked: bool,
}

pub struct Project {
    /// In a group or in a user's namespace.
    pub group: Option<i64>,
    pub owner: Option<i64>,
    pub visibility: i64,
    pub issues_enabled: bool,
    pub merge_requests_enabled: bool,
    pub last_iid: i64,
}

#[derive(Clone)]
pub struct Issue {
    pub iid: i64,
    pub project: i64,
    pub author: i64,
    pub assignee: Option<i64>,
    pub milestone: Option<i64>,
    pub title: String,
    pub state: &'static str,
    pub confidential: bool,
    pub labels: BTreeSet<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub was_moved: bool,
}

impl Issue {
    pub fn is_closed(&self) -> bool {
        self.state == "closed"
    }

    pub fn concerns(&self, user: Caller) -> bool {
        user == Some(self.author) || user.is_some() && user == self.assignee
    }
}

pub struct Milestone {
    pub project: i64,
    pub title: String,
    pub is_closed: bool,
}

/// A list of a board.
pub struct List {
    pub id: i64,
    pub project: i64,
    pub label: String,
}

pub struct Note {
    pub issue: i64,
    pub author: i64,
    pub body: String,
}

#[derive(Clone, Copy)]
pub enum Subject {
    Project,
    Issue(i64),
    /// With its issue.
    Note(i64, i64),
    Milestone(i64),
}

pub struct Event {
    pub project: i64,
    pub author: i64,
    pub action: &'static str,
    pub subject: Subject,
}

impl Event {
    pub fn issue(&self) -> Option<i64> {
        match self.subject {
            Subject::Issue(issue) | Subject::Note(issue, _) => Some(issue),
            Subject::Project | Subject::Milestone(_) => None,
        }
    }
}

#[derive(Default)]
pub struct Model {
    pub users: BTreeMap<i64, User>,
    /// Their visibility.
    pub groups: BTreeMap<i64, i64>,
    pub projects: BTreeMap<i64, Project>,
    /// Group, user, level.
    pub group_members: Vec<(i64, i64, i64)>,
    /// Project, user, level.
    pub project_members: Vec<(i64, i64, i64)>,
    /// Project, group, highest level.
    pub shares: Vec<(i64, i64, i64)>,
    pub issues: BTreeMap<i64, Issue>,
    /// Ids by project and name.
    pub labels: BTreeMap<(i64, String), i64>,
    pub milestones: BTreeMap<i64, Milestone>,
    /// From left to right.
    pub lists: Vec<List>,
    /// Without what the service says.
    pub notes: BTreeMap<i64, Note>,
    /// Oldest first.
    pub events: Vec<Event>,
}

/// What somebody must be at least.
#[derive(Clone, Copy)]
pub enum Least {
    Visible,
    SignedIn,
    Level(i64),
}

/// What must be switched on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    None,
    Issues,
    IssuesOrMergeRequests,
}

pub const REPORTER: i64 = 20;
pub const MASTER: i64 = 40;
pub const OWNER: i64 = 50;

/// Or the status that is answered instead.
pub type Allowed = Result<(), u16>;

impl Model {
    pub fn is_admin(&self, caller: Caller) -> bool {
        caller.and_then(|id| self.users.get(&id)).is_some_and(|user| user.standing == Standing::Administrator)
    }

    fn group_level(&self, group: i64, user: i64) -> i64 {
        let found = self.group_members.iter().find(|it| (it.0, it.1) == (group, user));
        found.map_or(0, |it| it.2)
    }

    /// 0 is none.
    pub fn level(&self, caller: Caller, project: i64) -> i64 {
        let Some(user) = caller else { return 0 };
        let Project { group, owner, .. } = self.projects[&project];
        let mut ways = vec![if owner == caller { OWNER } else { 0 }];
        ways.extend(group.map(|group| self.group_level(group, user)));
        ways.extend(self.project_members.iter().filter(|it| (it.0, it.1) == (project, user)).map(|it| it.2));
        let shares = self.shares.iter().filter(|it| it.0 == project);
        ways.extend(shares.map(|(_, group, highest)| self.group_level(*group, user).min(*highest)));
        ways.into_iter().max().unwrap()
    }

    /// Of what is visible to who has nothing to do with it.
    fn sees_from(&self, caller: Caller) -> i64 {
        match caller.and_then(|id| self.users.get(&id)).map(|user| user.standing) {
            Some(Standing::Administrator) => 0,
            Some(Standing::Ordinary) => 10,
            Some(Standing::External) | None => 20,
        }
    }

    pub fn sees(&self, caller: Caller, project: i64) -> bool {
        let found = self.projects.get(&project);
        found.is_some_and(|it| it.visibility >= self.sees_from(caller) || self.level(caller, project) > 0)
    }

    pub fn may_be_assigned(&self, user: i64, project: i64) -> bool {
        self.users.get(&user).is_some_and(|it| !it.blocked) && self.sees(Some(user), project)
    }

    /// All issues, confidential ones included.
    pub fn manages(&self, caller: Caller, project: i64) -> bool {
        self.is_admin(caller) || self.level(caller, project) >= REPORTER
    }

    pub fn sees_issue(&self, caller: Caller, issue: &Issue) -> bool {
        self.sees(caller, issue.project)
            && (!issue.confidential || self.manages(caller, issue.project) || issue.concerns(caller))
    }

    pub fn is_known(&self, caller: Caller) -> Allowed {
        let is_known = caller.is_none_or(|id| self.users.get(&id).is_some_and(|user| !user.blocked));
        if is_known { Ok(()) } else { Err(401) }
    }

    pub fn gate(&self, caller: Caller, project: i64, least: Least, feature: Feature) -> Allowed {
        self.is_known(caller)?;
        // The token comes first: who has none is told nothing of what is there.
        if caller.is_none() && !matches!(least, Least::Visible) {
            return Err(401);
        }
        if !self.sees(caller, project) {
            return Err(404);
        }
        let Project { issues_enabled, merge_requests_enabled, .. } = self.projects[&project];
        let is_on = match feature {
            Feature::None => true,
            Feature::Issues => issues_enabled,
            Feature::IssuesOrMergeRequests => issues_enabled || merge_requests_enabled,
        };
        let may = match least {
            Least::Visible | Least::SignedIn => true,
            Least::Level(level) => self.is_admin(caller) || self.level(caller, project) >= level,
        };
        if is_on && may { Ok(()) } else { Err(403) }
    }

    /// Who is in one of its projects sees a group, too.
    pub fn gate_group(&self, caller: Caller, group: i64) -> Allowed {
        self.is_known(caller)?;
        let user = caller.ok_or(401_u16)?;
        let mut members = self.project_members.iter().filter(|it| it.1 == user);
        let is_within =
            self.group_level(group, user) > 0 || members.any(|it| self.projects[&it.0].group == Some(group));
        if is_within || self.groups[&group] >= self.sees_from(caller) { Ok(()) } else { Err(404) }
    }

    /// One that the caller sees.
    pub fn find_issue(&self, caller: Caller, project: i64, id: i64) -> Result<&Issue, u16> {
        let found = self.issues.get(&id).filter(|issue| issue.project == project && self.sees_issue(caller, issue));
        found.ok_or(404)
    }

    pub fn label_names(&self, project: i64) -> BTreeSet<String> {
        self.labels.keys().filter(|it| it.0 == project).map(|it| it.1.clone()).collect()
    }

    pub fn lists_of(&self, project: i64) -> Vec<&List> {
        self.lists.iter().filter(|list| list.project == project).collect()
    }

    pub fn milestone_of(&self, project: i64, title: &str) -> Option<i64> {
        self.milestones.iter().find(|(_, it)| it.project == project && it.title == title).map(|(id, _)| *id)
    }

    /// As an answer shows it.
    pub fn issue_facts(&self, id: i64) -> Value {
        let issue = &self.issues[&id];
        let time = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
        json!({
            "id": id,
            "iid": issue.iid,
            "project_id": issue.project,
            "title": issue.title,
            "state": issue.state,
            "confidential": issue.confidential,
            "labels": issue.labels,
            "author": issue.author,
            "assignee": issue.assignee,
            "milestone": issue.milestone,
            "user_notes_count": self.notes.values().filter(|note| note.issue == id).count(),
            "created_at": time(issue.created_at),
            "updated_at": time(issue.updated_at),
        })
    }

    pub fn event_facts(&self, event: &Event) -> Value {
        let title_of = |issue: &i64| &self.issues[issue].title;
        let (target_type, target_id, title, body) = match &event.subject {
            Subject::Project => (None, None, None, None),
            Subject::Issue(id) => (Some("Issue"), Some(id), Some(title_of(id)), None),
            Subject::Note(issue, id) => (Some("Note"), Some(id), Some(title_of(issue)), Some(&self.notes[id].body)),
            Subject::Milestone(id) => (Some("Milestone"), Some(id), Some(&self.milestones[id].title), None),
        };
        json!({
            "project_id": event.project,
            "author_id": event.author,
            "action_name": event.action,
            "target_type": target_type,
            "target_id": target_id,
            "target_title": title,
            "note": body,
        })
    }

    /// Of what happens to confidential issues only those are told who see all of them.
    pub fn is_told(&self, caller: Caller, event: &Event) -> bool {
        self.sees(caller, event.project)
            && (self.manages(caller, event.project) || !event.issue().is_some_and(|id| self.issues[&id].confidential))
    }

    pub fn remove_issue(&mut self, id: i64) {
        self.issues.remove(&id);
        self.notes.retain(|_, note| note.issue != id);
        self.events.retain(|event| event.issue() != Some(id));
    }

    pub fn remove_note(&mut self, id: i64) {
        self.notes.remove(&id);
        self.events.retain(|event| !matches!(event.subject, Subject::Note(_, note) if note == id));
    }

    pub fn remove_label(&mut self, project: i64, name: &str) {
        self.labels.remove(&(project, name.to_owned()));
        self.lists.retain(|list| (list.project, &*list.label) != (project, name));
        for issue in self.issues.values_mut().filter(|issue| issue.project == project) {
            issue.labels.remove(name);
        }
    }

    pub fn rename_label(&mut self, project: i64, from: &str, to: &str) {
        let id = self.labels.remove(&(project, from.to_owned())).unwrap();
        self.labels.insert((project, to.to_owned()), id);
        for list in self.lists.iter_mut().filter(|list| (list.project, &*list.label) == (project, from)) {
            list.label = to.to_owned();
        }
        for issue in self.issues.values_mut().filter(|issue| issue.project == project) {
            if issue.labels.remove(from) {
                issue.labels.insert(to.to_owned());
            }
        }
    }

    /// With all that the user owned. What the user wrote and did elsewhere is the ghost account's.
    pub fn remove_user(&mut self, user: i64, ghost: i64) {
        self.users.remove(&user);
        let owned = self.projects.iter().filter(|(_, it)| it.owner == Some(user)).map(|(id, _)| *id);
        for project in owned.collect::<Vec<_>>() {
            self.projects.remove(&project);
            self.project_members.retain(|it| it.0 != project);
            self.labels.retain(|(of, _), _| *of != project);
            self.milestones.retain(|_, it| it.project != project);
            self.lists.retain(|it| it.project != project);
            self.events.retain(|it| it.project != project);
        }
        let is_gone = |issue: &Issue| !self.projects.contains_key(&issue.project);
        let gone: Vec<i64> = self.issues.iter().filter(|(_, issue)| is_gone(issue)).map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| self.remove_issue(id));
        self.issues.values_mut().filter(|it| it.author == user).for_each(|it| it.author = ghost);
        self.notes.values_mut().filter(|it| it.author == user).for_each(|it| it.author = ghost);
        self.events.iter_mut().filter(|it| it.author == user).for_each(|it| it.author = ghost);
        self.issues.values_mut().filter(|it| it.assignee == Some(user)).for_each(|it| it.assignee = None);
        self.group_members.retain(|it| it.1 != user);
        self.project_members.retain(|it| it.1 != user);
    }
}

/// The same of what was answered.
pub fn facts_of_issue(body: &Value) -> Value {
    let mut facts = json!({
        "author": body["author"]["id"],
        "assignee": body["assignee"]["id"],
        "milestone": body["milestone"]["id"],
    });
    let names = [
        "id",
        "iid",
        "project_id",
        "title",
        "state",
        "confidential",
        "labels",
        "user_notes_count",
        "created_at",
        "updated_at",
    ];
    for name in names {
        facts[name] = body[name].clone();
    }
    facts
}

pub fn facts_of_event(body: &Value) -> Value {
    let mut facts = json!({ "note": body["note"]["body"] });
    for name in ["project_id", "author_id", "action_name", "target_type", "target_id", "target_title"] {
        facts[name] = body[name].clone();
    }
    facts
}
