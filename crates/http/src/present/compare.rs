//! Presents a comparison of two commits, which is written to the response while git produces it.

use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future;
use futures_util::stream::BoxStream;
use holdfast_app::repository::browse::commit::Commit;
use holdfast_app::repository::browse::compare::{Comparison, ComparisonPart, ComparisonParts, FileDiff};
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{ListedCommit, listed_commit};

/// The commits and changes between two commits.
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

/// Serializes a comparison as JSON, in chunks of about `CHUNK_SIZE` bytes.
pub fn present_compare(comparison: Comparison) -> BoxStream<'static, io::Result<Bytes>> {
    let commit = json(&comparison.newest.map(listed_commit));
    let text = format!("{{\"commit\":{commit},\"compare_same_ref\":{},\"commits\":[", comparison.is_same);
    write_comparison(text, comparison.parts, |commit| json(&listed_commit(commit)), |file| json(&diff(file)))
}

/// Serializes the commits and the files of a comparison, in chunks of about `CHUNK_SIZE` bytes. `text` is the beginning
/// of the object, up to the bracket before the commits.
pub(super) fn write_comparison(
    mut text: String,
    parts: ComparisonParts,
    present_commit: impl Fn(Commit) -> String + Send + 'static,
    present_file: impl Fn(FileDiff) -> String + Send + 'static,
) -> BoxStream<'static, io::Result<Bytes>> {
    let mut is_among_commits = true;
    let mut separator = "";
    let chunks = parts.filter_map(move |part| {
        let part = match part {
            Ok(part) => part,
            Err(error) => return future::ready(Some(Err(error))),
        };
        if is_among_commits && !matches!(part, ComparisonPart::Commit(_)) {
            is_among_commits = false;
            separator = "],\"diffs\":[";
        }
        let is_end = matches!(part, ComparisonPart::End { .. });
        text += if is_end && separator == "," { "" } else { separator };
        text += &match part {
            ComparisonPart::Commit(commit) => present_commit(*commit),
            ComparisonPart::File(file) => present_file(file),
            ComparisonPart::End { is_too_large, .. } => format!("],\"compare_timeout\":{is_too_large}}}"),
        };
        separator = ",";
        let is_full_chunk = is_end || text.len() >= CHUNK_SIZE;
        future::ready(is_full_chunk.then(|| Ok(Bytes::from(std::mem::take(&mut text)))))
    });
    chunks.boxed()
}

/// Serializes the changes of files as a JSON array, in chunks of about `CHUNK_SIZE` bytes.
pub fn present_diffs(parts: ComparisonParts) -> BoxStream<'static, io::Result<Bytes>> {
    write_diffs("[".into(), parts, "]", |file| json(&diff(file)))
}

/// Serializes an object with one more field, which has the changes of files, in chunks of about `CHUNK_SIZE` bytes.
pub fn present_diffs_in(
    object: &impl Serialize,
    field: &str,
    parts: ComparisonParts,
) -> BoxStream<'static, io::Result<Bytes>> {
    write_diffs_in(object, field, parts, |file| json(&diff(file)))
}

/// Like [`present_diffs_in`], with the JSON of each file.
pub(super) fn write_diffs_in(
    object: &impl Serialize,
    field: &str,
    parts: ComparisonParts,
    present_file: impl Fn(FileDiff) -> String + Send + 'static,
) -> BoxStream<'static, io::Result<Bytes>> {
    let mut text = json(object);
    text.pop();
    write_diffs(format!("{text},\"{field}\":["), parts, "]}", present_file)
}

fn write_diffs(
    mut text: String,
    parts: ComparisonParts,
    end: &'static str,
    present_file: impl Fn(FileDiff) -> String + Send + 'static,
) -> BoxStream<'static, io::Result<Bytes>> {
    let mut separator = "";
    let chunks = parts.filter_map(move |part| {
        let is_end = match part {
            Ok(ComparisonPart::File(file)) => {
                text += separator;
                text += &present_file(file);
                separator = ",";
                false
            }
            Ok(ComparisonPart::Commit(_)) => false,
            Ok(ComparisonPart::End { is_timed_out: true, .. }) => {
                return future::ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut))));
            }
            Ok(ComparisonPart::End { .. }) => {
                text += end;
                true
            }
            Err(error) => return future::ready(Some(Err(error))),
        };
        let is_full_chunk = is_end || text.len() >= CHUNK_SIZE;
        future::ready(is_full_chunk.then(|| Ok(Bytes::from(std::mem::take(&mut text)))))
    });
    chunks.boxed()
}

const CHUNK_SIZE: usize = 32 << 10;

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the value has only fields that JSON can represent")
}

fn diff(file: FileDiff) -> DiffBody {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    DiffBody {
        new_file: file.old_mode.is_none(),
        deleted_file: file.new_mode.is_none(),
        renamed_file: file.is_renamed,
        old_path: text(file.old_path),
        new_path: text(file.new_path),
        a_mode: Some(file.old_mode.unwrap_or_else(|| MISSING_MODE.into())),
        b_mode: file.new_mode.unwrap_or_else(|| MISSING_MODE.into()),
        diff: text(file.text),
    }
}

/// The mode of the missing side of an added or deleted file.
pub(super) const MISSING_MODE: &str = "0";
