//! Parses the fields that runners send, as JSON or as a form.
//!
//! The sender may be unauthenticated, so a small body must not use much memory: only known fields are kept, and only as
//! deeply nested as runners send them.

use std::collections::BTreeMap;
use std::fmt;

use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use holdfast_app::ci::runner::normalize_tags;
use holdfast_app::ci::runner_api::{RunnerAttributes, RunnerInfo};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::ApiError;

const KNOWN_FIELDS: [&str; 13] = [
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

/// Maximum number of entries that are kept of a list or an object, and of pairs in a form. A runner has at most 50
/// tags.
const MAX_ENTRIES: usize = 100;

#[derive(Default)]
pub struct Fields(BTreeMap<String, FieldValue>);

#[derive(Debug, PartialEq, Eq)]
enum FieldValue {
    Text(String),
    Flag(bool),
    Number(i64),
    Strings(Vec<String>),
    Object(Vec<(String, String)>),
    /// A value that is not valid for any field.
    Other,
}

impl Fields {
    /// Parses the query and the body. Fields of the body take precedence.
    pub fn parse(parts: &Parts, body: &[u8]) -> Result<Self, ApiError> {
        let malformed = || ApiError::error(StatusCode::BAD_REQUEST, "message body does not match declared format");
        let mut fields = Self::from_query(parts);
        if body.is_empty() {
        } else if is_json(parts) {
            fields.read_json(body).map_err(|_| malformed())?;
        } else {
            fields.read_pairs(body);
        }
        Ok(fields)
    }

    /// Returns the token if it is in the query or in the start of a body. All runners send it before the trace, and
    /// only a trace makes a body long.
    pub fn token_in_start(parts: &Parts, start: &[u8]) -> Option<String> {
        let mut fields = Self::from_query(parts);
        if is_json(parts) {
            // The start of a body is truncated JSON. The fields before the error are kept.
            fields.read_json(start).ok();
        } else if let Some(end) = start.iter().rposition(|byte| *byte == b'&') {
            fields.read_pairs(&start[..end]);
        }
        fields.text("token").map(str::to_owned)
    }

    fn from_query(parts: &Parts) -> Self {
        let mut fields = Self::default();
        fields.read_pairs(parts.uri.query().unwrap_or_default().as_bytes());
        fields
    }

    fn read_json(&mut self, text: &[u8]) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_slice(text);
        json.deserialize_map(FieldsVisitor(self))?;
        json.end()
    }

    /// Reads form-encoded pairs. Values of `name[]` and of a repeated name become a list.
    fn read_pairs(&mut self, text: &[u8]) {
        let mut fields: BTreeMap<String, FieldValue> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text).take(MAX_ENTRIES) {
            let name = name.strip_suffix("[]").unwrap_or(&name);
            if !KNOWN_FIELDS.contains(&name) {
                continue;
            }
            let value = value.into_owned();
            let collected = match fields.remove(name) {
                Some(FieldValue::Text(first)) => FieldValue::Strings(vec![first, value]),
                Some(FieldValue::Strings(mut words)) => {
                    words.push(value);
                    FieldValue::Strings(words)
                }
                _ => FieldValue::Text(value),
            };
            fields.insert(name.to_owned(), collected);
        }
        self.0.extend(fields);
    }

    /// Returns a text field. Text with NUL characters counts as absent, because PostgreSQL cannot store it.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            FieldValue::Text(text) if !text.contains('\0') => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes of a text field, unchanged.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        match self.0.get(name)? {
            FieldValue::Text(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.0.get(name)? {
            FieldValue::Flag(flag) => Some(*flag),
            FieldValue::Text(text) => Some(matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on")),
            _ => None,
        }
    }

    /// Returns a list of strings, or the parts of a string that is separated by commas.
    fn strings(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(FieldValue::Text(text)) => text.split(',').map(str::to_owned).collect(),
            Some(FieldValue::Strings(words)) => words.clone(),
            _ => Vec::new(),
        }
    }

    pub fn attributes(&self) -> RunnerAttributes {
        let tags = normalize_tags(self.strings("tag_list"));
        let max_seconds = match self.0.get("maximum_timeout") {
            Some(FieldValue::Text(text)) => text.parse().ok(),
            Some(FieldValue::Number(seconds)) => Some(*seconds),
            _ => None,
        };
        RunnerAttributes {
            description: self.text("description").map(str::to_owned),
            active: self.flag("active").unwrap_or(true) && !self.flag("paused").unwrap_or(false),
            locked: self.flag("locked").unwrap_or(false),
            run_untagged: self.flag("run_untagged").unwrap_or(true),
            tags,
            max_run_seconds: max_seconds.filter(|seconds| *seconds > 0).and_then(|seconds| i32::try_from(seconds).ok()),
        }
    }

    pub fn info(&self) -> RunnerInfo {
        let pairs = match self.0.get("info") {
            Some(FieldValue::Object(pairs)) => pairs.as_slice(),
            _ => &[],
        };
        let text = |name: &str| {
            let (_, text) = pairs.iter().find(|(key, _)| key == name)?;
            Some(text.chars().filter(|c| *c != '\0').take(255).collect())
        };
        RunnerInfo {
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

/// A visitor that reads known fields one by one, so that fields before a syntax error are kept.
struct FieldsVisitor<'a>(&'a mut Fields);

impl<'de> Visitor<'de> for FieldsVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if KNOWN_FIELDS.contains(&name.as_str()) {
                let value = map.next_value()?;
                self.0.0.insert(name, value);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for FieldValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldValueVisitor { is_nested: false })
    }
}

/// A string inside a list or an object, `None` for all other values.
struct NestedText(Option<String>);

impl<'de> Deserialize<'de> for NestedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match deserializer.deserialize_any(FieldValueVisitor { is_nested: true })? {
            FieldValue::Text(text) => Some(text),
            _ => None,
        }))
    }
}

struct FieldValueVisitor {
    is_nested: bool,
}

impl<'de> Visitor<'de> for FieldValueVisitor {
    type Value = FieldValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<FieldValue, E> {
        Ok(FieldValue::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<FieldValue, E> {
        Ok(FieldValue::Text(text))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<FieldValue, E> {
        Ok(FieldValue::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<FieldValue, E> {
        Ok(FieldValue::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<FieldValue, E> {
        Ok(i64::try_from(number).map_or(FieldValue::Other, FieldValue::Number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<FieldValue, E> {
        Ok(FieldValue::Other)
    }

    fn visit_unit<E>(self) -> Result<FieldValue, E> {
        Ok(FieldValue::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FieldValue, A::Error> {
        let mut words = Vec::new();
        while !self.is_nested && words.len() < MAX_ENTRIES {
            match items.next_element::<NestedText>()? {
                Some(NestedText(word)) => words.extend(word),
                None => return Ok(FieldValue::Strings(words)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FieldValue::Strings(words))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldValue, A::Error> {
        let mut pairs = Vec::new();
        while !self.is_nested && pairs.len() < MAX_ENTRIES {
            match map.next_entry::<String, NestedText>()? {
                Some((name, NestedText(text))) => pairs.extend(text.map(|text| (name, text))),
                None => return Ok(FieldValue::Object(pairs)),
            }
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(FieldValue::Object(pairs))
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
    fn unknown_fields_and_nested_values_are_dropped() {
        let json = parts("?state=running&token=query", "application/json; charset=utf-8");
        let body = br#"{"x":[[0,{"a":[1]}]],"token":"t","active":false,"maximum_timeout":700,"locked":"yes",
            "tag_list":["a",7,["b"],{"c":"d"},"e"],"info":{"name":"n","features":{"name":"deep"},"version":7},"trace":null}"#;
        let fields = Fields::parse(&json, body).unwrap();
        assert_eq!((fields.text("token"), fields.text("state")), (Some("t"), Some("running")));
        assert_eq!(fields.0.get("x"), None);
        assert_eq!((fields.text("trace"), fields.bytes("trace")), (None, None));
        let attributes = fields.attributes();
        assert_eq!((attributes.tags, attributes.max_run_seconds), (vec!["a".to_owned(), "e".to_owned()], Some(700)));
        assert!(!attributes.active && attributes.locked && attributes.run_untagged);
        assert_eq!((fields.info().name.as_deref(), fields.info().version), (Some("n"), None));
    }

    #[test]
    fn repeated_form_fields_become_a_list() {
        let form = parts("", "application/x-www-form-urlencoded");
        let fields = Fields::parse(&form, b"token=t&tag_list[]=a&tag_list[]=b&run_untagged=false&x=y").unwrap();
        let attributes = fields.attributes();
        assert_eq!((fields.text("token"), attributes.run_untagged), (Some("t"), false));
        assert_eq!(attributes.tags, ["a", "b"]);
    }

    #[test]
    fn token_is_found_in_a_truncated_body() {
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
