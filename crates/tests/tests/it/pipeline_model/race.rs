//! Many concurrent runners on two nodes, while users cancel builds: each build is claimed by one runner, and all of
//! them end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdfast_tests::{Client, SeededRng, Server, TestResponse, WorkTree};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::http::Http;
use super::{run_without_log, seed};

const PROJECTS: usize = 2;
const PIPELINES: usize = 5;
const JOBS: usize = 20;
const RUNNERS: usize = 25;
const CANCELERS: usize = 4;
const CANCELS_PER_CLIENT: usize = 15;
/// The deadline of the whole test.
const DEADLINE: Duration = Duration::from_secs(120);

struct RaceFixture {
    /// Kept because its directories are deleted with it.
    _server: Server,
    nodes: Vec<Http>,
    owner: Client,
    projects: Vec<i64>,
    /// Projects and pipelines.
    pipelines: Vec<(i64, i64)>,
    list_builds: Vec<(i64, i64)>,
    /// The runner of each claimed build.
    claimed: Mutex<BTreeMap<i64, i64>>,
    /// The acknowledged status of each build.
    reported: Mutex<BTreeMap<i64, &'static str>>,
    /// Builds for which a cancel request was sent; recorded before the request.
    canceled: Mutex<BTreeSet<i64>>,
}

struct Runner {
    id: i64,
    token: String,
    project: i64,
    tags: &'static [&'static str],
    run_untagged: bool,
}

fn tag(job: usize) -> Option<&'static str> {
    [Some("a"), Some("b"), None][job % 3]
}

/// Returns a CI file with two stages, in which no build prevents another from running.
fn file() -> String {
    let mut text = String::from("stages: [one, two]\n");
    for job in 0..JOBS {
        let stage = if job < JOBS / 2 { "one" } else { "two" };
        write!(text, "j{job}:\n  stage: {stage}\n  script: [\"true\"]\n  allow_failure: true\n").unwrap();
        if let Some(tag) = tag(job) {
            writeln!(text, "  tags: [{tag}]").unwrap();
        }
    }
    text
}

async fn pause(milliseconds: u64) {
    tokio::time::timeout(Duration::from_millis(milliseconds), std::future::pending::<()>()).await.ok();
}

impl RaceFixture {
    async fn new() -> (Self, Vec<Runner>) {
        let server = Server::start().await;
        let another = format!("http://{}", server.another_node().await);
        let nodes = vec![Http::new(&server.base_url), Http::new(&another)];
        let (_, owner) = server.user("ada").await;
        let (mut projects, mut pipelines) = (Vec::new(), Vec::new());
        let (mut builds, mut runners) = (Vec::new(), Vec::new());
        for number in 0..PROJECTS {
            let project = server.project(&owner, &format!("p{number}"), 0).await;
            let tree = WorkTree::new().await;
            tree.commit(".gitlab-ci.yml", file().as_bytes(), "Plan [ci skip]").await;
            tree.push(&server.git_url(&owner, &format!("ada/p{number}")), &["main"]).await.ok();
            register(&nodes[0], &owner, project, &mut runners).await;
            for number in 0..PIPELINES {
                let path = format!("/projects/{project}/pipeline");
                let made = nodes[number % 2].v3(&owner, "POST", &path, &[("ref", "main")]).await;
                assert_eq!(made.status, 201, "{}", made.text);
                pipelines.push((project, made.body["id"].as_i64().unwrap()));
            }
            let listed = nodes[0].v3(&owner, "GET", &format!("/projects/{project}/builds?per_page=100"), &[]).await;
            builds.extend(listed.ids().into_iter().map(|id| (project, id)));
            projects.push(project);
        }
        let (handed_out, reported, unwanted) = Default::default();
        let fixture = Self {
            _server: server,
            nodes,
            owner,
            projects,
            pipelines,
            list_builds: builds,
            claimed: handed_out,
            reported,
            canceled: unwanted,
        };
        (fixture, runners)
    }

    async fn post(&self, rng: &mut SeededRng, path: &str) -> TestResponse {
        rng.pick(&self.nodes).v3(&self.owner, "POST", path, &[]).await
    }

    /// Requests, runs and reports builds until all are finished.
    async fn run_runner(&self, runner: &Runner, mut rng: SeededRng, mut done: watch::Receiver<bool>) {
        let mut last_update = None;
        loop {
            let body = json!({"token": runner.token, "last_update": last_update});
            let node = *rng.pick(&[0, 1]);
            let answer = tokio::select! {
                answer = self.nodes[node].v4("POST", "/jobs/request", &body) => answer,
                _ = done.wait_for(|is_done| *is_done) => return,
            };
            match answer.status {
                201 => {
                    let id = self.record_claim(runner, &answer.body);
                    self.report(id, answer.body["token"].as_str().unwrap(), &mut rng).await;
                }
                204 => {
                    last_update = answer.header("X-GitLab-Last-Update").map(str::to_owned);
                    pause(20).await;
                }
                // Another runner claimed the build first.
                409 => last_update = None,
                _ => panic!("{} {}", answer.status, answer.text),
            }
        }
    }

    fn record_claim(&self, runner: &Runner, job: &Value) -> i64 {
        let id = job["id"].as_i64().unwrap();
        let before = self.claimed.lock().unwrap().insert(id, runner.id);
        assert_eq!(before, None, "#{id} went to a second runner, {}", runner.id);
        assert!(self.list_builds.contains(&(runner.project, id)), "#{id} is not of the runner's project");
        let name = job["job_info"]["name"].as_str().unwrap();
        let tag = tag(name[1..].parse().unwrap());
        let may_run = tag.map_or(runner.run_untagged, |tag| runner.tags.contains(&tag));
        assert!(may_run, "{name} is not for a runner with {:?}", runner.tags);
        id
    }

    /// Reports a result, with one request or with two concurrent ones: one of them is accepted, unless the build is
    /// canceled.
    async fn report(&self, id: i64, token: &str, rng: &mut SeededRng) {
        let put = async |node: usize, state: &'static str| {
            let body = json!({"token": token, "state": state});
            let answer = self.nodes[node].v4("PUT", &format!("/jobs/{id}"), &body).await;
            assert!([200, 403].contains(&answer.status), "{} {}", answer.status, answer.text);
            (state, answer)
        };
        let answers = if rng.one_in(3) {
            let (one, other) = tokio::join!(put(0, "success"), put(1, "failed"));
            vec![one, other]
        } else {
            pause(rng.next_below(500) as u64).await;
            vec![put(rng.next_below(2), *rng.pick(&["success", "failed"])).await]
        };
        let heard: Vec<&str> = answers.iter().filter(|it| it.1.status == 200).map(|it| it.0).collect();
        match heard[..] {
            [state] => _ = self.reported.lock().unwrap().insert(id, state),
            [] => {
                assert!(self.canceled.lock().unwrap().contains(&id), "#{id} is refused: {answers:?}");
                for (_, answer) in &answers {
                    assert_eq!(answer.header("Job-Status"), Some("canceled"), "#{id}");
                }
            }
            _ => panic!("#{id} ended twice"),
        }
    }

    async fn cancel(&self, mut rng: SeededRng) {
        for number in 0..CANCELS_PER_CLIENT {
            pause(rng.next_below(60) as u64).await;
            if number == CANCELS_PER_CLIENT / 3 && rng.one_in(2) {
                let (project, pipeline) = *rng.pick(&self.pipelines);
                let builds = self.list_project_builds(project).await;
                let builds = builds.iter().filter(|build| build["pipeline"]["id"] == pipeline);
                self.canceled.lock().unwrap().extend(builds.map(|build| build["id"].as_i64().unwrap()));
                let answer = self.post(&mut rng, &format!("/projects/{project}/pipelines/{pipeline}/cancel")).await;
                assert_eq!(answer.status, 200, "{}", answer.text);
            } else {
                let (project, id) = self.pick_build(&mut rng);
                self.canceled.lock().unwrap().insert(id);
                let answer = self.post(&mut rng, &format!("/projects/{project}/builds/{id}/cancel")).await;
                assert_eq!(answer.status, 201, "{}", answer.text);
            }
        }
    }

    /// Returns a build, preferably one that is running.
    fn pick_build(&self, rng: &mut SeededRng) -> (i64, i64) {
        let reported = self.reported.lock().unwrap();
        let handed_out = self.claimed.lock().unwrap();
        let is_run = |(_, id): &&(i64, i64)| handed_out.contains_key(id) && !reported.contains_key(id);
        let run: Vec<(i64, i64)> = self.list_builds.iter().filter(is_run).copied().collect();
        let is_any = run.is_empty() || rng.one_in(2);
        *rng.pick(if is_any { &self.list_builds } else { &run })
    }

    async fn list_project_builds(&self, project: i64) -> Vec<Value> {
        let path = format!("/projects/{project}/builds?per_page=100");
        self.nodes[1].v3(&self.owner, "GET", &path, &[]).await.body.as_array().unwrap().clone()
    }

    async fn builds(&self) -> Vec<Value> {
        let mut builds = Vec::new();
        for project in &self.projects {
            builds.extend(self.list_project_builds(*project).await);
        }
        builds
    }

    async fn wait_until_finished(&self) {
        let began = Instant::now();
        loop {
            let builds = self.builds().await;
            let is_active = |it: &&Value| ["created", "pending", "running"].iter().any(|word| it["status"] == *word);
            let active: Vec<&Value> = builds.iter().filter(is_active).collect();
            if active.is_empty() {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "nobody runs {active:#?}");
            pause(100).await;
        }
    }

    /// Checks all builds, and returns their number by outcome.
    async fn check(&self) -> BTreeMap<String, usize> {
        let (handed_out, reported) = (self.claimed.lock().unwrap().clone(), self.reported.lock().unwrap().clone());
        let unwanted = self.canceled.lock().unwrap().clone();
        let builds = self.builds().await;
        assert_eq!(builds.len(), PROJECTS * PIPELINES * JOBS);
        let mut tally = BTreeMap::<String, usize>::new();
        for build in &builds {
            let id = build["id"].as_i64().unwrap();
            let status = build["status"].as_str().unwrap();
            let runner = handed_out.get(&id);
            assert_eq!(build["runner"]["id"], json!(runner), "{build}");
            assert_eq!(build["started_at"].is_string(), runner.is_some(), "{build}");
            assert!(build["finished_at"].is_string(), "{build}");
            match reported.get(&id) {
                Some(state) => assert_eq!(status, *state, "{build}"),
                None => assert!(status == "canceled" && unwanted.contains(&id), "nobody ended it: {build}"),
            }
            // All builds may fail, so the pipeline succeeds.
            assert_eq!(build["pipeline"]["status"], "success", "{build}");
            let way = if runner.is_some() { "taken" } else { "never taken" };
            *tally.entry(format!("{way}, {status}")).or_default() += 1;
        }
        tally
    }
}

async fn register(node: &Http, owner: &Client, project: i64, runners: &mut Vec<Runner>) {
    let shown = node.v3(owner, "GET", &format!("/projects/{project}"), &[]).await;
    for number in 0..RUNNERS {
        let (tags, run_untagged) = [(&["a"][..], true), (&["b"], false), (&["a", "b"], true), (&[], true)][number % 4];
        let body = json!({
            "token": shown.body["runners_token"],
            "tag_list": tags.join(","),
            "run_untagged": run_untagged,
        });
        let made = node.v4("POST", "/runners", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let (id, token) = (made.body["id"].as_i64().unwrap(), made.body["token"].as_str().unwrap().to_owned());
        runners.push(Runner { id, token, project, tags, run_untagged });
    }
}

#[test]
fn a_build_never_runs_twice() {
    let seed = seed();
    println!("HOLDFAST_SEED={seed}");
    run_without_log(async move {
        let (fixture, runners) = RaceFixture::new().await;
        let (fixture, began) = (Arc::new(fixture), Instant::now());
        let (end, done) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for (number, runner) in runners.into_iter().enumerate() {
            let (fixture, done, rng) = (fixture.clone(), done.clone(), SeededRng::new(seed, number as u64));
            tasks.spawn(async move { fixture.run_runner(&runner, rng, done).await });
        }
        for number in 0..CANCELERS {
            let (fixture, rng) = (fixture.clone(), SeededRng::new(seed, 1000 + number as u64));
            tasks.spawn(async move { fixture.cancel(rng).await });
        }
        // The canceling tasks end by themselves, the runners when `done` is sent. A panic of any task fails the test.
        let mut over = std::pin::pin!(fixture.wait_until_finished());
        let mut is_over = false;
        while !tasks.is_empty() {
            tokio::select! {
                () = &mut over, if !is_over => is_over = end.send(true).is_ok(),
                Some(ended) = tasks.join_next() => {
                    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
                }
            }
        }
        let tally = fixture.check().await;
        println!("{tally:?} in {:.1?}", began.elapsed());
    });
}
