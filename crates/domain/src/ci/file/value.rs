//! YAML values, before they are validated.

use std::collections::HashMap;
use std::rc::Rc;

/// A YAML value. Parts are shared, so that an alias costs no more than a pointer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// The number as it is printed.
    Number(Rc<str>),
    Text(Rc<str>),
    /// `:word`, without the colon.
    Symbol(Rc<str>),
    List(Rc<[Value]>),
    Map(Rc<Map>),
}

impl Value {
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Null | Self::Bool(false) => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Bool(true) | Self::Number(_) | Self::Symbol(_) => false,
        }
    }

    /// Returns the text of a text or a symbol. Most keys that expect a text also accept a symbol.
    pub fn text_or_symbol(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Symbol(text) => Some(text),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum MapKey {
    /// A text or a symbol, which are equal as keys.
    Name(Rc<str>),
    /// Any other value, as it is printed.
    Other(Rc<str>),
    /// `~` and `false`.
    Null,
}

impl MapKey {
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Null | Value::Bool(false) => Self::Null,
            Value::Bool(true) => Self::Other("true".into()),
            Value::Number(number) => Self::Other(Rc::clone(number)),
            Value::Text(text) | Value::Symbol(text) => Self::Name(Rc::clone(text)),
            Value::List(_) => Self::Other("[]".into()),
            Value::Map(_) => Self::Other("{}".into()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Name(text) | Self::Other(text) => text,
            Self::Null => "",
        }
    }
}

/// A YAML map, in the order of the file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Map(Vec<(MapKey, Value)>);

impl Map {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a key, or None if the key is missing or its value is null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter()
            .find(|(key, _)| matches!(key, MapKey::Name(known) if &**known == name))
            .map(|(_, value)| value)
            .filter(|value| **value != Value::Null)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&MapKey, &Value)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

#[derive(Default)]
pub(super) struct MapBuilder {
    entries: Vec<(MapKey, Value)>,
    indexes: HashMap<MapKey, usize>,
}

impl MapBuilder {
    /// Sets a key. The last value of a key wins; the position is that of its first occurrence.
    pub fn set(&mut self, key: MapKey, value: Value) {
        match self.indexes.get(&key) {
            Some(&place) => self.entries[place].1 = value,
            None => {
                self.indexes.insert(key.clone(), self.entries.len());
                self.entries.push((key, value));
            }
        }
    }

    pub fn set_all(&mut self, other: &Map) {
        for (key, value) in other.iter() {
            self.set(key.clone(), value.clone());
        }
    }

    pub fn build(self) -> Map {
        Map(self.entries)
    }
}
