//! Validation of ref names.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A full ref name such as `refs/heads/main`. The rules are stricter than git's: a name must not look like an option or
/// an object id, and must not contain invisible characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(Arc<str>);

/// The reason why a text is no valid ref name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefNameError {
    #[error("funny refname")]
    Malformed,
    #[error("ref names must be UTF-8")]
    NotText,
    #[error("ref names must not be longer than 255 bytes")]
    TooLong,
    #[error("control and invisible characters are not allowed in ref names")]
    Invisible,
    #[error("ref names must not begin with a dash")]
    LeadingDash,
    #[error("ref names must not look like an object id")]
    LooksLikeId,
    #[error("this ref namespace is reserved")]
    Reserved,
}

const MAX_NAME_BYTES: usize = 255;
/// Namespaces for refs of the server, which are stored elsewhere and never advertised.
const RESERVED: [&str; 4] = ["refs/merge-requests/", "refs/keep-around/", "refs/environments/", "refs/holdfast/"];

impl RefName {
    pub fn parse(name: &[u8]) -> Result<Self, RefNameError> {
        let name = std::str::from_utf8(name).map_err(|_| RefNameError::NotText)?;
        if name.len() > MAX_NAME_BYTES {
            return Err(RefNameError::TooLong);
        }
        if name.chars().any(is_invisible) {
            return Err(RefNameError::Invisible);
        }
        let rest = name.strip_prefix("refs/").ok_or(RefNameError::Malformed)?;
        if !rest.contains('/') || gix::validate::reference::name(name.into()).is_err() {
            return Err(RefNameError::Malformed);
        }
        if RESERVED.iter().any(|prefix| name.starts_with(prefix)) {
            return Err(RefNameError::Reserved);
        }
        if rest.split('/').any(|part| part.starts_with('-')) {
            return Err(RefNameError::LeadingDash);
        }
        let short = rest.split_once('/').map_or(rest, |(_, short)| short);
        // A ref such as refs/heads/HEAD is ambiguous with the pseudo ref HEAD and confuses clients.
        if short == "HEAD" {
            return Err(RefNameError::Malformed);
        }
        if matches!(short.len(), 40 | 64) && short.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(RefNameError::LooksLikeId);
        }
        Ok(Self(name.into()))
    }

    pub fn branch(short: &str) -> Result<Self, RefNameError> {
        Self::parse(format!("refs/heads/{short}").as_bytes())
    }

    pub fn tag(short: &str) -> Result<Self, RefNameError> {
        Self::parse(format!("refs/tags/{short}").as_bytes())
    }

    /// Creates a name without validation, for names that were validated before they were stored.
    pub fn from_trusted(name: &str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn as_branch(&self) -> Option<&str> {
        self.0.strip_prefix("refs/heads/")
    }

    pub fn as_tag(&self) -> Option<&str> {
        self.0.strip_prefix("refs/tags/")
    }

    /// Returns the names that cannot exist next to this one, because they would be its parent directories.
    pub fn parent_names(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').skip(2).map(|(index, _)| &self.0[..index])
    }
}

/// Returns whether a character is a control character or changes how other characters are displayed.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{061c}')
}

/// Lets sets of names be searched by text. Names are ordered like their text.
impl Borrow<str> for RefName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misleading_names_are_rejected() {
        let refused = |name: &str| RefName::parse(name.as_bytes()).unwrap_err();
        assert_eq!(refused("HEAD"), RefNameError::Malformed);
        assert_eq!(refused("refs/heads"), RefNameError::Malformed);
        assert_eq!(refused("refs/stash"), RefNameError::Malformed);
        assert_eq!(refused("refs/heads/../../config"), RefNameError::Malformed);
        assert_eq!(refused("refs/heads/a..b"), RefNameError::Malformed);
        assert_eq!(refused("refs/heads/a.lock"), RefNameError::Malformed);
        assert_eq!(refused("refs/heads/a b"), RefNameError::Malformed);
        assert_eq!(refused("refs/heads/HEAD"), RefNameError::Malformed);
        assert_eq!(refused("refs/heads/-x"), RefNameError::LeadingDash);
        assert_eq!(refused("refs/tags/a/--output=x"), RefNameError::LeadingDash);
        assert_eq!(refused(&format!("refs/heads/{}", "0a".repeat(20))), RefNameError::LooksLikeId);
        assert_eq!(refused(&format!("refs/tags/{}", "AB".repeat(32))), RefNameError::LooksLikeId);
        assert_eq!(refused("refs/heads/a\u{202e}b"), RefNameError::Invisible);
        assert_eq!(refused("refs/heads/a\nb"), RefNameError::Invisible);
        assert_eq!(refused("refs/keep-around/x"), RefNameError::Reserved);
        assert_eq!(refused(&format!("refs/heads/{}", "x".repeat(250))), RefNameError::TooLong);
        assert_eq!(RefName::parse(b"refs/heads/\xff").unwrap_err(), RefNameError::NotText);
        for name in ["refs/heads/main", "refs/tags/v1.0", "refs/heads/фича/ü", "refs/notes/commits", "refs/pull/1/head"]
        {
            assert_eq!(RefName::parse(name.as_bytes()).unwrap().as_str(), name);
        }
    }

    #[test]
    fn parent_directories_are_listed() {
        let name = RefName::from_trusted("refs/heads/a/b/c");
        assert_eq!(name.parent_names().collect::<Vec<_>>(), ["refs/heads/a", "refs/heads/a/b"]);
    }
}
