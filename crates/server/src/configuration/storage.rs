//! The section `[storage]`.

use holdfast_store::objects;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::InvalidSetting;

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
    pub fn options(&self) -> Result<objects::Options, InvalidSetting> {
        let endpoint = self.endpoint.as_str();
        let is_address = |text: &str| Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !endpoint.is_empty() && !is_address(endpoint) {
            let fix = "write it as https://s3.example.com, or leave it empty for AWS";
            return Err(InvalidSetting::new("storage.endpoint", endpoint, "it is not an http or https URL", fix));
        }
        let secret = self.secret_access_key.expose_secret();
        let credentials = match (self.access_key_id.as_str(), secret) {
            ("", "") => None,
            ("", _) | (_, "") => {
                let fix = "set both storage.access_key_id and storage.secret_access_key, or neither";
                return Err(InvalidSetting::new(
                    "storage.access_key_id",
                    "(hidden)",
                    "only one of the two access keys is set",
                    fix,
                ));
            }
            (id, secret) => Some((id.to_owned(), secret.to_owned())),
        };
        let fix = "write it as file:///var/lib/holdfast/objects or s3://bucket/prefix";
        objects::Options::from_url(&self.url, endpoint, &self.region, credentials)
            .map_err(|problem| InvalidSetting::new("storage.url", &self.url, problem, fix))
    }
}
