//! Actions on boards, labels and milestones.

use super::actions::{Driver, LABELS};
use super::model::*;

const MILESTONES: [&str; 5] = ["m1", "m2", "m3", "m4", "m5"];

impl Driver {
    fn board_path(&self, project: i64) -> String {
        format!("/projects/{project}/boards/{project}")
    }

    /// Returns the id of a list of the project, or 0 for none.
    fn pick_list(&mut self, project: i64) -> i64 {
        let lists: Vec<i64> = self.model.project_lists(project).iter().map(|list| list.id).chain([0]).collect();
        *self.rng.pick(&lists)
    }

    fn label_of_list(&self, id: i64) -> Option<String> {
        self.model.lists.iter().find(|list| list.id == id).map(|list| list.label.clone())
    }

    pub(super) async fn create_list(&mut self, caller: Caller, project: i64) {
        let labels: Vec<(i64, String)> = self.model.labels.keys().cloned().collect();
        if labels.is_empty() {
            return;
        }
        let (of, name) = self.rng.pick(&labels).clone();
        let is_taken = self.model.project_lists(project).iter().any(|list| list.label == name);
        // An unknown label is reported to every user who can read the board.
        let read = self.model.check_project(caller, project, MinAccess::SignedIn, Feature::None);
        let allowed = read.and(if of == project { Ok(200) } else { Err(400) });
        let allowed = allowed.and(self.model.check_project(caller, project, MinAccess::Level(REPORTER), Feature::None));
        let allowed = allowed.and(if is_taken { Err(400) } else { Ok(200) });
        let (path, id) = (format!("{}/lists", self.board_path(project)), self.model.labels[&(of, name.clone())]);
        if let Some(made) = self.send(caller, ("POST", &path), &[("label_id", id.to_string())], allowed).await {
            self.model.lists.push(List { id: made.body["id"].as_i64().unwrap(), project, label: name });
        }
    }

    pub(super) async fn move_card(&mut self, caller: Caller, project: i64, id: i64) {
        let (from, to) = (self.pick_list(project), self.pick_list(project));
        let form: Vec<(&str, String)> = [("from_list_id", from), ("to_list_id", to)]
            .into_iter()
            .filter(|it| it.1 != 0)
            .map(|(name, id)| (name, id.to_string()))
            .collect();
        if form.is_empty() {
            return;
        }
        let allowed = self.model.check_project(caller, project, MinAccess::Level(REPORTER), Feature::Issues);
        let allowed = allowed.and_then(|()| self.model.find_issue(caller, project, id).map(|_| 200));
        let path = format!("{}/issues/{id}", self.board_path(project));
        let Some(answer) = self.send(caller, ("PUT", &path), &form, allowed).await else { return };
        let mut issue = self.model.issues[&id].clone();
        let before = issue.labels.clone();
        if let Some(label) = self.label_of_list(from) {
            issue.labels.remove(&label);
        }
        issue.labels.extend(self.label_of_list(to));
        let is_changed = issue.labels != before;
        self.save(caller, id, issue, is_changed).await;
        assert_eq!(parse_issue(&answer.body), self.model.issue_facts(id));
    }

    pub(super) async fn move_list(&mut self, caller: Caller, project: i64) {
        let (id, count) = (self.pick_list(project), self.model.project_lists(project).len());
        let position = self.rng.next_below(count + 1);
        let allowed = self.model.check_project(caller, project, MinAccess::Level(REPORTER), Feature::None);
        let allowed = allowed.and(match () {
            () if id == 0 => Err(404),
            () if position == count => Err(400),
            () => Ok(200),
        });
        let path = format!("{}/lists/{id}", self.board_path(project));
        if self.send(caller, ("PUT", &path), &[("position", position.to_string())], allowed).await.is_some() {
            let (mut here, others): (Vec<_>, Vec<_>) =
                self.model.lists.drain(..).partition(|list| list.project == project);
            let from = here.iter().position(|list| list.id == id).unwrap();
            let moved = here.remove(from);
            here.insert(position, moved);
            self.model.lists.extend(here.into_iter().chain(others));
        }
    }

    pub(super) async fn delete_list(&mut self, caller: Caller, project: i64) {
        let id = self.pick_list(project);
        let allowed = self.model.check_project(caller, project, MinAccess::Level(OWNER), Feature::None);
        let allowed = allowed.and(if id == 0 { Err(404) } else { Ok(200) });
        let path = format!("{}/lists/{id}", self.board_path(project));
        if self.send(caller, ("DELETE", &path), &[], allowed).await.is_some() {
            self.model.lists.retain(|list| list.id != id);
        }
    }

    fn check_label(&self, caller: Caller, project: i64) -> Decision {
        self.model.check_project(caller, project, MinAccess::Level(REPORTER), Feature::IssuesOrMergeRequests)
    }

    pub(super) async fn create_label(&mut self, caller: Caller, project: i64) {
        let name = (*self.rng.pick(&LABELS)).to_owned();
        let is_taken = self.model.label_names(project).contains(&name);
        let allowed = self.check_label(caller, project).and(if is_taken { Err(409) } else { Ok(200) });
        let form = [("name", name.clone()), ("color", "#123456".to_owned())];
        let path = format!("/projects/{project}/labels");
        if let Some(made) = self.send(caller, ("POST", &path), &form, allowed).await {
            self.model.labels.insert((project, name), made.body["id"].as_i64().unwrap());
        }
    }

    pub(super) async fn rename_label(&mut self, caller: Caller, project: i64) {
        let (from, to) = (*self.rng.pick(&LABELS), *self.rng.pick(&LABELS));
        let names = self.model.label_names(project);
        let allowed = self.check_label(caller, project).and(match () {
            () if !names.contains(from) => Err(404),
            () if from != to && names.contains(to) => Err(400),
            () => Ok(200),
        });
        let (path, form) = (format!("/projects/{project}/labels"), [("name", from.into()), ("new_name", to.into())]);
        if self.send(caller, ("PUT", &path), &form, allowed).await.is_some() {
            self.model.rename_label(project, from, to);
        }
    }

    pub(super) async fn delete_label(&mut self, caller: Caller, project: i64) {
        let name = *self.rng.pick(&LABELS);
        let is_there = self.model.label_names(project).contains(name);
        let allowed = self.check_label(caller, project).and(if is_there { Ok(200) } else { Err(404) });
        let path = format!("/projects/{project}/labels?name={name}");
        if self.send(caller, ("DELETE", &path), &[], allowed).await.is_some() {
            self.model.remove_label(project, name);
        }
    }

    pub(super) async fn create_milestone(&mut self, caller: Caller, project: i64) {
        let title = (*self.rng.pick(&MILESTONES)).to_owned();
        let is_taken = self.model.find_milestone(project, &title).is_some();
        let allowed =
            self.model.check_project(caller, project, MinAccess::Level(MASTER), Feature::IssuesOrMergeRequests);
        let allowed = allowed.and(if is_taken { Err(400) } else { Ok(201) });
        let path = format!("/projects/{project}/milestones");
        if let Some(made) = self.send(caller, ("POST", &path), &[("title", title.clone())], allowed).await {
            let id = made.body["id"].as_i64().unwrap();
            self.model.milestones.insert(id, Milestone { project, title, is_closed: false });
            self.record_event(project, caller, "opened", Subject::Milestone(id));
        }
    }

    pub(super) async fn close_milestone(&mut self, caller: Caller) {
        let milestones: Vec<i64> = self.model.milestones.keys().copied().collect();
        let id = *self.rng.pick(&milestones);
        let (project, closes) = (self.model.milestones[&id].project, self.rng.one_in(2));
        let allowed =
            self.model.check_project(caller, project, MinAccess::Level(MASTER), Feature::IssuesOrMergeRequests);
        let form = [("state_event", (if closes { "close" } else { "activate" }).to_owned())];
        let path = format!("/projects/{project}/milestones/{id}");
        if self.send(caller, ("PUT", &path), &form, allowed.map(|()| 200)).await.is_some() {
            let milestone = self.model.milestones.get_mut(&id).unwrap();
            if std::mem::replace(&mut milestone.is_closed, closes) != closes {
                self.record_event(project, caller, if closes { "closed" } else { "opened" }, Subject::Milestone(id));
            }
        }
    }
}
