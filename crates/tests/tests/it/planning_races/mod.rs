//! What is planned stays whole, however many are at it at once.

mod pairs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use chrono::TimeDelta;
use holdfast_tests::{Answer, Client, Dice, Server};

use crate::planning_counts::assert_whole;
use crate::projects::add;

const CLIENTS: usize = 50;
const KEPT_LABELS: [&str; 3] = ["doing", "done", "next"];

/// Two projects whose issues, lists and labels everybody knows.
struct World {
    server: Server,
    projects: [i64; 2],
    clients: Vec<Client>,
    /// With the project, which is 0 or 1.
    issues: Mutex<Vec<(usize, i64)>>,
    /// Which nobody deletes, of each project.
    kept_lists: [Vec<i64>; 2],
    lists: Mutex<Vec<(usize, i64)>>,
    labels: Mutex<Vec<(usize, i64)>>,
    notes: Mutex<Vec<(usize, i64)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    CreateIssue,
    Relabel,
    CloseOrReopen,
    HideOrShow,
    Comment,
    MoveIssue,
    MoveCard,
    CreateLabel,
    DeleteLabel,
    CreateList,
    MoveList,
    DeleteList,
}

use Kind::*;

impl Kind {
    const ALL: [Self; 12] = [
        CreateIssue,
        Relabel,
        CloseOrReopen,
        HideOrShow,
        Comment,
        MoveIssue,
        MoveCard,
        CreateLabel,
        DeleteLabel,
        CreateList,
        MoveList,
        DeleteList,
    ];

    /// What may be answered, depending on who came first.
    fn answers(self) -> &'static [u16] {
        match self {
            CreateIssue | Comment => &[201],
            Relabel | CloseOrReopen | HideOrShow => &[200],
            // Each moves once.
            MoveIssue => &[201, 400],
            CreateLabel => &[200, 409],
            CreateList => &[200, 400],
            MoveList => &[200, 400, 404],
            MoveCard | DeleteLabel | DeleteList => &[200, 404],
        }
    }
}

/// Requests by kind and status.
type Tally = BTreeMap<(Kind, u16), usize>;

fn some<T: Copy>(known: &Mutex<Vec<T>>, dice: &mut Dice) -> T {
    *dice.pick(&known.lock().unwrap())
}

/// Of that project; 0 is none.
fn any_of(known: &Mutex<Vec<(usize, i64)>>, project: usize, dice: &mut Dice) -> i64 {
    let known = known.lock().unwrap();
    let ids: Vec<i64> = known.iter().filter(|it| it.0 == project).map(|it| it.1).collect();
    if ids.is_empty() { 0 } else { *dice.pick(&ids) }
}

fn learn(known: &Mutex<Vec<(usize, i64)>>, project: usize, made: &Answer) {
    if made.status <= 201 {
        known.lock().unwrap().push((project, made.body["id"].as_i64().unwrap()));
    }
}

fn forget(known: &Mutex<Vec<(usize, i64)>>, gone: &Answer) {
    known.lock().unwrap().retain(|it| gone.body["id"] != it.1);
}

impl World {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let group = server.group(&ada, "team", 20).await;
        let projects =
            [server.project_in(&ada, "a", 20, Some(group)).await, server.project_in(&ada, "b", 20, Some(group)).await];
        let mut clients = vec![ada.clone(), server.admin.clone()];
        for name in ["bob", "cat", "dan"] {
            let (id, client) = server.user(name).await;
            add(&ada, "/groups/team", id.get(), 50).await;
            clients.push(client);
        }
        // Each node has connections of its own to the database.
        for _ in 0..2 {
            let node = server.another_node().await;
            clients.extend(clients.clone()[..5].iter().map(|client| client.at(&node)));
        }
        let mut kept_lists = [Vec::new(), Vec::new()];
        for (project, kept) in projects.iter().zip(&mut kept_lists) {
            for name in KEPT_LABELS {
                let path = format!("/projects/{project}");
                let label = ada.post(&format!("{path}/labels"), &[("name", name), ("color", "#123456")]).await;
                let form = [("label_id", &*label.body["id"].to_string())];
                let list = ada.post(&format!("{path}/boards/{project}/lists"), &form).await;
                kept.push(list.body["id"].as_i64().unwrap());
            }
        }
        let world = Self {
            server,
            projects,
            clients,
            kept_lists,
            issues: Mutex::default(),
            lists: Mutex::default(),
            labels: Mutex::default(),
            notes: Mutex::default(),
        };
        let mut dice = Dice::new(0, 0);
        for project in [0, 1] {
            for _ in 0..3 {
                world.act(&ada, &mut dice, CreateIssue, project).await;
            }
        }
        world
    }

    /// Everybody does things of these kinds, in whatever order.
    async fn crowd(self: &Arc<Self>, seed: u64, kinds: &'static [Kind], requests: usize) -> Tally {
        let one = |number: usize| {
            let world = self.clone();
            tokio::spawn(async move {
                let client = &world.clients[number % world.clients.len()];
                let mut dice = Dice::new(seed, number as u64);
                let mut tally = Tally::new();
                for _ in 0..requests {
                    let (kind, project) = (*dice.pick(kinds), dice.below(2));
                    let answer = world.act(client, &mut dice, kind, project).await;
                    assert!(kind.answers().contains(&answer.status), "{kind:?}: {} {}", answer.status, answer.text);
                    *tally.entry((kind, answer.status)).or_default() += 1;
                    // Once an hour the project's time of last activity is written as well.
                    if dice.one_in(100) {
                        world.server.advance(TimeDelta::minutes(61));
                    }
                }
                tally
            })
        };
        let tasks: Vec<_> = (0..CLIENTS).map(one).collect();
        let mut tally = Tally::new();
        for task in tasks {
            for (key, count) in task.await.unwrap() {
                *tally.entry(key).or_default() += count;
            }
        }
        tally
    }

    async fn act(&self, client: &Client, dice: &mut Dice, kind: Kind, project: usize) -> Answer {
        let path = |project: usize| format!("/projects/{}", self.projects[project]);
        let board = |project: usize| format!("{}/boards/{}", path(project), self.projects[project]);
        match kind {
            CreateIssue => {
                let form = [("title", "t"), ("labels", &*titles(dice)), ("confidential", flag(dice))];
                let made = client.post(&format!("{}/issues", path(project)), &form).await;
                learn(&self.issues, project, &made);
                made
            }
            Relabel | CloseOrReopen | HideOrShow => {
                let (project, issue) = some(&self.issues, dice);
                let titles = titles(dice);
                let field = match kind {
                    Relabel => ("labels", &*titles),
                    CloseOrReopen => ("state_event", *dice.pick(&["close", "reopen"])),
                    _ => ("confidential", flag(dice)),
                };
                client.put(&format!("{}/issues/{issue}", path(project)), &[field]).await
            }
            Comment => {
                let (project, issue) = some(&self.issues, dice);
                let said = client.post(&format!("{}/issues/{issue}/notes", path(project)), &[("body", "b")]).await;
                learn(&self.notes, project, &said);
                said
            }
            MoveIssue => {
                let (from, issue) = some(&self.issues, dice);
                let to = 1 - from;
                let form = [("to_project_id", &*self.projects[to].to_string())];
                let moved = client.post(&format!("{}/issues/{issue}/move", path(from)), &form).await;
                learn(&self.issues, to, &moved);
                moved
            }
            MoveCard => {
                let (project, issue) = some(&self.issues, dice);
                let (from, to) = (self.any_list(project, dice), self.any_list(project, dice));
                let form = [("from_list_id", &*from.to_string()), ("to_list_id", &*to.to_string())];
                client.put(&format!("{}/issues/{issue}", board(project)), &form).await
            }
            CreateLabel => {
                let form = [("name", &*title(dice)), ("color", "#123456")];
                let made = client.post(&format!("{}/labels", path(project)), &form).await;
                learn(&self.labels, project, &made);
                made
            }
            DeleteLabel => {
                let gone = client.delete(&format!("{}/labels?name={}", path(project), title(dice))).await;
                forget(&self.labels, &gone);
                gone
            }
            CreateList => {
                let label = any_of(&self.labels, project, dice);
                let form = [("label_id", &*label.to_string())];
                let made = client.post(&format!("{}/lists", board(project)), &form).await;
                learn(&self.lists, project, &made);
                made
            }
            MoveList => {
                let list = self.any_list(project, dice);
                let form = [("position", &*dice.below(4).to_string())];
                client.put(&format!("{}/lists/{list}", board(project)), &form).await
            }
            DeleteList => {
                let list = any_of(&self.lists, project, dice);
                let gone = client.delete(&format!("{}/lists/{list}", board(project))).await;
                forget(&self.lists, &gone);
                gone
            }
        }
    }

    fn any_list(&self, project: usize, dice: &mut Dice) -> i64 {
        if dice.one_in(2) { *dice.pick(&self.kept_lists[project]) } else { any_of(&self.lists, project, dice) }
    }
}

fn flag(dice: &mut Dice) -> &'static str {
    if dice.one_in(2) { "true" } else { "false" }
}

fn title(dice: &mut Dice) -> String {
    format!("l{}", dice.below(20))
}

fn titles(dice: &mut Dice) -> String {
    let mut titles: Vec<String> = (0..dice.below(3)).map(|_| title(dice)).collect();
    titles.push((*dice.pick(&KEPT_LABELS)).into());
    titles.join(",")
}

pub fn seed() -> u64 {
    std::env::var("PLANNING_SEED").map_or_else(|_| u64::from(std::process::id()), |seed| seed.parse().unwrap())
}

fn ids(known: &Mutex<Vec<(usize, i64)>>) -> BTreeSet<i64> {
    known.lock().unwrap().iter().map(|(_, id)| *id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_leaves_no_gaps() {
    let world = Arc::new(World::new().await);
    let (seed, began) = (seed(), Instant::now());
    println!("PLANNING_SEED={seed}");
    let tally = world.crowd(seed, &Kind::ALL, 48).await;
    println!("{} requests in {:.1?}: {tally:?}", tally.values().sum::<usize>(), began.elapsed());
    for kind in &Kind::ALL {
        let done: usize = [200, 201].iter().filter_map(|status| tally.get(&(*kind, *status))).sum();
        assert!(done > 10, "{kind:?} was done only {done} times");
    }
    let mut database = world.server.database().await;
    assert_whole(&mut database).await;
    for project in world.projects {
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
    assert_eq!(BTreeSet::from_iter(kept.clone()), ids(&world.issues), "all that were made, and no others");
    let opened: Vec<i64> =
        sqlx::query_scalar("select subject_id from events where action = 1 and subject_kind = 1 order by subject_id")
            .fetch_all(&mut database)
            .await
            .unwrap();
    assert_eq!(opened, kept, "each is opened once");
    let told: Vec<i64> = sqlx::query_scalar("select note_id from events where action = 6 order by note_id")
        .fetch_all(&mut database)
        .await
        .unwrap();
    assert_eq!(told, ids(&world.notes).into_iter().collect::<Vec<_>>(), "each comment is told once");
}
