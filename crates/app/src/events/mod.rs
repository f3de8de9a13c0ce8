//! Events for the outbox, with the data of the moment at which they happened: their subject may be deleted before they
//! are delivered.
//!
//! This module calls no use case, so that all use cases may call it.

pub(crate) mod account;
pub(crate) mod group;
mod merge_request;
pub(crate) mod project;
pub(crate) mod removal;

use chrono::{DateTime, SecondsFormat, Utc};
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::projects::project::Project;
use serde_json::{Value, json};

pub(crate) use merge_request::merge_request_json;

/// Returns a time as payloads contain it: in UTC and always with milliseconds, as in the responses of the API.
pub(crate) fn format_time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Returns a user as the payloads of issues, notes, builds and pipelines contain it.
pub(crate) fn user_json(user: &UserSummary) -> Value {
    json!({ "id": user.id, "name": user.name, "username": user.username, "email": user.email })
}

/// Returns a project as the payloads of pushes, issues, notes, builds and pipelines contain it.
pub(crate) fn project_json(project: &Project) -> Value {
    json!({
        "id": project.id,
        "name": project.name,
        "path_with_namespace": project.full_path(),
        "namespace": project.namespace.name,
        "default_branch": project.repository.default_branch(),
        "description": project.description,
        "visibility_level": project.visibility.as_i16(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_payloads_always_have_milliseconds() {
        let at = |milliseconds| DateTime::from_timestamp_millis(milliseconds).map(format_time);
        assert_eq!(at(1_767_323_045_000).as_deref(), Some("2026-01-02T03:04:05.000Z"));
        assert_eq!(at(1_767_323_045_678).as_deref(), Some("2026-01-02T03:04:05.678Z"));
    }
}
