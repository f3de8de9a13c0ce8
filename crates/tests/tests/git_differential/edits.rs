//! New commits: cherry-picks against `git cherry-pick` in a work tree, and changes of files against git's index.

use holdfast_tests::SeededRng;
use serde_json::{Value, json};

use crate::local::run;
use crate::pair::{Pair, Request, lossy, percent_encode};
use crate::work_tree::WorkTree;

/// The branch that gets the commits.
const BRANCH: &str = "edited";
/// New commits for each repository.
const COMMITS: usize = 8;

impl WorkTree {
    /// Returns the tree with the changes that git's index makes of the files of a commit.
    async fn apply(&self, tip: &str, changes: &[Change]) -> String {
        let index = self.directory.path().join("index");
        let run = async |arguments: &[&str], input: &[u8]| {
            let mut command = self.command(&self.path(), arguments);
            command.env("GIT_INDEX_FILE", &index);
            lossy(&run(command, input.to_vec()).await.unwrap()).trim_end().to_owned()
        };
        run(&["read-tree", tip], b"").await;
        for change in changes {
            if let Some(path) = change.removed() {
                run(&["update-index", "--force-remove", "--", path], b"").await;
            }
            if let Some((path, mode, content)) = change.added() {
                let blob = match content {
                    Content::Bytes(bytes) => run(&["hash-object", "-w", "--stdin"], &bytes).await,
                    Content::Blob(id) => id,
                };
                run(&["update-index", "--add", "--cacheinfo", &format!("{mode},{blob},{path}")], b"").await;
            }
        }
        run(&["write-tree"], b"").await
    }

    /// Returns the regular files of a commit with UTF-8 paths.
    async fn files(&self, commit: &str) -> Vec<File> {
        let listed = self.git(&["ls-tree", "-r", "-z", commit]).await.unwrap();
        let file = |entry: &str| {
            let (facts, path) = entry.split_once('\t')?;
            let [mode, _, blob] = facts.split(' ').collect::<Vec<_>>()[..] else { return None };
            let is_usual = mode.starts_with("100") && !path.contains('\u{FFFD}');
            is_usual.then(|| File { path: path.to_owned(), mode: mode.to_owned(), blob: blob.to_owned() })
        };
        listed.split('\0').filter_map(file).collect()
    }
}

#[derive(Clone, Debug)]
struct File {
    path: String,
    mode: String,
    blob: String,
}

enum Content {
    Bytes(Vec<u8>),
    Blob(String),
}

enum Change {
    Create(String, Vec<u8>),
    Update(File, Vec<u8>),
    Delete(File),
    Move(File, String),
}

impl Change {
    fn removed(&self) -> Option<&str> {
        match self {
            Self::Delete(file) | Self::Move(file, _) => Some(&file.path),
            Self::Create(..) | Self::Update(..) => None,
        }
    }

    fn added(&self) -> Option<(&str, &str, Content)> {
        match self {
            Self::Create(path, content) => Some((path, "100644", Content::Bytes(content.clone()))),
            Self::Update(file, content) => Some((&file.path, &file.mode, Content::Bytes(content.clone()))),
            Self::Move(file, path) => Some((path, &file.mode, Content::Blob(file.blob.clone()))),
            Self::Delete(_) => None,
        }
    }

    fn to_action(&self) -> Value {
        let text = |bytes: &[u8]| lossy(bytes);
        match self {
            Self::Create(path, content) => json!({"action": "create", "file_path": path, "content": text(content)}),
            Self::Update(file, content) => {
                json!({"action": "update", "file_path": file.path, "content": text(content)})
            }
            Self::Delete(file) => json!({"action": "delete", "file_path": file.path}),
            Self::Move(file, path) => {
                json!({"action": "move", "previous_path": file.path, "file_path": path})
            }
        }
    }
}

/// Returns random changes of different files, all of which are possible.
fn random_changes(rng: &mut SeededRng, files: &[File], number: usize) -> Vec<Change> {
    let mut left = files.to_vec();
    let mut changes = Vec::new();
    for index in 0..rng.next_between(1, 4) {
        let content = format!("commit {number}, change {index}\n").into_bytes();
        let new_path = match rng.next_below(3) {
            0 => format!("new-{number}-{index}.txt"),
            1 => format!("new/{number}/deep/{index}"),
            _ => format!("new/{number} {index} ü"),
        };
        let file = (!left.is_empty()).then(|| left.swap_remove(rng.next_below(left.len())));
        changes.push(match (rng.next_below(4), file) {
            (0, Some(file)) => Change::Update(file, content),
            (1, Some(file)) => Change::Delete(file),
            (2, Some(file)) => Change::Move(file, new_path),
            _ => Change::Create(new_path, content),
        });
    }
    changes
}

pub async fn check(pair: &mut Pair) {
    let start = pair.revision();
    let client = pair.environment.owner.clone();
    let form = [("branch_name", BRANCH), ("ref", start.id.as_str())];
    let created = client.post(&pair.url(&Request::new("", "/branches")), &form).await;
    assert_eq!(created.status, 200, "{}", created.text);
    let tree = WorkTree::new(pair, &start.id).await;
    let mut tip = start.id;
    for number in 0..COMMITS {
        let (request, response, expected) = if pair.rng.one_in(2) {
            let picked = *pair.rng.pick(&pair.history.visible());
            let parents = pair.history.parents(picked).len();
            let id = pair.id(picked).to_owned();
            let request = Request::new("cherry-pick", format!("/commits/{id}/cherry_pick"));
            let response = client.post(&pair.url(&request), &[("branch", BRANCH)]).await;
            (request, response, tree.cherry_pick(&tip, &id, parents > 1).await)
        } else {
            let files = tree.files(&tip).await;
            let changes = random_changes(&mut pair.rng, &files, number);
            let actions: Vec<Value> = changes.iter().map(Change::to_action).collect();
            let body = json!({"branch_name": BRANCH, "commit_message": "Change", "actions": actions});
            let request = Request::new("commit", "/commits");
            let response = client.send(client.request("POST", &pair.url(&request)).json(&body)).await;
            (request, response, Some(tree.apply(&tip, &changes).await))
        };
        let gits = match &expected {
            Some(tree) => json!({"status": 201, "tree": tree, "parent": tip}),
            None => json!({"status": 400, "tree": null, "parent": null}),
        };
        let mut ours = json!({"status": response.status, "tree": null, "parent": null});
        if response.status == 201 {
            let url = pair.environment.server.git_url(&pair.environment.owner, &format!("ada/r{}", pair.number));
            tree.git(&["fetch", "-q", &url, &format!("refs/heads/{BRANCH}")]).await.unwrap();
            let id = response.body["id"].as_str().unwrap().to_owned();
            ours["tree"] = tree.git(&["rev-parse", &format!("{id}^{{tree}}")]).await.unwrap().into();
            ours["parent"] = tree.git(&["rev-parse", &format!("{id}^")]).await.unwrap().into();
            tip = id;
        }
        pair.assert_same(&request, &ours, &gits);
    }
    let branch = format!("/branches/{}", percent_encode(BRANCH));
    let deleted = client.delete(&pair.url(&Request::new("", branch))).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
}
