//! The four kinds of parameter. Each module has the type that is read, how it is read, and its schema.

use super::value::{FromValue, Wrong};
use super::{Problems, RawParams};

fn convert<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Option<T>> {
    match raw.value(name)?.and_then(T::from_param) {
        Ok(value) => Some(value),
        Err(_) if raw.is_in_path(name) => {
            problems.no_route = true;
            None
        }
        Err(wrong) => {
            problems.add(name, wrong);
            None
        }
    }
}

/// Whether the key was sent at all.
fn is_given(raw: &RawParams, name: &str) -> bool {
    raw.value(name).is_some()
}

pub mod required {
    use super::*;

    pub type Read<T> = T;
    pub const REQUIRED: bool = true;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<T> {
        if !is_given(raw, name) {
            problems.add(name, Wrong::Missing);
            return None;
        }
        match convert(raw, name, problems)? {
            Some(value) => Some(value),
            None => {
                let blank = T::blank();
                if blank.is_none() {
                    problems.add(name, Wrong::Invalid);
                }
                blank
            }
        }
    }

    pub fn schema<T: FromValue>() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        T::schema()
    }
}

pub mod optional {
    use super::*;

    pub type Read<T> = Option<T>;
    pub const REQUIRED: bool = false;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Option<T>> {
        if is_given(raw, name) { convert(raw, name, problems) } else { Some(None) }
    }

    pub use super::required::schema;
}

pub mod changed {
    use holdfast_domain::Field;

    use super::*;

    pub type Read<T> = Field<T>;
    pub const REQUIRED: bool = false;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Field<T>> {
        if !is_given(raw, name) {
            return Some(Field::Absent);
        }
        Some(convert(raw, name, problems)?.map_or(Field::Null, Field::Value))
    }

    pub use super::required::schema;
}

pub mod list {
    use serde_json::Value;
    use utoipa::openapi::schema::ArrayBuilder;
    use utoipa::openapi::{RefOr, Schema};

    use super::*;

    pub type Read<T> = Vec<T>;
    pub const REQUIRED: bool = false;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Vec<T>> {
        let values = match raw.value(name) {
            None | Some(Ok(Value::Null)) => Vec::new(),
            Some(Ok(Value::Array(values))) => values.clone(),
            Some(Ok(Value::String(text))) => {
                text.split(',').filter(|part| !part.is_empty()).map(|part| Value::from(part.trim())).collect()
            }
            Some(Ok(other)) => vec![other.clone()],
            Some(Err(wrong)) => {
                problems.add(name, wrong);
                return None;
            }
        };
        let items: Result<Option<Vec<T>>, Wrong> = values.iter().map(T::from_param).collect();
        match items {
            Ok(Some(items)) => Some(items),
            Ok(None) | Err(_) => {
                problems.add(name, Wrong::Invalid);
                None
            }
        }
    }

    pub fn schema<T: FromValue>() -> RefOr<Schema> {
        ArrayBuilder::new().items(T::schema()).into()
    }
}
