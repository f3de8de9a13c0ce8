//! Size and names of files.

use super::{report, shipped_sources};

/// Maximum number of lines of code in a file. Arbitrary: a file is read in one go.
const MAX_LINES: usize = 400;

/// Returns whether a line holds code. Comments and blank lines do not count against the length of a file.
fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

#[test]
fn files_are_short() {
    let lengths =
        shipped_sources().map(|source| (source.text.lines().filter(|line| is_code(line)).count(), source.path));
    let long = lengths.filter(|(lines, _)| *lines > MAX_LINES);
    let violations: Vec<_> = long.map(|(lines, path)| format!("{path} has {lines} lines of code")).collect();
    report("a file has at most 400 lines of code: split it by noun", &violations);
}

#[test]
fn files_have_specific_names() {
    let vague = ["utils", "util", "helpers", "common", "manager", "misc"];
    let found = shipped_sources().filter(|source| source.module().iter().any(|name| vague.contains(name)));
    let violations: Vec<_> = found.map(|source| source.path).collect();
    report("name the file after what is in it", &violations);
}
