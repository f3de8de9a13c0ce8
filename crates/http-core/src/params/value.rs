//! Conversion of single parameter values, from text and JSON to each type.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, Utc};
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::planning::label::LabelRef;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{
    AwardId, BoardId, BoardListId, BuildId, DiscussionId, DraftNoteId, EmailId, HookId, IssueId, LabelId,
    MergeRequestId, MergeRequestVersionId, MilestoneId, NamespaceId, NoteId, PipelineId, ProjectId, RunnerId, SshKeyId,
    TodoId, TokenId, TriggerId, UserId,
};
use holdfast_domain::{AccessLevel, Visibility};
use serde_json::Value;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};

/// The reason why a parameter is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamError {
    Missing,
    Invalid,
    NotAllowed,
    /// The reason in words, which follow the name of the parameter.
    Explained(&'static str),
}

impl ParamError {
    pub const fn message(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::Invalid => "is invalid",
            Self::NotAllowed => "does not have a valid value",
            Self::Explained(reason) => reason,
        }
    }
}

/// A type of parameter.
pub trait FromValue: Sized {
    /// The description of parameters of this type that have none of their own.
    const DESCRIPTION: &'static str = "";

    fn from_value(value: &Value) -> Result<Self, ParamError>;
    fn schema() -> RefOr<Schema>;

    /// Returns the value of a required parameter that was sent empty. Returns `None` for types without such a value.
    fn blank() -> Option<Self> {
        None
    }

    /// Converts a value. Null is `None`, and so is an empty string for types without a [`blank`](Self::blank) value.
    fn from_param(value: &Value) -> Result<Option<Self>, ParamError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() && Self::blank().is_none() => Ok(None),
            value => Self::from_value(value).map(Some),
        }
    }
}

fn typed_schema(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind)
}

impl FromValue for String {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        match value {
            // PostgreSQL cannot store this character.
            Value::String(text) if text.contains('\0') => Err(ParamError::Invalid),
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(flag) => Ok(flag.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => Err(ParamError::Invalid),
        }
    }

    fn blank() -> Option<Self> {
        Some(Self::new())
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::String).into()
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite()).ok_or(ParamError::Invalid)
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::Number).into()
    }
}

/// A list of strings, as a JSON array or separated by commas. Empty entries are kept.
pub struct CommaSeparated(pub Vec<String>);

impl FromValue for CommaSeparated {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        match value {
            Value::Array(items) => items.iter().map(String::from_value).collect::<Result<_, _>>().map(Self),
            other => Ok(Self(String::from_value(other)?.split(',').map(str::to_owned).collect())),
        }
    }

    fn blank() -> Option<Self> {
        Some(Self(Vec::new()))
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// A map of strings. `None` if another value was sent, which is not the same as an absent parameter.
pub struct StringMap(pub Option<Vec<(String, String)>>);

impl FromValue for StringMap {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        let is_valid = |(key, value): &(String, String)| !key.contains('\0') && !value.contains('\0');
        let texts: Option<Vec<_>> = value.as_object().and_then(|fields| fields.iter().map(text).collect());
        Ok(Self(texts.filter(|texts| texts.iter().all(is_valid))))
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::Object).into()
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let text = match value {
            Value::Bool(flag) => return Ok(*flag),
            other => String::from_value(other)?,
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" | "on" => Ok(true),
            "false" | "f" | "no" | "n" | "0" | "off" => Ok(false),
            _ => Err(ParamError::Invalid),
        }
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::Boolean).into()
    }
}

/// A parameter of other servers that does not exist here, and whose value would change the result. Only values that ask
/// for nothing are valid: false, 0, and empty ones.
pub struct Unsupported;

impl FromValue for Unsupported {
    const DESCRIPTION: &'static str = "Is not supported, so it must be absent, false or empty.";

    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let is_neutral = match value {
            Value::Array(values) => values.iter().all(|value| Self::from_param(value).is_ok()),
            Value::Object(fields) => fields.is_empty(),
            other => bool::from_value(other) == Ok(false),
        };
        if is_neutral { Ok(Self) } else { Err(ParamError::Explained("is not supported")) }
    }

    fn schema() -> RefOr<Schema> {
        // What clients send, such as a list, is known only to the server that has the parameter.
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).into()
    }
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        match value {
            Value::Number(number) => number.as_i64().ok_or(ParamError::Invalid),
            Value::String(text) => text.trim().parse().map_err(|_| ParamError::Invalid),
            _ => Err(ParamError::Invalid),
        }
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::Integer).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))).into()
    }
}

impl FromValue for i32 {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        i64::from_value(value)?.try_into().map_err(|_| ParamError::Invalid)
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::Integer).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32))).into()
    }
}

/// A date of the years 1 to 9999: PostgreSQL has no dates before -4713.
impl FromValue for NaiveDate {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let Value::String(text) = value else { return Err(ParamError::Invalid) };
        let date = NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").map_err(|_| ParamError::Invalid)?;
        if (1..=9999).contains(&date.year()) { Ok(date) } else { Err(ParamError::Invalid) }
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::Date))).into()
    }
}

/// An RFC 3339 time, or a date, which stands for midnight UTC.
impl FromValue for DateTime<Utc> {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let Value::String(text) = value else { return Err(ParamError::Invalid) };
        match DateTime::parse_from_rfc3339(text.trim()) {
            Ok(time) => Ok(time.to_utc()),
            Err(_) => Ok(NaiveDate::from_value(value)?.and_time(NaiveTime::MIN).and_utc()),
        }
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).into()
    }
}

impl FromValue for Visibility {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        i64::from_value(value)?.try_into().map_err(|_| ParamError::NotAllowed)
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::Integer).enum_values(Some(Visibility::ALL.map(Visibility::as_i16))).into()
    }
}

/// A number is an id, any other text is a path.
impl FromValue for GroupRef {
    const DESCRIPTION: &'static str = "Group id or path.";

    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let text = String::from_value(value)?;
        match parse_id(&text) {
            Some(id) => Ok(Self::Id(id.into())),
            None => Ok(Self::Path(text)),
        }
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// A number is an id, any other text is the path `NAMESPACE/PROJECT`. A text without a slash refers to no project.
impl FromValue for ProjectRef {
    const DESCRIPTION: &'static str = "Project id, or its path as NAMESPACE%2FPROJECT.";

    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let text = String::from_value(value)?;
        match parse_id(&text) {
            Some(id) => Ok(Self::Id(id.into())),
            None => {
                let (namespace, project) = text.rsplit_once('/').unwrap_or_default();
                Ok(Self::Path { namespace: namespace.to_owned(), project: project.to_owned() })
            }
        }
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// An id or a title. The use case decides which, because a title can be a number.
impl FromValue for LabelRef {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        String::from_value(value).map(Self::IdOrTitle)
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// Maximum number of label titles in one parameter. Arbitrary.
const MAX_TITLES: usize = 100;

/// Distinct label titles, as `bug,help wanted` or a JSON array. Empty titles are dropped.
pub struct LabelTitles(pub Vec<String>);

impl FromValue for LabelTitles {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let titles = match value {
            Value::Array(values) => values.iter().map(String::from_value).collect::<Result<_, _>>()?,
            value => vec![String::from_value(value)?],
        };
        let parts = titles.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|part| !part.is_empty());
        let parts: BTreeSet<&str> = parts.collect();
        if parts.len() > MAX_TITLES {
            return Err(ParamError::Invalid);
        }
        Ok(Self(parts.into_iter().map(str::to_owned).collect()))
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// The access level of a group that a project is shared with. It cannot be owner.
impl FromValue for AccessLevel {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let level = i64::from_value(value)?.try_into().map_err(|_| ParamError::NotAllowed)?;
        if level == Self::Owner { Err(ParamError::NotAllowed) } else { Ok(level) }
    }

    fn schema() -> RefOr<Schema> {
        typed_schema(Type::Integer).enum_values(Some([10, 20, 30, 40])).into()
    }
}

/// Parses an id, which consists of digits only, without a sign or spaces.
fn parse_id(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

macro_rules! ids {
    ($($Id:ident),+) => {$(
        impl FromValue for $Id {
            fn from_value(value: &Value) -> Result<Self, ParamError> {
                let id = parse_id(&String::from_value(value)?);
                id.map(Into::into).ok_or(ParamError::Invalid)
            }

            fn schema() -> RefOr<Schema> {
                let format = Some(SchemaFormat::KnownFormat(KnownFormat::Int64));
                typed_schema(Type::Integer).format(format).minimum(Some(0)).into()
            }
        }
    )+};
}

ids!(
    UserId,
    SshKeyId,
    EmailId,
    TokenId,
    NamespaceId,
    HookId,
    ProjectId,
    LabelId,
    BoardId,
    BoardListId,
    MilestoneId,
    AwardId,
    DiscussionId,
    DraftNoteId,
    TodoId,
    IssueId,
    MergeRequestId,
    MergeRequestVersionId,
    NoteId,
    PipelineId,
    BuildId,
    RunnerId,
    TriggerId
);
