//! Projects with many merge requests, which are created in bulk and served by three nodes.

use std::collections::HashMap;

use holdfast_tests::{Client, Receiver, SeededRng, Server, TestResponse, WorkTree};

use super::{AcceptResponse, RaceKind, RacedRequest};

/// How often a request that the server has canceled is sent again. Arbitrary.
const MAX_RETRIES: usize = 5;

/// Number of requests from one fork, which are all accepted while the fork is deleted.
pub const REQUESTS_PER_FORK: usize = 2;

/// What all projects of the test share.
pub struct Nodes {
    pub server: Server,
    /// One client for each node.
    pub clients: [Client; 3],
    pub receiver: Receiver,
    pub seed: u64,
}

impl Nodes {
    pub async fn new(seed: u64) -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (second, third) = (server.another_node().await, server.another_node().await);
        let clients = [ada.clone(), ada.for_node(&second), ada.for_node(&third)];
        Self { server, clients, receiver: Receiver::start().await, seed }
    }
}

/// A project, and a local repository with its branches: `s1` is the head of the first request, and `l1` is a child of it
/// that is not pushed yet.
pub struct RacedProject<'a> {
    pub nodes: &'a Nodes,
    pub name: String,
    pub id: i64,
    pub tree: WorkTree,
    pub rng: SeededRng,
    commits: HashMap<String, String>,
    next: usize,
    /// The requests whose races are over.
    finished: Vec<RacedRequest>,
}

impl<'a> RacedProject<'a> {
    /// Creates a project with branches for this number of merge requests.
    pub async fn new(nodes: &'a Nodes, number: usize, requests: usize) -> Self {
        let name = format!("p{number}");
        let ada = &nodes.clients[0];
        let id = nodes.server.project(ada, &name, 20).await;
        let form =
            [("url", &*nodes.receiver.url("/hook")), ("push_events", "false"), ("merge_requests_events", "true")];
        let hook = ada.post(&format!("/projects/{id}/hooks"), &form).await;
        assert_eq!(hook.status, 201, "{}", hook.text);
        let tree = WorkTree::new().await;
        tree.fast_import(import_stream(requests)).await;
        let listed = tree.git(["for-each-ref", "--format=%(refname:lstrip=2) %(objectname)"]).await.ok();
        let commits = listed.stdout.lines().filter_map(|line| line.split_once(' '));
        let commits = commits.map(|(name, id)| (name.to_owned(), id.to_owned())).collect();
        let rng = SeededRng::new(nodes.seed, number as u64);
        let project = Self { nodes, name, id, tree, rng, commits, next: 0, finished: Vec::new() };
        project.tree.push(&project.url(), &["refs/heads/main", "refs/heads/s*:refs/heads/s*"]).await.ok();
        project
    }

    pub fn url(&self) -> String {
        self.nodes.server.git_url(&self.nodes.clients[0], &format!("ada/{}", self.name))
    }

    pub fn api(&self) -> String {
        format!("/projects/{}", self.id)
    }

    /// Returns a client of a random node.
    pub fn client(&mut self) -> Client {
        self.rng.pick(&self.nodes.clients).clone()
    }

    pub fn commit(&self, name: &str) -> &str {
        &self.commits[name]
    }

    /// Returns the next requests for a race, which are usually one. Those of a fork are opened from a new fork.
    pub async fn open(&mut self, kind: RaceKind) -> (Vec<RacedRequest>, Option<i64>) {
        if kind != RaceKind::DeleteFork {
            return (vec![self.open_one(kind, None).await], None);
        }
        let group = format!("{}-fork{}", self.name, self.next);
        let ada = self.nodes.clients[0].clone();
        self.nodes.server.group(&ada, &group, 20).await;
        let forked = ada.post(&format!("/projects/fork/{}", self.id), &[("namespace", &group)]).await;
        assert_eq!(forked.status, 201, "{}", forked.text);
        let fork = forked.body["id"].as_i64().unwrap();
        // These commits are only in the fork.
        let first = self.next;
        let refs: Vec<String> =
            (first..first + REQUESTS_PER_FORK).map(|n| format!("refs/later/f{n}:refs/heads/f{n}")).collect();
        let refs: Vec<&str> = refs.iter().map(String::as_str).collect();
        let url = self.nodes.server.git_url(&ada, &format!("{group}/{}", self.name));
        self.tree.push(&url, &refs).await.ok();
        let mut requests = Vec::new();
        for _ in 0..REQUESTS_PER_FORK {
            requests.push(self.open_one(kind, Some(fork)).await);
        }
        (requests, Some(fork))
    }

    async fn open_one(&mut self, kind: RaceKind, fork: Option<i64>) -> RacedRequest {
        let number = self.next;
        self.next += 1;
        let ada = &self.nodes.clients[0];
        let issue = ada.post(&format!("{}/issues", self.api()), &[("title", "t")]).await;
        assert_eq!(issue.status, 201, "{}", issue.text);
        let branch = if fork.is_some() { format!("f{number}") } else { format!("s{number}") };
        let description = format!("Closes #{}", issue.body["iid"]);
        let target = self.id.to_string();
        let form = [
            ("title", "t"),
            ("description", &description),
            ("source_branch", &branch),
            ("target_branch", "main"),
            ("target_project_id", &target),
        ];
        let source = fork.unwrap_or(self.id);
        let mut opened = ada.post(&format!("/projects/{source}/merge_requests"), &form).await;
        for _ in 0..MAX_RETRIES {
            // The server cancels requests that take too long on a busy machine.
            if opened.status == 503 {
                opened = ada.post(&format!("/projects/{source}/merge_requests"), &form).await;
            }
        }
        assert_eq!(opened.status, 201, "{}", opened.text);
        RacedRequest {
            kind,
            id: opened.body["id"].as_i64().unwrap(),
            path: format!("{}/merge_requests/{}", self.api(), opened.body["id"]),
            issue: issue.body["id"].as_i64().unwrap(),
            number,
            head: self.commit(&branch).to_owned(),
            branch,
            accepts: Vec::new(),
            later: None,
            pushed_merge: None,
            closes: Vec::new(),
        }
    }

    pub fn take_requests(self) -> (i64, String, Vec<RacedRequest>) {
        let url = self.url();
        (self.id, url, self.finished)
    }

    pub fn finish(&mut self, request: RacedRequest) {
        self.finished.push(request);
    }
}

/// Accepts a request, optionally with the head that the client has seen.
pub async fn accept(client: &Client, path: &str, sha: Option<&str>) -> AcceptResponse {
    let form: Vec<(&str, &str)> = sha.map(|sha| ("sha", sha)).into_iter().collect();
    let TestResponse { status, body, text, .. } = client.put(&format!("{path}/merge"), &form).await;
    AcceptResponse { sha: sha.map(str::to_owned), status, body, text }
}

/// Returns a stream with `main`, and for each request a branch `sN`, its child `lN`, and a commit `fN` for forks.
fn import_stream(requests: usize) -> Vec<u8> {
    let mut stream = String::new();
    let mut commit = |name: &str, file: &str, from: &str| {
        let parent = if from.is_empty() { String::new() } else { format!("from {from}\n") };
        stream += &format!(
            "commit {name}\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata {}\n{file}\n{parent}\
             M 100644 inline {file}.txt\ndata {}\n{file}\n\n",
            file.len(),
            file.len() + 1
        );
    };
    commit("refs/heads/main", "first", "");
    for number in 0..requests {
        let source = format!("refs/heads/s{number}");
        commit(&source, &format!("s{number}"), "refs/heads/main");
        commit(&format!("refs/later/l{number}"), &format!("l{number}"), &source);
        commit(&format!("refs/later/f{number}"), &format!("f{number}"), "refs/heads/main");
    }
    stream.into_bytes()
}
