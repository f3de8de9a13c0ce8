//! Display names of groups.

use crate::violations::{BLANK, check_max_length};

/// A valid name of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupName(String);

impl GroupName {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err(BLANK.into());
        }
        check_max_length(text, 255)?;
        // Letters and digits of all scripts, and the dashes of the General Punctuation block.
        let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ' ' | '-' | '\u{2010}'..='\u{2015}');
        if !text.chars().all(is_allowed) {
            return Err("can contain only letters, digits, '_', '.', dash and space.".into());
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_allow_any_script_but_no_markup() {
        for name in ["Platform team", "Équipe α-β", "v1.0_x", "研究"] {
            assert_eq!(GroupName::parse(name).unwrap().as_str(), name);
        }
        for name in ["<b>", "a/b", "a\nb", "a\u{202e}b", "x\0"] {
            assert!(GroupName::parse(name).is_err(), "{name:?}");
        }
        assert_eq!(GroupName::parse("  "), Err(BLANK.into()));
    }
}
