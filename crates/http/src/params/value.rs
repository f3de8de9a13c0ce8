//! Single values: what text and JSON mean for each type.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::planning::label::LabelRef;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{
    BoardId, BoardListId, BuildId, EmailId, HookId, IssueId, LabelId, MilestoneId, NamespaceId, NoteId, PipelineId,
    ProjectId, RunnerId, SshKeyId, TokenId, UserId,
};
use holdfast_domain::{AccessLevel, Visibility};
use serde_json::Value;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};

/// Why a parameter was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Missing,
    Invalid,
    NotAllowed,
}

impl Wrong {
    pub const fn text(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::Invalid => "is invalid",
            Self::NotAllowed => "does not have a valid value",
        }
    }
}

pub trait FromValue: Sized {
    fn from_value(value: &Value) -> Result<Self, Wrong>;
    fn schema() -> RefOr<Schema>;

    /// What a required parameter is when it was sent empty, if that means anything.
    fn blank() -> Option<Self> {
        None
    }

    /// Null is no value; so is an empty text for everything that is not text.
    fn from_param(value: &Value) -> Result<Option<Self>, Wrong> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() && Self::blank().is_none() => Ok(None),
            value => Self::from_value(value).map(Some),
        }
    }
}

fn typed(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind)
}

impl FromValue for String {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        match value {
            // PostgreSQL has no such character.
            Value::String(text) if text.contains('\0') => Err(Wrong::Invalid),
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(flag) => Ok(flag.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => Err(Wrong::Invalid),
        }
    }

    fn blank() -> Option<Self> {
        Some(Self::new())
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::String).into()
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite()).ok_or(Wrong::Invalid)
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::Number).into()
    }
}

/// A list, or words with commas between them; none is said by an empty one.
pub struct Words(pub Vec<String>);

impl FromValue for Words {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
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

/// Texts by name. What is sent and is none of that is still told apart from nothing.
pub struct Texts(pub Option<Vec<(String, String)>>);

impl FromValue for Texts {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        let fits = |(key, value): &(String, String)| !key.contains('\0') && !value.contains('\0');
        let texts: Option<Vec<_>> = value.as_object().and_then(|fields| fields.iter().map(text).collect());
        Ok(Self(texts.filter(|texts| texts.iter().all(fits))))
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::Object).into()
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        let text = match value {
            Value::Bool(flag) => return Ok(*flag),
            other => String::from_value(other)?,
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" | "on" => Ok(true),
            "false" | "f" | "no" | "n" | "0" | "off" => Ok(false),
            _ => Err(Wrong::Invalid),
        }
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::Boolean).into()
    }
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        match value {
            Value::Number(number) => number.as_i64().ok_or(Wrong::Invalid),
            Value::String(text) => text.trim().parse().map_err(|_| Wrong::Invalid),
            _ => Err(Wrong::Invalid),
        }
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::Integer).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))).into()
    }
}

impl FromValue for i32 {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        i64::from_value(value)?.try_into().map_err(|_| Wrong::Invalid)
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::Integer).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32))).into()
    }
}

impl FromValue for NaiveDate {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        let Value::String(text) = value else { return Err(Wrong::Invalid) };
        NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").map_err(|_| Wrong::Invalid)
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::Date))).into()
    }
}

/// With an offset, or a day alone.
impl FromValue for DateTime<Utc> {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        let Value::String(text) = value else { return Err(Wrong::Invalid) };
        match DateTime::parse_from_rfc3339(text.trim()) {
            Ok(time) => Ok(time.to_utc()),
            Err(_) => Ok(NaiveDate::from_value(value)?.and_time(NaiveTime::MIN).and_utc()),
        }
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).into()
    }
}

impl FromValue for Visibility {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        i64::from_value(value)?.try_into().map_err(|_| Wrong::NotAllowed)
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::Integer).enum_values(Some(Visibility::ALL.map(Visibility::level))).into()
    }
}

/// Digits are an id, anything else a path.
impl FromValue for GroupRef {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
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

/// Digits are an id, anything else a namespace and a path; what has no namespace names nothing.
impl FromValue for ProjectRef {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
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

/// An id or a title; which, is for the project to say.
impl FromValue for LabelRef {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        String::from_value(value).map(Self)
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// More labels than these have nothing in common with an issue.
const MOST_TITLES: usize = 100;

/// Titles of labels, each once: `bug,help wanted` or a JSON array. Nothing at all is none of them.
pub struct Titles(pub Vec<String>);

impl FromValue for Titles {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        let titles = match value {
            Value::Array(values) => values.iter().map(String::from_value).collect::<Result<_, _>>()?,
            value => vec![String::from_value(value)?],
        };
        let parts = titles.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|part| !part.is_empty());
        let parts: BTreeSet<&str> = parts.collect();
        if parts.len() > MOST_TITLES {
            return Err(Wrong::Invalid);
        }
        Ok(Self(parts.into_iter().map(str::to_owned).collect()))
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// What a group that a project is shared with may do at the most.
impl FromValue for AccessLevel {
    fn from_value(value: &Value) -> Result<Self, Wrong> {
        let level = i64::from_value(value)?.try_into().map_err(|_| Wrong::NotAllowed)?;
        if level == Self::Owner { Err(Wrong::NotAllowed) } else { Ok(level) }
    }

    fn schema() -> RefOr<Schema> {
        typed(Type::Integer).enum_values(Some([10, 20, 30, 40])).into()
    }
}

/// Returns the id that a text is: digits and nothing else, neither a sign nor a blank.
fn parse_id(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

macro_rules! ids {
    ($($Id:ident),+) => {$(
        impl FromValue for $Id {
            fn from_value(value: &Value) -> Result<Self, Wrong> {
                let id = parse_id(&String::from_value(value)?);
                id.map(Into::into).ok_or(Wrong::Invalid)
            }

            fn schema() -> RefOr<Schema> {
                let format = Some(SchemaFormat::KnownFormat(KnownFormat::Int64));
                typed(Type::Integer).format(format).minimum(Some(0)).into()
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
    IssueId,
    NoteId,
    PipelineId,
    BuildId,
    RunnerId
);
