//! Size limits of texts that users write, and of the parts that are shown.
//!
//! A list shows up to 100 items with their texts. The limits keep a response within a few megabytes.

/// Maximum size of a description, a note or the notes of a release. Arbitrary; the same as on other forges.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum size of the description of a milestone. It is smaller because every issue of the milestone repeats it.
pub const MAX_MILESTONE_TEXT_BYTES: usize = 16 << 10;

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
    fn only_the_longest_texts_are_truncated() {
        assert_eq!(fair_share([], 10), usize::MAX);
        assert_eq!(fair_share([1, 9], 10), usize::MAX);
        assert_eq!(fair_share([11], 10), 10);
        assert_eq!(fair_share([100, 2, 100], 10), 4);
        assert_eq!(fair_share([5, 5, 5], 2), 0);
    }
}
