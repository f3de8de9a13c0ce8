//! Merge requests between random commits, against `git merge --no-ff` in a work tree.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::pair::{Pair, Request};
use crate::work_tree::{GitMerge, WorkTree, plain_path};

/// Merge requests for each repository.
const MERGES: usize = 12;
/// The branches that get the merges. Merges between them, also of earlier tips, have several merge bases.
const TARGETS: [&str; 2] = ["merge-target-0", "merge-target-1"];

/// The state of a repository while merge requests are accepted.
struct Merges<'a> {
    pair: &'a mut Pair,
    tree: WorkTree,
    /// The tips of the target branches.
    tips: [String; 2],
    /// Commits that can be merged: all of the history, and those that were tips of target branches.
    commits: Vec<String>,
    /// Branches that are deleted at the end.
    branches: Vec<String>,
}

impl Merges<'_> {
    async fn create_branch(&mut self, name: &str, commit: &str) {
        let form = [("branch_name", name), ("ref", commit)];
        let created = self.pair.environment.owner.post(&self.pair.url(&Request::new("", "/branches")), &form).await;
        assert_eq!(created.status, 200, "{}", created.text);
        self.branches.push(name.to_owned());
    }

    async fn find_tip(&self, branch: &str) -> Value {
        self.pair.get(&Request::new("", format!("/branches/{branch}"))).await["commit"]["id"].clone()
    }

    /// Picks a commit, usually one that is not in the target branch yet.
    async fn pick_commit(&mut self, target: usize) -> String {
        let other = self.tips[1 - target].clone();
        if self.pair.rng.one_in(4) {
            return other;
        }
        let tip = self.tips[target].clone();
        for _ in 0..8 {
            let commit = self.pair.rng.pick(&self.commits).clone();
            let is_merged = self.tree.git(&["merge-base", "--is-ancestor", &commit, &tip]).await.is_ok();
            if !is_merged || self.pair.rng.one_in(20) {
                return commit;
            }
        }
        other
    }

    /// Opens a merge request and accepts it. Returns the status of the response, the merge request afterwards, and the paths
    /// that conflict.
    async fn accept(&self, source: &str, target: &str) -> (u16, Value, BTreeSet<String>) {
        let client = &self.pair.environment.owner;
        let requests = format!("/projects/{}/merge_requests", self.pair.project);
        let form = [("title", "Merge"), ("source_branch", source), ("target_branch", target)];
        let opened = client.post(&requests, &form).await;
        assert_eq!(opened.status, 201, "{}", opened.text);
        let request = format!("{requests}/{}", opened.body["id"]);
        let accepted = client.put(&format!("{request}/merge"), &[]).await;
        let conflicts = match accepted.status {
            406 => client.get(&format!("{request}/blockers")).await.body[0]["paths"].clone(),
            _ => Value::Null,
        };
        let paths = conflicts.as_array().into_iter().flatten().map(|path| plain_path(path.as_str().unwrap()));
        (accepted.status, client.get(&request).await.body, paths.collect())
    }

    async fn check_one(&mut self, number: usize) {
        let target = self.pair.rng.next_below(TARGETS.len());
        let (tip, commit) = (self.tips[target].clone(), self.pick_commit(target).await);
        let source = format!("merge-source-{number}");
        self.create_branch(&source, &commit).await;
        let (status, request, conflicts) = self.accept(&source, TARGETS[target]).await;
        let new_tip = self.find_tip(TARGETS[target]).await;
        let mut ours = json!({
            "source": commit, "target": tip, "status": status, "state": request["state"], "is_updated": new_tip != tip,
            "tree": null, "parents": null, "can_be_merged": request["merge_status"] != "cannot_be_merged",
            "conflicts": conflicts,
        });
        let mut gits = json!({
            "source": commit, "target": tip, "status": 405, "state": "opened", "is_updated": false,
            "tree": null, "parents": null, "can_be_merged": true, "conflicts": [],
        });
        let kind = match self.tree.merge(&tip, &commit).await {
            GitMerge::Commit(merged) => {
                gits["status"] = 200.into();
                gits["state"] = "merged".into();
                gits["is_updated"] = true.into();
                gits["tree"] = merged.tree.into();
                gits["parents"] = merged.parents.into();
                "merge"
            }
            GitMerge::Conflict(paths) => {
                gits["status"] = 406.into();
                gits["conflicts"] = json!(paths);
                gits["can_be_merged"] = false.into();
                "merge with conflict"
            }
            GitMerge::UpToDate => "merge of an ancestor",
        };
        if let Some(id) = new_tip.as_str().filter(|id| *id != tip) {
            let path = format!("ada/r{}", self.pair.number);
            let url = self.pair.environment.server.git_url(&self.pair.environment.owner, &path);
            self.tree.git(&["fetch", "-q", &url, &format!("refs/heads/{}", TARGETS[target])]).await.unwrap();
            let merged = self.tree.read_facts(id).await;
            ours["tree"] = merged.tree.into();
            ours["parents"] = merged.parents.into();
            assert_eq!(request["merge_commit_sha"], *id);
            self.commits.push(tip);
            self.tips[target] = id.to_owned();
        }
        let request = Request::new(kind, format!("/branches/{}", TARGETS[target]));
        self.pair.assert_same(&request, &ours, &gits);
    }
}

pub async fn check(pair: &mut Pair) {
    let starts = [pair.revision().id, pair.revision().id];
    let commits = pair.history.visible().into_iter().map(|commit| pair.id(commit).to_owned()).collect();
    let tree = WorkTree::new(pair, &starts[0]).await;
    let mut merges = Merges { pair, tree, tips: starts.clone(), commits, branches: Vec::new() };
    for (target, start) in TARGETS.iter().zip(&starts) {
        merges.create_branch(target, start).await;
    }
    for number in 0..MERGES {
        merges.check_one(number).await;
    }
    for branch in &merges.branches {
        let url = merges.pair.url(&Request::new("", format!("/branches/{branch}")));
        let deleted = merges.pair.environment.owner.delete(&url).await;
        assert_eq!(deleted.status, 200, "{}", deleted.text);
    }
}
