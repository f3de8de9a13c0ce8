//! The URL of a hook. It may contain a user name and a password, which are sent as basic authentication and never
//! shown.

use url::Url;

fn url_has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

fn without_credentials(mut url: Url) -> Url {
    // This fails only for a URL without a host, which no hook has.
    url.set_username("").ok();
    url.set_password(None).ok();
    url
}

/// Returns whether a URL contains a user name or a password.
pub(super) fn has_credentials(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url_has_credentials(&url))
}

/// Returns whether two URLs are the same except for user names and passwords.
pub(super) fn is_same_endpoint(one: &str, other: &str) -> bool {
    let address = |text| Url::parse(text).ok().map(without_credentials);
    address(one) == address(other)
}

/// Returns a URL for display, without its user name and password. A URL without them is returned unchanged.
pub fn redact(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) if url_has_credentials(&url) => without_credentials(url).into(),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_removed_from_displayed_urls() {
        assert_eq!(redact("https://ci:S3cret@h.example/x?y=1"), "https://h.example/x?y=1");
        assert_eq!(redact("https://ci@h.example"), "https://h.example/");
        assert_eq!(redact("https://:S3cret@h.example:444/"), "https://h.example:444/");
        assert_eq!(redact("http://H.example"), "http://H.example");
    }

    #[test]
    fn hook_urls_are_compared_without_credentials() {
        let is_same = |one, other| is_same_endpoint(one, other);
        assert!(is_same("https://ci:x@h.example/a", "https://H.example:443/a"));
        for other in ["http://h.example/a", "https://h.example:444/a", "https://h.example/b", "https://h.example.net/a"]
        {
            assert!(!is_same("https://ci:x@h.example/a", other), "{other}");
        }
    }
}
