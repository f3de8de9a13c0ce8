//! The attributes that issues and merge requests have in common.

use axum::http::StatusCode;
use holdfast_app::planning::issue_update::LabelEdit;
use holdfast_domain::Field;
use holdfast_domain::ids::UserId;
use serde_json::Value;
use utoipa::openapi::schema::ArrayBuilder;
use utoipa::openapi::{RefOr, Schema};

use crate::api::ApiResult;
use crate::error::ApiError;
use crate::params;
use crate::params::{FromValue, LabelTitles, ParamError};

/// Ids of users, as a list, a single one, or separated by commas. Zeros and empty texts are dropped.
pub struct UserIds(Vec<i64>);

impl FromValue for UserIds {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let text;
        let values = match value {
            Value::Array(values) => values.as_slice(),
            Value::String(list) => {
                text = list.split(',').map(Value::from).collect::<Vec<_>>();
                &text
            }
            other => std::slice::from_ref(other),
        };
        let ids: Result<Vec<Option<i64>>, ParamError> = values.iter().map(i64::from_param).collect();
        Ok(Self(ids?.into_iter().flatten().filter(|id| *id != 0).collect()))
    }

    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(<i64 as FromValue>::schema()).into()
    }
}

const ONE_ASSIGNEE: &str = "assignee_ids has more than one value, but there can be only one assignee";

/// Returns the assignee that a request sets. `ids` takes precedence.
pub fn read_assignee(ids: Field<UserIds>, id: Field<i64>) -> ApiResult<Field<UserId>> {
    match ids {
        Field::Absent => Ok(zero_as_null(id, UserId::from)),
        Field::Null => Ok(Field::Null),
        Field::Value(UserIds(ids)) => match ids.as_slice() {
            [] => Ok(Field::Null),
            [id] => Ok(Field::Value((*id).into())),
            _ => Err(ApiError::error(StatusCode::BAD_REQUEST, ONE_ASSIGNEE)),
        },
    }
}

/// Converts an id for which 0 means null.
pub fn zero_as_null<Id>(id: Field<i64>, from: fn(i64) -> Id) -> Field<Id> {
    match id {
        Field::Absent => Field::Absent,
        Field::Null | Field::Value(0) => Field::Null,
        Field::Value(id) => Field::Value(from(id)),
    }
}

/// Returns the titles of all labels that a request sets.
pub fn read_labels(labels: Field<LabelTitles>) -> Option<Vec<String>> {
    match labels {
        Field::Absent => None,
        Field::Null => Some(Vec::new()),
        Field::Value(titles) => Some(titles.0),
    }
}

params! {
    /// Labels to add and to remove. The other labels are kept.
    pub struct LabelEditParams {
        /// Names of labels to add, separated by commas. Ignored if `labels` is given.
        optional add_labels: LabelTitles,
        /// Names of labels to remove, separated by commas. Ignored if `labels` is given.
        optional remove_labels: LabelTitles,
    }
}

impl LabelEditParams {
    pub fn into_edit(self) -> LabelEdit {
        let titles = |labels: Option<LabelTitles>| labels.map(|labels| labels.0).unwrap_or_default();
        LabelEdit { added: titles(self.add_labels), removed: titles(self.remove_labels) }
    }
}
