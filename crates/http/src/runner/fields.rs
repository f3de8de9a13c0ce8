//! What runners send: JSON, or a form. Only the fields that the server knows are kept, and of those nothing deeper than
//! runners send: whoever sends the body may be anybody, and must not be able to make much of little.

use std::collections::BTreeMap;
use std::fmt;

use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use holdfast_app::ci::runner::tidy;
use holdfast_app::ci::runner_door::{Attributes, Info};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::ApiError;

const NAMES: [&str; 13] = [
    "active",
    "description",
    "failure_reason",
    "info",
    "last_update",
    "locked",
    "maximum_timeout",
    "paused",
    "run_untagged",
    "state",
    "tag_list",
    "token",
    "trace",
];

/// Maximum number of entries of a list or an object that are kept, and of pairs of a form. A runner has at most 50 tags.
const MAX_ENTRIES: usize = 100;

#[derive(Default)]
pub struct Fields(BTreeMap<String, Sent>);

/// The value of a field.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    Text(String),
    Flag(bool),
    Number(i64),
    Words(Vec<String>),
    Object(Vec<(String, String)>),
    /// Nothing that any field could be.
    Other,
}

impl Fields {
    /// Of the query and the body, which wins.
    pub fn parse(parts: &Parts, body: &[u8]) -> Result<Self, ApiError> {
        let malformed = || ApiError::error(StatusCode::BAD_REQUEST, "message body does not match declared format");
        let mut fields = Self::of_query(parts);
        if body.is_empty() {
        } else if is_json(parts) {
            fields.read_json(body).map_err(|_| malformed())?;
        } else {
            fields.read_pairs(body);
        }
        Ok(fields)
    }

    /// The token, if it stands within the start of a body. All runners send it before the trace, which alone makes a body
    /// long.
    pub fn token_in_start(parts: &Parts, start: &[u8]) -> Option<String> {
        let mut fields = Self::of_query(parts);
        if is_json(parts) {
            // It breaks off somewhere, and what was read before counts.
            fields.read_json(start).ok();
        } else if let Some(end) = start.iter().rposition(|byte| *byte == b'&') {
            fields.read_pairs(&start[..end]);
        }
        fields.text("token").map(str::to_owned)
    }

    fn of_query(parts: &Parts) -> Self {
        let mut fields = Self::default();
        fields.read_pairs(parts.uri.query().unwrap_or_default().as_bytes());
        fields
    }

    fn read_json(&mut self, text: &[u8]) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_slice(text);
        json.deserialize_map(Reading(self))?;
        json.end()
    }

    /// `name[]` and a name that comes again collect.
    fn read_pairs(&mut self, text: &[u8]) {
        let mut fields: BTreeMap<String, Sent> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text).take(MAX_ENTRIES) {
            let name = name.strip_suffix("[]").unwrap_or(&name);
            if !NAMES.contains(&name) {
                continue;
            }
            let value = value.into_owned();
            let sent = match fields.remove(name) {
                Some(Sent::Text(one)) => Sent::Words(vec![one, value]),
                Some(Sent::Words(mut words)) => {
                    words.push(value);
                    Sent::Words(words)
                }
                _ => Sent::Text(value),
            };
            fields.insert(name.to_owned(), sent);
        }
        self.0.extend(fields);
    }

    /// PostgreSQL has no zero characters.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Sent::Text(text) if !text.contains('\0') => Some(text),
            _ => None,
        }
    }

    /// As it is, for what is kept as bytes.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        match self.0.get(name)? {
            Sent::Text(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.0.get(name)? {
            Sent::Flag(flag) => Some(*flag),
            Sent::Text(text) => Some(matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on")),
            _ => None,
        }
    }

    /// A list, or words with commas between them.
    fn words(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Sent::Text(text)) => text.split(',').map(str::to_owned).collect(),
            Some(Sent::Words(words)) => words.clone(),
            _ => Vec::new(),
        }
    }

    pub fn attributes(&self) -> Attributes {
        let tags = tidy(self.words("tag_list"));
        let longest = match self.0.get("maximum_timeout") {
            Some(Sent::Text(text)) => text.parse().ok(),
            Some(Sent::Number(seconds)) => Some(*seconds),
            _ => None,
        };
        Attributes {
            description: self.text("description").map(str::to_owned),
            active: self.flag("active").unwrap_or(true) && !self.flag("paused").unwrap_or(false),
            locked: self.flag("locked").unwrap_or(false),
            run_untagged: self.flag("run_untagged").unwrap_or(true),
            tags,
            longest_run: longest.filter(|seconds| *seconds > 0).and_then(|seconds| i32::try_from(seconds).ok()),
        }
    }

    pub fn info(&self) -> Info {
        let pairs = match self.0.get("info") {
            Some(Sent::Object(pairs)) => pairs.as_slice(),
            _ => &[],
        };
        let text = |name: &str| {
            let (_, text) = pairs.iter().find(|(key, _)| key == name)?;
            Some(text.chars().filter(|c| *c != '\0').take(255).collect())
        };
        Info {
            name: text("name"),
            version: text("version"),
            revision: text("revision"),
            platform: text("platform"),
            architecture: text("architecture"),
        }
    }
}

fn is_json(parts: &Parts) -> bool {
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// Reads the fields that are known, one by one: what came before a failure stays.
struct Reading<'a>(&'a mut Fields);

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if NAMES.contains(&name.as_str()) {
                let sent = map.next_value()?;
                self.0.0.insert(name, sent);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Sent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SentVisitor { is_nested: false })
    }
}

/// What stands in a list or an object: a text, or nothing of use.
struct Nested(Option<String>);

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match deserializer.deserialize_any(SentVisitor { is_nested: true })? {
            Sent::Text(text) => Some(text),
            _ => None,
        }))
    }
}

struct SentVisitor {
    is_nested: bool,
}

impl<'de> Visitor<'de> for SentVisitor {
    type Value = Sent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Sent, E> {
        Ok(Sent::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Sent, E> {
        Ok(Sent::Text(text))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Sent, E> {
        Ok(Sent::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Sent, E> {
        Ok(Sent::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Sent, E> {
        Ok(i64::try_from(number).map_or(Sent::Other, Sent::Number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Sent, E> {
        Ok(Sent::Other)
    }

    fn visit_unit<E>(self) -> Result<Sent, E> {
        Ok(Sent::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Sent, A::Error> {
        let mut words = Vec::new();
        while !self.is_nested && words.len() < MAX_ENTRIES {
            match items.next_element::<Nested>()? {
                Some(Nested(word)) => words.extend(word),
                None => return Ok(Sent::Words(words)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Sent::Words(words))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sent, A::Error> {
        let mut pairs = Vec::new();
        while !self.is_nested && pairs.len() < MAX_ENTRIES {
            match map.next_entry::<String, Nested>()? {
                Some((name, Nested(text))) => pairs.extend(text.map(|text| (name, text))),
                None => return Ok(Sent::Object(pairs)),
            }
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Sent::Object(pairs))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(query: &str, kind: &str) -> Parts {
        let request = Request::builder().uri(format!("/x{query}")).header(header::CONTENT_TYPE, kind);
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn unknown_and_deep_values_are_not_kept() {
        let json = parts("?state=running&token=query", "application/json; charset=utf-8");
        let body = br#"{"x":[[0,{"a":[1]}]],"token":"t","active":false,"maximum_timeout":700,"locked":"yes",
            "tag_list":["a",7,["b"],{"c":"d"},"e"],"info":{"name":"n","features":{"name":"deep"},"version":7},"trace":null}"#;
        let fields = Fields::parse(&json, body).unwrap();
        assert_eq!((fields.text("token"), fields.text("state")), (Some("t"), Some("running")));
        assert_eq!(fields.0.get("x"), None);
        assert_eq!((fields.text("trace"), fields.bytes("trace")), (None, None));
        let attributes = fields.attributes();
        assert_eq!((attributes.tags, attributes.longest_run), (vec!["a".to_owned(), "e".to_owned()], Some(700)));
        assert!(!attributes.active && attributes.locked && attributes.run_untagged);
        assert_eq!((fields.info().name.as_deref(), fields.info().version), (Some("n"), None));
    }

    #[test]
    fn forms_collect_what_comes_again() {
        let form = parts("", "application/x-www-form-urlencoded");
        let fields = Fields::parse(&form, b"token=t&tag_list[]=a&tag_list[]=b&run_untagged=false&x=y").unwrap();
        let attributes = fields.attributes();
        assert_eq!((fields.text("token"), attributes.run_untagged), (Some("t"), false));
        assert_eq!(attributes.tags, ["a", "b"]);
    }

    #[test]
    fn a_token_is_found_in_the_start_of_a_body_that_breaks_off() {
        let (json, form) = (parts("", "application/json"), parts("", ""));
        let found = |parts: &Parts, start: &[u8]| Fields::token_in_start(parts, start);
        assert_eq!(found(&json, br#"{"info":{"a":"b"},"token":"t","trace":"abc"#).as_deref(), Some("t"));
        assert_eq!(found(&json, br#"{"trace":"abc"#), None);
        assert_eq!(found(&json, br#"{"token":"cut"#), None);
        assert_eq!(found(&form, b"token=t&trace=abc").as_deref(), Some("t"));
        assert_eq!(found(&form, b"token=cut"), None);
        assert_eq!(found(&parts("?token=q", ""), b"trace=abc").as_deref(), Some("q"));
    }
}
