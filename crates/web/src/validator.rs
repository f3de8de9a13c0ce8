//! The validator of a page that is rendered from immutable objects: an entity tag that is known before the page is
//! rendered, so that a browser that has the page gets a 304 after the permission check alone.

use std::hash::{Hash, Hasher};

use axum::http::HeaderValue;
use sha2::{Digest, Sha256};

/// A hash over all sources that pages are rendered by.
const SOURCES: &str = env!("HOLDFAST_WEB_SOURCES");

/// The entity tag of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validator {
    tag: HeaderValue,
    /// Whether the browser has the page.
    pub is_current: bool,
}

impl Validator {
    /// Creates the validator of a page that is rendered from `parts` alone, for a request with these values of
    /// `If-None-Match`.
    pub fn from_parts(parts: impl Hash, if_none_match: &[HeaderValue]) -> Self {
        let mut hasher = TagHasher(Sha256::new());
        (SOURCES, parts).hash(&mut hasher);
        Self::new(hasher.0, if_none_match)
    }

    /// Creates the validator of a rendered page.
    pub fn from_html(html: &str, if_none_match: &[HeaderValue]) -> Self {
        Self::new(Sha256::new_with_prefix(html), if_none_match)
    }

    /// The tag is weak, because the body is compressed for some clients.
    fn new(hash: Sha256, if_none_match: &[HeaderValue]) -> Self {
        let tag = format!("W/\"{}\"", hex::encode(&hash.finalize()[..16]));
        let is_current = if_none_match.iter().any(|value| lists_tag(value, &tag));
        Self { tag: HeaderValue::from_str(&tag).expect("hexadecimal digits are a valid header value"), is_current }
    }

    /// Returns the value of the header `ETag`.
    pub fn into_tag(self) -> HeaderValue {
        self.tag
    }
}

/// Returns whether the header `If-None-Match` has this tag. Both are compared without the mark of weak tags.
fn lists_tag(header: &HeaderValue, tag: &str) -> bool {
    let opaque = |text| str::trim_start_matches(text, "W/");
    let Ok(listed) = header.to_str() else { return false };
    listed.split(',').map(str::trim).any(|entry| entry == "*" || opaque(entry) == opaque(tag))
}

/// Hashes values with SHA-256. The hash must resist collisions, because users choose the parts.
struct TagHasher(Sha256);

impl Hasher for TagHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns zero: the digest is read from the field, because it has more than 64 bits.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_current_if_the_browser_has_the_same_parts() {
        let tag = Validator::from_parts(("main", 1), &[]).into_tag();
        let is_current = |parts: (&str, i32), header| Validator::from_parts(parts, &[header]).is_current;
        assert!(is_current(("main", 1), tag.clone()));
        assert!(!is_current(("main", 2), tag.clone()) && !is_current(("mai", 1), tag.clone()));
        assert!(!Validator::from_parts(("main", 1), &[]).is_current);
        let listed = format!("\"other\", {}", tag.to_str().unwrap_or_default().trim_start_matches("W/"));
        assert!(HeaderValue::from_str(&listed).is_ok_and(|header| is_current(("main", 1), header)));
        assert!(is_current(("main", 1), HeaderValue::from_static("*")));
    }
}
