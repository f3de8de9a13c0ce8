//! Follows lines of files from one tree to another.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::{DIFF_TIMEOUT, FileDiff, HEADER_PREFIX, unquote, with_trees};
use crate::lines::Lines;
use crate::{BareRepository, Error, Git, Result, TreePath};

/// A line of a file. The first line of a file has the number 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine {
    pub path: TreePath,
    pub number: u64,
}

/// Finds where lines of the old tree are in the new tree, also if their files were renamed. The result has the order of
/// `lines`; it is None for a line that was changed or removed.
pub async fn follow_lines(
    git: &Git,
    repository: &BareRepository,
    old: ObjectId,
    new: ObjectId,
    lines: &[FileLine],
) -> Result<Vec<Option<FileLine>>> {
    let follow = async {
        let mut paths: Vec<&TreePath> = lines.iter().map(|line| &line.path).collect();
        paths.sort_by_key(|path| path.as_str());
        paths.dedup();
        let mut changed = read_changes(git, repository, old, new, &paths).await?;
        // Files are only compared with all others if one of them is gone.
        if changed.values().any(|file| file.is_deleted) {
            let renamed = find_renamed(git, repository, old, new, &changed).await?;
            let both: Vec<&TreePath> = renamed.iter().flat_map(|(old, new)| [old, new]).collect();
            if !both.is_empty() {
                let followed = read_changes(git, repository, old, new, &both).await?;
                changed.extend(followed.into_iter().filter(|(_, file)| !file.is_deleted));
            }
        }
        Ok(lines
            .iter()
            .map(|line| changed.get(line.path.as_str()).map_or_else(|| Some(line.clone()), |file| file.follow(line)))
            .collect())
    };
    let timed_out = Error::TimedOut { command: "diff-tree", after: DIFF_TIMEOUT };
    tokio::time::timeout(DIFF_TIMEOUT, follow).await.unwrap_or(Err(timed_out))
}

/// The changes of a file between two trees.
#[derive(Debug, Default)]
struct ChangedFile {
    new_path: Vec<u8>,
    is_deleted: bool,
    is_binary: bool,
    hunks: Vec<Hunk>,
}

/// A replacement of lines: `old_lines` lines from `old_start` on become `new_lines` lines. Without old lines, the new ones
/// are inserted after the line `old_start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hunk {
    old_start: u64,
    old_lines: u64,
    new_lines: u64,
}

impl Hunk {
    /// Parses the header of a hunk, such as `@@ -1,2 +3 @@`. A number of lines that is left out is 1.
    fn parse(header: &[u8]) -> Option<Self> {
        let range = |sign: &[u8]| -> Option<(u64, u64)> {
            let range = header.split_str(" ").find_map(|part| part.strip_prefix(sign))?.to_str().ok()?;
            let (start, lines) = range.split_once(',').unwrap_or((range, "1"));
            Some((start.parse().ok()?, lines.parse().ok()?))
        };
        let ((old_start, old_lines), (_, new_lines)) = (range(b"-")?, range(b"+")?);
        Some(Self { old_start, old_lines, new_lines })
    }
}

impl ChangedFile {
    fn follow(&self, line: &FileLine) -> Option<FileLine> {
        if self.is_deleted || self.is_binary {
            return None;
        }
        let mut number = line.number;
        for hunk in &self.hunks {
            let first_after = hunk.old_start + hunk.old_lines.max(1);
            if hunk.old_lines > 0 && (hunk.old_start..first_after).contains(&line.number) {
                return None;
            }
            if line.number >= first_after {
                number = number + hunk.new_lines - hunk.old_lines;
            }
        }
        let path = TreePath::new(self.new_path.to_str().ok()?)?;
        Some(FileLine { path, number })
    }
}

/// Reads the changes of some files, by their old paths. A renamed file is found if both of its paths are given.
async fn read_changes(
    git: &Git,
    repository: &BareRepository,
    old: ObjectId,
    new: ObjectId,
    paths: &[&TreePath],
) -> Result<HashMap<String, ChangedFile>> {
    let command = git.command(repository, "diff-tree").args(["-r", "-p", "-M", "--unified=0"]);
    let mut output = Lines::spawn(with_trees(command, old, new).tree_paths(paths), b'\n')?;
    let mut changed = HashMap::new();
    let mut current: Option<(FileDiff, ChangedFile)> = None;
    let mut finish = |file: Option<(FileDiff, ChangedFile)>| {
        if let Some((diff, mut file)) = file
            && let Ok(path) = diff.old_path.to_str()
            && (diff.old_mode.is_some() || diff.new_mode.is_none())
        {
            file.is_deleted = diff.new_mode.is_none() && diff.old_mode.is_some();
            file.new_path = diff.new_path;
            changed.insert(path.to_owned(), file);
        }
    };
    while let Some(line) = output.next().await? {
        if line.starts_with(HEADER_PREFIX) {
            finish(current.take());
            current = Some((FileDiff::parse_header(&line)?, ChangedFile::default()));
        } else if let Some((diff, file)) = &mut current {
            match Hunk::parse(&line) {
                Some(hunk) if line.starts_with(b"@@ ") => file.hunks.push(hunk),
                _ if file.hunks.is_empty() => {
                    file.is_binary = file.is_binary || line.starts_with(b"Binary files ");
                    diff.apply_extended_header(&line);
                }
                _ => {}
            }
        }
    }
    finish(current);
    Ok(changed)
}

/// Finds the new paths of deleted files that were renamed.
async fn find_renamed(
    git: &Git,
    repository: &BareRepository,
    old: ObjectId,
    new: ObjectId,
    changed: &HashMap<String, ChangedFile>,
) -> Result<Vec<(TreePath, TreePath)>> {
    let command = git.command(repository, "diff-tree").args(["-r", "-M", "--name-status", "--diff-filter=R"]);
    let mut output = Lines::spawn(with_trees(command, old, new), b'\n')?;
    let mut renamed = Vec::new();
    while let Some(line) = output.next().await? {
        let mut fields = line.split_str("\t").skip(1).map(unquote);
        let (Some(from), Some(to)) = (fields.next(), fields.next()) else { continue };
        let (Ok(from), Ok(to)) = (from.to_str(), to.to_str()) else { continue };
        if changed.get(from).is_some_and(|file| file.is_deleted)
            && let (Some(from), Some(to)) = (TreePath::new(from), TreePath::new(to))
        {
            renamed.push((from, to));
        }
    }
    Ok(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(hunks: &[&str], number: u64) -> Option<u64> {
        let hunks = hunks.iter().map(|header| Hunk::parse(header.as_bytes()).expect("a valid header")).collect();
        let file = ChangedFile { new_path: b"b".to_vec(), hunks, ..ChangedFile::default() };
        let line = FileLine { path: TreePath::new("a").expect("a valid path"), number };
        file.follow(&line).map(|line| line.number)
    }

    #[test]
    fn lines_move_with_insertions_and_removals_before_them() {
        let insertion = ["@@ -3,0 +4,2 @@ fn"];
        assert_eq!([3, 4].map(|line| follow(&insertion, line)), [Some(3), Some(6)]);
        let removal = ["@@ -3,2 +2,0 @@"];
        assert_eq!([2, 3, 4, 5].map(|line| follow(&removal, line)), [Some(2), None, None, Some(3)]);
        let change = ["@@ -1 +1,3 @@", "@@ -5,2 +7 @@"];
        assert_eq!([1, 2, 5, 6, 7].map(|line| follow(&change, line)), [None, Some(4), None, None, Some(8)]);
        let at_the_beginning = ["@@ -0,0 +1,2 @@"];
        assert_eq!(follow(&at_the_beginning, 1), Some(3));
    }
}
