//! The operations of users and runners on a pipeline, and their expected results.

use chrono::TimeDelta;
use holdfast_tests::{Client, TestResponse};
use serde_json::json;

use super::driver::Driver;
use super::model::{Build, Claim, Status};

const OUTCOMES: [Status; 2] = [Status::Success, Status::Failed];
const TEXT: &str = "One line of a trace.\n";

impl Driver {
    /// Runs a random operation on a pipeline, and returns its description.
    pub async fn run_operation(&mut self, at: usize) -> String {
        match self.rng.next_below(100) {
            0..25 => self.request_job().await,
            25..57 => self.finish(at).await,
            57..62 => self.finish_twice(at).await,
            62..66 => self.report_finished(at).await,
            66..70 => self.report_wrong_token(at).await,
            70..75 => self.send_heartbeat(at).await,
            75..78 => self.append(at).await,
            78..83 => self.cancel_build(at).await,
            83..85 => self.cancel_pipeline(at).await,
            85..91 => self.retry_build(at).await,
            91..94 => self.retry_pipeline(at).await,
            94..99 => self.play(at).await,
            _ => self.toggle_builds().await,
        }
    }

    /// Runs another operation if no build fits: a runner requests a build, or a user acts.
    async fn run_fallback(&mut self, at: usize) -> String {
        let has_eligible = (0..self.runners.len()).any(|it| !self.eligible_builds(it).is_empty());
        match self.rng.next_below(12) {
            0..8 if has_eligible => self.request_job().await,
            0 => self.request_job().await,
            1..7 => self.retry_build(at).await,
            7 | 8 => self.retry_pipeline(at).await,
            9 | 10 => self.play(at).await,
            _ => self.cancel_build(at).await,
        }
    }

    fn pick_caller(&mut self) -> (i64, Client) {
        self.rng.pick(&self.callers).clone()
    }

    /// Returns a random build of the pipeline that meets the condition, `None` if there is none.
    fn pick_build(&mut self, at: usize, condition: impl Fn(&Build) -> bool) -> Option<i64> {
        let builds = self.active[at].pipeline.builds.iter();
        let ids: Vec<i64> = builds.filter(|build| condition(build)).map(|build| build.id).collect();
        if ids.is_empty() { None } else { Some(*self.rng.pick(&ids)) }
    }

    /// Returns a build that meets the condition in most cases, and otherwise any build.
    fn prefer_build(&mut self, at: usize, condition: impl Fn(&Build) -> bool) -> i64 {
        let preferred = if self.rng.one_in(4) { None } else { self.pick_build(at, condition) };
        preferred.or_else(|| self.pick_build(at, |_| true)).unwrap()
    }

    async fn post(&self, caller: &Client, path: &str) -> TestResponse {
        self.http.v3(caller, "POST", &format!("/projects/{}/{path}", self.project), &[]).await
    }

    /// Returns the builds of all pipelines that a runner may get; the server chooses one.
    fn eligible_builds(&self, runner: usize) -> Vec<i64> {
        let builds = self.active.iter().flat_map(|history| &history.pipeline.builds);
        builds.filter(|build| self.runners[runner].can_run(build)).map(|build| build.id).collect()
    }

    async fn request_job(&mut self) -> String {
        let able_runners: Vec<usize> =
            (0..self.runners.len()).filter(|it| !self.eligible_builds(*it).is_empty()).collect();
        let is_random = able_runners.is_empty() || self.rng.one_in(4);
        let at = if is_random { self.rng.next_below(self.runners.len()) } else { *self.rng.pick(&able_runners) };
        let eligible = self.eligible_builds(at);
        let mut body = json!({"token": self.runners[at].token, "info": {"name": "model", "executor": "shell"}});
        // There was no build for the runner when it got this value, so a new build must have changed it.
        if let Some(last_update) = &self.runners[at].last_update
            && !eligible.is_empty()
            && self.rng.one_in(2)
        {
            body["last_update"] = json!(last_update);
        }
        let response = self.http.v4("POST", "/jobs/request", &body).await;
        let what = format!("runner {} asks", self.runners[at].id);
        if eligible.is_empty() {
            *self.counts.entry("ask in vain: 204".into()).or_default() += 1;
            if response.status != 204 {
                self.fail(&format!("{what}: there is nothing for it, but {} {}", response.status, response.text));
            }
            self.runners[at].last_update = response.header("X-GitLab-Last-Update").map(str::to_owned);
            return what;
        }
        let id = response.body["id"].as_i64().unwrap_or_default();
        if response.status != 201 || !eligible.contains(&id) {
            self.fail(&format!("{what}: any of {eligible:?} is for it, but {} {}", response.status, response.text));
        }
        if !self.claimed_builds.insert(id) {
            self.fail(&format!("{what}: it gets #{id}, which somebody got before"));
        }
        let of = self.active.iter().position(|it| it.pipeline.builds.iter().any(|build| build.id == id)).unwrap();
        self.expect("ask", of, &response, 201);
        self.log_step(of, format!("runner {} has #{id}", self.runners[at].id));
        let job = &self.active[of].pipeline.build(id).job;
        let reported = (&response.body["job_info"]["name"], &response.body["job_info"]["stage"]);
        if reported != (&json!(job.name), &json!(job.stage_name)) {
            self.fail(&format!("{what}: the response describes another build: {}", response.text));
        }
        let token = response.body["token"].as_str().unwrap().to_owned();
        let timeout = TimeDelta::seconds(response.body["runner_info"]["timeout"].as_i64().unwrap());
        let taken = Claim { runner: self.runners[at].id, token, timeout, contacted_at: self.now, trace_length: 0 };
        self.active[of].pipeline.claim_build(id, taken, self.now);
        what
    }

    async fn report(&self, id: i64, token: &str, state: &str) -> TestResponse {
        self.http.v4("PUT", &format!("/jobs/{id}"), &json!({"token": token, "state": state})).await
    }

    fn token_of(&self, at: usize, id: i64) -> String {
        self.active[at].pipeline.build(id).claim.as_ref().unwrap().token.clone()
    }

    /// Checks that a request for a build that is not running is rejected, and that the response has its status.
    fn expect_rejected(&mut self, what: &str, at: usize, id: i64, response: &TestResponse) {
        self.expect(what, at, response, 403);
        let status = self.active[at].pipeline.build(id).status.as_str();
        if response.header("Job-Status") != Some(status) {
            self.fail(&format!("{what} of #{id} should have Job-Status {status}: {:?}", response.headers));
        }
    }

    async fn finish(&mut self, at: usize) -> String {
        let Some(id) = self.pick_build(at, |build| build.status == Status::Running) else {
            return self.run_fallback(at).await;
        };
        let status = if self.rng.one_in(3) { Status::Failed } else { Status::Success };
        let answer = self.report(id, &self.token_of(at, id), status.as_str()).await;
        self.log_step(at, format!("#{id} is reported {}", status.as_str()));
        self.expect(&format!("report {}", status.as_str()), at, &answer, 200);
        self.active[at].pipeline.finish_build(id, status, self.now);
        format!("report of #{id}")
    }

    async fn finish_twice(&mut self, at: usize) -> String {
        let Some(id) = self.pick_build(at, |build| build.status == Status::Running) else {
            return self.run_fallback(at).await;
        };
        let (first, second) = (*self.rng.pick(&OUTCOMES), *self.rng.pick(&OUTCOMES));
        let token = self.token_of(at, id);
        let answer = self.report(id, &token, first.as_str()).await;
        self.log_step(at, format!("#{id} is reported {}, then {}", first.as_str(), second.as_str()));
        self.expect(&format!("report {}", first.as_str()), at, &answer, 200);
        self.active[at].pipeline.finish_build(id, first, self.now);
        let again = self.report(id, &token, second.as_str()).await;
        self.expect_rejected("report again", at, id, &again);
        format!("two reports of #{id}")
    }

    /// Reports the result of a build that has already ended by its runner, a user, or a timeout.
    async fn report_finished(&mut self, at: usize) -> String {
        let is_over = |build: &Build| build.claim.is_some() && !build.status.is_active();
        let Some(id) = self.pick_build(at, is_over) else {
            return self.run_fallback(at).await;
        };
        self.report_stale(at, id).await;
        format!("late report of #{id}")
    }

    async fn report_stale(&mut self, at: usize, id: i64) {
        let token = self.token_of(at, id);
        let before = self.active[at].pipeline.build(id).status.as_str();
        if self.rng.one_in(4) {
            let start = self.active[at].pipeline.build(id).claim.as_ref().unwrap().trace_length;
            let answer = self.http.append(id, &token, start, TEXT).await;
            self.expect_rejected("late append", at, id, &answer);
        } else {
            let state = *self.rng.pick(&["running", "success", "failed"]);
            let answer = self.report(id, &token, state).await;
            self.log_step(at, format!("#{id} is reported {state}"));
            self.expect_rejected(&format!("late report of {before}"), at, id, &answer);
        }
    }

    async fn report_wrong_token(&mut self, at: usize) -> String {
        let id = self.prefer_build(at, |build| build.status.is_active());
        let all = self.active.iter().flat_map(|history| &history.pipeline.builds);
        let others = all.filter(|build| build.id != id).filter_map(|build| build.claim.as_ref());
        let mut tokens: Vec<String> = others.map(|taken| taken.token.clone()).collect();
        tokens.push(self.rng.pick(&self.runners).token.clone());
        tokens.push(self.rng.hex(20));
        tokens.push(String::new());
        let token = self.rng.pick(&tokens).clone();
        let state = *self.rng.pick(&["running", "success", "failed"]);
        let answer = if self.rng.one_in(4) {
            self.http.append(id, &token, 0, TEXT).await
        } else {
            self.report(id, &token, state).await
        };
        let what = format!("report of {} with a wrong token", self.active[at].pipeline.build(id).status.as_str());
        self.expect(&what, at, &answer, 403);
        format!("report of #{id} with a wrong token")
    }

    pub async fn send_heartbeat(&mut self, at: usize) -> String {
        let Some(id) = self.pick_build(at, |build| build.status == Status::Running) else {
            return self.run_fallback(at).await;
        };
        let answer = self.report(id, &self.token_of(at, id), "running").await;
        self.expect("touch", at, &answer, 200);
        self.active[at].pipeline.record_contact(id, 0, self.now);
        format!("touch of #{id}")
    }

    async fn append(&mut self, at: usize) -> String {
        let Some(id) = self.pick_build(at, |build| build.status == Status::Running) else {
            return self.run_fallback(at).await;
        };
        let start = self.active[at].pipeline.build(id).claim.as_ref().unwrap().trace_length;
        let answer = self.http.append(id, &self.token_of(at, id), start, TEXT).await;
        self.expect("append", at, &answer, 202);
        self.active[at].pipeline.record_contact(id, TEXT.len(), self.now);
        let reported = (answer.header("Job-Status"), answer.header("Range"));
        if reported != (Some("running"), Some(&*format!("0-{}", start + TEXT.len()))) {
            self.fail(&format!("append to #{id} is answered {reported:?}"));
        }
        format!("append to #{id}")
    }

    async fn cancel_build(&mut self, at: usize) -> String {
        let id = self.prefer_build(at, |build| build.status.is_active());
        let (_, caller) = self.pick_caller();
        let before = self.active[at].pipeline.build(id).status.as_str();
        let answer = self.post(&caller, &format!("builds/{id}/cancel")).await;
        self.log_step(at, format!("#{id} is canceled"));
        self.expect(&format!("cancel {before}"), at, &answer, 201);
        self.active[at].pipeline.cancel(|build| build.id == id, self.now);
        self.expect_status(&answer, self.active[at].pipeline.build(id).status);
        // The runner does not know of it yet.
        if before == "running" && self.rng.one_in(2) {
            self.report_stale(at, id).await;
        }
        format!("cancel of #{id}")
    }

    pub async fn cancel_pipeline(&mut self, at: usize) -> String {
        let (id, before) = (self.active[at].pipeline.id, self.active[at].pipeline.status.as_str());
        let (_, caller) = self.pick_caller();
        let answer = self.post(&caller, &format!("pipelines/{id}/cancel")).await;
        self.expect(&format!("cancel {before} pipeline"), at, &answer, 200);
        self.active[at].pipeline.cancel(|_| true, self.now);
        self.expect_status(&answer, self.active[at].pipeline.status);
        "cancel of the pipeline".into()
    }

    async fn retry_build(&mut self, at: usize) -> String {
        let id = self.prefer_build(at, |build| build.status.is_complete());
        let (user, caller) = self.pick_caller();
        let before = self.active[at].pipeline.build(id).status.as_str();
        let answer = self.post(&caller, &format!("builds/{id}/retry")).await;
        self.log_step(at, format!("#{id} is retried"));
        if self.active[at].pipeline.is_retryable(id) {
            self.expect(&format!("retry {before}"), at, &answer, 201);
            self.expect_status(&answer, Status::Pending);
            let ids = self.new_builds(self.active[at].pipeline.id).await;
            let job = &self.active[at].pipeline.build(id).job;
            if answer.body["id"] != json!(ids.get(&job.name)) {
                self.fail(&format!("the answer is not the new build of {ids:?}: {}", answer.text));
            }
            self.active[at].pipeline.retry_build(id, &ids, user, self.now);
        } else {
            self.expect(&format!("retry {before} in vain"), at, &answer, 403);
            if !answer.text.contains("Build is not retryable") {
                self.fail(&format!("the reason is missing: {}", answer.text));
            }
        }
        format!("retry of #{id}")
    }

    async fn retry_pipeline(&mut self, at: usize) -> String {
        let (id, before) = (self.active[at].pipeline.id, self.active[at].pipeline.status.as_str());
        let (user, caller) = self.pick_caller();
        let answer = self.post(&caller, &format!("pipelines/{id}/retry")).await;
        self.expect(&format!("retry {before} pipeline"), at, &answer, 201);
        let is_queued = self.active[at].pipeline.has_retryable();
        let ids = self.new_builds(id).await;
        self.active[at].pipeline.retry(&ids, user, self.now);
        self.expect_status(&answer, if is_queued { Status::Pending } else { self.active[at].pipeline.status });
        "retry of the pipeline".into()
    }

    async fn play(&mut self, at: usize) -> String {
        let playable: Vec<i64> = self.active[at].pipeline.builds.iter().map(|build| build.id).collect();
        let playable: Vec<i64> = playable.into_iter().filter(|id| self.active[at].pipeline.is_playable(*id)).collect();
        let id = self.prefer_build(at, |build| playable.contains(&build.id));
        let (user, caller) = self.pick_caller();
        let before = self.active[at].pipeline.build(id).status.as_str();
        let answer = self.post(&caller, &format!("builds/{id}/play")).await;
        self.log_step(at, format!("#{id} is played"));
        if playable.contains(&id) {
            self.expect(&format!("play {before}"), at, &answer, 200);
            self.expect_status(&answer, Status::Pending);
            self.active[at].pipeline.play(id, user, self.now);
        } else {
            self.expect(&format!("play {before} in vain"), at, &answer, 400);
        }
        format!("play of #{id}")
    }

    /// Enables or disables builds; while they are disabled, no runner gets one.
    async fn toggle_builds(&mut self) -> String {
        let path = format!("/projects/{}", self.project);
        let owner = self.callers[0].1.clone();
        let off = self.http.v3(&owner, "PUT", &path, &[("builds_enabled", "false")]).await;
        assert_eq!(off.status, 200, "{}", off.text);
        for runner in &self.runners {
            let answer = self.http.v4("POST", "/jobs/request", &json!({"token": runner.token})).await;
            if answer.status != 204 {
                self.fail(&format!("builds are off, but runner {} gets {}", runner.id, answer.text));
            }
        }
        let on = self.http.v3(&owner, "PUT", &path, &[("builds_enabled", "true")]).await;
        assert_eq!(on.status, 200, "{}", on.text);
        *self.counts.entry("builds off: 204".into()).or_default() += 1;
        "switching builds off and on".into()
    }
}
