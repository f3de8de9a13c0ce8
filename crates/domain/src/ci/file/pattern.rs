//! Regular expressions that users write. They take time that grows only with the text they are held against; what
//! cannot be had that way (a look around, a reference back) is not to be had.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use regex::{Regex, RegexBuilder};

/// Of what one expression takes in memory.
const LARGEST: usize = 256 * 1024;
/// Different ones, in a file. A file that has more is not one that somebody wrote.
const MOST: usize = 200;

/// Each is compiled once, however many jobs share it.
#[derive(Default)]
pub(super) struct Patterns(HashMap<String, Option<Regex>>);

impl Patterns {
    pub fn compile(&mut self, pattern: &str) -> Option<Regex> {
        let is_full = self.0.len() >= MOST;
        match self.0.entry(pattern.to_owned()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(place) => place.insert(compiled(pattern)).clone(),
        }
    }
}

/// None where it is none that we have, or too large.
pub(super) fn compiled(pattern: &str) -> Option<Regex> {
    // A line's end is a line's end, as in Ruby.
    RegexBuilder::new(&spelt_out(pattern)).multi_line(true).size_limit(LARGEST).dfa_size_limit(LARGEST).build().ok()
}

/// How much of the code a build says it covers: the last number that the pattern finds.
pub fn coverage_in(pattern: &str, text: &str) -> Option<f64> {
    let found = compiled(pattern)?.captures_iter(text).last()?;
    // What is in brackets, if something is.
    let part = found.iter().flatten().last()?.as_str();
    let start = part.find(|c: char| c.is_ascii_digit())?;
    let number = &part[start..];
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let mut parts = number[..end].split('.');
    let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
    format!("{whole}.{fraction}0").parse().ok()
}

/// To Ruby a word is of ASCII. So are digits and spaces, and that keeps patterns small.
fn spelt_out(pattern: &str) -> String {
    let mut ours = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        match escaped {
            Some('w') => ours.push_str("[0-9A-Za-z_]"),
            Some('W') => ours.push_str("[^0-9A-Za-z_]"),
            Some('d') => ours.push_str("[0-9]"),
            Some('D') => ours.push_str("[^0-9]"),
            Some('s') => ours.push_str(r"[\t-\r ]"),
            Some('S') => ours.push_str(r"[^\t-\r ]"),
            Some('h') => ours.push_str("[0-9A-Fa-f]"),
            Some('H') => ours.push_str("[^0-9A-Fa-f]"),
            Some('Z') => ours.push_str(r"\n?\z"),
            Some(escaped) => ours.extend([c, escaped]),
            None => ours.push(c),
        }
    }
    ours
}

/// What stands between slashes.
pub(super) fn between_slashes(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('/')?;
    if rest.is_empty() { Some(rest) } else { rest.strip_suffix('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_ruby_s() {
        for (pattern, yes, no) in [
            (r"^\w+$", "a_1", "ä"),
            (r"^[\w.-]+$", "a-1.x", "a/b"),
            (r"^[^\w]+$", "-ä", "-a"),
            (r"^[^\W_]+$", "abc", "a_c"),
            (r"^\d\D$", "1x", "11"),
            (r"^\s\S$", "\tx", "  "),
            (r"^\h\H$", "fg", "gf"),
            (r"\Ax\Z", "x\n", "x\ny"),
            (r"^x$", "a\nx\nb", "ax"),
            (r"\\w", r"\w", "w"),
            (r"\(\d+.\d+\%\) covered", "(98.29%) covered", "(98.29) covered"),
            (r"^[\w--]$", "a", "."),
        ] {
            let compiled = compiled(pattern).unwrap_or_else(|| panic!("{pattern}"));
            assert!(compiled.is_match(yes) && !compiled.is_match(no), "{pattern}");
        }
        for pattern in ["(", "\\", "(?=a)", r"(a)\1", "*"] {
            assert!(compiled(pattern).is_none(), "{pattern}");
        }
    }
}
