//! What people and runners do to a pipeline, and what must come of it.

use chrono::TimeDelta;
use holdfast_tests::{Answer, Client};
use serde_json::json;

use super::driver::Play;
use super::model::{Build, Status, Taken};

const OUTCOMES: [Status; 2] = [Status::Success, Status::Failed];
const TEXT: &str = "One line of a trace.\n";

impl Play {
    /// Something, to that pipeline; what it was.
    pub async fn act(&mut self, at: usize) -> String {
        match self.dice.below(100) {
            0..25 => self.ask().await,
            25..57 => self.finish(at).await,
            57..62 => self.finish_twice(at).await,
            62..66 => self.report_too_late(at).await,
            66..70 => self.report_with_a_wrong_token(at).await,
            70..75 => self.touch(at).await,
            75..78 => self.append(at).await,
            78..83 => self.cancel_build(at).await,
            83..85 => self.cancel_pipeline(at).await,
            85..91 => self.retry_build(at).await,
            91..94 => self.retry_pipeline(at).await,
            94..99 => self.play(at).await,
            _ => self.switch_builds_off_and_on().await,
        }
    }

    /// There is no such build: who waits for one gets it, or people go on.
    async fn otherwise(&mut self, at: usize) -> String {
        let somebody_waits = (0..self.runners.len()).any(|it| !self.eligible(it).is_empty());
        match self.dice.below(12) {
            0..8 if somebody_waits => self.ask().await,
            0 => self.ask().await,
            1..7 => self.retry_build(at).await,
            7 | 8 => self.retry_pipeline(at).await,
            9 | 10 => self.play(at).await,
            _ => self.cancel_build(at).await,
        }
    }

    fn caller(&mut self) -> (i64, Client) {
        self.dice.pick(&self.callers).clone()
    }

    /// One of the pipeline's builds, if there is any like that.
    fn some_build(&mut self, at: usize, like: impl Fn(&Build) -> bool) -> Option<i64> {
        let builds = self.live[at].pipeline.builds.iter();
        let ids: Vec<i64> = builds.filter(|build| like(build)).map(|build| build.id).collect();
        if ids.is_empty() { None } else { Some(*self.dice.pick(&ids)) }
    }

    /// Mostly one like that, now and then any.
    fn rather(&mut self, at: usize, like: impl Fn(&Build) -> bool) -> i64 {
        let liked = if self.dice.one_in(4) { None } else { self.some_build(at, like) };
        liked.or_else(|| self.some_build(at, |_| true)).unwrap()
    }

    async fn post(&self, caller: &Client, path: &str) -> Answer {
        self.http.v3(caller, "POST", &format!("/projects/{}/{path}", self.project), &[]).await
    }

    /// What a runner may get, of whichever pipeline; which one is left to the server.
    fn eligible(&self, runner: usize) -> Vec<i64> {
        let builds = self.live.iter().flat_map(|history| &history.pipeline.builds);
        builds.filter(|build| self.runners[runner].may_run(build)).map(|build| build.id).collect()
    }

    async fn ask(&mut self) -> String {
        let able: Vec<usize> = (0..self.runners.len()).filter(|it| !self.eligible(*it).is_empty()).collect();
        let is_any = able.is_empty() || self.dice.one_in(4);
        let at = if is_any { self.dice.below(self.runners.len()) } else { *self.dice.pick(&able) };
        let eligible = self.eligible(at);
        let mut body = json!({"token": self.runners[at].token, "info": {"name": "model", "executor": "shell"}});
        // When it was told this, there was nothing for it: what came since must have changed it.
        if let Some(last_update) = &self.runners[at].last_update
            && !eligible.is_empty()
            && self.dice.one_in(2)
        {
            body["last_update"] = json!(last_update);
        }
        let answer = self.http.v4("POST", "/jobs/request", &body).await;
        let what = format!("runner {} asks", self.runners[at].id);
        if eligible.is_empty() {
            *self.tally.entry("ask in vain: 204".into()).or_default() += 1;
            if answer.status != 204 {
                self.fail(&format!("{what}: there is nothing for it, but {} {}", answer.status, answer.text));
            }
            self.runners[at].last_update = answer.header("X-GitLab-Last-Update").map(str::to_owned);
            return what;
        }
        let id = answer.body["id"].as_i64().unwrap_or_default();
        if answer.status != 201 || !eligible.contains(&id) {
            self.fail(&format!("{what}: any of {eligible:?} is for it, but {} {}", answer.status, answer.text));
        }
        if !self.handed_out.insert(id) {
            self.fail(&format!("{what}: it gets #{id}, which somebody got before"));
        }
        let of = self.live.iter().position(|it| it.pipeline.builds.iter().any(|build| build.id == id)).unwrap();
        self.expect("ask", of, &answer, 201);
        self.note(of, format!("runner {} has #{id}", self.runners[at].id));
        let job = &self.live[of].pipeline.build(id).job;
        let told = (&answer.body["job_info"]["name"], &answer.body["job_info"]["stage"]);
        if told != (&json!(job.name), &json!(job.stage_name)) {
            self.fail(&format!("{what}: it is told the wrong build: {}", answer.text));
        }
        let token = answer.body["token"].as_str().unwrap().to_owned();
        let timeout = TimeDelta::seconds(answer.body["runner_info"]["timeout"].as_i64().unwrap());
        let taken = Taken { runner: self.runners[at].id, token, timeout, heard_at: self.now, trace_length: 0 };
        self.live[of].pipeline.take(id, taken, self.now);
        what
    }

    async fn report(&self, id: i64, token: &str, state: &str) -> Answer {
        self.http.v4("PUT", &format!("/jobs/{id}"), &json!({"token": token, "state": state})).await
    }

    fn token_of(&self, at: usize, id: i64) -> String {
        self.live[at].pipeline.build(id).taken.as_ref().unwrap().token.clone()
    }

    /// It is not running: the runner is told so, and what it is.
    fn expect_refused(&mut self, what: &str, at: usize, id: i64, answer: &Answer) {
        self.expect(what, at, answer, 403);
        let status = self.live[at].pipeline.build(id).status.word();
        if answer.header("Job-Status") != Some(status) {
            self.fail(&format!("{what} of #{id} should tell Job-Status {status}: {:?}", answer.headers));
        }
    }

    async fn finish(&mut self, at: usize) -> String {
        let Some(id) = self.some_build(at, |build| build.status == Status::Running) else {
            return self.otherwise(at).await;
        };
        let status = if self.dice.one_in(3) { Status::Failed } else { Status::Success };
        let answer = self.report(id, &self.token_of(at, id), status.word()).await;
        self.note(at, format!("#{id} is reported {}", status.word()));
        self.expect(&format!("report {}", status.word()), at, &answer, 200);
        self.live[at].pipeline.finish(id, status, self.now);
        format!("report of #{id}")
    }

    async fn finish_twice(&mut self, at: usize) -> String {
        let Some(id) = self.some_build(at, |build| build.status == Status::Running) else {
            return self.otherwise(at).await;
        };
        let (first, second) = (*self.dice.pick(&OUTCOMES), *self.dice.pick(&OUTCOMES));
        let token = self.token_of(at, id);
        let answer = self.report(id, &token, first.word()).await;
        self.note(at, format!("#{id} is reported {}, then {}", first.word(), second.word()));
        self.expect(&format!("report {}", first.word()), at, &answer, 200);
        self.live[at].pipeline.finish(id, first, self.now);
        let again = self.report(id, &token, second.word()).await;
        self.expect_refused("report again", at, id, &again);
        format!("two reports of #{id}")
    }

    /// Of what is over, however it ended: by its runner, by people, or by time.
    async fn report_too_late(&mut self, at: usize) -> String {
        let is_over = |build: &Build| build.taken.is_some() && !build.status.is_active();
        let Some(id) = self.some_build(at, is_over) else {
            return self.otherwise(at).await;
        };
        self.report_late(at, id).await;
        format!("late report of #{id}")
    }

    async fn report_late(&mut self, at: usize, id: i64) {
        let token = self.token_of(at, id);
        let before = self.live[at].pipeline.build(id).status.word();
        if self.dice.one_in(4) {
            let start = self.live[at].pipeline.build(id).taken.as_ref().unwrap().trace_length;
            let answer = self.http.append(id, &token, start, TEXT).await;
            self.expect_refused("late append", at, id, &answer);
        } else {
            let state = *self.dice.pick(&["running", "success", "failed"]);
            let answer = self.report(id, &token, state).await;
            self.note(at, format!("#{id} is reported {state}"));
            self.expect_refused(&format!("late report of {before}"), at, id, &answer);
        }
    }

    async fn report_with_a_wrong_token(&mut self, at: usize) -> String {
        let id = self.rather(at, |build| build.status.is_active());
        let all = self.live.iter().flat_map(|history| &history.pipeline.builds);
        let others = all.filter(|build| build.id != id).filter_map(|build| build.taken.as_ref());
        let mut tokens: Vec<String> = others.map(|taken| taken.token.clone()).collect();
        tokens.push(self.dice.pick(&self.runners).token.clone());
        tokens.push(self.dice.hex(20));
        tokens.push(String::new());
        let token = self.dice.pick(&tokens).clone();
        let state = *self.dice.pick(&["running", "success", "failed"]);
        let answer = if self.dice.one_in(4) {
            self.http.append(id, &token, 0, TEXT).await
        } else {
            self.report(id, &token, state).await
        };
        let what = format!("report of {} with a wrong token", self.live[at].pipeline.build(id).status.word());
        self.expect(&what, at, &answer, 403);
        format!("report of #{id} with a wrong token")
    }

    pub async fn touch(&mut self, at: usize) -> String {
        let Some(id) = self.some_build(at, |build| build.status == Status::Running) else {
            return self.otherwise(at).await;
        };
        let answer = self.report(id, &self.token_of(at, id), "running").await;
        self.expect("touch", at, &answer, 200);
        self.live[at].pipeline.hear(id, 0, self.now);
        format!("touch of #{id}")
    }

    async fn append(&mut self, at: usize) -> String {
        let Some(id) = self.some_build(at, |build| build.status == Status::Running) else {
            return self.otherwise(at).await;
        };
        let start = self.live[at].pipeline.build(id).taken.as_ref().unwrap().trace_length;
        let answer = self.http.append(id, &self.token_of(at, id), start, TEXT).await;
        self.expect("append", at, &answer, 202);
        self.live[at].pipeline.hear(id, TEXT.len(), self.now);
        let told = (answer.header("Job-Status"), answer.header("Range"));
        if told != (Some("running"), Some(&*format!("0-{}", start + TEXT.len()))) {
            self.fail(&format!("append to #{id} is told {told:?}"));
        }
        format!("append to #{id}")
    }

    async fn cancel_build(&mut self, at: usize) -> String {
        let id = self.rather(at, |build| build.status.is_active());
        let (_, caller) = self.caller();
        let before = self.live[at].pipeline.build(id).status.word();
        let answer = self.post(&caller, &format!("builds/{id}/cancel")).await;
        self.note(at, format!("#{id} is canceled"));
        self.expect(&format!("cancel {before}"), at, &answer, 201);
        self.live[at].pipeline.cancel(|build| build.id == id, self.now);
        self.expect_status(&answer, self.live[at].pipeline.build(id).status);
        // Its runner does not know yet.
        if before == "running" && self.dice.one_in(2) {
            self.report_late(at, id).await;
        }
        format!("cancel of #{id}")
    }

    pub async fn cancel_pipeline(&mut self, at: usize) -> String {
        let (id, before) = (self.live[at].pipeline.id, self.live[at].pipeline.status.word());
        let (_, caller) = self.caller();
        let answer = self.post(&caller, &format!("pipelines/{id}/cancel")).await;
        self.expect(&format!("cancel {before} pipeline"), at, &answer, 200);
        self.live[at].pipeline.cancel(|_| true, self.now);
        self.expect_status(&answer, self.live[at].pipeline.status);
        "cancel of the pipeline".into()
    }

    async fn retry_build(&mut self, at: usize) -> String {
        let id = self.rather(at, |build| build.status.is_complete());
        let (user, caller) = self.caller();
        let before = self.live[at].pipeline.build(id).status.word();
        let answer = self.post(&caller, &format!("builds/{id}/retry")).await;
        self.note(at, format!("#{id} is retried"));
        if self.live[at].pipeline.is_retryable(id) {
            self.expect(&format!("retry {before}"), at, &answer, 201);
            self.expect_status(&answer, Status::Pending);
            let ids = self.new_builds(self.live[at].pipeline.id).await;
            let job = &self.live[at].pipeline.build(id).job;
            if answer.body["id"] != json!(ids.get(&job.name)) {
                self.fail(&format!("the answer is not the new build of {ids:?}: {}", answer.text));
            }
            self.live[at].pipeline.retry_build(id, &ids, user, self.now);
        } else {
            self.expect(&format!("retry {before} in vain"), at, &answer, 403);
            if !answer.text.contains("Build is not retryable") {
                self.fail(&format!("the reason is missing: {}", answer.text));
            }
        }
        format!("retry of #{id}")
    }

    async fn retry_pipeline(&mut self, at: usize) -> String {
        let (id, before) = (self.live[at].pipeline.id, self.live[at].pipeline.status.word());
        let (user, caller) = self.caller();
        let answer = self.post(&caller, &format!("pipelines/{id}/retry")).await;
        self.expect(&format!("retry {before} pipeline"), at, &answer, 201);
        let is_queued = self.live[at].pipeline.has_something_to_retry();
        let ids = self.new_builds(id).await;
        self.live[at].pipeline.retry(&ids, user, self.now);
        self.expect_status(&answer, if is_queued { Status::Pending } else { self.live[at].pipeline.status });
        "retry of the pipeline".into()
    }

    async fn play(&mut self, at: usize) -> String {
        let playable: Vec<i64> = self.live[at].pipeline.builds.iter().map(|build| build.id).collect();
        let playable: Vec<i64> = playable.into_iter().filter(|id| self.live[at].pipeline.is_playable(*id)).collect();
        let id = self.rather(at, |build| playable.contains(&build.id));
        let (user, caller) = self.caller();
        let before = self.live[at].pipeline.build(id).status.word();
        let answer = self.post(&caller, &format!("builds/{id}/play")).await;
        self.note(at, format!("#{id} is played"));
        if playable.contains(&id) {
            self.expect(&format!("play {before}"), at, &answer, 200);
            self.expect_status(&answer, Status::Pending);
            self.live[at].pipeline.play(id, user, self.now);
        } else {
            self.expect(&format!("play {before} in vain"), at, &answer, 400);
        }
        format!("play of #{id}")
    }

    /// Meanwhile nobody gets anything.
    async fn switch_builds_off_and_on(&mut self) -> String {
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
        *self.tally.entry("builds off: 204".into()).or_default() += 1;
        "switching builds off and on".into()
    }
}
