//! A received webhook request, and the checks of a single request: headers, time and signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::request::Request;

#[derive(Clone, Debug)]
pub struct Hook {
    /// Id in the API.
    pub id: i64,
    /// The project, or `None` for a system hook.
    pub project: Option<i64>,
    pub token: String,
    pub events: HookEvents,
}

/// The events that a hook subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvents {
    /// Updates of branches.
    Branches,
    /// Updates of branches and tags.
    BranchesAndTags,
    MergeRequests,
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
    pub target: Ref,
    pub before: String,
    pub after: String,
}

#[derive(Clone, Debug)]
pub struct ReceivedDelivery {
    pub sequence: u64,
    pub id: String,
    /// SHA-256 of the body, which is not kept to save memory.
    pub digest: [u8; 32],
    /// The push event, or `None` for other events.
    pub event: Option<Event>,
    /// The id of the merge request whose merge this event is about.
    pub merged_request: Option<i64>,
    pub problems: Vec<String>,
}

/// Maximum difference between the timestamp of a request and its arrival. Both are on the same machine.
const MAX_SKEW_SECONDS: i64 = 120;

impl ReceivedDelivery {
    /// Parses and checks a request. Fails if its sequence number or its id is missing or malformed; other problems are
    /// collected in `problems`.
    pub fn parse(hook: &Hook, request: &Request, now: DateTime<Utc>) -> Result<Self, String> {
        let sequence = request.header("x-holdfast-sequence")?;
        let sequence = sequence.parse().map_err(|_| format!("its sequence number is {sequence:?}"))?;
        let id = request.header("webhook-id")?.to_owned();
        let event: Option<Event> = serde_json::from_slice(&request.body).ok();
        let checks = [
            check_headers(hook, request, event.as_ref()),
            check_time(request, now),
            check_signature(hook, request, &id),
        ];
        let problems = checks.into_iter().filter_map(Result::err).collect();
        let merged_request = find_merged_request(&request.body);
        Ok(Self { sequence, id, digest: Sha256::digest(&request.body).into(), event, merged_request, problems })
    }
}

/// Returns the id of the merge request if the event is about a merge.
fn find_merged_request(body: &[u8]) -> Option<i64> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let attributes = &body["object_attributes"];
    let is_merge = body["object_kind"] == "merge_request" && attributes["action"] == "merge";
    attributes["id"].as_i64().filter(|_| is_merge)
}

fn check_headers(hook: &Hook, request: &Request, event: Option<&Event>) -> Result<(), String> {
    let kind = match event {
        _ if hook.project.is_none() => "System Hook",
        _ if hook.events == HookEvents::MergeRequests => "Merge Request Hook",
        Some(event) if event.target.name.starts_with("refs/tags/") => "Tag Push Hook",
        _ => "Push Hook",
    };
    for (name, value) in [("x-gitlab-event", kind), ("x-gitlab-token", &hook.token)] {
        let actual = request.header(name)?;
        if actual != value {
            return Err(format!("{name} is {actual:?}, not {value:?}"));
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
        Ok(age) if age.abs() <= MAX_SKEW_SECONDS => Ok(()),
        _ => Err(format!("its timestamp is {sent}, but it is {}", now.timestamp())),
    }
}

fn check_signature(hook: &Hook, request: &Request, id: &str) -> Result<(), String> {
    let (actual, time) = (request.header("webhook-signature")?, request.header("webhook-timestamp")?);
    let expected = sign(&hook.token, id, time, &request.body);
    if actual == expected { Ok(()) } else { Err(format!("its signature is {actual}, but must be {expected}")) }
}

/// Signs a request as the Standard Webhooks specification defines it.
pub fn sign(token: &str, id: &str, time: &str, body: &[u8]) -> String {
    let decoded = token.strip_prefix("whsec_").and_then(|secret| STANDARD.decode(secret).ok());
    let key = decoded.unwrap_or_else(|| token.as_bytes().to_vec());
    let content = [format!("{id}.{time}.").as_bytes(), body].concat();
    format!("v1,{}", STANDARD.encode(hmac(&key, &content)))
}

/// Computes HMAC-SHA256. Implemented here so that the server is not checked with the library that it uses itself.
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
    fn hmac_matches_rfc_4231() {
        // RFC 4231, cases 2 and 6.
        let short = hex::encode(hmac(b"Jefe", b"what do ya want for nothing?"));
        assert_eq!(short, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let long = hex::encode(hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"));
        assert_eq!(long, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    #[test]
    fn standard_webhooks_secrets_are_decoded_before_signing() {
        // The example in the Standard Webhooks specification.
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
    fn invalid_requests_are_reported() {
        let hook = Hook { id: 1, project: Some(1), token: "secret".into(), events: HookEvents::Branches };
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let complaints = |change: fn(&mut Request), later: TimeDelta| {
            let mut request = request(&hook, now);
            change(&mut request);
            ReceivedDelivery::parse(&hook, &request, now + later).map(|receipt| receipt.problems.len())
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
        // A timestamp that is not the signed one, and a malformed one.
        assert_eq!(complaints(|request| set(request, "webhook-timestamp", "1727999999"), none), Ok(1));
        assert_eq!(complaints(|request| set(request, "webhook-timestamp", "now"), none), Ok(2));
        assert!(complaints(|request| _ = request.headers.remove("webhook-id"), none).is_err());
        assert!(complaints(|request| set(request, "x-holdfast-sequence", "-1"), none).is_err());
    }

    #[test]
    fn only_push_events_are_parsed() {
        let hook = Hook { id: 1, project: Some(1), token: "secret".into(), events: HookEvents::Branches };
        let mut request = request(&hook, DateTime::UNIX_EPOCH);
        let read = |request: &Request| ReceivedDelivery::parse(&hook, request, DateTime::UNIX_EPOCH).unwrap().event;
        let target = Ref { project: 1, name: "refs/heads/a".into() };
        assert_eq!(read(&request), Some(Event { target, before: "0".into(), after: "1".into() }));
        request.body = br#"{"event_name":"project_create","project_id":1}"#.to_vec();
        assert_eq!(read(&request), None);
    }
}
