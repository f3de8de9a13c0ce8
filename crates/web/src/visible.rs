//! Characters that are not seen: controls of the writing direction and others without a glyph. With them, a text can
//! look different from what it is, so they are shown by their code.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes a text for HTML, and shows the codes of characters that are not seen.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| matches!(c, '&' | '<' | '>' | '"' | '\'') || is_suspect(c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    let mut previous = None;
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_unseen(c, previous) => {
                let _ = write!(escaped, "<span class=\"unseen\">U+{:04X}</span>", u32::from(c));
            }
            c => escaped.push(c),
        }
        previous = Some(c);
    }
    Cow::Owned(escaped)
}

/// Returns whether a text contains characters that are not seen.
pub fn has_unseen(text: &str) -> bool {
    let mut previous = None;
    text.contains(is_suspect)
        && text.chars().any(|c| {
            let is_unseen = is_unseen(c, previous);
            previous = Some(c);
            is_unseen
        })
}

/// Returns whether a character is not seen, after the character before it.
fn is_unseen(c: char, previous: Option<char>) -> bool {
    match c {
        // These join letters of some scripts and the parts of emojis; after ASCII they do nothing.
        '\u{200C}' | '\u{200D}' => previous.is_none_or(|previous| previous.is_ascii()),
        _ => is_suspect(c),
    }
}

/// Returns whether a character may be one that is not seen.
fn is_suspect(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{C}' => false,
        '\u{AD}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' => true,
        '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' => true,
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E01EF}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_are_not_seen_are_shown_by_their_codes() {
        assert_eq!(escape("a\u{202E}b"), "a<span class=\"unseen\">U+202E</span>b");
        assert_eq!(escape("if \u{200B}x"), "if <span class=\"unseen\">U+200B</span>x");
        assert_eq!(escape("x\u{200D}y"), "x<span class=\"unseen\">U+200D</span>y");
        assert!(has_unseen("\u{1B}[31m") && has_unseen("\u{E0041}"));
    }

    #[test]
    fn ordinary_text_is_only_escaped() {
        assert_eq!(escape("\t<a> & 'b' \"c\"\r\n"), "\t&lt;a&gt; &amp; &#39;b&#39; &quot;c&quot;\r\n");
        assert_eq!(escape("👩\u{200D}🚀 می\u{200C}خواهم ❤\u{FE0F} ñ"), "👩\u{200D}🚀 می\u{200C}خواهم ❤\u{FE0F} ñ");
        assert!(!has_unseen("👩\u{200D}🚀 فارسی"));
    }
}
