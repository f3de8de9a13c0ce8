//! Display names of projects.

use crate::violations::{BLANK, check_max_length};

/// A valid name of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectName(String);

const FORMAT: &str = "can contain only letters, digits, emojis, '_', '.', dash, space. It must start with letter, \
                      digit, emoji or '_'.";

impl ProjectName {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err(BLANK.into());
        }
        check_max_length(text, 255)?;
        let can_start = |c: char| c.is_alphanumeric() || c == '_' || is_emoji(c);
        let can_follow = |c: char| can_start(c) || matches!(c, '.' | '-' | ' ' | '\u{2010}'..='\u{2015}');
        if !text.starts_with(can_start) || !text.chars().all(can_follow) {
            return Err(FORMAT.into());
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a character is an emoji or joins emojis. Spaces and direction marks are not included.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{200d}' | '\u{203c}' | '\u{2049}' | '\u{fe0f}' | '\u{2122}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_accepted() {
        for name in ["Holdfast", "my project", "Straße 1.0", "日本語", "_x", "🚀 launch", "a – b", "9"] {
            assert!(ProjectName::parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn markup_and_hidden_characters_are_rejected() {
        for name in ["-x", ".x", " x", "a/b", "a<b>", "a\"", "a\nb", "a\u{202e}b", "a\0", "a\u{200b}"] {
            assert_eq!(ProjectName::parse(name), Err(FORMAT.into()), "{name:?}");
        }
        assert_eq!(ProjectName::parse("  "), Err(BLANK.into()));
        assert!(ProjectName::parse(&"x".repeat(256)).is_err());
    }
}
