//! Directories: `git ls-tree`.

use serde_json::{Value, json};

use crate::local::object_spec;
use crate::pair::{Pair, Request, lossy, status};

pub async fn check(pair: &mut Pair) {
    let revision = pair.revision_or_none();
    let recursive = pair.rng.one_in(2);
    let files = pair.history.files(revision.commit);
    let directories = files.directories();
    let path = match pair.rng.next_below(8) {
        0..=3 if !directories.is_empty() => {
            let path = pair.rng.pick(&directories);
            // A query parameter cannot contain paths that are not UTF-8.
            String::from_utf8(path[..path.len() - 1].to_vec()).unwrap_or_default()
        }
        4 => "no/such/directory".into(),
        5 => files.iter().find_map(|(path, _)| String::from_utf8(path.to_vec()).ok()).unwrap_or_default(),
        _ => String::new(),
    };
    let mut request = Request::new("tree", "/tree").with_some("ref_name", &revision.text);
    if !path.is_empty() || pair.rng.one_in(2) {
        request = request.with("path", &path);
    }
    if recursive || pair.rng.one_in(2) {
        request = request.with("recursive", recursive.to_string());
    }
    let per_page = *pair.rng.pick(&[3, 20, 100, 100]);
    let ours = pair.list(&request, per_page).await;
    pair.assert_same(&request, &ours, &expected(pair, &revision.id, &path, recursive).await);
}

async fn expected(pair: &Pair, id: &str, path: &str, recursive: bool) -> Value {
    let options: &[&str] = if recursive { &["ls-tree", "-z", "-r", "-t"] } else { &["ls-tree", "-z"] };
    let arguments = options.iter().map(Into::into).chain([object_spec(id, path.as_bytes())]);
    let Ok(listed) = pair.local.try_git(arguments).await else { return json!([]) };
    let mut entries: Vec<Value> =
        listed.split_inclusive(|byte| *byte == 0).map(|line| entry(&line[..line.len() - 1], path)).collect();
    let kinds = [json!("tree"), json!("blob"), json!("commit")];
    entries.sort_by_key(|entry| kinds.iter().position(|kind| *kind == entry["type"]));
    entries.into()
}

/// Parses a line of `git ls-tree`: `MODE KIND ID<tab>PATH`.
fn entry(line: &[u8], below: &str) -> Value {
    let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
    let facts = lossy(&line[..tab]);
    let [mode, kind, id] = facts.split(' ').collect::<Vec<_>>()[..] else { panic!("{facts}") };
    let path = &line[tab + 1..];
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap();
    let path = if below.is_empty() { lossy(path) } else { format!("{below}/{}", lossy(path)) };
    json!({"id": id, "name": lossy(name), "path": path, "type": kind, "mode": mode})
}

pub async fn check_unknown(pair: &mut Pair) {
    for name in ["no-such-ref", "0123456789012345678901234567890123456789", "refs/work/tip", "HEAD~1000"] {
        let request = Request::new("unknown ref", "/tree").with("ref_name", name);
        pair.assert_same(&request, &pair.get(&request).await, &status(404));
    }
}
