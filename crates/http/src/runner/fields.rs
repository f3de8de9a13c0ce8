//! What runners send: JSON, or a form.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use holdfast_app::ci::runner::tidy;
use holdfast_app::ci::runner_door::{Attributes, Info};
use serde_json::{Map, Value};

use crate::error::ApiError;

pub struct Fields(Map<String, Value>);

impl Fields {
    pub async fn read(parts: &Parts, body: Body, largest: usize) -> Result<Self, ApiError> {
        let body = crate::body::read(body, largest).await.ok_or_else(ApiError::too_large)?;
        let malformed = || ApiError::error(StatusCode::BAD_REQUEST, "message body does not match declared format");
        let mut fields = pairs(parts.uri.query().unwrap_or_default().as_bytes());
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if body.is_empty() {
        } else if kind.starts_with("application/json") {
            let Ok(Value::Object(sent)) = serde_json::from_slice(&body) else { return Err(malformed()) };
            fields.extend(sent);
        } else {
            fields.extend(pairs(&body));
        }
        Ok(Self(fields))
    }

    /// PostgreSQL has no zero characters.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.contains('\0'))
    }

    /// As it is, for what is kept as bytes.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        Some(self.0.get(name)?.as_str()?.as_bytes())
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.0.get(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => Some(matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on")),
            _ => None,
        }
    }

    /// A list, or words with commas between them.
    fn words(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
            Some(Value::Array(items)) => items.iter().filter_map(|item| item.as_str()).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    pub fn attributes(&self) -> Attributes {
        let tags = tidy(self.words("tag_list"));
        let longest = match self.0.get("maximum_timeout") {
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_i64(),
            None => None,
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
        let info = self.0.get("info");
        let text = |name: &str| {
            let text = info?.get(name)?.as_str()?;
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

/// `name[]` and a name that comes again collect.
fn pairs(text: &[u8]) -> Map<String, Value> {
    let mut fields = Map::new();
    for (name, value) in url::form_urlencoded::parse(text).take(100) {
        let name = name.strip_suffix("[]").unwrap_or(&name);
        let value = Value::from(value.into_owned());
        match fields.get_mut(name) {
            None => drop(fields.insert(name.to_owned(), value)),
            Some(Value::Array(items)) => items.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
        }
    }
    fields
}
