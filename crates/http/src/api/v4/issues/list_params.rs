//! The filters that lists of issues and lists of merge requests have in common.

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use holdfast_app::planning::list_filter::{CommonFilter, ListPlace, PersonRef, Requirement, SortKey, TimeBounds};
use holdfast_domain::ids::UserId;
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use crate::api::ApiResult;
use crate::api::v4::projects::Sort;
use crate::error::ApiError;
use crate::params::{FromValue, LabelTitles, ParamError, Unsupported};
use crate::{choice, params};

choice! {
    pub enum Scope { CreatedByMe = "created_by_me", AssignedToMe = "assigned_to_me", All = "all" }
}

choice! {
    pub enum OrderBy { CreatedAt = "created_at", UpdatedAt = "updated_at" }
}

/// What a word in a filter means, if it is one of `None` and `Any`.
fn parse_word<T>(text: &str) -> Option<Requirement<T>> {
    match text {
        _ if text.eq_ignore_ascii_case("none") => Some(Requirement::Missing),
        _ if text.eq_ignore_ascii_case("any") => Some(Requirement::Present),
        _ => None,
    }
}

/// Label names, or one of the words `None` and `Any`.
pub struct RequiredLabels(Requirement<Vec<String>>);

impl FromValue for RequiredLabels {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let LabelTitles(titles) = LabelTitles::from_value(value)?;
        let word = if let [title] = titles.as_slice() { parse_word(title) } else { None };
        Ok(Self(match word {
            Some(requirement) => requirement,
            None if titles.is_empty() => Requirement::Nothing,
            None => Requirement::Value(titles),
        }))
    }

    fn schema() -> RefOr<Schema> {
        LabelTitles::schema()
    }
}

/// The id of a user, or one of the words `None` and `Any`. `0` means the same as `None`.
pub struct RequiredPerson(Requirement<PersonRef>);

impl FromValue for RequiredPerson {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let text = String::from_value(value)?;
        if let Some(requirement) = parse_word(&text) {
            return Ok(Self(requirement));
        }
        match i64::from_value(value)? {
            0 => Ok(Self(Requirement::Missing)),
            id => Ok(Self(Requirement::Value(PersonRef::Id(id.into())))),
        }
    }

    fn schema() -> RefOr<Schema> {
        String::schema()
    }
}

/// Conditions that must not be fulfilled, as `not[labels]=bug`. Only labels can be excluded.
pub struct Exclusions {
    labels: Vec<String>,
}

impl FromValue for Exclusions {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let mut labels = Vec::new();
        for (name, value) in value.as_object().ok_or(ParamError::Invalid)? {
            match name.as_str() {
                "labels" => labels.extend(LabelTitles::from_value(value)?.0),
                _ => return Err(ParamError::NotAllowed),
            }
        }
        Ok(Self { labels })
    }

    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Object).property("labels", LabelTitles::schema()).into()
    }
}

/// Maximum number of words that are searched for; further ones are ignored. Arbitrary.
const MAX_WORDS: usize = 10;

/// Splits a search term into words, at most [`MAX_WORDS`].
pub fn split_words(term: &str) -> Vec<String> {
    term.split_whitespace().take(MAX_WORDS).map(str::to_owned).collect()
}

params! {
    /// What lists of issues and lists of merge requests have in common.
    pub struct CommonParams {
        /// Only those that the current user created or is assigned to. In a project or a group `all` is the default,
        /// otherwise `created_by_me`, unless an author or an assignee is given. Without a project or a group, `all`
        /// needs an author or an assignee.
        optional scope: Scope,
        /// Only those with these numbers within their project.
        list iids: i64,
        /// Label names, separated by commas, all of which must match. `None` finds those without labels, `Any` those
        /// with any.
        optional labels: RequiredLabels,
        /// Title of the milestone. `None` finds those without a milestone, `Any` those with any.
        optional milestone: String,
        /// Id of the author.
        optional author_id: UserId,
        /// Username of the author.
        optional author_username: String,
        /// Id of the assignee. `None` finds those without an assignee, `Any` those with any.
        optional assignee_id: RequiredPerson,
        /// Username of the assignee.
        list assignee_username: String,
        /// Words that the title contains.
        optional search: String,
        /// Excludes those with labels, as `not[labels]=bug,docs`.
        optional not: Exclusions,
        /// Only those that were created at this time or later.
        optional created_after: DateTime<Utc>,
        /// Only those that were created at this time or before.
        optional created_before: DateTime<Utc>,
        /// Only those that were updated at this time or later.
        optional updated_after: DateTime<Utc>,
        /// Only those that were updated at this time or before.
        optional updated_before: DateTime<Utc>,
        /// Sort key, `created_at` by default.
        optional order_by: OrderBy,
        /// Sort direction, `desc` by default.
        optional sort: Sort,
        /// Whether `labels` has more than the names of the labels.
        optional with_labels_details: bool,
        optional my_reaction_emoji: Unsupported,
    }
}

impl CommonParams {
    /// Returns the filter for a list of one project or group, or of all projects.
    pub fn into_filter(self, place: &ListPlace) -> ApiResult<CommonFilter> {
        let mut author = self.author_id.map(PersonRef::Id).or(self.author_username.map(PersonRef::Username));
        let mut assignee = match (self.assignee_id, self.assignee_username.as_slice()) {
            (Some(RequiredPerson(requirement)), _) => requirement,
            (None, []) => Requirement::Nothing,
            (None, [username]) => Requirement::Value(PersonRef::Username(username.clone())),
            (None, _) => return Err(ApiError::error(StatusCode::BAD_REQUEST, "there can be only one assignee")),
        };
        let is_limited = author.is_some() || matches!(assignee, Requirement::Value(_));
        let default_scope = match place {
            ListPlace::Everywhere if !is_limited => Scope::CreatedByMe,
            ListPlace::Everywhere | ListPlace::Project(_) | ListPlace::Group(_) => Scope::All,
        };
        match self.scope.unwrap_or(default_scope) {
            Scope::CreatedByMe => author = Some(PersonRef::CurrentUser),
            Scope::AssignedToMe => assignee = Requirement::Value(PersonRef::CurrentUser),
            Scope::All => {}
        }
        let milestone = self.milestone.filter(|title| !title.is_empty());
        Ok(CommonFilter {
            iids: self.iids,
            labels: self.labels.map(|labels| labels.0).unwrap_or_default(),
            excluded_labels: self.not.map(|not| not.labels).unwrap_or_default(),
            milestone: milestone
                .map_or(Requirement::Nothing, |title| parse_word(&title).unwrap_or(Requirement::Value(title))),
            author,
            assignee,
            times: TimeBounds {
                created_after: self.created_after,
                created_before: self.created_before,
                updated_after: self.updated_after,
                updated_before: self.updated_before,
            },
            words: split_words(&self.search.unwrap_or_default()),
            sort_key: match self.order_by.unwrap_or(OrderBy::CreatedAt) {
                OrderBy::CreatedAt => SortKey::CreatedAt,
                OrderBy::UpdatedAt => SortKey::UpdatedAt,
            },
            descending: self.sort != Some(Sort::Ascending),
            with_labels: self.with_labels_details.unwrap_or_default(),
        })
    }
}
