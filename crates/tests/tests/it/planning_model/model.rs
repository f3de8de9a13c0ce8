//! A simple model of projects and issues, and of who can see them.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

/// The user of a request; `None` is anonymous.
pub type Caller = Option<i64>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    External,
    Ordinary,
    Administrator,
}

pub struct User {
    pub role: Role,
    pub is_blocked: bool,
}

pub struct Project {
    /// A project is either in a group or in the namespace of an owner.
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

    pub fn is_author_or_assignee(&self, user: Caller) -> bool {
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
    /// The ids of a note and of its issue.
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
    /// The visibility of each group.
    pub groups: BTreeMap<i64, i64>,
    pub projects: BTreeMap<i64, Project>,
    /// Group, user and access level.
    pub group_members: Vec<(i64, i64, i64)>,
    /// Project, user and access level.
    pub project_members: Vec<(i64, i64, i64)>,
    /// Project, group and maximum access level.
    pub shares: Vec<(i64, i64, i64)>,
    pub issues: BTreeMap<i64, Issue>,
    /// Label ids by project and name.
    pub labels: BTreeMap<(i64, String), i64>,
    pub milestones: BTreeMap<i64, Milestone>,
    /// The lists from left to right.
    pub lists: Vec<List>,
    /// All notes but system notes.
    pub notes: BTreeMap<i64, Note>,
    /// The events, oldest first.
    pub events: Vec<Event>,
}

/// The minimum access that a request needs.
#[derive(Clone, Copy)]
pub enum MinAccess {
    Visible,
    SignedIn,
    Level(i64),
}

/// The feature that must be enabled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    None,
    Issues,
    IssuesOrMergeRequests,
}

pub const REPORTER: i64 = 20;
pub const MASTER: i64 = 40;
pub const OWNER: i64 = 50;

/// The result of a permission check: the error status of the response if it fails.
pub type Decision = Result<(), u16>;

impl Model {
    pub fn is_admin(&self, caller: Caller) -> bool {
        caller.and_then(|id| self.users.get(&id)).is_some_and(|user| user.role == Role::Administrator)
    }

    fn group_level(&self, group: i64, user: i64) -> i64 {
        let found = self.group_members.iter().find(|it| (it.0, it.1) == (group, user));
        found.map_or(0, |it| it.2)
    }

    /// Returns the access level of a user in a project; 0 is none.
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

    /// Returns the minimum visibility of projects and groups that a user sees without being a member.
    fn min_visibility(&self, caller: Caller) -> i64 {
        match caller.and_then(|id| self.users.get(&id)).map(|user| user.role) {
            Some(Role::Administrator) => 0,
            Some(Role::Ordinary) => 10,
            Some(Role::External) | None => 20,
        }
    }

    pub fn can_see(&self, caller: Caller, project: i64) -> bool {
        let found = self.projects.get(&project);
        found.is_some_and(|it| it.visibility >= self.min_visibility(caller) || self.level(caller, project) > 0)
    }

    pub fn can_be_assigned(&self, user: i64, project: i64) -> bool {
        self.users.get(&user).is_some_and(|it| !it.is_blocked) && self.can_see(Some(user), project)
    }

    /// Returns whether a user can manage all issues of a project, including confidential ones.
    pub fn can_manage(&self, caller: Caller, project: i64) -> bool {
        self.is_admin(caller) || self.level(caller, project) >= REPORTER
    }

    pub fn can_see_issue(&self, caller: Caller, issue: &Issue) -> bool {
        self.can_see(caller, issue.project)
            && (!issue.confidential || self.can_manage(caller, issue.project) || issue.is_author_or_assignee(caller))
    }

    pub fn check_active(&self, caller: Caller) -> Decision {
        let is_known = caller.is_none_or(|id| self.users.get(&id).is_some_and(|user| !user.is_blocked));
        if is_known { Ok(()) } else { Err(401) }
    }

    pub fn check_project(&self, caller: Caller, project: i64, min_access: MinAccess, feature: Feature) -> Decision {
        self.check_active(caller)?;
        // Authentication is checked first: the response to an anonymous request does not show whether the project
        // exists.
        if caller.is_none() && !matches!(min_access, MinAccess::Visible) {
            return Err(401);
        }
        if !self.can_see(caller, project) {
            return Err(404);
        }
        let Project { issues_enabled, merge_requests_enabled, .. } = self.projects[&project];
        let is_on = match feature {
            Feature::None => true,
            Feature::Issues => issues_enabled,
            Feature::IssuesOrMergeRequests => issues_enabled || merge_requests_enabled,
        };
        let may = match min_access {
            MinAccess::Visible | MinAccess::SignedIn => true,
            MinAccess::Level(level) => self.is_admin(caller) || self.level(caller, project) >= level,
        };
        if is_on && may { Ok(()) } else { Err(403) }
    }

    /// Checks access to a group, which members of its projects can see, too.
    pub fn check_group(&self, caller: Caller, group: i64) -> Decision {
        self.check_active(caller)?;
        let user = caller.ok_or(401_u16)?;
        let mut members = self.project_members.iter().filter(|it| it.1 == user);
        let is_within =
            self.group_level(group, user) > 0 || members.any(|it| self.projects[&it.0].group == Some(group));
        if is_within || self.groups[&group] >= self.min_visibility(caller) { Ok(()) } else { Err(404) }
    }

    /// Returns an issue if the user can see it.
    pub fn find_issue(&self, caller: Caller, project: i64, id: i64) -> Result<&Issue, u16> {
        let found = self.issues.get(&id).filter(|issue| issue.project == project && self.can_see_issue(caller, issue));
        found.ok_or(404)
    }

    pub fn label_names(&self, project: i64) -> BTreeSet<String> {
        self.labels.keys().filter(|it| it.0 == project).map(|it| it.1.clone()).collect()
    }

    pub fn project_lists(&self, project: i64) -> Vec<&List> {
        self.lists.iter().filter(|list| list.project == project).collect()
    }

    pub fn find_milestone(&self, project: i64, title: &str) -> Option<i64> {
        self.milestones.iter().find(|(_, it)| it.project == project && it.title == title).map(|(id, _)| *id)
    }

    /// Returns an issue as responses show it.
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

    /// Returns whether a user can see an event. Those of confidential issues are only for users who can see all such
    /// issues.
    pub fn can_see_event(&self, caller: Caller, event: &Event) -> bool {
        self.can_see(caller, event.project)
            && (self.can_manage(caller, event.project)
                || !event.issue().is_some_and(|id| self.issues[&id].confidential))
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

    /// Removes a user with everything that the user owned. Contributions to other projects belong to the ghost account.
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

/// Returns the same attributes as [`Model::issue_facts`] from a response.
pub fn parse_issue(body: &Value) -> Value {
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

pub fn parse_event(body: &Value) -> Value {
    let mut facts = json!({ "note": body["note"]["body"] });
    for name in ["project_id", "author_id", "action_name", "target_type", "target_id", "target_title"] {
        facts[name] = body[name].clone();
    }
    facts
}
