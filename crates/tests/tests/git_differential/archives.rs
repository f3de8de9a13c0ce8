//! Archives: `git archive`.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::local::run;
use crate::pair::{Pair, Request, status};
use crate::{tar, zip};

/// An entry of an archive of any format.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// The path; that of a directory ends with a slash.
    pub path: Vec<u8>,
    pub mode: u32,
    pub kind: &'static str,
    /// The content of a file, or the target of a symbolic link.
    pub content: Vec<u8>,
}

pub async fn check(pair: &mut Pair) {
    let revision = pair.revision_or_none();
    let (suffix, format) =
        *pair.rng.pick(&[("", "tar"), (".tar.gz", "tar"), (".tar", "tar"), (".tar.bz2", "tar"), (".zip", "zip")]);
    let request = Request::new("archive", format!("/archive{suffix}")).with_some("sha", &revision.text);
    let ours = match pair.bytes(&request).await {
        Ok(bytes) => to_json(strip_top_directory(items(&decompress(bytes, suffix).await, format).await)),
        Err(code) => status(code),
    };
    let gits = pair.local.git(["archive", &format!("--format={format}"), &revision.id]).await;
    pair.assert_same(&request, &ours, &to_json(items(&gits, format).await));
}

async fn decompress(bytes: Vec<u8>, suffix: &str) -> Vec<u8> {
    let program = match suffix {
        "" | ".tar.gz" => "gzip",
        ".tar.bz2" => "bzip2",
        _ => return bytes,
    };
    let mut command = Command::new(program);
    command.arg("-dc");
    run(command, bytes).await.unwrap()
}

async fn items(archive: &[u8], format: &str) -> Vec<Item> {
    match format {
        "tar" => tar::items(archive),
        _ => zip::items(archive).await,
    }
}

/// Removes the top directory that all entries share.
fn strip_top_directory(items: Vec<Item>) -> Vec<Item> {
    let top = items
        .first()
        .map_or(Vec::new(), |item| item.path.split_inclusive(|byte| *byte == b'/').next().unwrap().to_vec());
    assert!(!items.is_empty() && top.ends_with(b"/"), "no directory on top: {items:?}");
    let inner = items.into_iter().map(|item| {
        let path = item.path.strip_prefix(&top[..]).unwrap_or_else(|| panic!("beside the directory on top: {item:?}"));
        Item { path: path.to_vec(), ..item }
    });
    inner.filter(|item| !item.path.is_empty()).collect()
}

fn to_json(mut items: Vec<Item>) -> Value {
    items.sort();
    let shown = items.iter().map(|item| {
        let (path, content) = (item.path.escape_ascii().to_string(), item.content.escape_ascii().to_string());
        json!([path, format!("{:o}", item.mode), item.kind, content])
    });
    shown.collect()
}
