//! Addresses from which a repository may be copied.

use url::{Host, Url};

/// With what it takes to get in kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportUrl {
    url: Url,
    pub username: Option<String>,
    pub password: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a valid URL")]
pub struct NoImportUrl;

const LONGEST: usize = 2000;

impl ImportUrl {
    /// http, https, git and ssh: nothing of this machine, nothing that starts a program.
    pub fn parse(text: &str) -> Result<Self, NoImportUrl> {
        let text = text.trim();
        let is_plain = text.len() <= LONGEST && text.bytes().all(|byte| byte > b' ' && byte != 127);
        let mut url = Url::parse(text).ok().filter(|_| is_plain).ok_or(NoImportUrl)?;
        let is_known = matches!(url.scheme(), "http" | "https" | "git" | "ssh");
        let host = url.host_str().unwrap_or_default();
        if !is_known || host.is_empty() || host.starts_with('-') || url.fragment().is_some() {
            return Err(NoImportUrl);
        }
        let decoded = |text: &str| {
            let text = percent_encoding::percent_decode_str(text).decode_utf8().map_err(|_| NoImportUrl)?;
            let is_plain = !text.chars().any(char::is_control) && !text.starts_with('-');
            if is_plain { Ok(text.into_owned()) } else { Err(NoImportUrl) }
        };
        let username = Some(decoded(url.username())?).filter(|name| !name.is_empty());
        // In an address for SSH it is written out again.
        let is_word =
            |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if url.scheme() == "ssh" && !username.as_ref().is_none_or(is_word) {
            return Err(NoImportUrl);
        }
        let password = url.password().map(decoded).transpose()?;
        url.set_password(None).map_err(|()| NoImportUrl)?;
        url.set_username("").map_err(|()| NoImportUrl)?;
        let path = percent_encoding::percent_decode_str(url.path()).decode_utf8().map_err(|_| NoImportUrl)?;
        if path.chars().any(char::is_control) || path.trim_start_matches('/').starts_with('-') {
            return Err(NoImportUrl);
        }
        Ok(Self { url, username, password })
    }

    /// Without name and password.
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn host(&self) -> Host<&str> {
        self.url.host().expect("it was checked")
    }

    pub fn port(&self) -> u16 {
        let usual = match self.url.scheme() {
            "http" => 80,
            "https" => 443,
            "git" => 9418,
            _ => 22,
        };
        self.url.port().unwrap_or(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_addresses_of_the_network_alone() {
        for text in [
            "file:///etc",
            "/etc/passwd",
            "ext::sh -c id",
            "--upload-pack=x",
            "git@host:path.git",
            "ftp://host/a",
            "http://",
            "https://host/a\nb",
            "https://u:p%0d%0a@host/a",
            "https://host/a#b",
            "ssh://-oProxyCommand=x/a",
            "ssh://host/-x",
            "git://host/%2dx",
            "javascript:alert(1)",
            "http://host/ a",
            "ssh://-x@host/a",
            "ssh://10.0.0.5%3A6379%2F@host/a",
            "",
        ] {
            assert_eq!(ImportUrl::parse(text), Err(NoImportUrl), "{text:?}");
        }
        for text in ["http://host/a", "https://host:8443/a.git", "git://host/a", "ssh://git@host/a.git"] {
            assert!(ImportUrl::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn keeps_secrets_apart() {
        let url = ImportUrl::parse("https://ada:s%40cret@host/a.git").unwrap();
        assert_eq!(url.url().as_str(), "https://host/a.git");
        assert_eq!((url.username.as_deref(), url.password.as_deref()), (Some("ada"), Some("s@cret")));
    }

    /// However it is written, it is known for what it is.
    #[test]
    fn an_address_in_disguise_is_the_same_address() {
        for text in ["http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"] {
            assert_eq!(ImportUrl::parse(text).unwrap().host(), Host::<&str>::Ipv4([127, 0, 0, 1].into()), "{text}");
        }
    }
}
