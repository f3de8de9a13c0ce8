//! What people do, and what must come of it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use holdfast_tests::{Answer, Client, Dice, Server};
use serde_json::json;

use super::model::*;

pub(super) const LABELS: [&str; 6] = ["bug", "doc", "later", "now", "ui", "ux"];

pub struct Play {
    pub server: Server,
    pub model: Model,
    /// Of those who are gone, too.
    pub clients: BTreeMap<i64, Client>,
    pub dice: Dice,
    pub now: chrono::DateTime<chrono::Utc>,
    /// Most of what they ask for is granted.
    pub staff: Vec<i64>,
    /// They see some projects and manage none.
    pub guests: Vec<i64>,
    pub everybody: Vec<Caller>,
    /// Whose features are switched on and off, and who does it.
    pub changing: (i64, i64),
    /// Who is blocked now and then.
    pub suspect: i64,
    pub requests: usize,
    /// How many did what was asked for.
    pub done: usize,
}

/// What is asked of an issue.
#[derive(Default)]
struct Wish {
    title: Option<String>,
    confidential: Option<bool>,
    labels: Option<BTreeSet<String>>,
    /// 0 is nobody.
    assignee: Option<i64>,
    /// 0 is none.
    milestone: Option<i64>,
    state_event: Option<&'static str>,
}

impl Wish {
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

    /// What others than managers say of labels, assignee and milestone is passed over. What is confidential is for
    /// managers to publish.
    fn check(&self, model: &Model, caller: Caller, project: i64, before: Option<&Issue>) -> Allowed {
        if !model.manages(caller, project) {
            let publishes = self.confidential == Some(false) && before.is_some_and(|issue| issue.confidential);
            return if publishes { Err(403) } else { Ok(()) };
        }
        let assignee = before.and_then(|issue| issue.assignee);
        let may_do = |id: i64| Some(id) == assignee || model.may_be_assigned(id, project);
        let is_here = |id: i64| model.milestones.get(&id).is_some_and(|it| it.project == project);
        let is_fine = self.assignee.is_none_or(|id| id == 0 || may_do(id))
            && self.milestone.is_none_or(|id| id == 0 || is_here(id));
        if is_fine { Ok(()) } else { Err(400) }
    }

    /// Whether anything changes.
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
        if model.manages(caller, issue.project) {
            let or_none = |id: i64| Some(id).filter(|id| *id != 0);
            issue.labels = self.labels.clone().unwrap_or(managed_before.0.clone());
            issue.assignee = self.assignee.map_or(issue.assignee, or_none);
            issue.milestone = self.milestone.map_or(issue.milestone, or_none);
        }
        before != (issue.title.clone(), issue.confidential, issue.state)
            || managed_before != (issue.labels.clone(), issue.assignee, issue.milestone)
    }
}

impl Play {
    pub fn client(&self, caller: Caller) -> Client {
        match caller {
            Some(id) => self.clients[&id].clone(),
            None => self.server.anonymous(),
        }
    }

    /// Whether it was done; its status is the one that was expected.
    pub(super) async fn send(
        &mut self,
        caller: Caller,
        (method, path): (&str, &str),
        form: &[(&str, String)],
        expected: Result<u16, u16>,
    ) -> Option<Answer> {
        let client = self.client(caller);
        let answer = client.send(client.request(method, path).form(form)).await;
        let status = expected.unwrap_or_else(|status| status);
        assert_eq!(answer.status, status, "{method} {path} {form:?} of {caller:?}: {}", answer.text);
        self.requests += 1;
        self.done += usize::from(expected.is_ok());
        expected.is_ok().then_some(answer)
    }

    pub async fn act(&mut self) {
        if !self.dice.one_in(3) {
            let seconds = *self.dice.pick(&[1, 1, 2, 60, 4000]);
            self.server.advance(TimeDelta::seconds(seconds));
            self.now += TimeDelta::seconds(seconds);
        }
        let caller =
            if self.dice.one_in(3) { *self.dice.pick(&self.everybody) } else { Some(*self.dice.pick(&self.staff)) };
        // Who is gone cannot even try.
        let caller = caller.filter(|id| self.model.users.contains_key(id));
        let projects: Vec<i64> = self.model.projects.keys().copied().collect();
        let project = *self.dice.pick(&projects);
        let issues: Vec<(i64, i64)> = self.model.issues.iter().map(|(id, issue)| (issue.project, *id)).collect();
        let (place, issue) = if issues.is_empty() { (project, 0) } else { *self.dice.pick(&issues) };
        let place = if self.dice.one_in(20) { project } else { place };
        match self.dice.below(100) {
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
            _ => self.block().await,
        }
    }

    fn some_labels(&mut self) -> BTreeSet<String> {
        (0..self.dice.below(4)).map(|_| (*self.dice.pick(&LABELS)).to_owned()).collect()
    }

    fn wish(&mut self, project: i64) -> Wish {
        let mut wish = Wish::default();
        let dice = &mut self.dice;
        wish.confidential = dice.one_in(3).then(|| !dice.one_in(3));
        if dice.one_in(3) {
            let users: Vec<i64> = self.model.users.keys().copied().chain([0, 9999]).collect();
            // They see what is confidential only if it is theirs to do.
            let some = if dice.one_in(3) { &users } else { &self.guests };
            wish.assignee = Some(*dice.pick(some));
        }
        if dice.one_in(3) {
            let here = self.model.milestones.iter().filter(|(_, it)| it.project == project || dice.one_in(9));
            let here: Vec<i64> = here.map(|(id, _)| *id).chain([0]).collect();
            wish.milestone = Some(*dice.pick(&here));
        }
        if dice.one_in(2) {
            wish.labels = Some(self.some_labels());
        }
        wish
    }

    pub(super) fn tell(&mut self, project: i64, caller: Caller, action: &'static str, subject: Subject) {
        self.model.events.push(Event { project, author: caller.unwrap(), action, subject });
    }

    /// Labels that were made by being used; no others may be new.
    async fn learn_labels(&mut self, project: i64, used: &BTreeSet<String>) {
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
        let wish = Wish { title: Some(format!("issue {}", self.requests)), ..self.wish(project) };
        let allowed = self.model.gate(caller, project, Least::SignedIn, Feature::Issues);
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
        self.learn_labels(project, &issue.labels).await;
        let id = made.body["id"].as_i64().unwrap();
        self.model.issues.insert(id, issue);
        self.tell(project, caller, "opened", Subject::Issue(id));
        assert_eq!(facts_of_issue(&made.body), self.model.issue_facts(id));
    }

    async fn edit_issue(&mut self, caller: Caller, project: i64, id: i64) {
        let mut wish = self.wish(project);
        if self.dice.one_in(2) {
            wish.state_event = Some(*self.dice.pick(&["close", "reopen"]));
        } else if self.dice.one_in(4) || wish.form().is_empty() {
            wish.title = Some(format!("renamed {}", self.requests));
        }
        let path = format!("/projects/{project}/issues/{id}");
        let allowed = self.may_edit(caller, project, id, &wish).map(|()| 200);
        let Some(answer) = self.send(caller, ("PUT", &path), &wish.form(), allowed).await else { return };
        let mut issue = self.model.issues[&id].clone();
        let is_changed = wish.apply(&self.model, caller, &mut issue);
        self.save(caller, id, issue, is_changed).await;
        assert_eq!(facts_of_issue(&answer.body), self.model.issue_facts(id));
    }

    fn may_edit(&self, caller: Caller, project: i64, id: i64, wish: &Wish) -> Allowed {
        self.model.gate(caller, project, Least::SignedIn, Feature::Issues)?;
        let issue = self.model.find_issue(caller, project, id)?;
        if !issue.concerns(caller) && !self.model.manages(caller, project) {
            return Err(403);
        }
        wish.check(&self.model, caller, project, Some(issue))
    }

    pub(super) async fn save(&mut self, caller: Caller, id: i64, mut issue: Issue, is_changed: bool) {
        if is_changed {
            issue.updated_at = self.now;
        }
        let (project, state, labels) = (issue.project, issue.state, issue.labels.clone());
        self.learn_labels(project, &labels).await;
        let before = self.model.issues.insert(id, issue).unwrap();
        if before.state != state {
            let action = if state == "closed" { "closed" } else { "opened" };
            self.tell(project, caller, action, Subject::Issue(id));
        }
    }

    async fn comment(&mut self, caller: Caller, project: i64, id: i64) {
        let body = format!("remark {}", self.requests);
        let allowed = self.model.gate(caller, project, Least::SignedIn, Feature::Issues);
        let allowed = allowed.and_then(|()| self.model.find_issue(caller, project, id).map(|_| 201));
        let path = format!("/projects/{project}/issues/{id}/notes");
        let Some(said) = self.send(caller, ("POST", &path), &[("body", body.clone())], allowed).await else { return };
        let note = said.body["id"].as_i64().unwrap();
        self.model.notes.insert(note, Note { issue: id, author: caller.unwrap(), body });
        self.model.issues.get_mut(&id).unwrap().updated_at = self.now;
        self.tell(project, caller, "commented on", Subject::Note(id, note));
    }

    async fn delete_note(&mut self, caller: Caller) {
        let notes: Vec<i64> = self.model.notes.keys().copied().collect();
        if notes.is_empty() {
            return;
        }
        let id = *self.dice.pick(&notes);
        let Note { issue, author, .. } = self.model.notes[&id];
        let project = self.model.issues[&issue].project;
        let allowed = self.model.gate(caller, project, Least::SignedIn, Feature::Issues);
        let allowed = allowed.and_then(|()| self.model.find_issue(caller, project, issue).map(|_| 200));
        let moderates = self.model.gate(caller, project, Least::Level(MASTER), Feature::Issues).is_ok();
        let allowed = allowed.and_then(|ok| if caller == Some(author) || moderates { Ok(ok) } else { Err(403) });
        let path = format!("/projects/{project}/issues/{issue}/notes/{id}");
        if self.send(caller, ("DELETE", &path), &[], allowed).await.is_some() {
            self.model.remove_note(id);
        }
    }

    async fn delete_issue(&mut self, caller: Caller, project: i64, id: i64) {
        let allowed = self.model.gate(caller, project, Least::Level(OWNER), Feature::Issues);
        let allowed = allowed.and_then(|()| self.model.find_issue(caller, project, id).map(|_| 200));
        let path = format!("/projects/{project}/issues/{id}");
        if self.send(caller, ("DELETE", &path), &[], allowed).await.is_some() {
            self.model.remove_issue(id);
        }
    }

    fn may_move(&self, caller: Caller, from: i64, id: i64, to: i64) -> Allowed {
        self.model.gate(caller, from, Least::SignedIn, Feature::Issues)?;
        let issue = self.model.find_issue(caller, from, id)?;
        self.model.gate(caller, to, Least::Visible, Feature::None)?;
        if from == to || !self.model.manages(caller, from) {
            return Err(400);
        }
        self.model.gate(caller, to, Least::SignedIn, Feature::Issues)?;
        if issue.was_moved || !self.model.manages(caller, to) { Err(400) } else { Ok(()) }
    }

    async fn move_issue(&mut self, caller: Caller, from: i64, id: i64, to: i64) {
        let path = format!("/projects/{from}/issues/{id}/move");
        let allowed = self.may_move(caller, from, id, to).map(|()| 201);
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
        moved.milestone = before.milestone.and_then(|it| model.milestone_of(to, &model.milestones[&it].title));
        moved.assignee = before.assignee.filter(|user| model.may_be_assigned(*user, to));
        moved.updated_at = self.now;
        let new = answer.body["id"].as_i64().unwrap();
        model.issues.insert(new, moved);
        self.tell(to, caller, "opened", Subject::Issue(new));
        self.learn_copies(id, new).await;
        assert_eq!(facts_of_issue(&answer.body), self.model.issue_facts(new));
        let mut old = Issue { was_moved: true, ..before };
        let is_changed = !old.is_closed();
        old.state = "closed";
        self.save(caller, id, old, is_changed).await;
    }

    /// What was said is said again where the issue went.
    async fn learn_copies(&mut self, from: i64, to: i64) {
        let project = self.model.issues[&to].project;
        let answer = self.server.admin.get(&format!("/projects/{project}/issues/{to}/notes?per_page=100")).await;
        let copies = answer.body.as_array().unwrap().iter().filter(|note| note["system"] == false);
        let copies: Vec<_> = copies.cloned().collect();
        let said = self.model.notes.values().filter(|note| note.issue == from);
        let said: Vec<_> = said.map(|note| json!([note.author, note.body])).collect();
        assert_eq!(copies.iter().map(|it| json!([it["author"]["id"], it["body"]])).collect::<Vec<_>>(), said);
        for copy in copies {
            let (author, body) = (copy["author"]["id"].as_i64().unwrap(), copy["body"].as_str().unwrap().to_owned());
            self.model.notes.insert(copy["id"].as_i64().unwrap(), Note { issue: to, author, body });
        }
    }

    async fn switch_features(&mut self) {
        let (project, owner) = self.changing;
        let (issues, merge_requests) = (self.dice.one_in(2), self.dice.one_in(2));
        let form = [("issues_enabled", issues.to_string()), ("merge_requests_enabled", merge_requests.to_string())];
        self.send(Some(owner), ("PUT", &format!("/projects/{project}")), &form, Ok(200)).await;
        let project = self.model.projects.get_mut(&project).unwrap();
        project.issues_enabled = issues;
        project.merge_requests_enabled = merge_requests;
    }

    async fn block(&mut self) {
        let suspect = self.model.users.get_mut(&self.suspect).unwrap();
        suspect.blocked = !suspect.blocked;
        let word = if suspect.blocked { "block" } else { "unblock" };
        let path = format!("/users/{}/{word}", self.suspect);
        assert_eq!(self.server.admin.put(&path, &[]).await.status, 200);
    }

    /// What the user wrote elsewhere is the ghost account's at once, and still is when the job is done.
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
        self.server.work().await;
    }
}
