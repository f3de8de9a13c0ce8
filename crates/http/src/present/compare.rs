use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future;
use futures_util::stream::BoxStream;
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

/// In pieces of a good size.
pub fn compare(comparison: Comparison) -> BoxStream<'static, io::Result<Bytes>> {
    let commit = json(&comparison.newest.map(listed));
    let mut text = format!("{{\"commit\":{commit},\"compare_same_ref\":{},\"commits\":[", comparison.is_same);
    let mut is_among_commits = true;
    let mut separator = "";
    let pieces = comparison.parts.filter_map(move |part| {
        let part = match part {
            Ok(part) => part,
            Err(error) => return future::ready(Some(Err(error))),
        };
        if is_among_commits && !matches!(part, Part::Commit(_)) {
            is_among_commits = false;
            separator = "],\"diffs\":[";
        }
        let is_end = matches!(part, Part::End { .. });
        text += if is_end && separator == "," { "" } else { separator };
        text += &match part {
            Part::Commit(commit) => json(&listed(*commit)),
            Part::File(file) => json(&diff(file)),
            Part::End { is_too_large } => format!("],\"compare_timeout\":{is_too_large}}}"),
        };
        separator = ",";
        let is_piece = is_end || text.len() >= PIECE;
        future::ready(is_piece.then(|| Ok(Bytes::from(std::mem::take(&mut text)))))
    });
    pieces.boxed()
}

const PIECE: usize = 32 << 10;

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
