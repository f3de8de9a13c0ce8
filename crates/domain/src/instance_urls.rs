//! URLs of the instance.

use md5::{Digest, Md5};
use url::Url;

/// The URLs of the instance, from which all links to it are built.
#[derive(Clone, Debug)]
pub struct InstanceUrls {
    base_url: String,
    is_https: bool,
    host: String,
    ssh_port: u16,
}

impl InstanceUrls {
    pub fn new(external_url: &Url, ssh_port: u16) -> Self {
        Self {
            base_url: external_url.as_str().trim_end_matches('/').to_owned(),
            is_https: external_url.scheme() == "https",
            host: external_url.host_str().unwrap_or("localhost").to_owned(),
            ssh_port,
        }
    }

    /// Returns whether clients connect to the instance over TLS.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the URL of a path, which must begin with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Returns the URL of a repository for git over SSH.
    pub fn ssh_url(&self, full_path: &str) -> String {
        match (&self.host, self.ssh_port) {
            (host, 0 | 22) => format!("git@{host}:{full_path}.git"),
            (host, port) => format!("ssh://git@{host}:{port}/{full_path}.git"),
        }
    }

    /// Returns the URL of a user's avatar at Gravatar, as existing clients expect. The server itself does not access
    /// it.
    pub fn avatar_url(&self, email: &str) -> String {
        let host = if self.is_https { "https://secure.gravatar.com" } else { "http://www.gravatar.com" };
        let hash = hex::encode(Md5::digest(email.trim().to_lowercase().as_bytes()));
        format!("{host}/avatar/{hash}?s=80&d=identicon")
    }
}
