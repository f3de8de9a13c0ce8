//! One request of a hook, and what is wrong with it taken by itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::request::Request;

#[derive(Clone, Debug)]
pub struct Hook {
    /// As the interface numbers it.
    pub id: i64,
    /// None for one that is told of all projects.
    pub project: Option<i64>,
    pub token: String,
    /// Whether it is told of tags, too.
    pub tags: bool,
}

/// A ref of a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct Ref {
    #[serde(rename = "project_id")]
    pub project: i64,
    #[serde(rename = "ref")]
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Event {
    #[serde(flatten)]
    pub of: Ref,
    pub before: String,
    pub after: String,
}

#[derive(Clone, Debug)]
pub struct Receipt {
    pub sequence: u64,
    pub id: String,
    /// Instead of the body, of which there are many.
    pub digest: [u8; 32],
    /// None if it tells of something else than a push.
    pub event: Option<Event>,
    pub complaints: Vec<String>,
}

/// By how much the clocks of sender and receiver may differ; here they are the same.
const SKEW_SECONDS: i64 = 120;

impl Receipt {
    /// An error if it cannot even be told which delivery it is.
    pub fn read(hook: &Hook, request: &Request, now: DateTime<Utc>) -> Result<Self, String> {
        let sequence = request.header("x-holdfast-sequence")?;
        let sequence = sequence.parse().map_err(|_| format!("its number is {sequence:?}"))?;
        let id = request.header("webhook-id")?.to_owned();
        let event: Option<Event> = serde_json::from_slice(&request.body).ok();
        let checks =
            [check_head(hook, request, event.as_ref()), check_time(request, now), check_signature(hook, request, &id)];
        let complaints = checks.into_iter().filter_map(Result::err).collect();
        Ok(Self { sequence, id, digest: Sha256::digest(&request.body).into(), event, complaints })
    }
}

fn check_head(hook: &Hook, request: &Request, event: Option<&Event>) -> Result<(), String> {
    let kind = match event {
        _ if hook.project.is_none() => "System Hook",
        Some(event) if event.of.name.starts_with("refs/tags/") => "Tag Push Hook",
        _ => "Push Hook",
    };
    for (name, value) in [("x-gitlab-event", kind), ("x-gitlab-token", &hook.token)] {
        let is = request.header(name)?;
        if is != value {
            return Err(format!("{name} is {is:?}, not {value:?}"));
        }
    }
    let (agent, content) = (request.header("user-agent")?, request.header("content-type")?);
    if request.method != "POST" || !agent.starts_with("Holdfast/") || !content.starts_with("application/json") {
        return Err(format!("it is a {} of {content} by {agent}", request.method));
    }
    Ok(())
}

fn check_time(request: &Request, now: DateTime<Utc>) -> Result<(), String> {
    let sent = request.header("webhook-timestamp")?;
    let age = sent.parse().map(|sent: i64| now.timestamp() - sent);
    match age {
        Ok(age) if age.abs() <= SKEW_SECONDS => Ok(()),
        _ => Err(format!("it was sent at {sent}, but it is {}", now.timestamp())),
    }
}

fn check_signature(hook: &Hook, request: &Request, id: &str) -> Result<(), String> {
    let (is, time) = (request.header("webhook-signature")?, request.header("webhook-timestamp")?);
    let must_be = sign(&hook.token, id, time, &request.body);
    if is == must_be { Ok(()) } else { Err(format!("it is signed {is}, but must be {must_be}")) }
}

/// As the specification of standard webhooks has it.
pub fn sign(token: &str, id: &str, time: &str, body: &[u8]) -> String {
    let decoded = token.strip_prefix("whsec_").and_then(|secret| STANDARD.decode(secret).ok());
    let key = decoded.unwrap_or_else(|| token.as_bytes().to_vec());
    let content = [format!("{id}.{time}.").as_bytes(), body].concat();
    format!("v1,{}", STANDARD.encode(hmac(&key, &content)))
}

/// Written out, so that the server is not held against a library that it uses itself.
fn hmac(key: &[u8], content: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    match key.len() > block.len() {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(content).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn codes_are_those_of_the_rfc() {
        // RFC 4231, cases 2 and 6.
        let short = hex::encode(hmac(b"Jefe", b"what do ya want for nothing?"));
        assert_eq!(short, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let long = hex::encode(hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"));
        assert_eq!(long, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    #[test]
    fn a_secret_of_the_standard_is_decoded_first() {
        // The example of the specification.
        let signed = sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    fn request(hook: &Hook, now: DateTime<Utc>) -> Request {
        let body = br#"{"object_kind":"push","ref":"refs/heads/a","before":"0","after":"1","project_id":1}"#.to_vec();
        let time = now.timestamp().to_string();
        let signature = sign(&hook.token, "id", &time, &body);
        let headers = [
            ("x-gitlab-event", "Push Hook"),
            ("x-gitlab-token", &hook.token),
            ("content-type", "application/json"),
            ("user-agent", "Holdfast/1"),
            ("x-holdfast-sequence", "7"),
            ("webhook-id", "id"),
            ("webhook-timestamp", &time),
            ("webhook-signature", &signature),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Request { method: "POST".into(), path: "/0".into(), headers, body }
    }

    #[test]
    fn what_is_wrong_is_complained_of() {
        let hook = Hook { id: 1, project: Some(1), token: "secret".into(), tags: false };
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let complaints = |change: fn(&mut Request), later: TimeDelta| {
            let mut request = request(&hook, now);
            change(&mut request);
            Receipt::read(&hook, &request, now + later).map(|receipt| receipt.complaints.len())
        };
        fn set(request: &mut Request, name: &str, value: &str) {
            request.headers.insert(name.into(), value.into());
        }
        let none = TimeDelta::zero();
        assert_eq!(complaints(|_| (), none), Ok(0));
        assert_eq!(complaints(|_| (), TimeDelta::minutes(10)), Ok(1));
        assert_eq!(complaints(|request| request.body.push(b' '), none), Ok(1));
        assert_eq!(complaints(|request| request.method = "GET".into(), none), Ok(1));
        assert_eq!(complaints(|request| set(request, "x-gitlab-token", "other"), none), Ok(1));
        assert_eq!(complaints(|request| set(request, "x-gitlab-event", "Tag Push Hook"), none), Ok(1));
        // A time that was not signed, and one that nobody can read.
        assert_eq!(complaints(|request| set(request, "webhook-timestamp", "1727999999"), none), Ok(1));
        assert_eq!(complaints(|request| set(request, "webhook-timestamp", "now"), none), Ok(2));
        assert!(complaints(|request| _ = request.headers.remove("webhook-id"), none).is_err());
        assert!(complaints(|request| set(request, "x-holdfast-sequence", "-1"), none).is_err());
    }

    #[test]
    fn a_push_is_read_and_nothing_else() {
        let hook = Hook { id: 1, project: Some(1), token: "secret".into(), tags: false };
        let mut request = request(&hook, DateTime::UNIX_EPOCH);
        let read = |request: &Request| Receipt::read(&hook, request, DateTime::UNIX_EPOCH).unwrap().event;
        let of = Ref { project: 1, name: "refs/heads/a".into() };
        assert_eq!(read(&request), Some(Event { of, before: "0".into(), after: "1".into() }));
        request.body = br#"{"event_name":"project_create","project_id":1}"#.to_vec();
        assert_eq!(read(&request), None);
    }
}
