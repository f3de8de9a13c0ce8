//! Branches and tags: `git for-each-ref`, `git branch --merged`.

use std::collections::BTreeSet;

use chrono::{DateTime, FixedOffset, SecondsFormat};
use serde_json::{Value, json};

use crate::local::Object;
use crate::pair::{Pair, Request, lossy, percent_encode, status};

/// A parsed commit or tag: the header lines, and the message.
pub struct ParsedObject<'a> {
    id: &'a str,
    kind: &'a str,
    head: &'a [u8],
    message: &'a [u8],
}

pub fn parse_object<'a>(pair: &'a Pair, id: &'a str) -> ParsedObject<'a> {
    let Object { kind, content } = pair.local.object(id).unwrap();
    let end = content.windows(2).position(|pair| pair == b"\n\n").unwrap();
    ParsedObject { id, kind, head: &content[..end], message: &content[end + 2..] }
}

impl<'a> ParsedObject<'a> {
    fn values(&self, key: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.head.split(|byte| *byte == b'\n');
        lines.filter_map(move |line| line.strip_prefix(key.as_bytes())?.strip_prefix(b" "))
    }

    /// Peels a tag to its commit.
    fn commit(self, pair: &'a Pair) -> Self {
        let target = self.values("object").next();
        match target {
            Some(target) => parse_object(pair, std::str::from_utf8(target).unwrap()).commit(pair),
            None => self,
        }
    }

    /// Returns name, address and date. Spaces around the first two are removed.
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

/// Returns a commit as lists of commits show it.
pub fn list_item(commit: &ParsedObject<'_>) -> Value {
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

fn full_commit(commit: &ParsedObject<'_>, parents: &str) -> Value {
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

/// Returns the refs below a prefix: their names without it, and their objects.
async fn list_refs(pair: &Pair, prefix: &str) -> Vec<(String, String)> {
    let listed = pair.local.git(["for-each-ref", "--format=%(refname) %(objectname)", prefix]).await;
    let pair = |line: &str| {
        let (name, id) = line.rsplit_once(' ').unwrap();
        (name[prefix.len()..].to_owned(), id.to_owned())
    };
    lossy(&listed).lines().map(pair).collect()
}

fn retain_keys(value: &mut Value, keys: &[&str]) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| keys.contains(&key.as_str()));
    }
}

fn retain_each_keys(list: &mut Value, keys: &[&str]) {
    list.as_array_mut().unwrap_or(&mut Vec::new()).iter_mut().for_each(|item| retain_keys(item, keys));
}

fn branch(pair: &Pair, name: &str, id: &str) -> Value {
    json!({"name": name, "commit": full_commit(&parse_object(pair, id), "parent_ids")})
}

pub async fn check_branches(pair: &mut Pair) {
    let request = Request::new("branches", "/branches");
    let mut ours = pair.list(&request, 7).await;
    retain_each_keys(&mut ours, &["name", "commit"]);
    let branches = list_refs(pair, "refs/heads/").await;
    pair.assert_same(&request, &ours, &branches.iter().map(|(name, id)| branch(pair, name, id)).collect());
}

pub async fn check_branch(pair: &mut Pair) {
    let mut branches = list_refs(pair, "refs/heads/").await;
    branches.push(("no/such".into(), String::new()));
    let (name, id) = pair.rng.pick(&branches).clone();
    let request = Request::new("branch", format!("/branches/{}", percent_encode(&name)));
    let mut ours = pair.get(&request).await;
    let gits = if id.is_empty() {
        status(404)
    } else {
        retain_keys(&mut ours, &["name", "commit"]);
        branch(pair, &name, &id)
    };
    pair.assert_same(&request, &ours, &gits);
}

pub async fn check_tags(pair: &mut Pair) {
    let request = Request::new("tags", "/tags");
    let mut ours = pair.list(&request, 5).await;
    retain_each_keys(&mut ours, &["name", "message", "commit"]);
    let tags = list_refs(pair, "refs/tags/").await;
    let gits = tags.iter().rev().map(|(name, id)| {
        let tag = parse_object(pair, id);
        let message = (tag.kind == "tag").then(|| lossy(tag.message.strip_suffix(b"\n").unwrap_or(tag.message)));
        json!({"name": name, "message": message, "commit": full_commit(&tag.commit(pair), "parents_ids")})
    });
    pair.assert_same(&request, &ours, &gits.collect());
}

/// Compares the branches that remain after deleting the merged ones.
pub async fn check_merged(pair: &mut Pair) {
    let Some(default) = pair.default.clone() else { return };
    let branches = list_refs(pair, "refs/heads/").await;
    let tip = branches.iter().find(|(name, _)| *name == default).unwrap().1.clone();
    let protected = pair.rng.pick(&branches).0.clone();
    pair.protect(&protected).await;
    let merged = pair.local.git(["for-each-ref", "--format=%(refname)", "--merged", &tip, "refs/heads/"]).await;
    let merged = lossy(&merged);
    let merged: BTreeSet<&str> = merged.lines().map(|line| &line["refs/heads/".len()..]).collect();
    let goes = |name: &str, id: &str| merged.contains(name) && id != tip && name != default && name != protected;
    let left: Vec<_> = branches.iter().filter(|(name, id)| !goes(name, id)).cloned().collect();
    let request = Request::new("merged branches", "/merged_branches");
    let answer = pair.environment.owner.delete(&pair.url(&request)).await;
    if answer.status != 200 {
        pair.assert_same(&request, &status(answer.status), &json!(left));
    }
    {
        let _alone = pair.environment.working.lock().await;
        pair.environment.server.run_jobs().await;
    }
    let ours = pair.list(&Request::new("", "/branches"), 100).await;
    let ours: Vec<Value> =
        ours.as_array().unwrap().iter().map(|branch| json!([branch["name"], branch["commit"]["id"]])).collect();
    pair.assert_same(&request, &json!(ours), &json!(left));
}
