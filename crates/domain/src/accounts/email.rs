//! Email addresses in a normalized form, so that they can be compared.

use crate::violations::{BLANK, INVALID, check_max_length};

/// An email address, trimmed and in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailAddress(String);

impl EmailAddress {
    pub fn parse(text: &str) -> Result<Self, String> {
        let address = text.trim().to_lowercase();
        if address.is_empty() {
            return Err(BLANK.into());
        }
        check_max_length(&address, 255)?;
        let is_well_formed = match address.split_once('@') {
            Some((local, host)) => !local.is_empty() && !host.is_empty() && !host.contains('@'),
            None => false,
        };
        if !is_well_formed || address.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(INVALID.into());
        }
        Ok(Self(address))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_trimmed_and_lowercased() {
        assert_eq!(EmailAddress::parse("  Ada@Example.COM ").unwrap().as_str(), "ada@example.com");
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        for text in ["no address", "@host", "name@", "a@b@c", "a b@c", "a\n@b", "ada"] {
            assert_eq!(EmailAddress::parse(text), Err(INVALID.into()), "{text:?}");
        }
        assert_eq!(EmailAddress::parse(" "), Err(BLANK.into()));
    }
}
