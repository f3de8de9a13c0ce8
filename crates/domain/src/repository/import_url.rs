//! URLs from which a repository can be imported.

use url::{Host, Url};

/// The URL of an import, with its credentials separated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportUrl {
    url: Url,
    pub username: Option<String>,
    pub password: Option<String>,
}

/// The error for a text that is no URL to import a repository from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a valid URL")]
pub struct InvalidImportUrl;

const MAX_URL_BYTES: usize = 2000;

impl ImportUrl {
    /// Parses a URL. Accepts only http, https, git and ssh: no local files, and no transport that starts a program.
    pub fn parse(text: &str) -> Result<Self, InvalidImportUrl> {
        let text = text.trim();
        let is_plain = text.len() <= MAX_URL_BYTES && text.bytes().all(|byte| byte > b' ' && byte != 127);
        let mut url = Url::parse(text).ok().filter(|_| is_plain).ok_or(InvalidImportUrl)?;
        let is_supported_scheme = matches!(url.scheme(), "http" | "https" | "git" | "ssh");
        let host = url.host_str().unwrap_or_default();
        if !is_supported_scheme || host.is_empty() || host.starts_with('-') || url.fragment().is_some() {
            return Err(InvalidImportUrl);
        }
        let decode = |text: &str| {
            let text = percent_encoding::percent_decode_str(text).decode_utf8().map_err(|_| InvalidImportUrl)?;
            let is_plain = !text.chars().any(char::is_control) && !text.starts_with('-');
            if is_plain { Ok(text.into_owned()) } else { Err(InvalidImportUrl) }
        };
        let username = Some(decode(url.username())?).filter(|name| !name.is_empty());
        // The username becomes part of the SSH URL again, where other characters could change the host.
        let is_word =
            |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if url.scheme() == "ssh" && !username.as_ref().is_none_or(is_word) {
            return Err(InvalidImportUrl);
        }
        let password = url.password().map(decode).transpose()?;
        url.set_password(None).map_err(|()| InvalidImportUrl)?;
        url.set_username("").map_err(|()| InvalidImportUrl)?;
        let path = percent_encoding::percent_decode_str(url.path()).decode_utf8().map_err(|_| InvalidImportUrl)?;
        if path.chars().any(char::is_control) || path.trim_start_matches('/').starts_with('-') {
            return Err(InvalidImportUrl);
        }
        Ok(Self { url, username, password })
    }

    /// Returns the URL without username and password.
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn host(&self) -> Host<&str> {
        self.url.host().expect("parsing rejects URLs without a host")
    }

    pub fn port(&self) -> u16 {
        let default_port = match self.url.scheme() {
            "http" => 80,
            "https" => 443,
            "git" => 9418,
            _ => 22,
        };
        self.url.port().unwrap_or(default_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_network_urls_are_accepted() {
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
            assert_eq!(ImportUrl::parse(text), Err(InvalidImportUrl), "{text:?}");
        }
        for text in ["http://host/a", "https://host:8443/a.git", "git://host/a", "ssh://git@host/a.git"] {
            assert!(ImportUrl::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn credentials_are_split_from_the_url() {
        let url = ImportUrl::parse("https://ada:s%40cret@host/a.git").unwrap();
        assert_eq!(url.url().as_str(), "https://host/a.git");
        assert_eq!((url.username.as_deref(), url.password.as_deref()), (Some("ada"), Some("s@cret")));
    }

    /// An attacker writes an internal address in another notation to circumvent the check of the host.
    #[test]
    fn ipv4_addresses_are_recognized_in_every_notation() {
        for text in ["http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"] {
            assert_eq!(ImportUrl::parse(text).unwrap().host(), Host::<&str>::Ipv4([127, 0, 0, 1].into()), "{text}");
        }
    }
}
