//! What a YAML text says, before anybody asks whether it makes sense.

use std::collections::HashMap;
use std::rc::Rc;

/// Shared, so that an alias costs no more than a pointer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As it is printed.
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

    /// Most places that want a text take a symbol as well.
    pub fn text_or_symbol(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Symbol(text) => Some(text),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A text or a symbol: as keys they are the same.
    Name(Rc<str>),
    /// Anything else, as it is printed.
    Other(Rc<str>),
    /// `~` and `false`.
    Nothing,
}

impl Key {
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null | Value::Bool(false) => Self::Nothing,
            Value::Bool(true) => Self::Other("true".into()),
            Value::Number(number) => Self::Other(Rc::clone(number)),
            Value::Text(text) | Value::Symbol(text) => Self::Name(Rc::clone(text)),
            Value::List(_) => Self::Other("[]".into()),
            Value::Map(_) => Self::Other("{}".into()),
        }
    }

    pub fn printed(&self) -> &str {
        match self {
            Self::Name(text) | Self::Other(text) => text,
            Self::Nothing => "",
        }
    }
}

/// In the order of the file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Map(Vec<(Key, Value)>);

impl Map {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// None where the value is null, too: nobody tells the two apart.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter()
            .find(|(key, _)| matches!(key, Key::Name(known) if &**known == name))
            .map(|(_, value)| value)
            .filter(|value| **value != Value::Null)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

#[derive(Default)]
pub(super) struct MapBuilder {
    entries: Vec<(Key, Value)>,
    places: HashMap<Key, usize>,
}

impl MapBuilder {
    /// The last value of a key counts; its place is that of the first.
    pub fn set(&mut self, key: Key, value: Value) {
        match self.places.get(&key) {
            Some(&place) => self.entries[place].1 = value,
            None => {
                self.places.insert(key.clone(), self.entries.len());
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
