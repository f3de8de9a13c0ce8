//! A map of the file at its place, and the questions that everybody asks of one.

use std::rc::Rc;

use super::value::{Key, Map, Value};

pub(super) struct Section {
    /// `jobs:rspec:cache`; nothing for the file itself.
    place: String,
    map: Rc<Map>,
}

impl Section {
    pub fn whole_file(map: Rc<Map>) -> Self {
        Self { place: String::new(), map }
    }

    pub fn of(place: String, value: &Value) -> Result<Self, String> {
        match value {
            Value::Map(map) => Ok(Self { place, map: Rc::clone(map) }),
            _ => Err(wrong(&place, "config should be a hash")),
        }
    }

    pub fn map(&self) -> &Map {
        &self.map
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    pub fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}:{key}", self.place) }
    }

    /// Of the map itself.
    pub fn wrong(&self, what: &str) -> String {
        wrong(&self.place, what)
    }

    /// Of what stands below the key.
    pub fn wrong_at(&self, key: &str, what: &str) -> String {
        wrong(&self.place_of(key), &format!("config {what}"))
    }

    pub fn has_only(&self, known: &[&str]) -> Result<(), String> {
        let unknown: Vec<&str> = self
            .map
            .iter()
            .filter(|(key, _)| !matches!(key, Key::Name(name) if known.contains(&&**name)))
            .map(|(key, _)| key.printed())
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(self.wrong(&format!("config contains unknown keys: {}", unknown.join(", "))))
    }

    /// An entry: what is wrong with it is told at its own place.
    pub fn entry<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value) -> Option<T>,
        otherwise: &str,
    ) -> Result<Option<T>, String> {
        self.get(key).map(|value| read(value).ok_or_else(|| self.wrong_at(key, otherwise))).transpose()
    }

    /// An attribute: what is wrong with it is told at the place of the map that has it.
    pub fn attribute<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value) -> Option<T>,
        otherwise: &str,
    ) -> Result<Option<T>, String> {
        let wrong = || self.wrong(&format!("{} {otherwise}", key.replace('_', " ")));
        self.get(key).map(|value| read(value).ok_or_else(wrong)).transpose()
    }
}

/// Everything that is told of the contents is in lower case, names of jobs included.
pub(super) fn wrong(place: &str, what: &str) -> String {
    format!("{place} {what}").to_ascii_lowercase()
}

pub(super) const A_STRING: &str = "should be a string";
pub(super) const A_BOOLEAN: &str = "should be a boolean value";
pub(super) const STRINGS: &str = "should be an array of strings";

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
