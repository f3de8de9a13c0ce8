//! Sizes of the texts that people write, and of what is shown of them.
//!
//! A list shows up to 100 items, each with its texts. The limits keep one response to a few megabytes.

/// Maximum size of a description, a note or the notes of a release. Arbitrary; the same as on other forges.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum size of the description of a milestone. It is smaller because every issue of the milestone repeats it.
pub const MAX_MILESTONE_TEXT_BYTES: usize = 16 << 10;

/// Returns the beginning of a text, at most `maximum` bytes of it.
pub fn cut(text: &str, maximum: usize) -> &str {
    &text[..text.floor_char_boundary(maximum)]
}

/// Cuts a text to at most `maximum` bytes and releases the memory of the rest.
pub fn shorten(text: &mut String, maximum: usize) {
    if text.len() > maximum {
        *text = cut(text, maximum).to_owned();
    }
}

/// Returns to how many bytes texts must be cut for all of them to fit into `budget`. Only the longest are cut.
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
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 2), "ab");
        assert_eq!(cut("aüb", 2), "a");
        assert_eq!(cut("aüb", 100), "aüb");
    }

    #[test]
    fn only_the_longest_texts_are_cut() {
        assert_eq!(fair_share([], 10), usize::MAX);
        assert_eq!(fair_share([1, 9], 10), usize::MAX);
        assert_eq!(fair_share([11], 10), 10);
        assert_eq!(fair_share([100, 2, 100], 10), 4);
        assert_eq!(fair_share([5, 5, 5], 2), 0);
    }
}
