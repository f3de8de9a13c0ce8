//! The kinds of parameters in [`params!`](crate::params!). Each module defines the type of the field, how it is read,
//! and how it is described.

use super::value::{FromValue, ParamError};
use super::{ParamDoc, Problems, RawParams};

fn convert<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Option<T>> {
    match raw.value(name)?.and_then(T::from_param) {
        Ok(value) => Some(value),
        Err(_) if raw.is_in_path(name) => {
            problems.has_invalid_path = true;
            None
        }
        Err(error) => {
            problems.add(name, error);
            None
        }
    }
}

fn is_present(raw: &RawParams, name: &str) -> bool {
    raw.value(name).is_some()
}

pub mod required {
    use super::*;

    pub type Read<T> = T;
    pub const TAKES_FILE: bool = false;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<T> {
        if !is_present(raw, name) {
            problems.add(name, ParamError::Missing);
            return None;
        }
        match convert(raw, name, problems)? {
            Some(value) => Some(value),
            None => {
                let blank = T::blank();
                if blank.is_none() {
                    problems.add(name, ParamError::Invalid);
                }
                blank
            }
        }
    }

    pub fn describe<T: FromValue>(name: &'static str, description: &'static str) -> Option<ParamDoc> {
        let description = if description.is_empty() { T::DESCRIPTION } else { description };
        Some(ParamDoc { name, description, is_required: true, schema: T::schema() })
    }
}

pub mod optional {
    use super::*;

    pub type Read<T> = Option<T>;
    pub const TAKES_FILE: bool = false;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Option<T>> {
        if is_present(raw, name) { convert(raw, name, problems) } else { Some(None) }
    }

    pub fn describe<T: FromValue>(name: &'static str, description: &'static str) -> Option<ParamDoc> {
        let description = if description.is_empty() { T::DESCRIPTION } else { description };
        Some(ParamDoc { name, description, is_required: false, schema: T::schema() })
    }
}

pub mod nullable {
    use holdfast_domain::Field;

    use super::*;

    pub type Read<T> = Field<T>;
    pub const TAKES_FILE: bool = false;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Field<T>> {
        if !is_present(raw, name) {
            return Some(Field::Absent);
        }
        Some(convert(raw, name, problems)?.map_or(Field::Null, Field::Value))
    }

    pub use super::optional::describe;
}

pub mod list {
    use serde_json::Value;
    use utoipa::openapi::schema::ArrayBuilder;

    use crate::params::raw::MAX_PARAMETERS;

    use super::*;

    pub type Read<T> = Vec<T>;
    pub const TAKES_FILE: bool = false;

    pub fn read<T: FromValue>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<Vec<T>> {
        let values = match raw.value(name) {
            None | Some(Ok(Value::Null)) => Vec::new(),
            Some(Ok(Value::Array(values))) => values.clone(),
            Some(Ok(Value::String(text))) => {
                text.split(',').filter(|part| !part.is_empty()).map(|part| Value::from(part.trim())).collect()
            }
            Some(Ok(other)) => vec![other.clone()],
            Some(Err(error)) => {
                problems.add(name, error);
                return None;
            }
        };
        if values.len() > MAX_PARAMETERS {
            problems.add(name, ParamError::Invalid);
            return None;
        }
        let items: Result<Option<Vec<T>>, ParamError> = values.iter().map(T::from_param).collect();
        match items {
            Ok(Some(items)) => Some(items),
            Ok(None) => {
                problems.add(name, ParamError::Invalid);
                None
            }
            Err(error) => {
                problems.add(name, error);
                None
            }
        }
    }

    pub fn describe<T: FromValue>(name: &'static str, description: &'static str) -> Option<ParamDoc> {
        let schema = ArrayBuilder::new().items(T::schema()).into();
        Some(ParamDoc { name, description, is_required: false, schema })
    }
}

pub mod file {
    use super::*;
    use crate::params::raw::FromFile;

    pub type Read<T> = T;
    pub const TAKES_FILE: bool = true;

    pub fn read<T: FromFile>(raw: &RawParams, name: &str, problems: &mut Problems) -> Option<T> {
        if let Some(file) = raw.file(name) {
            return Some(T::from_file(file));
        }
        problems.add(name, if is_present(raw, name) { ParamError::Invalid } else { ParamError::Missing });
        None
    }

    pub fn describe<T: FromFile>(name: &'static str, description: &'static str) -> Option<ParamDoc> {
        Some(ParamDoc { name, description, is_required: true, schema: T::schema() })
    }
}

pub mod optional_file {
    use super::*;
    use crate::params::raw::FromFile;

    pub type Read<T> = Option<T>;
    pub const TAKES_FILE: bool = true;

    pub fn read<T: FromFile>(raw: &RawParams, name: &str, _: &mut Problems) -> Option<Option<T>> {
        Some(raw.file(name).map(T::from_file))
    }

    pub fn describe<T: FromFile>(name: &'static str, description: &'static str) -> Option<ParamDoc> {
        Some(ParamDoc { name, description, is_required: false, schema: T::schema() })
    }
}

pub mod flatten {
    use super::*;
    use crate::params::ParamSet;

    pub type Read<P> = P;
    pub const TAKES_FILE: bool = false;

    pub fn read<P: ParamSet>(raw: &RawParams, _: &str, problems: &mut Problems) -> Option<P> {
        P::read(raw, problems)
    }

    pub fn describe<P: ParamSet>(_: &'static str, _: &'static str) -> Vec<ParamDoc> {
        P::describe()
    }
}
