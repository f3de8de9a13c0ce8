use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use holdfast_app::repository::compare::{Comparison, FileDiff, Part};
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{ListedCommit, listed};

/// What is written piece by piece, as the schema describes it.
#[derive(Serialize, ToSchema)]
pub struct CompareBody {
    commit: Option<ListedCommit>,
    commits: Vec<ListedCommit>,
    diffs: Vec<DiffBody>,
    compare_timeout: bool,
    compare_same_ref: bool,
}

#[derive(Serialize, ToSchema)]
pub struct DiffBody {
    old_path: String,
    new_path: String,
    a_mode: Option<String>,
    b_mode: String,
    diff: String,
    new_file: bool,
    renamed_file: bool,
    deleted_file: bool,
}

pub fn compare(comparison: Comparison) -> BoxStream<'static, io::Result<Bytes>> {
    let commit = json(&comparison.newest.map(listed));
    let begin = format!("{{\"commit\":{commit},\"compare_same_ref\":{},\"commits\":[", comparison.is_same);
    let mut is_among_commits = true;
    let mut separator = "";
    let parts = comparison.parts.map(move |part| {
        let part = part?;
        if is_among_commits && !matches!(part, Part::Commit(_)) {
            is_among_commits = false;
            separator = "],\"diffs\":[";
        }
        let text = match part {
            Part::Commit(commit) => format!("{separator}{}", json(&listed(*commit))),
            Part::File(file) => format!("{separator}{}", json(&diff(file))),
            Part::End { is_too_large } => {
                let end = if separator == "," { "" } else { separator };
                format!("{end}],\"compare_timeout\":{is_too_large}}}")
            }
        };
        separator = ",";
        Ok(Bytes::from(text))
    });
    // What is there already goes together.
    let together = stream::iter([Ok(Bytes::from(begin))]).chain(parts).ready_chunks(TOGETHER);
    together.map(|some| some.into_iter().collect::<io::Result<Vec<_>>>().map(|some| some.concat().into())).boxed()
}

const TOGETHER: usize = 64;

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values")
}

fn diff(file: FileDiff) -> DiffBody {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    DiffBody {
        new_file: file.old_mode.is_none(),
        deleted_file: file.new_mode.is_none(),
        renamed_file: file.renamed,
        old_path: text(file.old_path),
        new_path: text(file.new_path),
        a_mode: Some(file.old_mode.unwrap_or_else(|| MISSING.into())),
        b_mode: file.new_mode.unwrap_or_else(|| MISSING.into()),
        diff: text(file.text),
    }
}

/// The mode of what is not there.
const MISSING: &str = "0";
