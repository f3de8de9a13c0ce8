//! Comparisons: `git merge-base`, `git rev-list` and `git diff`.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::generators::MAX_DIFF_BYTES;
use crate::pair::{Pair, Request, lossy};
use crate::refs::{list_item, parse_object};

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

const MAX_FILES: usize = 100;
const MAX_LINES: usize = 5000;
const MAX_BYTES: usize = 512_000;

pub async fn check(pair: &mut Pair) {
    let from = pair.revision();
    let to = if pair.rng.one_in(12) { pair.revision_of(from.commit) } else { pair.revision() };
    let request = Request::new("compare", "/compare").with("from", &from.text).with("to", &to.text);
    let mut ours = pair.get(&request).await;
    let local = &pair.local;
    let commits: Vec<Value> =
        compare_commits(pair, &from.id, &to.id).await.iter().map(|id| list_item(&parse_object(pair, id))).collect();
    let diff = ["diff", "-M", "--raw", "-p", "-z", "--abbrev=40", "--no-color"];
    // With three dots, git compares with the merge base, as the API does.
    let from_base = local.try_git(diff.iter().chain(&[&*format!("{}...{}", from.id, to.id)])).await;
    let diffs = match from_base {
        Ok(diffs) => diffs,
        Err(error) if error.contains("no merge base") => local.git(diff.iter().chain(&[EMPTY_TREE, &to.id])).await,
        Err(error) => panic!("{error}"),
    };
    let (diffs, is_large) = parse(&diffs);
    let gits = json!({
        "commit": commits.last(),
        "commits": commits,
        "diffs": diffs,
        "compare_timeout": is_large,
        "compare_same_ref": from.id == to.id,
    });
    without_titles(&mut ours);
    pair.assert_same(&request, &ours, &gits);
}

/// Returns the commits of `to` that `from` does not reach, oldest first. `git rev-list FROM..TO` has the same order,
/// but stops too early if commit dates go backwards, and then lists commits that `from` reaches.
async fn compare_commits(pair: &Pair, from: &str, to: &str) -> Vec<String> {
    let hidden = lossy(&pair.local.git(["rev-list", from]).await);
    let hidden: HashSet<&str> = hidden.lines().collect();
    let all = lossy(&pair.local.git(["rev-list", "--reverse", to]).await);
    all.lines().filter(|id| !hidden.contains(id)).map(str::to_owned).collect()
}

/// Removes the titles, since git does not print them as the API does: long ones are truncated.
fn without_titles(ours: &mut Value) {
    let commits = ours.get_mut("commits").and_then(Value::as_array_mut);
    let mut listed: Vec<&mut Value> = commits.into_iter().flatten().collect();
    listed.iter_mut().filter_map(|commit| commit.as_object_mut()).for_each(|commit| drop(commit.remove("title")));
    if let Some(commit) = ours.get_mut("commit").and_then(Value::as_object_mut) {
        commit.remove("title");
    }
}

struct RawEntry {
    old_mode: String,
    new_mode: String,
    status: u8,
    old_path: String,
    new_path: String,
}

/// Parses `git diff` output: `:MODE MODE ID ID STATUS\0PATH\0` for each file, with two paths for a rename, then a zero
/// byte and the patches. Also returns whether the comparison exceeds the limits of the API.
fn parse(output: &[u8]) -> (Vec<Value>, bool) {
    let mut rest = output;
    let mut raws = Vec::new();
    while rest.first() == Some(&b':') {
        let line = lossy(take_until_zero(&mut rest));
        let facts: Vec<&str> = line[1..].split(' ').collect();
        let status = facts[4].as_bytes()[0];
        let old_path = lossy(take_until_zero(&mut rest));
        let new_path = if status == b'R' { lossy(take_until_zero(&mut rest)) } else { old_path.clone() };
        raws.push(RawEntry { old_mode: mode(facts[0]), new_mode: mode(facts[1]), status, old_path, new_path });
    }
    let texts = split_patch(rest.strip_prefix(b"\0").unwrap_or(rest));
    let bytes: usize = texts.iter().map(Vec::len).sum();
    let lines = texts.iter().flatten().filter(|byte| **byte == b'\n').count();
    let is_large = raws.len() > MAX_FILES || lines > MAX_LINES || bytes > MAX_BYTES;
    let mut texts = texts.into_iter();
    let entries = raws.into_iter().map(|raw| {
        let mut text = texts.next().unwrap();
        if raw.status == b'T' {
            text.extend(texts.next().unwrap());
        }
        if text.len() >= MAX_DIFF_BYTES {
            text.clear();
        }
        json!({
            "old_path": raw.old_path,
            "new_path": raw.new_path,
            "a_mode": raw.old_mode,
            "b_mode": raw.new_mode,
            "diff": lossy(&text),
            "new_file": raw.status == b'A',
            "renamed_file": raw.status == b'R',
            "deleted_file": raw.status == b'D',
        })
    });
    let entries = entries.collect();
    assert!(texts.next().is_none(), "a text without an entry");
    (entries, is_large)
}

fn mode(digits: &str) -> String {
    if digits == "000000" { "0".into() } else { digits.into() }
}

fn take_until_zero<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|byte| *byte == 0).unwrap();
    let found = &rest[..end];
    *rest = &rest[end + 1..];
    found
}

/// Splits a patch by file. Each part starts after the header lines with modes, names and ids.
fn split_patch(patch: &[u8]) -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut is_text = false;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        // Lines of file content start with a space or a sign, so only a header matches.
        if line.starts_with(b"diff --git ") {
            texts.push(Vec::new());
            is_text = false;
            continue;
        }
        is_text |= line.starts_with(b"--- ") || line.starts_with(b"Binary files ");
        if is_text {
            texts.last_mut().unwrap().extend(line);
        }
    }
    texts
}
