//! The address of a hook. It may hold a name and a password, which are sent as basic authentication and shown to nobody.

use url::Url;

fn has_some(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

fn without_credentials(mut url: Url) -> Url {
    // Only an address without a host refuses this, and no hook has such a one.
    url.set_username("").ok();
    url.set_password(None).ok();
    url
}

/// Returns whether there is a name or a password in an address.
pub(super) fn has_credentials(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| has_some(&url))
}

/// Returns whether two addresses are the same but for a name and a password in them.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let address = |text| Url::parse(text).ok().map(without_credentials);
    address(one) == address(other)
}

/// Returns an address as it is shown: as it was given, without a name and a password.
pub fn shown(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) if has_some(&url) => without_credentials(url).into(),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_hidden_and_the_rest_is_shown_as_given() {
        assert_eq!(shown("https://ci:S3cret@h.example/x?y=1"), "https://h.example/x?y=1");
        assert_eq!(shown("https://ci@h.example"), "https://h.example/");
        assert_eq!(shown("https://:S3cret@h.example:444/"), "https://h.example:444/");
        assert_eq!(shown("http://H.example"), "http://H.example");
    }

    #[test]
    fn an_address_is_compared_without_its_credentials() {
        let is_same = |one, other| is_same(one, other);
        assert!(is_same("https://ci:x@h.example/a", "https://H.example:443/a"));
        for other in ["http://h.example/a", "https://h.example:444/a", "https://h.example/b", "https://h.example.net/a"]
        {
            assert!(!is_same("https://ci:x@h.example/a", other), "{other}");
        }
    }
}
