//! Names of refs, as this service accepts them.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A full name such as `refs/heads/main`. Stricter than git: what could be taken for an option or for an object id, or
/// what shows as something else than it is, is no name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(Arc<str>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("funny refname")]
    Malformed,
    #[error("ref names must be UTF-8")]
    NotText,
    #[error("ref names have at most 255 bytes")]
    TooLong,
    #[error("control and invisible characters are not allowed in ref names")]
    Invisible,
    #[error("a name must not begin with a dash")]
    LeadingDash,
    #[error("a name must not look like an object id")]
    LooksLikeId,
    #[error("this namespace is reserved")]
    Reserved,
}

const LONGEST: usize = 255;
/// Kept for refs of our own, which live elsewhere and are never advertised.
const RESERVED: [&str; 4] = ["refs/merge-requests/", "refs/keep-around/", "refs/environments/", "refs/holdfast/"];

impl RefName {
    pub fn parse(name: &[u8]) -> Result<Self, BadName> {
        let name = std::str::from_utf8(name).map_err(|_| BadName::NotText)?;
        if name.len() > LONGEST {
            return Err(BadName::TooLong);
        }
        if name.chars().any(is_invisible) {
            return Err(BadName::Invisible);
        }
        let rest = name.strip_prefix("refs/").ok_or(BadName::Malformed)?;
        if !rest.contains('/') || gix::validate::reference::name(name.into()).is_err() {
            return Err(BadName::Malformed);
        }
        if RESERVED.iter().any(|prefix| name.starts_with(prefix)) {
            return Err(BadName::Reserved);
        }
        if rest.split('/').any(|part| part.starts_with('-')) {
            return Err(BadName::LeadingDash);
        }
        let short = rest.split_once('/').map_or(rest, |(_, short)| short);
        // What git itself would write to a pseudo ref, such as refs/heads/HEAD, confuses every client.
        if short == "HEAD" {
            return Err(BadName::Malformed);
        }
        if matches!(short.len(), 40 | 64) && short.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(BadName::LooksLikeId);
        }
        Ok(Self(name.into()))
    }

    pub fn branch(short: &str) -> Result<Self, BadName> {
        Self::parse(format!("refs/heads/{short}").as_bytes())
    }

    pub fn tag(short: &str) -> Result<Self, BadName> {
        Self::parse(format!("refs/tags/{short}").as_bytes())
    }

    /// One that was checked when it was stored.
    pub fn trusted(name: &str) -> Self {
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

    /// Names that cannot exist beside this one, because they would be its directory.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').skip(2).map(|(at, _)| &self.0[..at])
    }
}

/// Control characters, and those that change how others are shown.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{061c}')
}

/// Ordered as its text is.
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
    fn refuses_what_misleads() {
        let refused = |name: &str| RefName::parse(name.as_bytes()).unwrap_err();
        assert_eq!(refused("HEAD"), BadName::Malformed);
        assert_eq!(refused("refs/heads"), BadName::Malformed);
        assert_eq!(refused("refs/stash"), BadName::Malformed);
        assert_eq!(refused("refs/heads/../../config"), BadName::Malformed);
        assert_eq!(refused("refs/heads/a..b"), BadName::Malformed);
        assert_eq!(refused("refs/heads/a.lock"), BadName::Malformed);
        assert_eq!(refused("refs/heads/a b"), BadName::Malformed);
        assert_eq!(refused("refs/heads/HEAD"), BadName::Malformed);
        assert_eq!(refused("refs/heads/-x"), BadName::LeadingDash);
        assert_eq!(refused("refs/tags/a/--output=x"), BadName::LeadingDash);
        assert_eq!(refused(&format!("refs/heads/{}", "0a".repeat(20))), BadName::LooksLikeId);
        assert_eq!(refused(&format!("refs/tags/{}", "AB".repeat(32))), BadName::LooksLikeId);
        assert_eq!(refused("refs/heads/a\u{202e}b"), BadName::Invisible);
        assert_eq!(refused("refs/heads/a\nb"), BadName::Invisible);
        assert_eq!(refused("refs/keep-around/x"), BadName::Reserved);
        assert_eq!(refused(&format!("refs/heads/{}", "x".repeat(250))), BadName::TooLong);
        assert_eq!(RefName::parse(b"refs/heads/\xff").unwrap_err(), BadName::NotText);
        for name in ["refs/heads/main", "refs/tags/v1.0", "refs/heads/фича/ü", "refs/notes/commits", "refs/pull/1/head"]
        {
            assert_eq!(RefName::parse(name.as_bytes()).unwrap().as_str(), name);
        }
    }

    #[test]
    fn knows_what_would_be_its_directory() {
        let name = RefName::trusted("refs/heads/a/b/c");
        assert_eq!(name.directories().collect::<Vec<_>>(), ["refs/heads/a", "refs/heads/a/b"]);
    }
}
