//! Titles and colors of labels.

use crate::violations::{BLANK, INVALID, check_max_length, has_no_control_chars};

/// The title of a label. It contains no comma, because lists of labels are separated by commas.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelTitle(String);

impl LabelTitle {
    pub fn parse(text: &str) -> Result<Self, String> {
        let title = text.trim();
        if title.is_empty() {
            return Err(BLANK.into());
        }
        check_max_length(title, 255)?;
        if title.contains(',') || !has_no_control_chars(title) {
            return Err(INVALID.into());
        }
        Ok(Self(title.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A color: `#` and six hexadecimal digits, in the case in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Color(String);

impl Color {
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('#') {
            Some(digits) if digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err("must be a valid color code".into()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The default is the color of labels that are created implicitly, by being used.
impl Default for Color {
    fn default() -> Self {
        Self("#428BCA".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_validated() {
        assert_eq!(LabelTitle::parse(" two words ").unwrap().as_str(), "two words");
        assert_eq!(LabelTitle::parse("größer/1").unwrap().as_str(), "größer/1");
        for wrong in ["", "  ", "a,b", "line\nbreak", "turned\u{202e}"] {
            assert!(LabelTitle::parse(wrong).is_err(), "{wrong:?}");
        }
        assert!(LabelTitle::parse(&"a".repeat(256)).is_err());
    }

    #[test]
    fn colors_are_validated() {
        assert_eq!(Color::parse("#00ffAA").unwrap().as_str(), "#00ffAA");
        for wrong in ["", "red", "123456", "#12345", "#GGGGGG", "#1234567", "#123", "#12345ß"] {
            assert!(Color::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
