//! Invariants of issues, labels and boards under concurrent requests.

mod pairs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use chrono::TimeDelta;
use holdfast_tests::{Client, SeededRng, Server, TestResponse};

use crate::issue_counters::assert_consistent;
use crate::projects::add_member;

const CLIENTS: usize = 50;
const PERMANENT_LABELS: [&str; 3] = ["doing", "done", "next"];

/// Two projects with issues, lists and labels that all clients can access.
struct RaceFixture {
    server: Server,
    projects: [i64; 2],
    clients: Vec<Client>,
    /// Index of the project and id of each issue.
    issues: Mutex<Vec<(usize, i64)>>,
    /// The lists of each project that no request deletes.
    permanent_lists: [Vec<i64>; 2],
    lists: Mutex<Vec<(usize, i64)>>,
    labels: Mutex<Vec<(usize, i64)>>,
    notes: Mutex<Vec<(usize, i64)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RequestKind {
    CreateIssue,
    Relabel,
    ToggleState,
    ToggleConfidential,
    Comment,
    MoveIssue,
    MoveCard,
    CreateLabel,
    DeleteLabel,
    CreateList,
    MoveList,
    DeleteList,
}

use RequestKind::*;

impl RequestKind {
    const ALL: [Self; 12] = [
        CreateIssue,
        Relabel,
        ToggleState,
        ToggleConfidential,
        Comment,
        MoveIssue,
        MoveCard,
        CreateLabel,
        DeleteLabel,
        CreateList,
        MoveList,
        DeleteList,
    ];

    /// Returns the statuses that may occur, depending on the order of requests.
    fn expected_statuses(self) -> &'static [u16] {
        match self {
            CreateIssue | Comment => &[201],
            Relabel | ToggleState | ToggleConfidential => &[200],
            // An issue can be moved only once.
            MoveIssue => &[201, 400],
            CreateLabel => &[200, 409],
            CreateList => &[200, 400],
            MoveList => &[200, 400, 404],
            MoveCard | DeleteLabel | DeleteList => &[200, 404],
        }
    }
}

/// Number of requests by kind and status.
type StatusCounts = BTreeMap<(RequestKind, u16), usize>;

fn pick<T: Copy>(ids: &Mutex<Vec<T>>, rng: &mut SeededRng) -> T {
    *rng.pick(&ids.lock().unwrap())
}

/// Returns a random id of a project; 0 is none.
fn pick_in_project(ids_by_project: &Mutex<Vec<(usize, i64)>>, project: usize, rng: &mut SeededRng) -> i64 {
    let ids_by_project = ids_by_project.lock().unwrap();
    let ids: Vec<i64> = ids_by_project.iter().filter(|it| it.0 == project).map(|it| it.1).collect();
    if ids.is_empty() { 0 } else { *rng.pick(&ids) }
}

fn add_id(ids: &Mutex<Vec<(usize, i64)>>, project: usize, response: &TestResponse) {
    if response.status <= 201 {
        ids.lock().unwrap().push((project, response.body["id"].as_i64().unwrap()));
    }
}

fn remove_id(ids: &Mutex<Vec<(usize, i64)>>, response: &TestResponse) {
    ids.lock().unwrap().retain(|it| response.body["id"] != it.1);
}

impl RaceFixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let group = server.group(&ada, "team", 20).await;
        let projects =
            [server.project_in(&ada, "a", 20, Some(group)).await, server.project_in(&ada, "b", 20, Some(group)).await];
        let mut clients = vec![ada.clone(), server.admin.clone()];
        for name in ["bob", "cat", "dan"] {
            let (id, client) = server.user(name).await;
            add_member(&ada, "/groups/team", id.get(), 50).await;
            clients.push(client);
        }
        // Each node has its own connections to the database.
        for _ in 0..2 {
            let node = server.another_node().await;
            clients.extend(clients.clone()[..5].iter().map(|client| client.for_node(&node)));
        }
        let mut kept_lists = [Vec::new(), Vec::new()];
        for (project, kept) in projects.iter().zip(&mut kept_lists) {
            for name in PERMANENT_LABELS {
                let path = format!("/projects/{project}");
                let label = ada.post(&format!("{path}/labels"), &[("name", name), ("color", "#123456")]).await;
                let form = [("label_id", &*label.body["id"].to_string())];
                let list = ada.post(&format!("{path}/boards/{project}/lists"), &form).await;
                kept.push(list.body["id"].as_i64().unwrap());
            }
        }
        let fixture = Self {
            server,
            projects,
            clients,
            permanent_lists: kept_lists,
            issues: Mutex::default(),
            lists: Mutex::default(),
            labels: Mutex::default(),
            notes: Mutex::default(),
        };
        let mut rng = SeededRng::new(0, 0);
        for project in [0, 1] {
            for _ in 0..3 {
                fixture.send(&ada, &mut rng, CreateIssue, project).await;
            }
        }
        fixture
    }

    /// Lets all clients send random requests of these kinds.
    async fn run_clients(self: &Arc<Self>, seed: u64, kinds: &'static [RequestKind], requests: usize) -> StatusCounts {
        let one = |number: usize| {
            let fixture = self.clone();
            tokio::spawn(async move {
                let client = &fixture.clients[number % fixture.clients.len()];
                let mut rng = SeededRng::new(seed, number as u64);
                let mut tally = StatusCounts::new();
                for _ in 0..requests {
                    let (kind, project) = (*rng.pick(kinds), rng.next_below(2));
                    let answer = fixture.send(client, &mut rng, kind, project).await;
                    assert!(
                        kind.expected_statuses().contains(&answer.status),
                        "{kind:?}: {} {}",
                        answer.status,
                        answer.text
                    );
                    *tally.entry((kind, answer.status)).or_default() += 1;
                    // Once an hour, the time of the last activity of the project is written as well.
                    if rng.one_in(100) {
                        fixture.server.advance(TimeDelta::minutes(61));
                    }
                }
                tally
            })
        };
        let tasks: Vec<_> = (0..CLIENTS).map(one).collect();
        let mut tally = StatusCounts::new();
        for task in tasks {
            for (key, count) in task.await.unwrap() {
                *tally.entry(key).or_default() += count;
            }
        }
        tally
    }

    async fn send(&self, client: &Client, rng: &mut SeededRng, kind: RequestKind, project: usize) -> TestResponse {
        let path = |project: usize| format!("/projects/{}", self.projects[project]);
        let board = |project: usize| format!("{}/boards/{}", path(project), self.projects[project]);
        match kind {
            CreateIssue => {
                let form = [("title", "t"), ("labels", &*random_titles(rng)), ("confidential", random_flag(rng))];
                let made = client.post(&format!("{}/issues", path(project)), &form).await;
                add_id(&self.issues, project, &made);
                made
            }
            Relabel | ToggleState | ToggleConfidential => {
                let (project, issue) = pick(&self.issues, rng);
                let titles = random_titles(rng);
                let field = match kind {
                    Relabel => ("labels", &*titles),
                    ToggleState => ("state_event", *rng.pick(&["close", "reopen"])),
                    _ => ("confidential", random_flag(rng)),
                };
                client.put(&format!("{}/issues/{issue}", path(project)), &[field]).await
            }
            Comment => {
                let (project, issue) = pick(&self.issues, rng);
                let response = client.post(&format!("{}/issues/{issue}/notes", path(project)), &[("body", "b")]).await;
                add_id(&self.notes, project, &response);
                response
            }
            MoveIssue => {
                let (from, issue) = pick(&self.issues, rng);
                let to = 1 - from;
                let form = [("to_project_id", &*self.projects[to].to_string())];
                let moved = client.post(&format!("{}/issues/{issue}/move", path(from)), &form).await;
                add_id(&self.issues, to, &moved);
                moved
            }
            MoveCard => {
                let (project, issue) = pick(&self.issues, rng);
                let (from, to) = (self.pick_list(project, rng), self.pick_list(project, rng));
                let form = [("from_list_id", &*from.to_string()), ("to_list_id", &*to.to_string())];
                client.put(&format!("{}/issues/{issue}", board(project)), &form).await
            }
            CreateLabel => {
                let form = [("name", &*random_title(rng)), ("color", "#123456")];
                let made = client.post(&format!("{}/labels", path(project)), &form).await;
                add_id(&self.labels, project, &made);
                made
            }
            DeleteLabel => {
                let gone = client.delete(&format!("{}/labels?name={}", path(project), random_title(rng))).await;
                remove_id(&self.labels, &gone);
                gone
            }
            CreateList => {
                let label = pick_in_project(&self.labels, project, rng);
                let form = [("label_id", &*label.to_string())];
                let made = client.post(&format!("{}/lists", board(project)), &form).await;
                add_id(&self.lists, project, &made);
                made
            }
            MoveList => {
                let list = self.pick_list(project, rng);
                let form = [("position", &*rng.next_below(4).to_string())];
                client.put(&format!("{}/lists/{list}", board(project)), &form).await
            }
            DeleteList => {
                let list = pick_in_project(&self.lists, project, rng);
                let gone = client.delete(&format!("{}/lists/{list}", board(project))).await;
                remove_id(&self.lists, &gone);
                gone
            }
        }
    }

    fn pick_list(&self, project: usize, rng: &mut SeededRng) -> i64 {
        if rng.one_in(2) {
            *rng.pick(&self.permanent_lists[project])
        } else {
            pick_in_project(&self.lists, project, rng)
        }
    }
}

fn random_flag(rng: &mut SeededRng) -> &'static str {
    if rng.one_in(2) { "true" } else { "false" }
}

fn random_title(rng: &mut SeededRng) -> String {
    format!("l{}", rng.next_below(20))
}

fn random_titles(rng: &mut SeededRng) -> String {
    let mut titles: Vec<String> = (0..rng.next_below(3)).map(|_| random_title(rng)).collect();
    titles.push((*rng.pick(&PERMANENT_LABELS)).into());
    titles.join(",")
}

pub fn seed() -> u64 {
    std::env::var("PLANNING_SEED").map_or_else(|_| u64::from(std::process::id()), |seed| seed.parse().unwrap())
}

fn ids(known: &Mutex<Vec<(usize, i64)>>) -> BTreeSet<i64> {
    known.lock().unwrap().iter().map(|(_, id)| *id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_keep_planning_data_consistent() {
    let fixture = Arc::new(RaceFixture::new().await);
    let (seed, began) = (seed(), Instant::now());
    println!("PLANNING_SEED={seed}");
    let tally = fixture.run_clients(seed, &RequestKind::ALL, 48).await;
    println!("{} requests in {:.1?}: {tally:?}", tally.values().sum::<usize>(), began.elapsed());
    for kind in &RequestKind::ALL {
        let done: usize = [200, 201].iter().filter_map(|status| tally.get(&(*kind, *status))).sum();
        assert!(done > 10, "{kind:?} was done only {done} times");
    }
    let mut database = fixture.server.database().await;
    assert_consistent(&mut database).await;
    for project in fixture.projects {
        let numbers: Vec<i64> = sqlx::query_scalar("select iid from issues where project_id = $1 order by iid")
            .bind(project)
            .fetch_all(&mut database)
            .await
            .unwrap();
        let last: i64 = sqlx::query_scalar("select last_issue_iid from projects where id = $1")
            .bind(project)
            .fetch_one(&mut database)
            .await
            .unwrap();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    }
    let kept: Vec<i64> =
        sqlx::query_scalar("select id from issues order by id").fetch_all(&mut database).await.unwrap();
    assert_eq!(BTreeSet::from_iter(kept.clone()), ids(&fixture.issues), "all that were made, and no others");
    let opened: Vec<i64> =
        sqlx::query_scalar("select subject_id from events where action = 1 and subject_kind = 1 order by subject_id")
            .fetch_all(&mut database)
            .await
            .unwrap();
    assert_eq!(opened, kept, "each is opened once");
    let event_note_ids: Vec<i64> = sqlx::query_scalar("select note_id from events where action = 6 order by note_id")
        .fetch_all(&mut database)
        .await
        .unwrap();
    assert_eq!(event_note_ids, ids(&fixture.notes).into_iter().collect::<Vec<_>>(), "each comment has one event");
}
