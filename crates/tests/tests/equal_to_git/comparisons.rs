//! Comparisons: `git merge-base`, `git rev-list` and `git diff`.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::pair::{Pair, Request, lossy};
use crate::refs::{listed, parsed};
use crate::words::LARGEST_DIFF;

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

const MOST_FILES: usize = 100;
const MOST_LINES: usize = 5000;
const MOST_BYTES: usize = 512_000;

pub async fn check(pair: &mut Pair) {
    let from = pair.revision();
    let to = if pair.dice.one_in(12) { pair.revision_of(from.commit) } else { pair.revision() };
    let request = Request::new("compare", "/compare").with("from", &from.text).with("to", &to.text);
    let mut ours = pair.get(&request).await;
    let local = &pair.local;
    let commits: Vec<Value> =
        between(pair, &from.id, &to.id).await.iter().map(|id| listed(&parsed(pair, id))).collect();
    let diff = ["diff", "-M", "--raw", "-p", "-z", "--abbrev=40", "--no-color"];
    // With three dots: from where the two histories parted, which is where `git merge-base` says.
    let from_base = local.try_git(diff.iter().chain(&[&*format!("{}...{}", from.id, to.id)])).await;
    let diffs = match from_base {
        Ok(diffs) => diffs,
        Err(said) if said.contains("no merge base") => local.git(diff.iter().chain(&[EMPTY_TREE, &to.id])).await,
        Err(said) => panic!("{said}"),
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
    pair.same(&request, &ours, &gits);
}

/// Oldest first. `git rev-list FROM..TO` has them in the same order, but where dates go backwards it ends its walk too
/// early, and lists commits that lead to `from` as well.
async fn between(pair: &Pair, from: &str, to: &str) -> Vec<String> {
    let hidden = lossy(&pair.local.git(["rev-list", from]).await);
    let hidden: HashSet<&str> = hidden.lines().collect();
    let all = lossy(&pair.local.git(["rev-list", "--reverse", to]).await);
    all.lines().filter(|id| !hidden.contains(id)).map(str::to_owned).collect()
}

/// A title is more than git tells: a long one is cut.
fn without_titles(ours: &mut Value) {
    let commits = ours.get_mut("commits").and_then(Value::as_array_mut);
    let mut listed: Vec<&mut Value> = commits.into_iter().flatten().collect();
    listed.iter_mut().filter_map(|commit| commit.as_object_mut()).for_each(|commit| drop(commit.remove("title")));
    if let Some(commit) = ours.get_mut("commit").and_then(Value::as_object_mut) {
        commit.remove("title");
    }
}

struct Raw {
    old_mode: String,
    new_mode: String,
    status: u8,
    old_path: String,
    new_path: String,
}

/// `:MODE MODE ID ID STATUS\0PATH\0`, with two paths for what was renamed; then, behind another zero, the texts. And
/// whether all of it is too large for a glance.
fn parse(output: &[u8]) -> (Vec<Value>, bool) {
    let mut rest = output;
    let mut raws = Vec::new();
    while rest.first() == Some(&b':') {
        let line = lossy(until_zero(&mut rest));
        let facts: Vec<&str> = line[1..].split(' ').collect();
        let status = facts[4].as_bytes()[0];
        let old_path = lossy(until_zero(&mut rest));
        let new_path = if status == b'R' { lossy(until_zero(&mut rest)) } else { old_path.clone() };
        raws.push(Raw { old_mode: mode(facts[0]), new_mode: mode(facts[1]), status, old_path, new_path });
    }
    let texts = texts(rest.strip_prefix(b"\0").unwrap_or(rest));
    let bytes: usize = texts.iter().map(Vec::len).sum();
    let lines = texts.iter().flatten().filter(|byte| **byte == b'\n').count();
    let is_large = raws.len() > MOST_FILES || lines > MOST_LINES || bytes > MOST_BYTES;
    let mut texts = texts.into_iter();
    let entries = raws.into_iter().map(|raw| {
        let mut text = texts.next().unwrap();
        if raw.status == b'T' {
            text.extend(texts.next().unwrap());
        }
        if text.len() >= LARGEST_DIFF {
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

fn until_zero<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|byte| *byte == 0).unwrap();
    let found = &rest[..end];
    *rest = &rest[end + 1..];
    found
}

/// One for each header, from the line on that follows all lines about modes, names and ids.
fn texts(patch: &[u8]) -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut is_text = false;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        // A line of a file has a sign before it.
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
