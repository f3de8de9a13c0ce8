//! What is sent to a receiver: where to, and what stands around the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use holdfast_domain::hooks::{Kind, SYSTEM_TITLE};
use holdfast_store::hooks::queue::Receiver;
use percent_encoding::percent_decode_str;
use sha2::Sha256;
use url::Url;

use super::address;

pub(super) struct Request<'a> {
    receiver: &'a Receiver,
    title: &'static str,
    id: String,
    sequence: i64,
}

const HIDDEN: &str = "[hidden]";
/// Nobody hides what is shorter: it would stand in every other word.
const SHORTEST_SECRET: usize = 4;

impl<'a> Request<'a> {
    /// `id` is the same whenever the same is sent to the same hook.
    pub fn new(receiver: &'a Receiver, kind: &str, id: String, sequence: i64) -> Self {
        let title = match Kind::from_word(kind) {
            Some(kind) if receiver.is_of_project => kind.title(),
            _ => SYSTEM_TITLE,
        };
        Self { receiver, title, id, sequence }
    }

    /// A name and a password in the address go into a header of their own, as reqwest does by itself.
    pub fn url(&self) -> Option<Url> {
        Url::parse(&self.receiver.url).ok()
    }

    pub fn headers(&self, token: Option<&str>, body: &[u8], now: DateTime<Utc>) -> Vec<(&'static str, String)> {
        let mut headers = self.open_headers(now);
        if let Some(token) = token {
            headers.push(("x-gitlab-token", token.to_owned()));
            headers.push(("webhook-signature", signature(token, &self.id, now, body)));
        }
        headers
    }

    fn open_headers(&self, now: DateTime<Utc>) -> Vec<(&'static str, String)> {
        vec![
            ("content-type", "application/json".into()),
            ("user-agent", concat!("Holdfast/", env!("CARGO_PKG_VERSION")).into()),
            ("x-gitlab-event", self.title.into()),
            ("webhook-id", self.id.clone()),
            ("webhook-timestamp", now.timestamp().to_string()),
            ("x-holdfast-sequence", self.sequence.to_string()),
        ]
    }

    /// For people to look at. Before the first attempt there is no time to it.
    pub fn shown_headers(&self, at: Option<DateTime<Utc>>) -> Vec<(&'static str, String)> {
        let mut headers = self.open_headers(at.unwrap_or_default());
        headers.retain(|(name, _)| at.is_some() || *name != "webhook-timestamp");
        if self.receiver.token.is_set() {
            headers.push(("x-gitlab-token", HIDDEN.into()));
            headers.push(("webhook-signature", HIDDEN.into()));
        }
        if address::has_credentials(&self.receiver.url) {
            headers.push(("authorization", HIDDEN.into()));
        }
        headers
    }

    pub fn shown_url(&self) -> String {
        address::shown(&self.receiver.url)
    }
}

/// What a key in base64 begins with.
const ENCODED: &str = "whsec_";

/// Whether a token that says it is a key is one.
pub(super) fn is_key(token: &str) -> bool {
    token.strip_prefix(ENCODED).is_none_or(|key| STANDARD.decode(key).is_ok())
}

/// As <https://www.standardwebhooks.com> has it, so that its libraries can check it.
fn signature(token: &str, id: &str, now: DateTime<Utc>, body: &[u8]) -> String {
    let encoded = token.strip_prefix(ENCODED).and_then(|key| STANDARD.decode(key).ok());
    let key = encoded.unwrap_or_else(|| token.as_bytes().to_vec());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any length will do");
    mac.update(format!("{id}.{}.", now.timestamp()).as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// What nobody may read in an answer, in case a receiver repeats what it was sent.
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

/// Returns a text in which secrets are replaced.
pub(crate) fn hide(text: &str, secrets: &[String]) -> String {
    let long = secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
    long.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
}

#[cfg(test)]
mod tests {
    use holdfast_store::hooks::hook::StoredToken;

    use super::*;

    /// The example of the Standard Webhooks reference.
    #[test]
    fn signs_as_the_libraries_expect() {
        let now = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let signed = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", now, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn hides_what_a_receiver_repeats() {
        let receiver = Receiver {
            is_of_project: true,
            public_id: String::new(),
            url: "https://ada:pa%20ss@h.example/x".into(),
            token: StoredToken { clear: Some("s3cret-token".into()), sealed: None },
            verify_certificate: true,
        };
        let secrets = secrets(&receiver, receiver.token.clear.as_deref());
        let echoed = format!("token=s3cret-token {} pa%20ss pa ss", STANDARD.encode("ada:pa ss"));
        assert_eq!(hide(&echoed, &secrets), "token=[hidden] [hidden] [hidden] [hidden]");
        let request = Request::new(&receiver, "push", "a-1".into(), 1);
        assert_eq!(request.shown_url(), "https://h.example/x");
        let shown = format!("{:?}", request.shown_headers(Some(DateTime::UNIX_EPOCH)));
        assert!(!shown.contains("s3cret") && !shown.contains("ss@"), "{shown}");
    }
}
