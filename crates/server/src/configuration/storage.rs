use holdfast_store::objects;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::Invalid;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    pub url: Url,
    endpoint: String,
    region: String,
    access_key_id: String,
    secret_access_key: SecretString,
    pub max_upload_bytes: usize,
}

impl Storage {
    pub fn options(&self) -> Result<objects::Options, Invalid> {
        let endpoint = self.endpoint.as_str();
        let is_address = |text: &str| Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !endpoint.is_empty() && !is_address(endpoint) {
            let cure = "write it as https://s3.example.com, or leave it empty for AWS";
            return Err(Invalid::new("storage.endpoint", endpoint, "it is no http or https address", cure));
        }
        let secret = self.secret_access_key.expose_secret();
        let credentials = match (self.access_key_id.as_str(), secret) {
            ("", "") => None,
            ("", _) | (_, "") => {
                let cure = "give both storage.access_key_id and storage.secret_access_key, or neither";
                return Err(Invalid::new(
                    "storage.access_key_id",
                    "(hidden)",
                    "one is useless without the other",
                    cure,
                ));
            }
            (id, secret) => Some((id.to_owned(), secret.to_owned())),
        };
        let cure = "write it as file:///var/lib/holdfast/objects or s3://bucket/prefix";
        objects::Options::from_url(&self.url, endpoint, &self.region, credentials)
            .map_err(|problem| Invalid::new("storage.url", &self.url, problem, cure))
    }
}
