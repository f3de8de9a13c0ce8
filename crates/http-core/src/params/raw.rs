//! Merges the parameters of a request. The body takes precedence over the query, and the path over both.

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, RawPathParams, Request};
use axum::http::header;
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};

use super::value::ParamError;
use crate::RequestError;

/// Maximum number of parameters. Arbitrary: more than any endpoint has, and cheap to process.
pub(super) const MAX_PARAMETERS: usize = 1000;

/// Maximum number of values in a JSON body. A value uses at least 32 bytes of memory and may be only two bytes long in
/// the body: without a limit, a body of 1 MB would use 17 MB while the request waits for the database.
const MAX_JSON_VALUES: usize = 10 * MAX_PARAMETERS;

/// Counts a value and all values nested in it.
fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(fields) => fields.values().map(count_values).sum(),
        _ => 0,
    }
}

/// The value of a parameter, or an error if it is not text (invalid encoding, or an uploaded file).
type RawValue = Result<Value, ParamError>;

/// A part of a multipart form that has a file name.
#[derive(Clone)]
pub struct UploadedFile {
    pub name: String,
    pub bytes: Bytes,
}

/// A type that can be created from an uploaded file.
pub trait FromFile {
    fn from_file(file: UploadedFile) -> Self;
    fn schema() -> RefOr<Schema>;
}

impl FromFile for UploadedFile {
    fn from_file(file: UploadedFile) -> Self {
        file
    }

    fn schema() -> RefOr<Schema> {
        let format = Some(SchemaFormat::Custom("binary".into()));
        ObjectBuilder::new().schema_type(Type::String).format(format).into()
    }
}

#[derive(Default)]
pub struct RawParams {
    path: BTreeMap<String, RawValue>,
    values: BTreeMap<String, RawValue>,
    query: Vec<(String, String)>,
    files: BTreeMap<String, UploadedFile>,
}

impl RawParams {
    /// Reads the parameters of the path and the query.
    pub fn from_path_and_query(parts: &Parts, path: &RawPathParams) -> Result<Self, RequestError> {
        let mut raw = Self::default();
        for (name, value) in path {
            raw.path.insert(name.to_owned(), Ok(Value::from(value)));
        }
        for (name, value) in parse_pairs(parts.uri.query().unwrap_or_default()) {
            if let (Ok(name), Ok(value)) = (&name, &value) {
                raw.query.push((name.clone(), value.clone()));
            }
            raw.add(name, value.map(Value::from))?;
        }
        Ok(raw)
    }

    /// Adds the parameters of the body.
    pub async fn read_body(&mut self, parts: &Parts, body: Vec<u8>) -> Result<(), RequestError> {
        if body.is_empty() {
            return Ok(());
        }
        let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match media_type.as_str() {
            // A body without a content type is parsed as a form.
            "" | "application/x-www-form-urlencoded" => {
                let Ok(text) = std::str::from_utf8(&body) else { return Err(RequestError::MalformedBody) };
                // A name in the body also replaces the value from the query.
                for (name, value) in parse_pairs(text) {
                    self.add(name, value.map(Value::from))?;
                }
            }
            "multipart/form-data" => self.read_multipart(parts, body).await?,
            json if json == "application/json" || json.ends_with("+json") => {
                let Ok(Value::Object(fields)) = serde_json::from_slice(&body) else {
                    return Err(RequestError::MalformedBody);
                };
                if fields.values().map(count_values).sum::<usize>() > MAX_JSON_VALUES {
                    return Err(RequestError::TooManyParams);
                }
                for (name, value) in fields {
                    self.add(Ok(name), Ok(value))?;
                }
            }
            other => return Err(RequestError::UnsupportedContentType(other.to_owned())),
        }
        Ok(())
    }

    async fn read_multipart(&mut self, parts: &Parts, body: Vec<u8>) -> Result<(), RequestError> {
        let mut request = Request::new(Body::from(body));
        request.headers_mut().clone_from(&parts.headers);
        // The extensions disable axum's own size limit. The size was checked when the body was read.
        request.extensions_mut().clone_from(&parts.extensions);
        let mut form = Multipart::from_request(request, &()).await.map_err(|_| RequestError::MalformedBody)?;
        while let Some(field) = form.next_field().await.map_err(|_| RequestError::MalformedBody)? {
            let Some(name) = field.name().map(str::to_owned) else { continue };
            let file_name = field.file_name().map(str::to_owned);
            let bytes = field.bytes().await.map_err(|_| RequestError::MalformedBody)?;
            match file_name {
                Some(file_name) => {
                    self.add(Ok(name.clone()), Err(ParamError::Invalid))?;
                    self.files.insert(name, UploadedFile { name: file_name, bytes });
                }
                None => {
                    let text = String::from_utf8(bytes.into()).map_err(|_| ParamError::Invalid);
                    self.add(Ok(name), text.map(Value::from))?;
                }
            }
        }
        Ok(())
    }

    /// Adds a value: `name[]` appends to a list, `name[key]` adds to a map, `name[][key]` adds to the last map of a list,
    /// and `name` replaces. Names that are not UTF-8 are ignored.
    fn add(&mut self, name: Result<String, ParamError>, value: RawValue) -> Result<(), RequestError> {
        let Ok(name) = name else { return Ok(()) };
        if self.values.len() >= MAX_PARAMETERS {
            return Err(RequestError::TooManyParams);
        }
        let Some(list) = name.strip_suffix("[]") else {
            let inner = name.strip_suffix(']');
            match (inner.and_then(|name| name.split_once("[][")), inner.and_then(|name| name.split_once('['))) {
                (Some((list, key)), _) => self.add_to_last_map(list, key, value)?,
                (None, Some((map, key))) => self.add_to_map(map, key, value)?,
                (None, None) => drop(self.values.insert(name, value)),
            }
            return Ok(());
        };
        let entry = self.values.entry(list.to_owned()).or_insert(Ok(Value::Array(Vec::new())));
        match (entry, value) {
            (Ok(Value::Array(items)), Ok(_)) if items.len() >= MAX_PARAMETERS => {
                return Err(RequestError::TooManyParams);
            }
            (Ok(Value::Array(items)), Ok(value)) => items.push(value),
            // One invalid item makes the whole list invalid.
            (Err(_), _) => {}
            (entry, value) => *entry = value.map(|value| Value::Array(vec![value])),
        }
        Ok(())
    }

    fn add_to_map(&mut self, map: &str, key: &str, value: RawValue) -> Result<(), RequestError> {
        let entry = self.values.entry(map.to_owned()).or_insert_with(|| Ok(Value::Object(Map::new())));
        match (entry, value) {
            (Ok(Value::Object(fields)), Ok(_)) if fields.len() >= MAX_PARAMETERS => {
                return Err(RequestError::TooManyParams);
            }
            (Ok(Value::Object(fields)), Ok(value)) => drop(fields.insert(key.to_owned(), value)),
            (entry, value) => *entry = value.map(|value| json!({ key: value })),
        }
        Ok(())
    }

    /// Adds a field to the last map of a list. A field that the last map has begins a new map.
    fn add_to_last_map(&mut self, list: &str, key: &str, value: RawValue) -> Result<(), RequestError> {
        let entry = self.values.entry(list.to_owned()).or_insert_with(|| Ok(Value::Array(Vec::new())));
        // One invalid field makes the whole list invalid.
        let (Ok(_), Ok(value)) = (&entry, &value) else {
            *entry = Err(ParamError::Invalid);
            return Ok(());
        };
        let value = value.clone();
        let Ok(Value::Array(maps)) = entry else {
            *entry = Ok(json!([{ key: value }]));
            return Ok(());
        };
        if let Some(Value::Object(fields)) = maps.last_mut()
            && !fields.contains_key(key)
            && fields.len() < MAX_PARAMETERS
        {
            fields.insert(key.to_owned(), value);
            return Ok(());
        }
        if maps.len() >= MAX_PARAMETERS {
            return Err(RequestError::TooManyParams);
        }
        maps.push(json!({ key: value }));
        Ok(())
    }

    /// Returns the parameters of the path alone.
    pub fn without_query(self) -> Self {
        Self { path: self.path, ..Self::default() }
    }

    pub fn value(&self, name: &str) -> Option<Result<&Value, ParamError>> {
        let value = self.path.get(name).or_else(|| self.values.get(name))?;
        Some(value.as_ref().map_err(|wrong| *wrong))
    }

    pub fn file(&self, name: &str) -> Option<UploadedFile> {
        self.files.get(name).cloned()
    }

    pub fn largest_file(&self) -> usize {
        self.files.values().map(|file| file.bytes.len()).max().unwrap_or_default()
    }

    pub fn is_in_path(&self, name: &str) -> bool {
        self.path.contains_key(name)
    }

    /// Returns a text parameter of the query or the body that concerns the request itself, such as a token. Other
    /// values count as absent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.as_ref().ok()?.as_str().filter(|text| !text.contains('\0'))
    }

    /// Returns a number that was sent as text or as a JSON number. Other values count as absent.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.values.get(name)?.as_ref().ok()? {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_i64(),
        }
    }

    /// Returns the pairs of the query as they were sent, without those that are not UTF-8.
    pub fn query(&self) -> &[(String, String)] {
        &self.query
    }
}

/// Parses form-encoded pairs. Unlike browsers, it reports invalid UTF-8 as an error instead of replacing it.
fn parse_pairs(text: &str) -> impl Iterator<Item = (Result<String, ParamError>, Result<String, ParamError>)> {
    let decode = |part: &str| {
        let spaced = part.replace('+', " ");
        percent_decode_str(&spaced).decode_utf8().map(String::from).map_err(|_| ParamError::Invalid)
    };
    text.split('&').filter(|pair| !pair.is_empty()).map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}
