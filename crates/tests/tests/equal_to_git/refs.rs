//! Branches and tags: `git for-each-ref`, `git branch --merged`.

use std::collections::BTreeSet;

use chrono::{DateTime, FixedOffset, SecondsFormat};
use serde_json::{Value, json};

use crate::local::Object;
use crate::pair::{Pair, Request, encoded, lossy, status};

/// A commit or a tag: its lines up to the first empty one, and the rest.
pub struct Parsed<'a> {
    id: &'a str,
    kind: &'a str,
    head: &'a [u8],
    message: &'a [u8],
}

pub fn parsed<'a>(pair: &'a Pair, id: &'a str) -> Parsed<'a> {
    let Object { kind, content } = pair.local.object(id).unwrap();
    let end = content.windows(2).position(|pair| pair == b"\n\n").unwrap();
    Parsed { id, kind, head: &content[..end], message: &content[end + 2..] }
}

impl<'a> Parsed<'a> {
    fn values(&self, key: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.head.split(|byte| *byte == b'\n');
        lines.filter_map(move |line| line.strip_prefix(key.as_bytes())?.strip_prefix(b" "))
    }

    /// The commit that a tag leads to in the end.
    fn commit(self, pair: &'a Pair) -> Self {
        let target = self.values("object").next();
        match target {
            Some(target) => parsed(pair, std::str::from_utf8(target).unwrap()).commit(pair),
            None => self,
        }
    }

    /// Name, address and date. Spaces around the first two are not shown.
    fn person(&self, key: &'a str) -> (String, String, String) {
        let line = self.values(key).next().unwrap();
        let open = line.iter().position(|byte| *byte == b'<').unwrap();
        let close = line.iter().rposition(|byte| *byte == b'>').unwrap();
        let when = lossy(&line[close + 2..]);
        let (seconds, zone) = when.split_once(' ').unwrap();
        let at = DateTime::from_timestamp(seconds.parse().unwrap(), 0).unwrap();
        let at = at.with_timezone(&zone.parse::<FixedOffset>().unwrap());
        let at = at.to_rfc3339_opts(SecondsFormat::Millis, false);
        (lossy(line[..open].trim_ascii()), lossy(line[open + 1..close].trim_ascii()), at)
    }
}

/// The part of a commit that lists of commits show.
pub fn listed(commit: &Parsed<'_>) -> Value {
    let (name, email, _) = commit.person("author");
    let (_, _, created_at) = commit.person("committer");
    json!({
        "id": commit.id,
        "short_id": commit.id[..8],
        "author_name": name,
        "author_email": email,
        "created_at": created_at,
    })
}

fn all_of(commit: &Parsed<'_>, parents: &str) -> Value {
    let (author_name, author_email, authored_date) = commit.person("author");
    let (committer_name, committer_email, committed_date) = commit.person("committer");
    json!({
        "id": commit.id,
        parents: commit.values("parent").map(lossy).collect::<Vec<_>>(),
        "message": lossy(commit.message),
        "author_name": author_name,
        "author_email": author_email,
        "authored_date": authored_date,
        "committer_name": committer_name,
        "committer_email": committer_email,
        "committed_date": committed_date,
    })
}

/// Names without what they begin with, and what they point at.
async fn named(pair: &Pair, below: &str) -> Vec<(String, String)> {
    let listed = pair.local.git(["for-each-ref", "--format=%(refname) %(objectname)", below]).await;
    let pair = |line: &str| {
        let (name, id) = line.rsplit_once(' ').unwrap();
        (name[below.len()..].to_owned(), id.to_owned())
    };
    lossy(&listed).lines().map(pair).collect()
}

fn keep(value: &mut Value, keys: &[&str]) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| keys.contains(&key.as_str()));
    }
}

fn keep_each(list: &mut Value, keys: &[&str]) {
    list.as_array_mut().unwrap_or(&mut Vec::new()).iter_mut().for_each(|item| keep(item, keys));
}

fn branch(pair: &Pair, name: &str, id: &str) -> Value {
    json!({"name": name, "commit": all_of(&parsed(pair, id), "parent_ids")})
}

pub async fn check_branches(pair: &mut Pair) {
    let request = Request::new("branches", "/branches");
    let mut ours = pair.list(&request, 7).await;
    keep_each(&mut ours, &["name", "commit"]);
    let branches = named(pair, "refs/heads/").await;
    pair.same(&request, &ours, &branches.iter().map(|(name, id)| branch(pair, name, id)).collect());
}

pub async fn check_branch(pair: &mut Pair) {
    let mut branches = named(pair, "refs/heads/").await;
    branches.push(("no/such".into(), String::new()));
    let (name, id) = pair.dice.pick(&branches).clone();
    let request = Request::new("branch", format!("/branches/{}", encoded(&name)));
    let mut ours = pair.get(&request).await;
    let gits = if id.is_empty() {
        status(404)
    } else {
        keep(&mut ours, &["name", "commit"]);
        branch(pair, &name, &id)
    };
    pair.same(&request, &ours, &gits);
}

pub async fn check_tags(pair: &mut Pair) {
    let request = Request::new("tags", "/tags");
    let mut ours = pair.list(&request, 5).await;
    keep_each(&mut ours, &["name", "message", "commit"]);
    let tags = named(pair, "refs/tags/").await;
    let gits = tags.iter().rev().map(|(name, id)| {
        let tag = parsed(pair, id);
        let message = (tag.kind == "tag").then(|| lossy(tag.message.strip_suffix(b"\n").unwrap_or(tag.message)));
        json!({"name": name, "message": message, "commit": all_of(&tag.commit(pair), "parents_ids")})
    });
    pair.same(&request, &ours, &gits.collect());
}

/// What is left when the merged branches are deleted.
pub async fn check_merged(pair: &mut Pair) {
    let Some(default) = pair.default.clone() else { return };
    let branches = named(pair, "refs/heads/").await;
    let tip = branches.iter().find(|(name, _)| *name == default).unwrap().1.clone();
    let protected = pair.dice.pick(&branches).0.clone();
    pair.protect(&protected).await;
    let merged = pair.local.git(["for-each-ref", "--format=%(refname)", "--merged", &tip, "refs/heads/"]).await;
    let merged = lossy(&merged);
    let merged: BTreeSet<&str> = merged.lines().map(|line| &line["refs/heads/".len()..]).collect();
    let goes = |name: &str, id: &str| merged.contains(name) && id != tip && name != default && name != protected;
    let left: Vec<_> = branches.iter().filter(|(name, id)| !goes(name, id)).cloned().collect();
    let request = Request::new("merged branches", "/merged_branches");
    let answer = pair.world.owner.delete(&pair.url(&request)).await;
    if answer.status != 200 {
        pair.same(&request, &status(answer.status), &json!(left));
    }
    {
        let _alone = pair.world.working.lock().await;
        pair.world.server.work().await;
    }
    let ours = pair.list(&Request::new("", "/branches"), 100).await;
    let ours: Vec<Value> =
        ours.as_array().unwrap().iter().map(|branch| json!([branch["name"], branch["commit"]["id"]])).collect();
    pair.same(&request, &json!(ours), &json!(left));
}
