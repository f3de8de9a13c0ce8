//! Addresses under which the instance is known.

use md5::{Digest, Md5};
use url::Url;

#[derive(Clone, Debug)]
pub struct Site {
    base: String,
    is_https: bool,
}

impl Site {
    pub fn new(external_url: &Url) -> Self {
        Self {
            base: external_url.as_str().trim_end_matches('/').to_owned(),
            is_https: external_url.scheme() == "https",
        }
    }

    /// `path` begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Existing clients show what stands under this address; nothing is sent there by us.
    pub fn avatar(&self, email: &str) -> String {
        let host = if self.is_https { "https://secure.gravatar.com" } else { "http://www.gravatar.com" };
        let hash = hex::encode(Md5::digest(email.trim().to_lowercase().as_bytes()));
        format!("{host}/avatar/{hash}?s=80&d=identicon")
    }
}
