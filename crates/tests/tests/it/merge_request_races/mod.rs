//! Merge requests that are accepted on three nodes while something else happens to them.
//!
//! MERGE_RACE_SEED       the seed of an earlier run, which prints it
//! MERGE_RACE_REQUESTS   the number of merge requests (60)

mod check;
mod fixture;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use holdfast_tests::{Client, TestResponse};
use serde_json::Value;

use check::find_violations;
use fixture::{Nodes, REQUESTS_PER_FORK, RacedProject, accept};

/// Projects whose races run concurrently. The races of one project run one after the other.
const PROJECTS: usize = 3;
/// Accepts of the same request at once.
const CONCURRENT_ACCEPTS: usize = 20;

/// Clients that close a request while it is accepted.
const CONCURRENT_CLOSES: usize = 3;
/// Maximum number of requests that a client sends before its part of a race. Arbitrary.
const MAX_DELAY: usize = 10;
/// Like [`MAX_DELAY`], for clients that close a request. A merge takes as long as tens of reads, and at least one client
/// is to close the request during its transaction.
const MAX_CLOSE_DELAY: usize = 60;
/// How often jobs are run. Arbitrary.
const JOB_INTERVAL: Duration = Duration::from_millis(50);

/// What happens to a merge request while it is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RaceKind {
    ManyAccepts,
    PushToSource,
    PushToTarget,
    Close,
    DeleteBranch,
    DeleteFork,
}

impl RaceKind {
    const ALL: [Self; 6] =
        [Self::ManyAccepts, Self::PushToSource, Self::PushToTarget, Self::Close, Self::DeleteBranch, Self::DeleteFork];
}

struct AcceptResponse {
    /// The head that the client has sent.
    sha: Option<String>,
    status: u16,
    body: Value,
    text: String,
}

/// A merge request, and what the clients of its race know about it.
struct RacedRequest {
    kind: RaceKind,
    id: i64,
    /// The path of the request in the API.
    path: String,
    /// The issue that the merge closes.
    issue: i64,
    number: usize,
    branch: String,
    head: String,
    accepts: Vec<AcceptResponse>,
    /// A commit that was pushed to the source branch.
    later: Option<String>,
    /// A merge of the head that was made by a client and pushed to the target branch.
    pushed_merge: Option<String>,
    /// The responses to closing the request.
    closes: Vec<TestResponse>,
}

impl RacedProject<'_> {
    async fn run(&mut self, requests: usize) {
        let mut kinds = RaceKind::ALL.iter().cycle();
        let mut done = 0;
        while done < requests {
            let kind = *kinds.next().unwrap();
            let (raced, fork) = self.open(kind).await;
            done += raced.len();
            match fork {
                Some(fork) => self.delete_fork(fork, raced).await,
                None => {
                    for mut request in raced {
                        self.race(&mut request).await;
                        self.finish(request);
                    }
                }
            }
        }
    }

    async fn race(&mut self, request: &mut RacedRequest) {
        match request.kind {
            RaceKind::ManyAccepts => self.accept_many(request).await,
            RaceKind::PushToSource => self.push_to_source(request).await,
            RaceKind::PushToTarget => self.push_to_target(request).await,
            RaceKind::Close => self.close(request).await,
            RaceKind::DeleteBranch => self.delete_branch(request).await,
            RaceKind::DeleteFork => unreachable!("requests of a fork are accepted together"),
        }
    }

    /// Returns the head for half of the accepts.
    fn random_sha(&mut self, request: &RacedRequest) -> Option<String> {
        self.rng.one_in(2).then(|| request.head.clone())
    }

    /// Returns the number of requests that each of two clients sends first, so that they meet at different moments.
    fn random_delays(&mut self) -> (usize, usize) {
        let delay = self.rng.next_below(MAX_DELAY);
        if self.rng.one_in(2) { (0, delay) } else { (delay, 0) }
    }

    async fn delay(&self, requests: usize) {
        for _ in 0..requests {
            self.nodes.clients[0].get(&self.api()).await;
        }
    }

    async fn accept_after(&self, delay: usize, client: &Client, path: &str, sha: Option<&str>) -> AcceptResponse {
        self.delay(delay).await;
        accept(client, path, sha).await
    }

    async fn accept_many(&mut self, request: &mut RacedRequest) {
        let clients: Vec<_> = (0..CONCURRENT_ACCEPTS).map(|_| (self.client(), self.random_sha(request))).collect();
        let accepts = clients.iter().map(|(client, sha)| accept(client, &request.path, sha.as_deref()));
        request.accepts = join_all(accepts).await;
    }

    async fn push_to_source(&mut self, request: &mut RacedRequest) {
        let (client, sha, (delay, other_delay)) = (self.client(), self.random_sha(request), self.random_delays());
        let later = format!("refs/later/l{}", request.number);
        let (refspec, url) = (format!("{later}:refs/heads/{}", request.branch), self.url());
        let push = async {
            self.delay(other_delay).await;
            self.tree.push(&url, &[&refspec]).await
        };
        let (accepted, pushed) = tokio::join!(self.accept_after(delay, &client, &request.path, sha.as_deref()), push);
        pushed.ok();
        request.accepts.push(accepted);
        request.later = Some(self.commit(&format!("l{}", request.number)).to_owned());
    }

    /// Pushes a commit to the target branch, or a merge of the head.
    async fn push_to_target(&mut self, request: &mut RacedRequest) {
        let (client, sha, (delay, other_delay)) = (self.client(), self.random_sha(request), self.random_delays());
        let url = self.url();
        self.tree.git(["fetch", "-q", &url, "main"]).await.ok();
        self.tree.git(["checkout", "-q", "--detach", "FETCH_HEAD"]).await.ok();
        let is_merge = self.rng.one_in(2);
        let new = if is_merge {
            self.tree.git(["merge", "-q", "--no-ff", "-m", "Merge", &request.head]).await.ok();
            self.tree.head().await
        } else {
            self.tree.commit(&format!("t{}.txt", request.number), b"t\n", "t").await
        };
        let refspec = format!("{new}:refs/heads/main");
        let push = async {
            self.delay(other_delay).await;
            self.tree.push(&url, &[&refspec]).await
        };
        let (accepted, pushed) = tokio::join!(self.accept_after(delay, &client, &request.path, sha.as_deref()), push);
        request.accepts.push(accepted);
        request.pushed_merge = Some(new).filter(|_| is_merge && pushed.is_success);
    }

    /// Several clients close the request, so that one of them meets the transaction of the merge.
    async fn close(&mut self, request: &mut RacedRequest) {
        let (client, sha, (delay, _)) = (self.client(), self.random_sha(request), self.random_delays());
        let closers: Vec<(Client, usize)> =
            (0..CONCURRENT_CLOSES).map(|_| (self.client(), self.rng.next_below(MAX_CLOSE_DELAY))).collect();
        let closes = closers.iter().map(async |(client, delay)| {
            self.delay(*delay).await;
            client.put(&request.path, &[("state_event", "close")]).await
        });
        let accept = self.accept_after(delay, &client, &request.path, sha.as_deref());
        let (accepted, closed) = tokio::join!(accept, join_all(closes));
        request.accepts.push(accepted);
        request.closes = closed;
    }

    async fn delete_branch(&mut self, request: &mut RacedRequest) {
        let (client, other, sha, (delay, other_delay)) =
            (self.client(), self.client(), self.random_sha(request), self.random_delays());
        let branch = format!("{}/repository/branches/{}", self.api(), request.branch);
        let delete = async {
            self.delay(other_delay).await;
            other.delete(&branch).await
        };
        let (accepted, deleted) =
            tokio::join!(self.accept_after(delay, &client, &request.path, sha.as_deref()), delete);
        assert_eq!(deleted.status, 200, "{}", deleted.text);
        request.accepts.push(accepted);
    }

    async fn delete_fork(&mut self, fork: i64, mut requests: Vec<RacedRequest>) {
        let (delay, other_delay) = self.random_delays();
        let clients: Vec<_> = requests.iter().map(|_| (self.client(), self.rng.one_in(2))).collect();
        let accepts = requests.iter().zip(&clients).map(|(request, (client, has_sha))| {
            self.accept_after(delay, client, &request.path, has_sha.then_some(request.head.as_str()))
        });
        let delete = async {
            self.delay(other_delay).await;
            self.nodes.clients[1].delete(&format!("/projects/{fork}")).await
        };
        let (accepted, deleted) = tokio::join!(join_all(accepts), delete);
        assert_eq!(deleted.status, 200, "{}", deleted.text);
        for (mut request, accepted) in requests.drain(..).zip(accepted) {
            request.accepts.push(accepted);
            self.finish(request);
        }
    }
}

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// However requests, pushes and deletions meet, a request is merged at most once, and then everything about it says so.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_accepts_are_merged_exactly_once() {
    let seed = env_number("MERGE_RACE_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let requests = env_number("MERGE_RACE_REQUESTS").unwrap_or(60) as usize;
    println!("MERGE_RACE_SEED={seed}");
    let (nodes, began) = (Nodes::new(seed).await, Instant::now());
    let each = requests.div_ceil(PROJECTS);
    let races = (0..PROJECTS).map(|number| {
        let nodes = &nodes;
        async move {
            // The requests of the last fork can exceed the number.
            let mut project = RacedProject::new(nodes, number, each + REQUESTS_PER_FORK).await;
            project.run(each).await;
            project
        }
    });
    // Jobs also mark requests as merged, and run all the time.
    let is_finished = AtomicBool::new(false);
    let races = async {
        let projects = join_all(races).await;
        is_finished.store(true, Ordering::Relaxed);
        projects
    };
    let jobs = async {
        let mut interval = tokio::time::interval(JOB_INTERVAL);
        while !is_finished.load(Ordering::Relaxed) {
            interval.tick().await;
            nodes.server.run_jobs().await;
        }
    };
    let (projects, ()) = tokio::join!(races, jobs);
    nodes.server.run_jobs().await;
    let mut received = Vec::new();
    loop {
        nodes.server.deliver_hooks().await;
        let deliveries = nodes.receiver.take_received();
        if deliveries.is_empty() {
            break;
        }
        received.extend(deliveries);
    }
    let mut outcomes: BTreeMap<(RaceKind, String), usize> = BTreeMap::new();
    let (mut violations, mut total) = (Vec::new(), 0);
    for project in projects {
        let (id, url, raced) = project.take_requests();
        total += raced.len();
        violations.extend(find_violations(&nodes, id, &url, &raced, &received, &mut outcomes).await);
    }
    println!("{total} requests in {:.1?}: {outcomes:?}", began.elapsed());
    for violation in &violations {
        println!("VIOLATION: {violation}");
    }
    assert!(total >= requests, "only {total} requests");
    assert!(violations.is_empty(), "{} violations with MERGE_RACE_SEED={seed}", violations.len());
}
