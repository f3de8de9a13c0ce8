//! Size limits of texts that users write, and of the parts that are shown.
//!
//! A list shows up to 100 items with their texts. The limits keep a response within a few megabytes.

use std::cmp::Ordering;

use crate::Violations;
use crate::violations::BLANK;

/// Maximum size of a description, a note or the notes of a release. Arbitrary; the same as on other forges.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum size of the description of a milestone. It is smaller because every issue of the milestone repeats it.
pub const MAX_MILESTONE_TEXT_BYTES: usize = 16 << 10;

/// Checks the text of a note.
pub fn check_note(body: &str) -> Result<(), Violations> {
    let mut violations = Violations::default();
    if body.trim().is_empty() {
        violations.add("note", BLANK);
    }
    violations.check_size("note", body, MAX_TEXT_BYTES);
    violations.into_result()
}

/// Returns the beginning of a text, up to `maximum` bytes and cut at a character boundary.
pub fn cut(text: &str, maximum: usize) -> &str {
    &text[..text.floor_char_boundary(maximum)]
}

/// Truncates a text to at most `maximum` bytes and releases the memory of the rest.
pub fn shorten(text: &mut String, maximum: usize) {
    if text.len() > maximum {
        *text = cut(text, maximum).to_owned();
    }
}

/// Compares two names by the values of the numbers in them, so that `v1.10` is greater than `v1.9`. Names that differ
/// only in leading zeros are compared as texts.
pub fn compare_naturally(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    while let (Some(first), Some(second)) = (left.chars().next(), right.chars().next()) {
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (first, second) = (split_number(&mut left), split_number(&mut right));
            first.len().cmp(&second.len()).then_with(|| first.cmp(second))
        } else {
            (left, right) = (&left[first.len_utf8()..], &right[second.len_utf8()..]);
            first.cmp(&second)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| one.cmp(other))
}

/// Splits the digits off the beginning of a text, and returns them without leading zeros.
fn split_number<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    digits.trim_start_matches('0')
}

/// Returns the number of bytes to which texts must be truncated so that all of them fit into `budget`. Only the longest
/// texts are affected.
pub fn fair_share(lengths: impl IntoIterator<Item = usize>, budget: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.into_iter().collect();
    lengths.sort_unstable();
    let (mut left, mut sharing) = (budget, lengths.len());
    for length in lengths {
        if length > left / sharing {
            return left / sharing;
        }
        left -= length;
        sharing -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_truncated_at_character_boundaries() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 2), "ab");
        assert_eq!(cut("aüb", 2), "a");
        assert_eq!(cut("aüb", 100), "aüb");
    }

    #[test]
    fn names_are_compared_by_the_numbers_in_them() {
        let mut names = ["v1.10", "v1.9", "v1.9.1", "release", "v2", "v1.09", "v1.10-rc1"];
        names.sort_by(|one, other| compare_naturally(one, other));
        assert_eq!(names, ["release", "v1.09", "v1.9", "v1.9.1", "v1.10", "v1.10-rc1", "v2"]);
        assert_eq!(compare_naturally("a", "a"), Ordering::Equal);
    }

    #[test]
    fn only_the_longest_texts_are_truncated() {
        assert_eq!(fair_share([], 10), usize::MAX);
        assert_eq!(fair_share([1, 9], 10), usize::MAX);
        assert_eq!(fair_share([11], 10), 10);
        assert_eq!(fair_share([100, 2, 100], 10), 4);
        assert_eq!(fair_share([5, 5, 5], 2), 0);
    }
}
