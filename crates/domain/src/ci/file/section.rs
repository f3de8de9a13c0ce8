//! A map of the file with its path, for reading keys and reporting errors.

use std::rc::Rc;

use super::value::{Map, MapKey, Value};

pub(super) struct Section {
    /// The path in error messages, such as `jobs:rspec:cache`. Empty for the file itself.
    path: String,
    map: Rc<Map>,
}

impl Section {
    pub fn for_file(map: Rc<Map>) -> Self {
        Self { path: String::new(), map }
    }

    pub fn from_value(path: String, value: &Value) -> Result<Self, String> {
        match value {
            Value::Map(map) => Ok(Self { path, map: Rc::clone(map) }),
            _ => Err(format_error(&path, "config should be a hash")),
        }
    }

    pub fn map(&self) -> &Map {
        &self.map
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    pub fn error_path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}:{key}", self.path) }
    }

    /// Returns an error about the map itself.
    pub fn error(&self, message: &str) -> String {
        format_error(&self.path, message)
    }

    /// Returns an error about the value of a key.
    pub fn error_at(&self, key: &str, message: &str) -> String {
        format_error(&self.error_path(key), &format!("config {message}"))
    }

    pub fn reject_unknown_keys(&self, known: &[&str]) -> Result<(), String> {
        let unknown: Vec<&str> = self
            .map
            .iter()
            .filter(|(key, _)| !matches!(key, MapKey::Name(name) if known.contains(&&**name)))
            .map(|(key, _)| key.as_str())
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(self.error(&format!("config contains unknown keys: {}", unknown.join(", "))))
    }

    /// Reads an entry. An error is reported at the path of the entry.
    pub fn entry<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value) -> Option<T>,
        message: &str,
    ) -> Result<Option<T>, String> {
        self.get(key).map(|value| read(value).ok_or_else(|| self.error_at(key, message))).transpose()
    }

    /// Reads an attribute. Unlike with [`Self::entry`], an error is reported at the path of the map that contains it.
    pub fn attribute<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value) -> Option<T>,
        message: &str,
    ) -> Result<Option<T>, String> {
        let error = || self.error(&format!("{} {message}", key.replace('_', " ")));
        self.get(key).map(|value| read(value).ok_or_else(error)).transpose()
    }
}

/// Formats an error about the content of the file. It is in lower case, including the names of jobs, as existing
/// clients expect.
pub(super) fn format_error(path: &str, message: &str) -> String {
    format!("{path} {message}").to_ascii_lowercase()
}

pub(super) const SHOULD_BE_STRING: &str = "should be a string";
pub(super) const SHOULD_BE_BOOLEAN: &str = "should be a boolean value";
pub(super) const SHOULD_BE_STRINGS: &str = "should be an array of strings";

pub(super) fn string(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some((**text).to_owned()),
        _ => None,
    }
}

pub(super) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        _ => None,
    }
}

pub(super) fn strings(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::List(items) => items.iter().map(|item| item.text_or_symbol().map(str::to_owned)).collect(),
        _ => None,
    }
}

pub(super) fn string_or_strings(value: &Value) -> Option<Vec<String>> {
    value.text_or_symbol().map(|text| vec![text.to_owned()]).or_else(|| strings(value))
}
