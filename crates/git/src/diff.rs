//! Parses the output of `git diff-tree`: the differences between two trees, one file at a time, in bounded memory.

mod follow;
mod listing;

use std::collections::VecDeque;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::quote::ansi_c;

use crate::lines::{Line, Lines};
use crate::process::Command;
use crate::{BareRepository, Error, Git, Result, TreePath};

pub use follow::{FileLine, follow_lines};
pub use listing::{ChangedLines, DiffListing, DiffSummary, FileSelection, ListedFile};

/// The changes of one file between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    pub old_path: Vec<u8>,
    pub new_path: Vec<u8>,
    /// The mode in octal digits, or None if the file does not exist on this side.
    pub old_mode: Option<String>,
    pub new_mode: Option<String>,
    pub is_renamed: bool,
    /// The diff from the line that begins with `---`. Empty or cut if it is too long.
    pub text: Vec<u8>,
    /// The length of the whole diff.
    pub bytes: u64,
    pub lines: u64,
}

/// How much of the text of each file is kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLimit {
    /// The whole text, or nothing of it if it has at least [`TEXT_BYTES_LIMIT`].
    WholeOrNothing,
    /// At most this many lines from the beginning, of which long ones are cut.
    FirstLines(u64),
}

/// The text of a diff with at least this many bytes is dropped.
pub const TEXT_BYTES_LIMIT: u64 = 102_400;
/// Maximum length of a line of [`TextLimit::FirstLines`]: 1,000 characters of four bytes, and the sign before them.
const MAX_CUT_LINE_BYTES: usize = 4_001;
/// Maximum size of the text of [`TextLimit::FirstLines`], without the last line.
const MAX_CUT_TEXT_BYTES: usize = 1 << 20;

/// A running `git diff`, read file by file.
pub struct Diff {
    lines: Lines,
    /// The header line of the next file.
    header: Option<Vec<u8>>,
    /// A file that was read ahead, to see whether it belongs to the previous one.
    next: Option<FileDiff>,
    /// The modes of files that were renamed without a change, or None before they have been read. The diff of such a
    /// file does not state its mode.
    modes_of_renamed: Option<VecDeque<u32>>,
    limit: TextLimit,
}

/// Returns the command that writes the diff between two trees.
pub fn command(git: &Git, repository: &BareRepository, old: ObjectId, new: ObjectId) -> Command {
    with_trees(git.command(repository, "diff-tree").args(["-r", "-p", "-M", "--full-index"]), old, new)
}

/// Returns the command that writes a commit as an email, with its message and its changes since its first parent.
pub fn email_command(git: &Git, repository: &BareRepository, commit: ObjectId) -> Command {
    let command = git.command(repository, "log").args(["-1", "--format=email", "--stat", "-p", "-M", "--full-index"]);
    let command = command.args(["--diff-merges=first-parent", "--no-color", "--no-ext-diff", "--no-textconv"]);
    command.args(["--no-show-signature", "--no-mailmap", "--no-notes"]).arg_oid(commit).arg("--")
}

fn with_trees(command: Command, old: ObjectId, new: ObjectId) -> Command {
    let command = command.args(["--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"]);
    command.arg_oid(old).arg_oid(new).arg("--")
}

/// Maximum time to count or search the lines of a diff.
const DIFF_TIMEOUT: Duration = Duration::from_secs(20);

/// Counts the files that a diff between two trees changes, and the lines that it adds and removes.
pub async fn summarize(git: &Git, repository: &BareRepository, old: ObjectId, new: ObjectId) -> Result<DiffSummary> {
    let command = with_trees(git.command(repository, "diff-tree").args(["-r", "-M", "--shortstat"]), old, new);
    let output = command.run(b"", 1000, DIFF_TIMEOUT).await?;
    Ok(DiffSummary::parse(&String::from_utf8_lossy(&output)))
}

/// What a diff does with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Added,
    Removed,
}

/// The numbers of a line in the old and the new file. A line that is in one of them has the number of the line that follows
/// it in the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePosition {
    pub old: u64,
    pub new: u64,
}

impl LinePosition {
    /// Returns the name of the line in API v3: the SHA-1 of the path and both numbers.
    pub fn line_code(self, path: &str) -> String {
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(path.as_bytes());
        let digest = hasher.try_finalize().map(|digest| digest.to_string()).unwrap_or_default();
        format!("{digest}_{}_{}", self.old, self.new)
    }
}

/// Finds the line with this number in the new file that a diff between two trees adds or removes.
pub async fn find_line(
    git: &Git,
    repository: &BareRepository,
    old: ObjectId,
    new: ObjectId,
    path: &TreePath,
    kind: LineKind,
    number: u64,
) -> Result<Option<LinePosition>> {
    let command =
        git.command(repository, "diff-tree").args(["-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv"]);
    let command = command.arg_oid(old).arg_oid(new).arg_tree_path(path);
    let search = async {
        let mut lines = Lines::spawn(command, b'\n')?;
        let mut next = None;
        while let Some(line) = lines.next().await? {
            if line.starts_with(HEADER_PREFIX) {
                next = None;
                continue;
            }
            if let Some(range) = line.strip_prefix(b"@@ ".as_slice()) {
                next = range_starts(range);
                continue;
            }
            let (Some(current), Some(sign)) = (next, line.first()) else { continue };
            let is_kind = matches!((sign, kind), (b'+', LineKind::Added) | (b'-', LineKind::Removed));
            if is_kind && current.new == number {
                return Ok(Some(current));
            }
            let old = current.old + u64::from(matches!(sign, b'-' | b' '));
            let new = current.new + u64::from(matches!(sign, b'+' | b' '));
            next = Some(LinePosition { old, new });
        }
        Ok(None)
    };
    let timed_out = Error::TimedOut { command: "diff-tree", after: DIFF_TIMEOUT };
    tokio::time::timeout(DIFF_TIMEOUT, search).await.unwrap_or(Err(timed_out))
}

/// Returns the first lines of both files in the header of a hunk, such as `-1,2 +3,4 @@`.
fn range_starts(range: &[u8]) -> Option<LinePosition> {
    let start = |sign: &[u8]| -> Option<u64> {
        let range = range.split_str(" ").find_map(|part| part.strip_prefix(sign))?;
        range.split_str(",").next()?.to_str().ok()?.parse().ok()
    };
    Some(LinePosition { old: start(b"-")?, new: start(b"+")? })
}

impl Diff {
    /// Starts a diff between two trees. The id of a commit stands for its tree.
    pub fn start(git: &Git, repository: &BareRepository, old: ObjectId, new: ObjectId) -> Result<Self> {
        let command =
            git.command(repository, "diff-tree").args(["--raw", "-r", "-p", "-M", "--no-abbrev", "--full-index"]);
        Self::spawn(with_trees(command, old, new), TextLimit::WholeOrNothing)
    }

    fn spawn(command: Command, limit: TextLimit) -> Result<Self> {
        Ok(Self { lines: Lines::spawn(command, b'\n')?, header: None, next: None, modes_of_renamed: None, limit })
    }

    pub async fn next(&mut self) -> Result<Option<FileDiff>> {
        let Some(mut file) = (match self.next.take() {
            Some(file) => Some(file),
            None => self.read_file().await?,
        }) else {
            return Ok(None);
        };
        // Git shows a change of the file type as a deletion followed by an addition.
        if file.new_mode.is_none()
            && let Some(next) = self.read_file().await?
        {
            if next.old_mode.is_none() && next.new_path == file.old_path {
                file.append(self.limit, &next);
                file.new_mode = next.new_mode;
            } else {
                self.next = Some(next);
            }
        }
        Ok(Some(file))
    }

    async fn read_file(&mut self) -> Result<Option<FileDiff>> {
        if self.modes_of_renamed.is_none() {
            self.modes_of_renamed = Some(self.read_renamed_modes().await?);
        }
        let Some(header) = self.header.take() else { return Ok(None) };
        let mut file = FileDiff::parse_header(&header)?;
        let mut is_text = false;
        let mut has_ids = false;
        while let Some(line) = self.lines.next().await? {
            // A line of a file never begins like this, because it is preceded by a sign or a space.
            if line.starts_with(HEADER_PREFIX) {
                self.header = Some(line.to_vec());
                break;
            }
            has_ids = has_ids || line.starts_with(b"index ");
            is_text = is_text || !file.apply_extended_header(&line);
            if is_text {
                file.append_line(self.limit, &line);
            }
        }
        if file.is_renamed && !has_ids {
            let mode = self.modes_of_renamed.as_mut().and_then(VecDeque::pop_front).map(|mode| format!("{mode:06o}"));
            file.old_mode = file.old_mode.or_else(|| mode.clone());
            file.new_mode = file.new_mode.or(mode);
        }
        Ok(Some(file))
    }

    /// Reads the list of all differences that precedes the diffs: lines `:MODE MODE ID ID STATUS<tab>PATH`. Returns the
    /// modes of files that were renamed without a change.
    async fn read_renamed_modes(&mut self) -> Result<VecDeque<u32>> {
        let mut modes = VecDeque::new();
        while let Some(line) = self.lines.next().await? {
            if line.starts_with(HEADER_PREFIX) {
                self.header = Some(line.to_vec());
                break;
            }
            let fields: Vec<&[u8]> = line.splitn_str(5, " ").collect();
            if let [_, mode, old, new, status] = fields[..]
                && old == new
                && status.starts_with(b"R")
            {
                modes.push_back(u32::from_str_radix(&String::from_utf8_lossy(mode), 8).unwrap_or(0));
            }
        }
        Ok(modes)
    }
}

const HEADER_PREFIX: &[u8] = b"diff --git ";

impl FileDiff {
    /// Parses the header `diff --git a/PATH b/PATH`. If the paths differ, extended header lines follow that contain
    /// them.
    fn parse_header(header: &[u8]) -> Result<Self> {
        let invalid_header =
            || Error::CommandFailed { command: "diff-tree", detail: "unexpected line instead of a file header".into() };
        let paths = header.strip_prefix(HEADER_PREFIX).ok_or_else(invalid_header)?;
        let path = if paths.starts_with(b"\"") {
            unquote(paths).strip_prefix(b"a/").ok_or_else(invalid_header)?.to_vec()
        } else {
            let end = 2 + paths.len().saturating_sub(5) / 2;
            paths.get(2..end).ok_or_else(invalid_header)?.to_vec()
        };
        Ok(Self { old_path: path.clone(), new_path: path, ..Self::default() })
    }

    /// Applies an extended header line. Returns false if the line is not one.
    fn apply_extended_header(&mut self, line: &[u8]) -> bool {
        let mode = |digits: &[u8]| Some(String::from_utf8_lossy(digits).into_owned());
        if let Some(digits) = line.strip_prefix(b"old mode ") {
            self.old_mode = mode(digits);
        } else if let Some(digits) = line.strip_prefix(b"new mode ") {
            self.new_mode = mode(digits);
        } else if let Some(digits) = line.strip_prefix(b"new file mode ") {
            self.new_mode = mode(digits);
        } else if let Some(digits) = line.strip_prefix(b"deleted file mode ") {
            self.old_mode = mode(digits);
        } else if let Some(path) = line.strip_prefix(b"rename from ") {
            self.old_path = unquote(path);
            self.is_renamed = true;
        } else if let Some(path) = line.strip_prefix(b"rename to ") {
            self.new_path = unquote(path);
        } else if let Some(ids) = line.strip_prefix(b"index ") {
            // This line contains the mode only if it is the same on both sides.
            if let Some(space) = ids.find_byte(b' ') {
                self.old_mode = mode(&ids[space + 1..]);
                self.new_mode.clone_from(&self.old_mode);
            }
        } else {
            return line.starts_with(b"similarity index ");
        }
        true
    }

    /// Appends a line of the diff, as far as the limit allows.
    fn append_line(&mut self, limit: TextLimit, line: &Line<'_>) {
        self.bytes += line.bytes + 1;
        self.lines += 1;
        match limit {
            TextLimit::WholeOrNothing if self.bytes < TEXT_BYTES_LIMIT => {
                self.text.extend_from_slice(line);
                self.text.push(b'\n');
            }
            TextLimit::WholeOrNothing => self.text = Vec::new(),
            TextLimit::FirstLines(count) if self.lines <= count && self.text.len() < MAX_CUT_TEXT_BYTES => {
                self.text.extend_from_slice(line.get(..MAX_CUT_LINE_BYTES).unwrap_or(line));
                self.text.push(b'\n');
            }
            TextLimit::FirstLines(_) => {}
        }
    }

    /// Appends the diff of a second file.
    fn append(&mut self, limit: TextLimit, other: &Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        if limit == TextLimit::WholeOrNothing && self.bytes >= TEXT_BYTES_LIMIT {
            self.text = Vec::new();
        } else {
            self.text.extend_from_slice(&other.text);
        }
    }
}

/// Decodes a path. Git quotes paths with unusual characters.
fn unquote(path: &[u8]) -> Vec<u8> {
    ansi_c::undo(BStr::new(path)).map_or_else(|_| path.to_vec(), |(path, _)| path.to_vec())
}
