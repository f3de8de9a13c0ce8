//! Random actions of users, and their expected results.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use holdfast_tests::{Client, SeededRng, Server, TestResponse};
use serde_json::json;

use super::model::*;

pub(super) const LABELS: [&str; 6] = ["bug", "doc", "later", "now", "ui", "ux"];

pub struct Driver {
    pub server: Server,
    pub model: Model,
    /// The clients of all users, including deleted ones.
    pub clients: BTreeMap<i64, Client>,
    pub rng: SeededRng,
    pub now: chrono::DateTime<chrono::Utc>,
    /// Users whose requests are mostly accepted.
    pub staff: Vec<i64>,
    /// Users who can see some projects and manage none.
    pub guests: Vec<i64>,
    pub everybody: Vec<Caller>,
    /// A project whose features are enabled and disabled, and the user who does that.
    pub changing_project: (i64, i64),
    /// A user who is blocked from time to time.
    pub blockable_user: i64,
    pub requests: usize,
    /// Number of accepted requests.
    pub accepted: usize,
}

/// The attributes of a request to create or update an issue.
#[derive(Default)]
struct IssueEdit {
    title: Option<String>,
    confidential: Option<bool>,
    labels: Option<BTreeSet<String>>,
    /// The assignee; 0 is nobody.
    assignee: Option<i64>,
    /// The milestone; 0 is none.
    milestone: Option<i64>,
    state_event: Option<&'static str>,
}

impl IssueEdit {
    fn form(&self) -> Vec<(&'static str, String)> {
        let mut form = Vec::new();
        form.extend(self.title.clone().map(|title| ("title", title)));
        form.extend(self.confidential.map(|it| ("confidential", it.to_string())));
        form.extend(self.labels.iter().map(|names| ("labels", names.iter().cloned().collect::<Vec<_>>().join(","))));
        form.extend(self.assignee.map(|id| ("assignee_id", id.to_string())));
        form.extend(self.milestone.map(|id| ("milestone_id", id.to_string())));
        form.extend(self.state_event.map(|event| ("state_event", event.to_owned())));
        form
    }

    /// Returns the error that is expected. Labels, assignee and milestone are ignored unless the user can manage
    /// issues. Only such users can make a confidential issue public.
    fn check(&self, model: &Model, caller: Caller, project: i64, before: Option<&Issue>) -> Decision {
        if !model.can_manage(caller, project) {
            let publishes = self.confidential == Some(false) && before.is_some_and(|issue| issue.confidential);
            return if publishes { Err(403) } else { Ok(()) };
        }
        let assignee = before.and_then(|issue| issue.assignee);
        let may_do = |id: i64| Some(id) == assignee || model.can_be_assigned(id, project);
        let is_here = |id: i64| model.milestones.get(&id).is_some_and(|it| it.project == project);
        let is_fine = self.assignee.is_none_or(|id| id == 0 || may_do(id))
            && self.milestone.is_none_or(|id| id == 0 || is_here(id));
        if is_fine { Ok(()) } else { Err(400) }
    }

    /// Applies the request to an issue, and returns whether anything changes.
    fn apply(&self, model: &Model, caller: Caller, issue: &mut Issue) -> bool {
        let before = (issue.title.clone(), issue.confidential, issue.state);
        let managed_before = (issue.labels.clone(), issue.assignee, issue.milestone);
        issue.title = self.title.clone().unwrap_or(before.0.clone());
        issue.confidential = self.confidential.unwrap_or(before.1);
        issue.state = match (self.state_event, issue.is_closed()) {
            (Some("close"), false) => "closed",
            (Some("reopen"), true) => "reopened",
            _ => issue.state,
        };
        if model.can_manage(caller, issue.project) {
            let or_none = |id: i64| Some(id).filter(|id| *id != 0);
            issue.labels = self.labels.clone().unwrap_or(managed_before.0.clone());
            issue.assignee = self.assignee.map_or(issue.assignee, or_none);
            issue.milestone = self.milestone.map_or(issue.milestone, or_none);
        }
        before != (issue.title.clone(), issue.confidential, issue.state)
            || managed_before != (issue.labels.clone(), issue.assignee, issue.milestone)
    }
}

impl Driver {
    pub fn client(&self, caller: Caller) -> Client {
        match caller {
            Some(id) => self.clients[&id].clone(),
            None => self.server.anonymous(),
        }
    }

    /// Sends a request and checks its status. Returns the response if it was expected to be accepted.
    pub(super) async fn send(
        &mut self,
        caller: Caller,
        (method, path): (&str, &str),
        form: &[(&str, String)],
        expected: Result<u16, u16>,
    ) -> Option<TestResponse> {
        let client = self.client(caller);
        let answer = client.send(client.request(method, path).form(form)).await;
        let status = expected.unwrap_or_else(|status| status);
        assert_eq!(answer.status, status, "{method} {path} {form:?} of {caller:?}: {}", answer.text);
        self.requests += 1;
        self.accepted += usize::from(expected.is_ok());
        expected.is_ok().then_some(answer)
    }

    pub async fn run_action(&mut self) {
        if !self.rng.one_in(3) {
            let seconds = *self.rng.pick(&[1, 1, 2, 60, 4000]);
            self.server.advance(TimeDelta::seconds(seconds));
            self.now += TimeDelta::seconds(seconds);
        }
        let caller =
            if self.rng.one_in(3) { *self.rng.pick(&self.everybody) } else { Some(*self.rng.pick(&self.staff)) };
        // A deleted user has no token, and acts as an anonymous one.
        let caller = caller.filter(|id| self.model.users.contains_key(id));
        let projects: Vec<i64> = self.model.projects.keys().copied().collect();
        let project = *self.rng.pick(&projects);
        let issues: Vec<(i64, i64)> = self.model.issues.iter().map(|(id, issue)| (issue.project, *id)).collect();
        let (place, issue) = if issues.is_empty() { (project, 0) } else { *self.rng.pick(&issues) };
        let place = if self.rng.one_in(20) { project } else { place };
        match self.rng.next_below(100) {
            0..22 => self.create_issue(caller, project).await,
            22..42 => self.edit_issue(caller, place, issue).await,
            42..54 => self.comment(caller, place, issue).await,
            54..58 => self.delete_note(caller).await,
            58..61 => self.delete_issue(caller, place, issue).await,
            61..69 => self.move_issue(caller, place, issue, project).await,
            69..73 => self.create_list(caller, project).await,
            73..80 => self.move_card(caller, place, issue).await,
            80..82 => self.move_list(caller, project).await,
            82..84 => self.delete_list(caller, project).await,
            84..88 => self.create_label(caller, project).await,
            88..91 => self.rename_label(caller, project).await,
            91..93 => self.delete_label(caller, project).await,
            93..95 => self.create_milestone(caller, project).await,
            95..97 => self.close_milestone(caller).await,
            97..99 => self.switch_features().await,
            _ => self.toggle_block().await,
        }
    }

    fn pick_labels(&mut self) -> BTreeSet<String> {
        (0..self.rng.next_below(4)).map(|_| (*self.rng.pick(&LABELS)).to_owned()).collect()
    }

    fn random_edit(&mut self, project: i64) -> IssueEdit {
        let mut wish = IssueEdit::default();
        let rng = &mut self.rng;
        wish.confidential = rng.one_in(3).then(|| !rng.one_in(3));
        if rng.one_in(3) {
            let users: Vec<i64> = self.model.users.keys().copied().chain([0, 9999]).collect();
            // Guests see a confidential issue only if it is assigned to them.
            let some = if rng.one_in(3) { &users } else { &self.guests };
            wish.assignee = Some(*rng.pick(some));
        }
        if rng.one_in(3) {
            let here = self.model.milestones.iter().filter(|(_, it)| it.project == project || rng.one_in(9));
            let here: Vec<i64> = here.map(|(id, _)| *id).chain([0]).collect();
            wish.milestone = Some(*rng.pick(&here));
        }
        if rng.one_in(2) {
            wish.labels = Some(self.pick_labels());
        }
        wish
    }

    pub(super) fn record_event(&mut self, project: i64, caller: Caller, action: &'static str, subject: Subject) {
        self.model.events.push(Event { project, author: caller.unwrap(), action, subject });
    }

    /// Reads the ids of labels that the request created. No other labels may be new.
    async fn read_labels(&mut self, project: i64, used: &BTreeSet<String>) {
        let known = self.model.label_names(project);
        if used.is_subset(&known) {
            return;
        }
        let answer = self.server.admin.get(&format!("/projects/{project}/labels?per_page=100")).await;
        let now = answer.body.as_array().unwrap().iter();
        let now: Vec<(String, i64)> =
            now.map(|it| (it["name"].as_str().unwrap().to_owned(), it["id"].as_i64().unwrap())).collect();
        let names: BTreeSet<String> = now.iter().map(|it| it.0.clone()).collect();
        assert_eq!(names, &known | used);
        self.model.labels.extend(now.into_iter().map(|(name, id)| ((project, name), id)));
    }

    async fn create_issue(&mut self, caller: Caller, project: i64) {
        let wish = IssueEdit { title: Some(format!("issue {}", self.requests)), ..self.random_edit(project) };
        let allowed = self.model.check_project(caller, project, MinAccess::SignedIn, Feature::Issues);
        let allowed = allowed.and_then(|()| wish.check(&self.model, caller, project, None)).map(|()| 201);
        let path = format!("/projects/{project}/issues");
        let Some(made) = self.send(caller, ("POST", &path), &wish.form(), allowed).await else { return };
        let numbered = self.model.projects.get_mut(&project).unwrap();
        numbered.last_iid += 1;
        let mut issue = Issue {
            iid: numbered.last_iid,
            project,
            author: caller.unwrap(),
            assignee: None,
            milestone: None,
            title: String::new(),
            state: "opened",
            confidential: false,
            labels: BTreeSet::new(),
            created_at: self.now,
            updated_at: self.now,
            was_moved: false,
        };
        wish.apply(&self.model, caller, &mut issue);
        self.read_labels(project, &issue.labels).await;
        let id = made.body["id"].as_i64().unwrap();
        self.model.issues.insert(id, issue);
        self.record_event(project, caller, "opened", Subject::Issue(id));
        assert_eq!(parse_issue(&made.body), self.model.issue_facts(id));
    }

    async fn edit_issue(&mut self, caller: Caller, project: i64, id: i64) {
        let mut wish = self.random_edit(project);
        if self.rng.one_in(2) {
            wish.state_event = Some(*self.rng.pick(&["close", "reopen"]));
        } else if self.rng.one_in(4) || wish.form().is_empty() {
            wish.title = Some(format!("renamed {}", self.requests));
        }
        let path = format!("/projects/{project}/issues/{id}");
        let allowed = self.check_edit(caller, project, id, &wish).map(|()| 200);
        let Some(answer) = self.send(caller, ("PUT", &path), &wish.form(), allowed).await else { return };
        let mut issue = self.model.issues[&id].clone();
        let is_changed = wish.apply(&self.model, caller, &mut issue);
        self.save(caller, id, issue, is_changed).await;
        assert_eq!(parse_issue(&answer.body), self.model.issue_facts(id));
    }

    fn check_edit(&self, caller: Caller, project: i64, id: i64, edit: &IssueEdit) -> Decision {
        self.model.check_project(caller, project, MinAccess::SignedIn, Feature::Issues)?;
        let issue = self.model.find_issue(caller, project, id)?;
        if !issue.is_author_or_assignee(caller) && !self.model.can_manage(caller, project) {
            return Err(403);
        }
        edit.check(&self.model, caller, project, Some(issue))
    }

    pub(super) async fn save(&mut self, caller: Caller, id: i64, mut issue: Issue, is_changed: bool) {
        if is_changed {
            issue.updated_at = self.now;
        }
        let (project, state, labels) = (issue.project, issue.state, issue.labels.clone());
        self.read_labels(project, &labels).await;
        let before = self.model.issues.insert(id, issue).unwrap();
        if before.state != state {
            let action = if state == "closed" { "closed" } else { "opened" };
            self.record_event(project, caller, action, Subject::Issue(id));
        }
    }

    async fn comment(&mut self, caller: Caller, project: i64, id: i64) {
        let body = format!("remark {}", self.requests);
        let allowed = self.model.check_project(caller, project, MinAccess::SignedIn, Feature::Issues);
        let allowed = allowed.and_then(|()| self.model.find_issue(caller, project, id).map(|_| 201));
        let path = format!("/projects/{project}/issues/{id}/notes");
        let Some(created) = self.send(caller, ("POST", &path), &[("body", body.clone())], allowed).await else {
            return;
        };
        let note = created.body["id"].as_i64().unwrap();
        self.model.notes.insert(note, Note { issue: id, author: caller.unwrap(), body });
        self.model.issues.get_mut(&id).unwrap().updated_at = self.now;
        self.record_event(project, caller, "commented on", Subject::Note(id, note));
    }

    async fn delete_note(&mut self, caller: Caller) {
        let notes: Vec<i64> = self.model.notes.keys().copied().collect();
        if notes.is_empty() {
            return;
        }
        let id = *self.rng.pick(&notes);
        let Note { issue, author, .. } = self.model.notes[&id];
        let project = self.model.issues[&issue].project;
        let allowed = self.model.check_project(caller, project, MinAccess::SignedIn, Feature::Issues);
        let allowed = allowed.and_then(|()| self.model.find_issue(caller, project, issue).map(|_| 200));
        let moderates = self.model.check_project(caller, project, MinAccess::Level(MASTER), Feature::Issues).is_ok();
        let allowed = allowed.and_then(|ok| if caller == Some(author) || moderates { Ok(ok) } else { Err(403) });
        let path = format!("/projects/{project}/issues/{issue}/notes/{id}");
        if self.send(caller, ("DELETE", &path), &[], allowed).await.is_some() {
            self.model.remove_note(id);
        }
    }

    async fn delete_issue(&mut self, caller: Caller, project: i64, id: i64) {
        let allowed = self.model.check_project(caller, project, MinAccess::Level(OWNER), Feature::Issues);
        let allowed = allowed.and_then(|()| self.model.find_issue(caller, project, id).map(|_| 200));
        let path = format!("/projects/{project}/issues/{id}");
        if self.send(caller, ("DELETE", &path), &[], allowed).await.is_some() {
            self.model.remove_issue(id);
        }
    }

    fn check_move(&self, caller: Caller, from: i64, id: i64, to: i64) -> Decision {
        self.model.check_project(caller, from, MinAccess::SignedIn, Feature::Issues)?;
        let issue = self.model.find_issue(caller, from, id)?;
        self.model.check_project(caller, to, MinAccess::Visible, Feature::None)?;
        if from == to || !self.model.can_manage(caller, from) {
            return Err(400);
        }
        self.model.check_project(caller, to, MinAccess::SignedIn, Feature::Issues)?;
        if issue.was_moved || !self.model.can_manage(caller, to) { Err(400) } else { Ok(()) }
    }

    async fn move_issue(&mut self, caller: Caller, from: i64, id: i64, to: i64) {
        let path = format!("/projects/{from}/issues/{id}/move");
        let allowed = self.check_move(caller, from, id, to).map(|()| 201);
        let Some(answer) = self.send(caller, ("POST", &path), &[("to_project_id", to.to_string())], allowed).await
        else {
            return;
        };
        let model = &mut self.model;
        let before = model.issues[&id].clone();
        let mut moved = before.clone();
        model.projects.get_mut(&to).unwrap().last_iid += 1;
        moved.project = to;
        moved.iid = model.projects[&to].last_iid;
        moved.labels = &before.labels & &model.label_names(to);
        moved.milestone = before.milestone.and_then(|it| model.find_milestone(to, &model.milestones[&it].title));
        moved.assignee = before.assignee.filter(|user| model.can_be_assigned(*user, to));
        moved.updated_at = self.now;
        let new = answer.body["id"].as_i64().unwrap();
        model.issues.insert(new, moved);
        self.record_event(to, caller, "opened", Subject::Issue(new));
        self.read_copied_notes(id, new).await;
        assert_eq!(parse_issue(&answer.body), self.model.issue_facts(new));
        let mut old = Issue { was_moved: true, ..before };
        let is_changed = !old.is_closed();
        old.state = "closed";
        self.save(caller, id, old, is_changed).await;
    }

    /// Reads the notes that were copied to the moved issue.
    async fn read_copied_notes(&mut self, from: i64, to: i64) {
        let project = self.model.issues[&to].project;
        let answer = self.server.admin.get(&format!("/projects/{project}/issues/{to}/notes?per_page=100")).await;
        let copies = answer.body.as_array().unwrap().iter().filter(|note| note["system"] == false);
        let copies: Vec<_> = copies.cloned().collect();
        let expected = self.model.notes.values().filter(|note| note.issue == from);
        let expected: Vec<_> = expected.map(|note| json!([note.author, note.body])).collect();
        assert_eq!(copies.iter().map(|it| json!([it["author"]["id"], it["body"]])).collect::<Vec<_>>(), expected);
        for copy in copies {
            let (author, body) = (copy["author"]["id"].as_i64().unwrap(), copy["body"].as_str().unwrap().to_owned());
            self.model.notes.insert(copy["id"].as_i64().unwrap(), Note { issue: to, author, body });
        }
    }

    async fn switch_features(&mut self) {
        let (project, owner) = self.changing_project;
        let (issues, merge_requests) = (self.rng.one_in(2), self.rng.one_in(2));
        let form = [("issues_enabled", issues.to_string()), ("merge_requests_enabled", merge_requests.to_string())];
        self.send(Some(owner), ("PUT", &format!("/projects/{project}")), &form, Ok(200)).await;
        let project = self.model.projects.get_mut(&project).unwrap();
        project.issues_enabled = issues;
        project.merge_requests_enabled = merge_requests;
    }

    async fn toggle_block(&mut self) {
        let suspect = self.model.users.get_mut(&self.blockable_user).unwrap();
        suspect.is_blocked = !suspect.is_blocked;
        let word = if suspect.is_blocked { "block" } else { "unblock" };
        let path = format!("/users/{}/{word}", self.blockable_user);
        assert_eq!(self.server.admin.put(&path, &[]).await.status, 200);
    }

    /// Deletes a user. Contributions to other projects belong to the ghost account at once, and also after the job.
    pub async fn delete_user(&mut self, user: i64) {
        assert_eq!(self.server.admin.delete(&format!("/users/{user}")).await.status, 200);
        let ghost = sqlx::query_scalar("select id from users where ghost")
            .fetch_one(&mut self.server.database().await)
            .await
            .unwrap();
        self.model.remove_user(user, ghost);
        for project in self.model.projects.keys() {
            let issues = self.server.admin.get(&format!("/projects/{project}/issues?per_page=100")).await;
            let left = self.model.issues.values().filter(|issue| issue.project == *project).count();
            if self.model.projects[project].issues_enabled {
                assert_eq!(issues.ids().len(), left);
            }
            let events = self.server.admin.get(&format!("/projects/{project}/events?per_page=100")).await;
            assert!(events.body.as_array().unwrap().iter().all(|event| event["author_id"] != user));
        }
        self.server.run_jobs().await;
    }
}
