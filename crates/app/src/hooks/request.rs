//! The HTTP request of a delivery: URL, headers and signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use holdfast_domain::hooks::{EventKind, SYSTEM_HEADER_VALUE};
use holdfast_store::hooks::queue::Receiver;
use percent_encoding::percent_decode_str;
use sha2::Sha256;
use url::Url;

use super::address;
use crate::redaction::REDACTED;

pub(super) struct Request<'a> {
    receiver: &'a Receiver,
    event_header: &'static str,
    id: String,
    sequence: i64,
}

impl<'a> Request<'a> {
    /// Creates the request of a delivery. `id` is the same for all attempts and replays of the delivery.
    pub fn new(receiver: &'a Receiver, kind: &str, id: String, sequence: i64) -> Self {
        let event_header = match EventKind::from_str_opt(kind) {
            Some(kind) if receiver.is_project_hook => kind.header_value(),
            _ => SYSTEM_HEADER_VALUE,
        };
        Self { receiver, event_header, id, sequence }
    }

    /// Returns the URL of the receiver, or `None` if it is invalid. Reqwest sends its user name and password as a
    /// header.
    pub fn url(&self) -> Option<Url> {
        Url::parse(&self.receiver.url).ok()
    }

    pub fn headers(&self, token: Option<&str>, body: &[u8], now: DateTime<Utc>) -> Vec<(&'static str, String)> {
        let mut headers = self.public_headers(now);
        if let Some(token) = token {
            headers.push(("x-gitlab-token", token.to_owned()));
            headers.push(("webhook-signature", signature(token, &self.id, now, body)));
        }
        headers
    }

    fn public_headers(&self, now: DateTime<Utc>) -> Vec<(&'static str, String)> {
        vec![
            ("content-type", "application/json".into()),
            ("user-agent", concat!("Holdfast/", env!("CARGO_PKG_VERSION")).into()),
            ("x-gitlab-event", self.event_header.into()),
            ("webhook-id", self.id.clone()),
            ("webhook-timestamp", now.timestamp().to_string()),
            ("x-holdfast-sequence", self.sequence.to_string()),
        ]
    }

    /// Returns the headers for display, without secrets. Before the first attempt there is no timestamp.
    pub fn redacted_headers(&self, attempted_at: Option<DateTime<Utc>>) -> Vec<(&'static str, String)> {
        let mut headers = self.public_headers(attempted_at.unwrap_or_default());
        headers.retain(|(name, _)| attempted_at.is_some() || *name != "webhook-timestamp");
        if self.receiver.token.is_set() {
            headers.push(("x-gitlab-token", REDACTED.into()));
            headers.push(("webhook-signature", REDACTED.into()));
        }
        if address::has_credentials(&self.receiver.url) {
            headers.push(("authorization", REDACTED.into()));
        }
        headers
    }

    pub fn redacted_url(&self) -> String {
        address::redact(&self.receiver.url)
    }
}

/// The prefix of a token that is a signing key in base64.
const SIGNING_SECRET_PREFIX: &str = "whsec_";

/// Returns whether a token with the prefix of a signing key is valid base64. Any other token is valid.
pub(super) fn is_valid_signing_secret(token: &str) -> bool {
    token.strip_prefix(SIGNING_SECRET_PREFIX).is_none_or(|key| STANDARD.decode(key).is_ok())
}

/// Signs a delivery as <https://www.standardwebhooks.com> specifies, so that its libraries can verify it.
fn signature(token: &str, id: &str, now: DateTime<Utc>, body: &[u8]) -> String {
    let decoded = token.strip_prefix(SIGNING_SECRET_PREFIX).and_then(|key| STANDARD.decode(key).ok());
    let key = decoded.unwrap_or_else(|| token.as_bytes().to_vec());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC accepts keys of any length");
    mac.update(format!("{id}.{}.", now.timestamp()).as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Returns the secrets of a request. They are redacted in the stored response, because a receiver may echo them.
pub(super) fn secrets(receiver: &Receiver, token: Option<&str>) -> Vec<String> {
    let mut secrets: Vec<String> = token.into_iter().map(ToOwned::to_owned).collect();
    if let Ok(url) = Url::parse(&receiver.url) {
        let password = url.password().unwrap_or_default();
        let plain = percent_decode_str(password).decode_utf8_lossy().into_owned();
        let name = percent_decode_str(url.username()).decode_utf8_lossy().into_owned();
        secrets.push(STANDARD.encode(format!("{name}:{plain}")));
        secrets.extend([password.to_owned(), plain]);
    }
    secrets
}

#[cfg(test)]
mod tests {
    use holdfast_store::hooks::hook::StoredToken;

    use super::*;
    use crate::redaction::redact;

    /// The example of the Standard Webhooks reference.
    #[test]
    fn signature_matches_standard_webhooks() {
        let now = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let signed = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", now, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secrets_in_responses_are_redacted() {
        let receiver = Receiver {
            is_project_hook: true,
            public_id: String::new(),
            url: "https://ada:pa%20ss@h.example/x".into(),
            token: StoredToken { clear: Some("s3cret-token".into()), encrypted: None },
            verify_certificate: true,
        };
        let secrets = secrets(&receiver, receiver.token.clear.as_deref());
        let echoed = format!("token=s3cret-token {} pa%20ss pa ss", STANDARD.encode("ada:pa ss"));
        assert_eq!(redact(&echoed, &secrets), "token=[hidden] [hidden] [hidden] [hidden]");
        let request = Request::new(&receiver, "push", "a-1".into(), 1);
        assert_eq!(request.redacted_url(), "https://h.example/x");
        let shown = format!("{:?}", request.redacted_headers(Some(DateTime::UNIX_EPOCH)));
        assert!(!shown.contains("s3cret") && !shown.contains("ss@"), "{shown}");
    }
}
