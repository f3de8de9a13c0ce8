//! Words of a line, some of them in quotation marks, as in filters and quick actions.

use std::iter::Peekable;
use std::str::Chars;

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word without quotation marks.
    pub text: String,
    /// Whether the word begins with a quotation mark, so that it has no meaning but its text.
    pub is_quoted: bool,
}

/// Splits a line at white space. White space between quotation marks belongs to the word; `\"` and `\\` between them are
/// a quotation mark and a backslash. A quotation mark that is not closed reaches to the end of the line.
pub fn split(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(first) = chars.peek() else { return words };
        let is_quoted = *first == '"';
        let mut text = String::new();
        while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
            if c == '"' { read_quotation(&mut chars, &mut text) } else { text.push(c) }
        }
        words.push(Word { text, is_quoted });
    }
}

fn read_quotation(chars: &mut Peekable<Chars<'_>>, text: &mut String) {
    while let Some(c) = chars.next() {
        match c {
            '"' => return,
            '\\' => text.push(chars.next_if(|next| matches!(next, '"' | '\\')).unwrap_or('\\')),
            c => text.push(c),
        }
    }
}

/// Returns a text as one word, in quotation marks if it would be split or read differently without them.
pub fn quote_if_needed(text: &str) -> String {
    let is_plain = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '"');
    if is_plain { text.to_owned() } else { quote(text) }
}

/// Returns a text in quotation marks.
pub fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotation_marks_hold_words_together() {
        let texts = |line| split(line).into_iter().map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(
            texts(r#" a  label:"good first" "x \"y\" \\" "open end"#),
            ["a", "label:good first", "x \"y\" \\", "open end"]
        );
        assert_eq!(texts(r#"a\b "" "#), ["a\\b", ""]);
        let is_quoted: Vec<bool> = split(r#""a" b"c""#).into_iter().map(|word| word.is_quoted).collect();
        assert_eq!(is_quoted, [true, false]);
    }

    proptest! {
        #[test]
        fn quoted_texts_are_read_back(text in any::<String>()) {
            for written in [quote(&text), quote_if_needed(&text)] {
                let words = split(&written);
                prop_assert_eq!(words.len(), 1);
                prop_assert_eq!(&words[0].text, &text);
            }
        }
    }
}
