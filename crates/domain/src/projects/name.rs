//! What projects may be called.

use crate::violations::{BLANK, at_most};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectName(String);

const FORMAT: &str = "can contain only letters, digits, emojis, '_', '.', dash, space. It must start with letter, \
                      digit, emoji or '_'.";

impl ProjectName {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err(BLANK.into());
        }
        at_most(text, 255)?;
        let first = |c: char| c.is_alphanumeric() || c == '_' || is_emoji(c);
        let further = |c: char| first(c) || matches!(c, '.' | '-' | ' ' | '\u{2010}'..='\u{2015}');
        if !text.starts_with(first) || !text.chars().all(further) {
            return Err(FORMAT.into());
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Pictures, and what joins them into one. Neither blanks nor marks that turn the direction of writing are among them.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{200d}' | '\u{203c}' | '\u{2049}' | '\u{fe0f}' | '\u{2122}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_people_call_projects() {
        for name in ["Holdfast", "my project", "Straße 1.0", "日本語", "_x", "🚀 launch", "a – b", "9"] {
            assert!(ProjectName::parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn refuses_markup_and_hidden_characters() {
        for name in ["-x", ".x", " x", "a/b", "a<b>", "a\"", "a\nb", "a\u{202e}b", "a\0", "a\u{200b}"] {
            assert_eq!(ProjectName::parse(name), Err(FORMAT.into()), "{name:?}");
        }
        assert_eq!(ProjectName::parse("  "), Err(BLANK.into()));
        assert!(ProjectName::parse(&"x".repeat(256)).is_err());
    }
}
