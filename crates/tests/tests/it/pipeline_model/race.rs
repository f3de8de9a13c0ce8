//! Many runners at once, on two nodes, while people cancel: each build goes to one of them, and none is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdfast_tests::{Answer, Client, Dice, Server, WorkTree};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::http::Http;
use super::{run, seed};

const PROJECTS: usize = 2;
const PIPELINES: usize = 5;
const JOBS: usize = 20;
const RUNNERS: usize = 25;
const CANCELERS: usize = 4;
const CANCELS: usize = 15;
/// For all of it.
const DEADLINE: Duration = Duration::from_secs(120);

struct World {
    /// Its directories go with it.
    _server: Server,
    nodes: Vec<Http>,
    owner: Client,
    projects: Vec<i64>,
    /// With their projects.
    pipelines: Vec<(i64, i64)>,
    builds: Vec<(i64, i64)>,
    /// Who got what.
    handed_out: Mutex<BTreeMap<i64, i64>>,
    /// What was acknowledged.
    reported: Mutex<BTreeMap<i64, &'static str>>,
    /// What somebody wanted canceled, before the server knew of it.
    unwanted: Mutex<BTreeSet<i64>>,
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

/// Two stages; nothing that becomes of one build keeps another from running.
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

impl World {
    async fn new() -> (Self, Vec<Runner>) {
        let server = Server::start().await;
        let another = format!("http://{}", server.another_node().await);
        let nodes = vec![Http::new(&server.base), Http::new(&another)];
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
        let world = Self { _server: server, nodes, owner, projects, pipelines, builds, handed_out, reported, unwanted };
        (world, runners)
    }

    async fn post(&self, dice: &mut Dice, path: &str) -> Answer {
        dice.pick(&self.nodes).v3(&self.owner, "POST", path, &[]).await
    }

    /// Asks, runs and reports until everything is over.
    async fn work(&self, runner: &Runner, mut dice: Dice, mut done: watch::Receiver<bool>) {
        let mut last_update = None;
        loop {
            let body = json!({"token": runner.token, "last_update": last_update});
            let node = *dice.pick(&[0, 1]);
            let answer = tokio::select! {
                answer = self.nodes[node].v4("POST", "/jobs/request", &body) => answer,
                _ = done.wait_for(|is_done| *is_done) => return,
            };
            match answer.status {
                201 => {
                    let id = self.note_taken(runner, &answer.body);
                    self.report(id, answer.body["token"].as_str().unwrap(), &mut dice).await;
                }
                204 => {
                    last_update = answer.header("X-GitLab-Last-Update").map(str::to_owned);
                    pause(20).await;
                }
                // Somebody else was quicker.
                409 => last_update = None,
                _ => panic!("{} {}", answer.status, answer.text),
            }
        }
    }

    fn note_taken(&self, runner: &Runner, job: &Value) -> i64 {
        let id = job["id"].as_i64().unwrap();
        let before = self.handed_out.lock().unwrap().insert(id, runner.id);
        assert_eq!(before, None, "#{id} went to a second runner, {}", runner.id);
        assert!(self.builds.contains(&(runner.project, id)), "#{id} is not of the runner's project");
        let name = job["job_info"]["name"].as_str().unwrap();
        let tag = tag(name[1..].parse().unwrap());
        let may_run = tag.map_or(runner.run_untagged, |tag| runner.tags.contains(&tag));
        assert!(may_run, "{name} is not for a runner with {:?}", runner.tags);
        id
    }

    /// By one or two voices at once: one of them is heard, unless the build is canceled.
    async fn report(&self, id: i64, token: &str, dice: &mut Dice) {
        let put = async |node: usize, state: &'static str| {
            let body = json!({"token": token, "state": state});
            let answer = self.nodes[node].v4("PUT", &format!("/jobs/{id}"), &body).await;
            assert!([200, 403].contains(&answer.status), "{} {}", answer.status, answer.text);
            (state, answer)
        };
        let answers = if dice.one_in(3) {
            let (one, other) = tokio::join!(put(0, "success"), put(1, "failed"));
            vec![one, other]
        } else {
            pause(dice.below(500) as u64).await;
            vec![put(dice.below(2), *dice.pick(&["success", "failed"])).await]
        };
        let heard: Vec<&str> = answers.iter().filter(|it| it.1.status == 200).map(|it| it.0).collect();
        match heard[..] {
            [state] => _ = self.reported.lock().unwrap().insert(id, state),
            [] => {
                assert!(self.unwanted.lock().unwrap().contains(&id), "#{id} is refused: {answers:?}");
                for (_, answer) in &answers {
                    assert_eq!(answer.header("Job-Status"), Some("canceled"), "#{id}");
                }
            }
            _ => panic!("#{id} ended twice"),
        }
    }

    async fn cancel(&self, mut dice: Dice) {
        for number in 0..CANCELS {
            pause(dice.below(60) as u64).await;
            if number == CANCELS / 3 && dice.one_in(2) {
                let (project, pipeline) = *dice.pick(&self.pipelines);
                let builds = self.builds_of(project).await;
                let builds = builds.iter().filter(|build| build["pipeline"]["id"] == pipeline);
                self.unwanted.lock().unwrap().extend(builds.map(|build| build["id"].as_i64().unwrap()));
                let answer = self.post(&mut dice, &format!("/projects/{project}/pipelines/{pipeline}/cancel")).await;
                assert_eq!(answer.status, 200, "{}", answer.text);
            } else {
                let (project, id) = self.some_build(&mut dice);
                self.unwanted.lock().unwrap().insert(id);
                let answer = self.post(&mut dice, &format!("/projects/{project}/builds/{id}/cancel")).await;
                assert_eq!(answer.status, 201, "{}", answer.text);
            }
        }
    }

    /// Rather one that a runner is at.
    fn some_build(&self, dice: &mut Dice) -> (i64, i64) {
        let reported = self.reported.lock().unwrap();
        let handed_out = self.handed_out.lock().unwrap();
        let is_run = |(_, id): &&(i64, i64)| handed_out.contains_key(id) && !reported.contains_key(id);
        let run: Vec<(i64, i64)> = self.builds.iter().filter(is_run).copied().collect();
        let is_any = run.is_empty() || dice.one_in(2);
        *dice.pick(if is_any { &self.builds } else { &run })
    }

    async fn builds_of(&self, project: i64) -> Vec<Value> {
        let path = format!("/projects/{project}/builds?per_page=100");
        self.nodes[1].v3(&self.owner, "GET", &path, &[]).await.body.as_array().unwrap().clone()
    }

    async fn builds(&self) -> Vec<Value> {
        let mut builds = Vec::new();
        for project in &self.projects {
            builds.extend(self.builds_of(*project).await);
        }
        builds
    }

    async fn wait_for_the_end(&self) {
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

    /// How many went which way.
    async fn check(&self) -> BTreeMap<String, usize> {
        let (handed_out, reported) = (self.handed_out.lock().unwrap().clone(), self.reported.lock().unwrap().clone());
        let unwanted = self.unwanted.lock().unwrap().clone();
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
            // Whatever became of its builds, each may fail.
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
    run(async move {
        let (world, runners) = World::new().await;
        let (world, began) = (Arc::new(world), Instant::now());
        let (end, done) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for (number, runner) in runners.into_iter().enumerate() {
            let (world, done, dice) = (world.clone(), done.clone(), Dice::new(seed, number as u64));
            tasks.spawn(async move { world.work(&runner, dice, done).await });
        }
        for number in 0..CANCELERS {
            let (world, dice) = (world.clone(), Dice::new(seed, 1000 + number as u64));
            tasks.spawn(async move { world.cancel(dice).await });
        }
        // Cancels come to an end by themselves, runners when they are told to; a failure of any is the test's.
        let mut over = std::pin::pin!(world.wait_for_the_end());
        let mut is_over = false;
        while !tasks.is_empty() {
            tokio::select! {
                () = &mut over, if !is_over => is_over = end.send(true).is_ok(),
                Some(ended) = tasks.join_next() => {
                    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
                }
            }
        }
        let tally = world.check().await;
        println!("{tally:?} in {:.1?}", began.elapsed());
    });
}
