//! Drives one project with its runners and active pipelines, and compares the server with the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use chrono::TimeDelta;
use holdfast_tests::{Client, SeededRng, Server, TestResponse, WorkTree};
use serde_json::json;

use super::compare::format_time;
use super::http::Http;
use super::model::{Build, Pipeline, Status, Time};
use super::plan::{self, Plan};
use crate::projects::add_member;

/// Maximum number of active pipelines of a project.
const MAX_LIVE_PIPELINES: usize = 3;
/// Number of operations after which a pipeline is finished.
const MAX_OPERATIONS: usize = 25;
const BRANCHES: usize = 40;

pub struct Runner {
    pub id: i64,
    pub token: String,
    pub tags: &'static [&'static str],
    pub run_untagged: bool,
    pub active: bool,
    /// The `X-GitLab-Last-Update` header of the last response without a build.
    pub last_update: Option<String>,
}

impl Runner {
    /// Returns whether this runner may claim a build.
    pub fn can_run(&self, build: &Build) -> bool {
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

pub struct Driver {
    pub http: Http,
    pub project: i64,
    /// The users of the project: ids and clients.
    pub callers: Vec<(i64, Client)>,
    pub runners: Vec<Runner>,
    plans: Vec<Plan>,
    pub rng: SeededRng,
    pub now: Time,
    pub active: Vec<History>,
    pub finished: Vec<Pipeline>,
    /// Number of histories that have not started yet.
    remaining: usize,
    /// Builds that were claimed by runners.
    pub claimed_builds: BTreeSet<i64>,
    /// Number of operations by name and status.
    pub counts: BTreeMap<String, usize>,
    /// Number of comparisons of all active pipelines.
    pub comparison_count: usize,
    pub operation_count: usize,
    needs_compare: bool,
    /// Whether the last pause was so long that runners have to send heartbeats.
    had_pause: bool,
}

impl Driver {
    pub async fn new(server: &Server, number: usize, mut rng: SeededRng, histories: usize, now: Time) -> Self {
        let (name, http) = (format!("owner{number}"), Http::new(&server.base_url));
        let (owner_id, owner) = server.user(&name).await;
        let project = server.project(&owner, "p", 0).await;
        let (developer_id, developer) = server.user(&format!("developer{number}")).await;
        add_member(&owner, &format!("/projects/{project}"), developer_id.get(), 30).await;
        let plans: Vec<Plan> = (0..BRANCHES).map(|number| Plan::random(&mut rng, format!("b{number}"))).collect();
        let tree = WorkTree::new().await;
        tree.fast_import(plan::import_stream(&plans)).await;
        tree.push(&server.git_url(&owner, &format!("{name}/p")), &["--all"]).await.ok();
        let mut driver = Self {
            http,
            project,
            callers: vec![(owner_id.get(), owner), (developer_id.get(), developer)],
            runners: Vec::new(),
            plans,
            rng,
            now,
            active: Vec::new(),
            finished: Vec::new(),
            remaining: histories,
            claimed_builds: BTreeSet::new(),
            counts: BTreeMap::new(),
            comparison_count: 0,
            operation_count: 0,
            needs_compare: false,
            had_pause: false,
        };
        for (tags, run_untagged, active) in [
            (&[][..], true, true),
            (&["a"], true, true),
            (&["a", "b"], false, true),
            (&["a", "b", "c"], true, true),
            (&["c", "b"], false, true),
            (&["a", "b", "c", "rare"], true, false),
        ] {
            driver.register_runner(tags, run_untagged, active).await;
        }
        driver
    }

    async fn register_runner(&mut self, tags: &'static [&'static str], run_untagged: bool, active: bool) {
        let shown = self.http.v3(&self.callers[0].1, "GET", &format!("/projects/{}", self.project), &[]).await;
        let body = json!({
            "token": shown.body["runners_token"],
            "description": "model",
            "tag_list": tags.join(","),
            "run_untagged": run_untagged,
            "active": active,
            "info": {"name": "model", "version": "1.0"},
        });
        let response = self.http.v4("POST", "/runners", &body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        let (id, token) = (response.body["id"].as_i64().unwrap(), response.body["token"].as_str().unwrap().to_owned());
        self.runners.push(Runner { id, token, tags, run_untagged, active, last_update: None });
    }

    pub fn is_done(&self) -> bool {
        self.remaining == 0 && self.active.is_empty()
    }

    /// Runs one operation on each active pipeline, at the same time of the clock.
    pub async fn run_round(&mut self) {
        if std::mem::take(&mut self.needs_compare) {
            self.read_start_times().await;
            self.compare("time passed").await;
        }
        if self.remaining > 0 && self.active.len() < MAX_LIVE_PIPELINES {
            self.start_pipeline().await;
        }
        let was_pause = std::mem::take(&mut self.had_pause);
        for at in 0..self.active.len() {
            // Without heartbeats, hardly any build would live long enough to exceed its timeout.
            let what = if was_pause && !self.rng.one_in(3) {
                self.send_heartbeat(at).await
            } else {
                self.run_operation(at).await
            };
            self.active[at].operations += 1;
            self.operation_count += 1;
            self.compare(&what).await;
            if self.rng.one_in(4) {
                self.compare_pipeline(at).await;
            }
        }
        for at in (0..self.active.len()).rev() {
            let history = &self.active[at];
            if history.operations >= MAX_OPERATIONS || history.pipeline.is_finished() && self.rng.one_in(8) {
                self.finish_pipeline(at).await;
            }
        }
    }

    async fn start_pipeline(&mut self) {
        self.remaining -= 1;
        let plan = self.rng.next_below(self.plans.len());
        let (user, caller) = self.rng.pick(&self.callers).clone();
        let branch = self.plans[plan].branch.clone();
        let path = format!("/projects/{}/pipeline", self.project);
        let made = self.http.v3(&caller, "POST", &path, &[("ref", &branch)]).await;
        let id = made.body["id"].as_i64().unwrap_or_default();
        let ids = self.new_builds(id).await;
        let pipeline = Pipeline::new(id, &self.plans[plan].jobs, &ids, user, self.now);
        let status = pipeline.status;
        self.active.push(History { pipeline, plan, operations: 0, log: Vec::new() });
        self.expect("create", self.active.len() - 1, &made, 201);
        self.expect_status(&made, status);
        self.compare("create").await;
    }

    /// Compares a pipeline for the last time. Cancels it first if it is active, so that no runner gets its builds.
    async fn finish_pipeline(&mut self, at: usize) {
        if !self.active[at].pipeline.is_finished() {
            self.cancel_pipeline(at).await;
            self.compare("cancel at the end").await;
        }
        self.compare_pipeline(at).await;
        let history = self.active.remove(at);
        self.finished.push(history.pipeline);
    }

    /// Returns the builds of a pipeline that the model does not have yet, by name.
    pub async fn new_builds(&self, pipeline: i64) -> BTreeMap<String, i64> {
        let known = self.active.iter().find(|history| history.pipeline.id == pipeline);
        let last = known.and_then(|history| history.pipeline.builds.last()).map_or(0, |build| build.id);
        let listed = self.get("builds?per_page=20").await;
        let listed = listed.body.as_array().unwrap().iter();
        let new = listed.filter(|it| it["pipeline"]["id"] == pipeline && it["id"].as_i64().is_some_and(|id| id > last));
        new.map(|it| (it["name"].as_str().unwrap().to_owned(), it["id"].as_i64().unwrap())).collect()
    }

    /// Sends a GET request; `path` is relative to the project.
    pub async fn get(&self, path: &str) -> TestResponse {
        let answer = self.http.v3(&self.callers[0].1, "GET", &format!("/projects/{}/{path}", self.project), &[]).await;
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.text);
        answer
    }

    /// Sets the clock of the driver, and fails stale builds in the model if the server did so.
    pub fn advance_time(&mut self, now: Time, was_swept: bool) {
        self.had_pause = now - self.now > TimeDelta::minutes(9);
        self.now = now;
        if was_swept {
            self.needs_compare = true;
            for why in self.active.iter_mut().flat_map(|history| history.pipeline.fail_stale(now)) {
                *self.counts.entry(format!("given up: {why}")).or_default() += 1;
            }
        }
        for at in 0..self.active.len() {
            self.log_step(at, format!("time passes{}", if was_swept { ", what is stuck is given up" } else { "" }));
        }
    }

    pub fn is_at_deadline(&self, now: Time) -> bool {
        self.active.iter().any(|history| history.pipeline.is_at_deadline(now))
    }

    pub fn log_step(&mut self, at: usize, what: String) {
        self.active[at].log.push(format!("{} {what}", self.now.format("%d. %H:%M:%S")));
    }

    /// Checks the status of a response, and counts it.
    pub fn expect(&mut self, what: &str, at: usize, response: &TestResponse, status: u16) {
        self.log_step(at, format!("{what}: {}", response.status));
        *self.counts.entry(format!("{what}: {status}")).or_default() += 1;
        if response.status != status {
            self.fail(&format!("{what} should be answered {status}: {} {}", response.status, response.text));
        }
    }

    pub fn expect_status(&self, response: &TestResponse, status: Status) {
        if response.body["status"] != status.as_str() {
            self.fail(&format!("the answer should say {}: {}", status.as_str(), response.text));
        }
    }

    pub fn fail(&self, what: &str) -> ! {
        let mut text = format!("{what}\nin project {} at {}", self.project, format_time(Some(self.now)));
        for History { pipeline, plan, log, .. } in &self.active {
            let file = &self.plans[*plan].text;
            write!(text, "\n\n=== pipeline #{}\n{file}--- {}", pipeline.id, log.join("\n--- ")).unwrap();
        }
        panic!("{text}");
    }
}
