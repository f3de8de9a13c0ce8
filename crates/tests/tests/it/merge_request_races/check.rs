//! Recounts what the database, the repository and the hooks say about each merge request after the races.

use std::collections::{BTreeMap, HashMap, HashSet};

use holdfast_tests::{ReceivedRequest, WorkTree};
use serde_json::Value;

use super::fixture::Nodes;
use super::{RaceKind, RacedRequest};

/// The target branch as git reads it.
struct TargetBranch {
    commits: HashSet<String>,
    /// Each merge commit with the second parent.
    merges: Vec<(String, String)>,
}

impl TargetBranch {
    async fn read(url: &str) -> Self {
        let (cloned, tree) = WorkTree::clone(url, &["--bare"]).await;
        cloned.ok();
        let listed = tree.git(["rev-list", "--parents", "main"]).await.ok();
        let mut target = Self { commits: HashSet::new(), merges: Vec::new() };
        for line in listed.stdout.lines() {
            let ids: Vec<&str> = line.split(' ').collect();
            target.commits.insert(ids[0].to_owned());
            if let [merge, _, second] = ids[..] {
                target.merges.push((merge.to_owned(), second.to_owned()));
            }
        }
        target
    }
}

/// Numbers of rows by the id of the merge request or issue.
type RowCounts = HashMap<i64, i64>;

async fn count_rows(nodes: &Nodes, query: &'static str) -> RowCounts {
    let rows: Vec<(i64, i64)> = sqlx::query_as(query).fetch_all(&mut nodes.server.database().await).await.unwrap();
    rows.into_iter().collect()
}

async fn list_all(nodes: &Nodes, path: &str) -> HashMap<i64, Value> {
    let mut found = HashMap::new();
    for page in 1.. {
        let listed = nodes.clients[0].get(&format!("{path}?per_page=100&page={page}")).await;
        let rows = listed.body.as_array().unwrap_or_else(|| panic!("{}", listed.text)).clone();
        if rows.is_empty() {
            break;
        }
        found.extend(rows.into_iter().map(|row| (row["id"].as_i64().unwrap(), row)));
    }
    found
}

/// Returns everything that contradicts that each request of a project is merged at most once. Counts the outcomes.
pub async fn find_violations(
    nodes: &Nodes,
    project: i64,
    url: &str,
    raced: &[RacedRequest],
    received: &[ReceivedRequest],
    outcomes: &mut BTreeMap<(RaceKind, String), usize>,
) -> Vec<String> {
    let target = TargetBranch::read(url).await;
    let requests = list_all(nodes, &format!("/projects/{project}/merge_requests")).await;
    let issues = list_all(nodes, &format!("/projects/{project}/issues")).await;
    let events = "select subject_id, count(*) from events where subject_kind = 2 and action = 7 group by 1";
    let notes = "select merge_request_id, count(*) from notes
                 where system and body = 'merged' and merge_request_id is not null group by 1";
    let closings = "select subject_id, count(*) from events where subject_kind = 1 and action = 3 group by 1";
    let (events, notes) = (count_rows(nodes, events).await, count_rows(nodes, notes).await);
    let closings = count_rows(nodes, closings).await;
    let mut hooks = RowCounts::new();
    for delivery in received.iter().filter(|it| it.body["object_attributes"]["action"] == "merge") {
        *hooks.entry(delivery.body["object_attributes"]["id"].as_i64().unwrap()).or_default() += 1;
    }
    let mut violations = Vec::new();
    for request in raced {
        let Some(row) = requests.get(&request.id) else {
            violations.push(format!("{} is not listed", request.path));
            continue;
        };
        let counts = [
            ("events of the merge", events.get(&request.id)),
            ("hook events of the merge", hooks.get(&request.id)),
            ("notes about the merge", notes.get(&request.id)),
            ("closings of its issue", closings.get(&request.issue)),
        ];
        let issue_state = issues[&request.issue]["state"].as_str().unwrap_or_default();
        let mut found = check_merge(request, row, &target);
        found.extend(check_responses(request, row));
        let is_merged = row["state"] == "merged";
        for (name, count) in counts {
            let count = count.copied().unwrap_or_default();
            if count != i64::from(is_merged) {
                found.push(format!("there are {count} {name}"));
            }
        }
        if (issue_state == "closed") != is_merged {
            found.push(format!("its issue is {issue_state}"));
        }
        let describe = |text| format!("{:?} {}, state {}: {text}", request.kind, request.path, row["state"]);
        violations.extend(found.into_iter().map(describe));
        let statuses: Vec<String> = match request.kind {
            RaceKind::ManyAccepts => vec![count_successes(request).to_string() + " × 200"],
            _ => request.accepts.iter().map(|it| it.status.to_string()).collect(),
        };
        let outcome = format!("{} {}", row["state"].as_str().unwrap_or_default(), statuses.join(" "));
        *outcomes.entry((request.kind, outcome)).or_default() += 1;
    }
    violations
}

fn count_successes(request: &RacedRequest) -> usize {
    request.accepts.iter().filter(|it| it.status == 200).count()
}

/// Compares the state of a request with the target branch.
fn check_merge(request: &RacedRequest, row: &Value, target: &TargetBranch) -> Vec<String> {
    let mut found = Vec::new();
    let (is_merged, head) = (row["state"] == "merged", row["sha"].as_str().unwrap_or_default());
    let heads: Vec<&str> =
        [Some(&request.head), request.later.as_ref()].into_iter().flatten().map(|it| &**it).collect();
    if !heads.contains(&head) {
        found.push(format!("its head {head} was never pushed"));
    }
    if target.commits.contains(head) != is_merged {
        let verb = if is_merged { "does not contain" } else { "contains" };
        found.push(format!("the target branch {verb} its head {head}"));
    }
    for other in heads.iter().filter(|other| **other != head) {
        // The first head is an ancestor of the later one.
        if target.commits.contains(*other) && !(is_merged && *other == request.head) {
            found.push(format!("the target branch contains {other}, but its head is {head}"));
        }
    }
    let own = |(merge, second): &&(String, String)| {
        heads.contains(&second.as_str()) && Some(merge) != request.pushed_merge.as_ref()
    };
    let merges: Vec<&(String, String)> = target.merges.iter().filter(own).collect();
    match (row["merge_commit_sha"].as_str(), &merges[..]) {
        (None, []) if !is_merged || request.pushed_merge.is_some() => {}
        (Some(merge_commit), [(merge, second)]) if is_merged && merge == merge_commit && second == head => {}
        (merge_commit, merges) => {
            found.push(format!("its head is {head} and its merge commit {merge_commit:?}, but git has {merges:?}"));
        }
    }
    found
}

/// Compares the responses to clients with the state of a request.
fn check_responses(request: &RacedRequest, row: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let successes = count_successes(request);
    let is_accepted = row["merge_commit_sha"].is_string();
    // A head that a push has brought into the target branch is marked as merged by an accept or by a job.
    let is_pushed = request.pushed_merge.is_some() && !is_accepted;
    if successes > 1 || is_accepted && successes == 0 || !is_accepted && !is_pushed && successes > 0 {
        found.push(format!("{successes} accepts were acknowledged"));
    }
    if request.kind == RaceKind::ManyAccepts && successes != 1 {
        found.push(format!(
            "{successes} of {} accepts were acknowledged, and nothing else happened",
            request.accepts.len()
        ));
    }
    for response in &request.accepts {
        match response.status {
            200 => {
                if response.body["merge_commit_sha"] != row["merge_commit_sha"] || response.body["state"] != "merged" {
                    found.push(format!("an accept was acknowledged with {}", response.text));
                }
                if response.sha.as_ref().is_some_and(|sha| row["sha"] != **sha) {
                    found.push(format!("{:?} was accepted, but the head is {}", response.sha, row["sha"]));
                }
            }
            405 | 409 => {}
            _ => found.push(format!("an accept was answered with {} {}", response.status, response.text)),
        }
    }
    for close in &request.closes {
        let is_expected = close.status == 200 && close.body["state"] == row["state"];
        if !is_expected {
            found.push(format!("closing it was answered with {} {}", close.status, close.text));
        }
    }
    found
}
