//! One project, its runners, and the pipelines that are under way in it: what the server shows of them is what the model
//! says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use chrono::TimeDelta;
use holdfast_tests::{Answer, Client, Dice, Server, WorkTree};
use serde_json::json;

use super::compare::stamp;
use super::http::Http;
use super::model::{Build, Pipeline, Status, Time};
use super::plan::{self, Plan};
use crate::projects::add;

/// Pipelines that are under way in a project at once.
const LIVE: usize = 3;
/// After so many operations a pipeline is left alone.
const OPERATIONS: usize = 25;
const BRANCHES: usize = 40;

pub struct Runner {
    pub id: i64,
    pub token: String,
    pub tags: &'static [&'static str],
    pub run_untagged: bool,
    pub active: bool,
    /// What it was told when there was nothing for it.
    pub last_update: Option<String>,
}

impl Runner {
    /// Rule 13.
    pub fn may_run(&self, build: &Build) -> bool {
        let tags = &build.job.tags;
        self.active
            && build.status == Status::Pending
            && tags.iter().all(|tag| self.tags.contains(tag))
            && (self.run_untagged || !tags.is_empty())
    }
}

/// A pipeline from its creation to its end.
pub struct History {
    pub pipeline: Pipeline,
    plan: usize,
    operations: usize,
    log: Vec<String>,
}

pub struct Play {
    pub http: Http,
    pub project: i64,
    /// With the ids of their users.
    pub callers: Vec<(i64, Client)>,
    pub runners: Vec<Runner>,
    plans: Vec<Plan>,
    pub dice: Dice,
    pub now: Time,
    pub live: Vec<History>,
    pub over: Vec<Pipeline>,
    /// Histories that are still to begin.
    to_begin: usize,
    /// Builds that runners got.
    pub handed_out: BTreeSet<i64>,
    /// What was done how often, with the answer.
    pub tally: BTreeMap<String, usize>,
    /// Comparisons of everything under way.
    pub compared: usize,
    pub operations: usize,
    must_compare: bool,
    /// Runners had reason to say that they are alive.
    was_pause: bool,
}

impl Play {
    pub async fn new(server: &Server, number: usize, mut dice: Dice, histories: usize, now: Time) -> Self {
        let (name, http) = (format!("owner{number}"), Http::new(&server.base));
        let (owner_id, owner) = server.user(&name).await;
        let project = server.project(&owner, "p", 0).await;
        let (developer_id, developer) = server.user(&format!("developer{number}")).await;
        add(&owner, &format!("/projects/{project}"), developer_id.get(), 30).await;
        let plans: Vec<Plan> = (0..BRANCHES).map(|number| Plan::random(&mut dice, format!("b{number}"))).collect();
        let tree = WorkTree::new().await;
        tree.import(plan::stream(&plans)).await;
        tree.push(&server.git_url(&owner, &format!("{name}/p")), &["--all"]).await.ok();
        let mut play = Self {
            http,
            project,
            callers: vec![(owner_id.get(), owner), (developer_id.get(), developer)],
            runners: Vec::new(),
            plans,
            dice,
            now,
            live: Vec::new(),
            over: Vec::new(),
            to_begin: histories,
            handed_out: BTreeSet::new(),
            tally: BTreeMap::new(),
            compared: 0,
            operations: 0,
            must_compare: false,
            was_pause: false,
        };
        for (tags, run_untagged, active) in [
            (&[][..], true, true),
            (&["a"], true, true),
            (&["a", "b"], false, true),
            (&["a", "b", "c"], true, true),
            (&["c", "b"], false, true),
            (&["a", "b", "c", "rare"], true, false),
        ] {
            play.register(tags, run_untagged, active).await;
        }
        play
    }

    async fn register(&mut self, tags: &'static [&'static str], run_untagged: bool, active: bool) {
        let shown = self.http.v3(&self.callers[0].1, "GET", &format!("/projects/{}", self.project), &[]).await;
        let body = json!({
            "token": shown.body["runners_token"],
            "description": "model",
            "tag_list": tags.join(","),
            "run_untagged": run_untagged,
            "active": active,
            "info": {"name": "model", "version": "1.0"},
        });
        let made = self.http.v4("POST", "/runners", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let (id, token) = (made.body["id"].as_i64().unwrap(), made.body["token"].as_str().unwrap().to_owned());
        self.runners.push(Runner { id, token, tags, run_untagged, active, last_update: None });
    }

    pub fn is_done(&self) -> bool {
        self.to_begin == 0 && self.live.is_empty()
    }

    /// Something happens to each pipeline that is under way, at one moment.
    pub async fn round(&mut self) {
        if std::mem::take(&mut self.must_compare) {
            self.learn_starts().await;
            self.compare("time passed").await;
        }
        if self.to_begin > 0 && self.live.len() < LIVE {
            self.begin().await;
        }
        let was_pause = std::mem::take(&mut self.was_pause);
        for at in 0..self.live.len() {
            // Otherwise hardly any build would live long enough to run too long.
            let what = if was_pause && !self.dice.one_in(3) { self.touch(at).await } else { self.act(at).await };
            self.live[at].operations += 1;
            self.operations += 1;
            self.compare(&what).await;
            if self.dice.one_in(4) {
                self.compare_pipeline(at).await;
            }
        }
        for at in (0..self.live.len()).rev() {
            let history = &self.live[at];
            if history.operations >= OPERATIONS || history.pipeline.is_over() && self.dice.one_in(8) {
                self.end(at).await;
            }
        }
    }

    async fn begin(&mut self) {
        self.to_begin -= 1;
        let plan = self.dice.below(self.plans.len());
        let (user, caller) = self.dice.pick(&self.callers).clone();
        let branch = self.plans[plan].branch.clone();
        let path = format!("/projects/{}/pipeline", self.project);
        let made = self.http.v3(&caller, "POST", &path, &[("ref", &branch)]).await;
        let id = made.body["id"].as_i64().unwrap_or_default();
        let ids = self.new_builds(id).await;
        let pipeline = Pipeline::new(id, &self.plans[plan].jobs, &ids, user, self.now);
        let status = pipeline.status;
        self.live.push(History { pipeline, plan, operations: 0, log: Vec::new() });
        self.expect("create", self.live.len() - 1, &made, 201);
        self.expect_status(&made, status);
        self.compare("create").await;
    }

    /// The last look; what is still under way is canceled, so that no runner gets it any more.
    async fn end(&mut self, at: usize) {
        if !self.live[at].pipeline.is_over() {
            self.cancel_pipeline(at).await;
            self.compare("cancel at the end").await;
        }
        self.compare_pipeline(at).await;
        let history = self.live.remove(at);
        self.over.push(history.pipeline);
    }

    /// By name, of that pipeline, which the model does not know yet.
    pub async fn new_builds(&self, pipeline: i64) -> BTreeMap<String, i64> {
        let known = self.live.iter().find(|history| history.pipeline.id == pipeline);
        let last = known.and_then(|history| history.pipeline.builds.last()).map_or(0, |build| build.id);
        let listed = self.get("builds?per_page=20").await;
        let listed = listed.body.as_array().unwrap().iter();
        let new = listed.filter(|it| it["pipeline"]["id"] == pipeline && it["id"].as_i64().is_some_and(|id| id > last));
        new.map(|it| (it["name"].as_str().unwrap().to_owned(), it["id"].as_i64().unwrap())).collect()
    }

    /// Below the project.
    pub async fn get(&self, path: &str) -> Answer {
        let answer = self.http.v3(&self.callers[0].1, "GET", &format!("/projects/{}/{path}", self.project), &[]).await;
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.text);
        answer
    }

    /// So many seconds, and perhaps the job that looks after what is stuck.
    pub fn time_passes(&mut self, now: Time, tended: bool) {
        self.was_pause = now - self.now > TimeDelta::minutes(9);
        self.now = now;
        if tended {
            self.must_compare = true;
            for why in self.live.iter_mut().flat_map(|history| history.pipeline.tend(now)) {
                *self.tally.entry(format!("given up: {why}")).or_default() += 1;
            }
        }
        for at in 0..self.live.len() {
            self.note(at, format!("time passes{}", if tended { ", what is stuck is given up" } else { "" }));
        }
    }

    pub fn is_at_a_deadline(&self, now: Time) -> bool {
        self.live.iter().any(|history| history.pipeline.is_at_a_deadline(now))
    }

    pub fn note(&mut self, at: usize, what: String) {
        self.live[at].log.push(format!("{} {what}", self.now.format("%d. %H:%M:%S")));
    }

    /// The answer has that status; it is counted.
    pub fn expect(&mut self, what: &str, at: usize, answer: &Answer, status: u16) {
        self.note(at, format!("{what}: {}", answer.status));
        *self.tally.entry(format!("{what}: {status}")).or_default() += 1;
        if answer.status != status {
            self.fail(&format!("{what} should be answered {status}: {} {}", answer.status, answer.text));
        }
    }

    pub fn expect_status(&self, answer: &Answer, status: Status) {
        if answer.body["status"] != status.word() {
            self.fail(&format!("the answer should say {}: {}", status.word(), answer.text));
        }
    }

    pub fn fail(&self, what: &str) -> ! {
        let mut text = format!("{what}\nin project {} at {}", self.project, stamp(Some(self.now)));
        for History { pipeline, plan, log, .. } in &self.live {
            let file = &self.plans[*plan].text;
            write!(text, "\n\n=== pipeline #{}\n{file}--- {}", pipeline.id, log.join("\n--- ")).unwrap();
        }
        panic!("{text}");
    }
}
