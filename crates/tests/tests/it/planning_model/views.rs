//! Compares the responses for every user with the model.

use holdfast_tests::SeededRng;
use serde_json::{Value, json};

use super::actions::Driver;
use super::model::*;

/// A filter and order of a list of issues.
#[derive(Default)]
struct Filter {
    state: Option<&'static str>,
    labels: Vec<String>,
    milestone: Option<String>,
    iid: Option<i64>,
    order_by: Option<&'static str>,
    sort: Option<&'static str>,
}

impl Filter {
    fn random(rng: &mut SeededRng) -> Self {
        let label =
            |rng: &mut SeededRng| (*rng.pick(&["bug", "doc", "later", "now", "ui", "ux", "no such"])).to_owned();
        Self {
            state: *rng.pick(&[None, Some("opened"), Some("closed"), Some("all")]),
            labels: (0..*rng.pick(&[0, 0, 1, 2])).map(|_| label(rng)).collect(),
            milestone: rng.one_in(5).then(|| format!("m{}", rng.next_between(1, 6))),
            iid: None,
            order_by: *rng.pick(&[None, Some("created_at"), Some("updated_at")]),
            sort: *rng.pick(&[None, Some("asc"), Some("desc")]),
        }
    }

    fn query(&self) -> String {
        let mut query = String::new();
        let mut add = |name: &str, value: Option<String>| {
            query.extend(value.map(|value| format!("&{name}={value}")));
        };
        add("state", self.state.map(Into::into));
        add("labels", (!self.labels.is_empty()).then(|| self.labels.join(",")));
        add("milestone", self.milestone.clone());
        add("iid", self.iid.map(|iid| iid.to_string()));
        add("order_by", self.order_by.map(Into::into));
        add("sort", self.sort.map(Into::into));
        query
    }

    fn matches(&self, model: &Model, issue: &Issue, all_labels: bool) -> bool {
        let has = |name: &String| issue.labels.contains(name);
        let is_labeled = if all_labels { self.labels.iter().all(has) } else { self.labels.iter().any(has) };
        let milestone = || Some(&*model.milestones[&issue.milestone?].title);
        (self.labels.is_empty() || is_labeled)
            && match self.state {
                Some("opened") => !issue.is_closed(),
                Some("closed") => issue.is_closed(),
                _ => true,
            }
            && self.milestone.as_deref().is_none_or(|title| milestone() == Some(title))
            && self.iid.is_none_or(|iid| iid == issue.iid)
    }

    /// Returns the issues that meet filter and condition, as responses show them.
    fn apply(&self, model: &Model, all_labels: bool, condition: impl Fn(&Issue) -> bool) -> Vec<Value> {
        let kept = |issue: &Issue| condition(issue) && self.matches(model, issue, all_labels);
        let mut found: Vec<(i64, &Issue)> =
            model.issues.iter().map(|(id, issue)| (*id, issue)).filter(|it| kept(it.1)).collect();
        match self.order_by {
            Some("updated_at") => found.sort_by_key(|(id, issue)| (issue.updated_at, *id)),
            _ => found.sort_by_key(|(id, issue)| (issue.created_at, *id)),
        }
        if self.sort != Some("asc") {
            found.reverse();
        }
        found.into_iter().map(|(id, _)| model.issue_facts(id)).collect()
    }
}

impl Driver {
    /// Compares a random page of a list.
    async fn compare(
        &mut self,
        caller: Caller,
        path: &str,
        query: &str,
        allowed: Decision,
        expected: Vec<Value>,
        facts: fn(&Value) -> Value,
    ) {
        let size = *self.rng.pick(&[3, 10, 100]);
        let page = self.rng.next_between(1, expected.len() / size + 1);
        let url = format!("{path}?per_page={size}&page={page}{query}");
        let answer = self.client(caller).get(&url).await;
        self.requests += 1;
        let status = allowed.err().unwrap_or(200);
        assert_eq!(answer.status, status, "{url} of {caller:?}: {}", answer.text);
        if status != 200 {
            return;
        }
        self.accepted += 1;
        let shown: Vec<Value> = answer.body.as_array().unwrap().iter().map(facts).collect();
        let slice: Vec<Value> = expected.iter().skip((page - 1) * size).take(size).cloned().collect();
        let total = expected.len().to_string();
        assert_eq!(json!(shown), json!(slice), "{url} of {caller:?}");
        assert_eq!(answer.header("x-total"), Some(&*total), "{url} of {caller:?}");
    }

    pub async fn compare_all(&mut self) {
        for caller in self.everybody.clone() {
            for project in self.model.projects.keys().copied().collect::<Vec<_>>() {
                self.compare_issues(caller, project).await;
                self.compare_labels(caller, project).await;
                match self.rng.next_below(4) {
                    0 => self.compare_milestone(caller, project).await,
                    1 => self.compare_board(caller, project).await,
                    2 => self.compare_count(caller, project).await,
                    _ => self.compare_feed(caller, project).await,
                }
            }
            self.compare_own_issues(caller).await;
            for group in self.model.groups.keys().copied().collect::<Vec<_>>() {
                self.compare_group(caller, group).await;
            }
            for _ in 0..3 {
                self.compare_user_feed(caller).await;
                self.compare_issue(caller).await;
            }
        }
    }

    async fn compare_issues(&mut self, caller: Caller, project: i64) {
        let mut filter = Filter::random(&mut self.rng);
        if self.rng.one_in(8) {
            let last = self.model.projects[&project].last_iid as usize;
            filter = Filter { iid: Some(self.rng.next_between(1, last + 1) as i64), ..Filter::default() };
        }
        let model = &self.model;
        let allowed = model.check_project(caller, project, MinAccess::SignedIn, Feature::Issues);
        let expected =
            filter.apply(model, false, |issue| issue.project == project && model.can_see_issue(caller, issue));
        let path = format!("/projects/{project}/issues");
        self.compare(caller, &path, &filter.query(), allowed, expected, parse_issue).await;
    }

    /// Compares an issue and its notes, without system notes.
    async fn compare_issue(&mut self, caller: Caller) {
        let issues: Vec<i64> = self.model.issues.keys().copied().collect();
        if issues.is_empty() {
            return;
        }
        let id = *self.rng.pick(&issues);
        let project = self.model.issues[&id].project;
        let path = format!("/projects/{project}/issues/{id}");
        let client = self.client(caller);
        let (shown, notes) = (client.get(&path).await, client.get(&format!("{path}/notes?per_page=100")).await);
        self.requests += 2;
        let model = &self.model;
        let allowed = model.check_project(caller, project, MinAccess::SignedIn, Feature::Issues);
        let allowed = allowed.and_then(|()| model.find_issue(caller, project, id).map(|_| ()));
        let status = allowed.err().unwrap_or(200);
        assert_eq!((shown.status, notes.status), (status, status), "{path} of {caller:?}");
        if allowed.is_ok() {
            self.accepted += 2;
            assert_eq!(parse_issue(&shown.body), model.issue_facts(id), "{path} of {caller:?}");
            let notes = notes.body.as_array().unwrap().iter().filter(|note| note["system"] == false);
            let notes: Vec<_> = notes.map(|note| json!([note["id"], note["author"]["id"], note["body"]])).collect();
            let expected = model.notes.iter().filter(|(_, note)| note.issue == id);
            let expected: Vec<_> = expected.map(|(id, note)| json!([id, note.author, note.body])).collect();
            assert_eq!(notes, expected, "{path}/notes of {caller:?}");
        }
    }

    async fn compare_labels(&mut self, caller: Caller, project: i64) {
        let model = &self.model;
        let is_on = model.check_project(Some(1), project, MinAccess::Visible, Feature::IssuesOrMergeRequests).is_ok();
        let count = |name: &str, closed: bool| {
            let carries = |issue: &&Issue| issue.project == project && issue.labels.contains(name);
            let seen = model.issues.values().filter(carries).filter(|issue| model.can_see_issue(caller, issue));
            seen.filter(|issue| issue.is_closed() == closed).count()
        };
        let names = if is_on { model.label_names(project) } else { Default::default() };
        let facts = |name: &String| {
            json!([model.labels[&(project, name.clone())], name, count(name, false), count(name, true)])
        };
        let expected = names.iter().map(facts).collect();
        let allowed = model.check_project(caller, project, MinAccess::Visible, Feature::None);
        let facts: fn(&Value) -> Value =
            |body| json!([body["id"], body["name"], body["open_issues_count"], body["closed_issues_count"]]);
        self.compare(caller, &format!("/projects/{project}/labels"), "", allowed, expected, facts).await;
    }

    async fn compare_milestone(&mut self, caller: Caller, project: i64) {
        let milestones: Vec<i64> = self.model.milestones.keys().copied().collect();
        let id = *self.rng.pick(&milestones);
        let of = if self.rng.one_in(10) { project } else { self.model.milestones[&id].project };
        let model = &self.model;
        let is_here = model.milestones[&id].project == of;
        let allowed = model.check_project(caller, of, MinAccess::SignedIn, Feature::Issues);
        let allowed = allowed.and(if is_here { Ok(()) } else { Err(404) });
        let is_in = |issue: &Issue| issue.milestone == Some(id) && model.can_see_issue(caller, issue);
        let expected = Filter::default().apply(model, false, is_in);
        let path = format!("/projects/{of}/milestones/{id}/issues");
        self.compare(caller, &path, "", allowed, expected, parse_issue).await;
    }

    async fn compare_board(&mut self, caller: Caller, project: i64) {
        let model = &self.model;
        let lists = model.project_lists(project);
        let board = format!("/projects/{project}/boards/{project}/lists");
        let positions = lists.iter().enumerate();
        let expected = positions.map(|(position, list)| json!([list.id, list.label, position])).collect();
        let some = lists.get(self.rng.next_below(lists.len() + 1)).map(|list| (list.id, list.label.clone()));
        let allowed = model.check_project(caller, project, MinAccess::SignedIn, Feature::None);
        let facts: fn(&Value) -> Value = |body| json!([body["id"], body["label"]["name"], body["position"]]);
        self.compare(caller, &board, "", allowed, expected, facts).await;
        let Some((list, label)) = some else { return };
        let model = &self.model;
        let allowed = model.check_project(caller, project, MinAccess::SignedIn, Feature::Issues);
        let filter = Filter { state: Some("opened"), labels: vec![label], ..Filter::default() };
        let expected =
            filter.apply(model, false, |issue| issue.project == project && model.can_see_issue(caller, issue));
        self.compare(caller, &format!("{board}/{list}/issues"), "", allowed, expected, parse_issue).await;
    }

    /// Compares the issue count, which includes confidential issues only for managers.
    async fn compare_count(&mut self, caller: Caller, project: i64) {
        let answer = self.client(caller).get(&format!("/projects/{project}")).await;
        self.requests += 1;
        let model = &self.model;
        let allowed = model.check_project(caller, project, MinAccess::Visible, Feature::None);
        assert_eq!(answer.status, allowed.err().unwrap_or(200), "project {project} of {caller:?}");
        if allowed.is_ok() {
            let open = model.issues.values().filter(|issue| issue.project == project && !issue.is_closed());
            let counted = open.filter(|issue| !issue.confidential || model.can_manage(caller, project)).count();
            assert_eq!(answer.body["open_issues_count"], counted, "project {project} of {caller:?}");
        }
    }

    fn events(&self, caller: Caller, condition: impl Fn(&Event) -> bool) -> Vec<Value> {
        let model = &self.model;
        let visible = model.events.iter().rev().filter(|event| condition(event) && model.can_see_event(caller, event));
        visible.map(|event| model.event_facts(event)).collect()
    }

    async fn compare_feed(&mut self, caller: Caller, project: i64) {
        let allowed = self.model.check_project(caller, project, MinAccess::Visible, Feature::None);
        let expected = self.events(caller, |event| event.project == project);
        self.compare(caller, &format!("/projects/{project}/events"), "", allowed, expected, parse_event).await;
    }

    async fn compare_user_feed(&mut self, caller: Caller) {
        let users: Vec<i64> = self.everybody.iter().flatten().copied().collect();
        let user = *self.rng.pick(&users);
        let is_there = self.model.users.contains_key(&user);
        let allowed = self.model.check_active(caller).and(match caller {
            None => Err(401),
            Some(_) if !is_there => Err(404),
            Some(_) => Ok(()),
        });
        let expected = self.events(caller, |event| event.author == user);
        self.compare(caller, &format!("/users/{user}/events"), "", allowed, expected, parse_event).await;
    }

    async fn compare_own_issues(&mut self, caller: Caller) {
        let filter = Filter::random(&mut self.rng);
        let model = &self.model;
        let allowed = model.check_active(caller).and(if caller.is_none() { Err(401) } else { Ok(()) });
        let is_own = |issue: &Issue| {
            caller == Some(issue.author)
                && model.can_see(caller, issue.project)
                && model.projects[&issue.project].issues_enabled
        };
        let expected = filter.apply(model, true, is_own);
        self.compare(caller, "/issues", &filter.query(), allowed, expected, parse_issue).await;
    }

    async fn compare_group(&mut self, caller: Caller, group: i64) {
        let filter = Filter::random(&mut self.rng);
        let model = &self.model;
        let is_in = |issue: &Issue| {
            let project = &model.projects[&issue.project];
            project.group == Some(group) && project.issues_enabled && model.can_see_issue(caller, issue)
        };
        let expected = filter.apply(model, true, is_in);
        let allowed = model.check_group(caller, group);
        let path = format!("/groups/{group}/issues");
        self.compare(caller, &path, &filter.query(), allowed, expected, parse_issue).await;
    }
}
