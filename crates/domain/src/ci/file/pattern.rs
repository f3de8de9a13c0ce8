//! Regular expressions that users write. Matching takes time linear in the text, so lookaround and backreferences are
//! not supported.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use regex::{Regex, RegexBuilder};

/// Maximum memory of one compiled expression.
const MAX_REGEX_BYTES: usize = 256 * 1024;
/// Maximum number of different expressions in a file. The number is arbitrary; real files have far fewer.
const MAX_PATTERNS: usize = 200;

/// A cache of compiled expressions, so that jobs with the same expression share it.
#[derive(Default)]
pub(super) struct Patterns(HashMap<String, Option<Regex>>);

impl Patterns {
    pub fn compile(&mut self, pattern: &str) -> Option<Regex> {
        let is_full = self.0.len() >= MAX_PATTERNS;
        match self.0.entry(pattern.to_owned()) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(entry) => entry.insert(compile_regex(pattern)).clone(),
        }
    }
}

/// Compiles an expression. Returns None if it is invalid, unsupported or too large.
pub(super) fn compile_regex(pattern: &str) -> Option<Regex> {
    // As in Ruby, `^` and `$` match at every line.
    RegexBuilder::new(&to_rust_syntax(pattern))
        .multi_line(true)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build()
        .ok()
}

/// Returns the code coverage that a trace reports: the number in the last match of the pattern.
pub fn find_coverage(pattern: &str, text: &str) -> Option<f64> {
    let found = compile_regex(pattern)?.captures_iter(text).last()?;
    // The last capture group that matched, or else the whole match.
    let part = found.iter().flatten().last()?.as_str();
    let start = part.find(|c: char| c.is_ascii_digit())?;
    let number = &part[start..];
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let mut parts = number[..end].split('.');
    let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
    format!("{whole}.{fraction}0").parse().ok()
}

/// Translates an expression from Ruby's syntax. Character classes contain only ASCII, which also keeps expressions
/// small.
fn to_rust_syntax(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        match escaped {
            Some('w') => translated.push_str("[0-9A-Za-z_]"),
            Some('W') => translated.push_str("[^0-9A-Za-z_]"),
            Some('d') => translated.push_str("[0-9]"),
            Some('D') => translated.push_str("[^0-9]"),
            Some('s') => translated.push_str(r"[\t-\r ]"),
            Some('S') => translated.push_str(r"[^\t-\r ]"),
            Some('h') => translated.push_str("[0-9A-Fa-f]"),
            Some('H') => translated.push_str("[^0-9A-Fa-f]"),
            Some('Z') => translated.push_str(r"\n?\z"),
            Some(escaped) => translated.extend([c, escaped]),
            None => translated.push(c),
        }
    }
    translated
}

/// Returns the text between two slashes, or None if the text is not enclosed in them. A single slash counts as both, as
/// existing clients expect.
pub(super) fn strip_slashes(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('/')?;
    if rest.is_empty() { Some(rest) } else { rest.strip_suffix('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_follow_ruby_syntax() {
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
            let regex = compile_regex(pattern).unwrap_or_else(|| panic!("{pattern}"));
            assert!(regex.is_match(yes) && !regex.is_match(no), "{pattern}");
        }
        for pattern in ["(", "\\", "(?=a)", r"(a)\1", "*"] {
            assert!(compile_regex(pattern).is_none(), "{pattern}");
        }
    }
}
