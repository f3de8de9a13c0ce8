//! Presents the changes of files, and comparisons of two commits.

use std::io;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use holdfast_app::repository::browse::compare::{Comparison, FileDiff};
use holdfast_domain::site::ProjectLinks;
use holdfast_git::diff::TEXT_BYTES_LIMIT;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{CommitBody, present_commit};
use crate::InstanceUrls;
use crate::present::compare::{MISSING_MODE, json, write_comparison};

/// The changes of a file.
#[derive(Serialize, ToSchema)]
pub struct FileDiffBody {
    /// The changes as `git diff` writes them, from the first `@@` on. Empty if they are too large.
    pub diff: String,
    pub new_path: String,
    pub old_path: String,
    /// The mode before the change, `0` for a new file.
    pub a_mode: String,
    /// The mode after the change, `0` for a deleted file.
    pub b_mode: String,
    pub new_file: bool,
    pub renamed_file: bool,
    pub deleted_file: bool,
    pub generated_file: bool,
    pub collapsed: bool,
    pub too_large: bool,
}

/// How the text of a diff begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffFormat {
    /// With the first line that begins with `@@`.
    Hunks,
    /// With the lines that name the files, as programs that apply patches need them.
    Unified,
}

impl DiffFormat {
    /// Returns the format that the parameter `unidiff` selects.
    pub fn from_unidiff(unidiff: Option<bool>) -> Self {
        if unidiff == Some(true) { Self::Unified } else { Self::Hunks }
    }
}

pub fn present_file_diff(file: FileDiff, format: DiffFormat) -> FileDiffBody {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mode = |mode: Option<String>| mode.unwrap_or_else(|| MISSING_MODE.into());
    FileDiffBody {
        diff: text(match format {
            DiffFormat::Hunks => without_names(&file.text),
            DiffFormat::Unified => &file.text,
        }),
        too_large: file.text.is_empty() && file.bytes >= TEXT_BYTES_LIMIT,
        new_path: text(&file.new_path),
        old_path: text(&file.old_path),
        new_file: file.old_mode.is_none(),
        renamed_file: file.is_renamed,
        deleted_file: file.new_mode.is_none(),
        a_mode: mode(file.old_mode),
        b_mode: mode(file.new_mode),
        generated_file: false,
        collapsed: false,
    }
}

/// Returns a diff without the two lines that name the files.
fn without_names(diff: &[u8]) -> &[u8] {
    let mut rest = diff;
    for marker in [&b"--- "[..], b"+++ "] {
        if rest.starts_with(marker) {
            let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
            rest = &rest[end..];
        }
    }
    rest
}

/// The commits and changes between two commits.
#[derive(Serialize, ToSchema)]
pub struct ComparisonBody {
    /// The newest of the commits.
    commit: Option<CommitBody>,
    commits: Vec<CommitBody>,
    diffs: Vec<FileDiffBody>,
    compare_timeout: bool,
    compare_same_ref: bool,
    web_url: String,
}

/// The beginning of a comparison in JSON. The fields of [`ComparisonBody`] that are not in it follow while they are
/// read.
#[derive(Serialize)]
struct ComparisonHead {
    commit: Option<CommitBody>,
    compare_same_ref: bool,
    web_url: String,
}

/// Serializes the comparison of two revisions while it is read.
pub fn present_comparison(
    comparison: Comparison,
    (from, to): (&str, &str),
    format: DiffFormat,
    site: &InstanceUrls,
) -> BoxStream<'static, io::Result<Bytes>> {
    let (path, site) = (comparison.project.full_path(), site.clone());
    let head = json(&ComparisonHead {
        commit: comparison.newest.map(|commit| present_commit(commit, &path, &site)),
        compare_same_ref: comparison.is_same,
        web_url: site.url(&ProjectLinks::new(&path).compare(from, "...", to)),
    });
    let text = format!("{},\"commits\":[", head.strip_suffix('}').unwrap_or(&head));
    let commit = move |commit| json(&present_commit(commit, &path, &site));
    write_comparison(text, comparison.parts, commit, move |file| json(&present_file_diff(file, format)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_files_are_left_out() {
        for (diff, expected) in [
            ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "@@ -1 +1 @@\n-a\n+b\n"),
            ("@@ -1 +1 @@\n--- a\n", "@@ -1 +1 @@\n--- a\n"),
            ("--- a/f", ""),
            ("", ""),
        ] {
            assert_eq!(without_names(diff.as_bytes()), expected.as_bytes(), "{diff}");
        }
    }
}
