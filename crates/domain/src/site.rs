//! Addresses under which the instance is known.

use md5::{Digest, Md5};
use url::Url;

#[derive(Clone, Debug)]
pub struct Site {
    base: String,
    is_https: bool,
    host: String,
    ssh_port: u16,
}

impl Site {
    pub fn new(external_url: &Url, ssh_port: u16) -> Self {
        Self {
            base: external_url.as_str().trim_end_matches('/').to_owned(),
            is_https: external_url.scheme() == "https",
            host: external_url.host_str().unwrap_or("localhost").to_owned(),
            ssh_port,
        }
    }

    /// Returns whether clients reach the instance over TLS.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// `path` begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A repository's address for git over SSH.
    pub fn ssh_url(&self, full_path: &str) -> String {
        match (&self.host, self.ssh_port) {
            (host, 0 | 22) => format!("git@{host}:{full_path}.git"),
            (host, port) => format!("ssh://git@{host}:{port}/{full_path}.git"),
        }
    }

    /// Existing clients show what stands under this address; nothing is sent there by us.
    pub fn avatar(&self, email: &str) -> String {
        let host = if self.is_https { "https://secure.gravatar.com" } else { "http://www.gravatar.com" };
        let hash = hex::encode(Md5::digest(email.trim().to_lowercase().as_bytes()));
        format!("{host}/avatar/{hash}?s=80&d=identicon")
    }
}
