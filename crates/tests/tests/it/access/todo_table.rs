//! The entries of the access table for todos and for times of issues and merge requests.

use super::table::{
    CREATES, DEVELOPERS, DEVELOPERS_CREATE, DEVELOPERS_PUBLIC, DEVELOPERS_PUBLIC_CREATE, Entry, MEMBERS_CREATE,
    MEMBERS_SIGNED_IN, REPORTERS, REPORTERS_CREATE, REPORTERS_PUBLIC, REPORTERS_PUBLIC_CREATE, SIGNED_IN, entry,
};

#[rustfmt::skip]
pub const TODOS: &[Entry] = &[
    entry("GET /todos", "/todos", &[], SIGNED_IN),
    entry("DELETE /todos", "/todos", &[], SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/todo", "/projects/{private_project}/issues/{private_issue}/todo", &[], MEMBERS_CREATE),
    entry("POST /projects/:id/merge_requests/:merge_request_id/todo", "/projects/{private_project}/merge_requests/{private_request}/todo", &[], REPORTERS_CREATE),
    entry("GET /projects/:id/issues/:issue_id/time_stats", "/projects/{private_project}/issues/{private_issue}/time_stats", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/merge_requests/:merge_request_id/time_stats", "/projects/{private_project}/merge_requests/{private_request}/time_stats", &[], REPORTERS),
    entry("POST /projects/:id/issues/:issue_id/time_estimate", "/projects/{private_project}/issues/{private_issue}/time_estimate", &[("duration", "1h")], REPORTERS),
    entry("POST /projects/:id/merge_requests/:merge_request_id/time_estimate", "/projects/{private_project}/merge_requests/{private_request}/time_estimate", &[("duration", "1h")], DEVELOPERS),
    entry("POST /projects/:id/issues/:issue_id/reset_time_estimate", "/projects/{private_project}/issues/{private_issue}/reset_time_estimate", &[], REPORTERS),
    entry("POST /projects/:id/merge_requests/:merge_request_id/reset_time_estimate", "/projects/{private_project}/merge_requests/{private_request}/reset_time_estimate", &[], DEVELOPERS),
    entry("POST /projects/:id/issues/:issue_id/add_spent_time", "/projects/{private_project}/issues/{private_issue}/add_spent_time", &[("duration", "1h")], REPORTERS_CREATE),
    entry("POST /projects/:id/merge_requests/:merge_request_id/add_spent_time", "/projects/{private_project}/merge_requests/{private_request}/add_spent_time", &[("duration", "1h")], DEVELOPERS_CREATE),
    entry("POST /projects/:id/issues/:issue_id/reset_spent_time", "/projects/{private_project}/issues/{private_issue}/reset_spent_time", &[], REPORTERS),
    entry("POST /projects/:id/merge_requests/:merge_request_id/reset_spent_time", "/projects/{private_project}/merge_requests/{private_request}/reset_spent_time", &[], DEVELOPERS),
    entry("POST /projects/:id/issues/:issue_id/todo", "/projects/{public_project}/issues/{public_issue}/todo", &[], CREATES),
    entry("POST /projects/:id/merge_requests/:merge_request_id/todo", "/projects/{public_project}/merge_requests/{public_request}/todo", &[], CREATES),
    entry("GET /projects/:id/issues/:issue_id/time_stats", "/projects/{public_project}/issues/{public_issue}/time_stats", &[], SIGNED_IN),
    entry("GET /projects/:id/merge_requests/:merge_request_id/time_stats", "/projects/{public_project}/merge_requests/{public_request}/time_stats", &[], SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/time_estimate", "/projects/{public_project}/issues/{public_issue}/time_estimate", &[("duration", "1h")], REPORTERS_PUBLIC),
    entry("POST /projects/:id/merge_requests/:merge_request_id/time_estimate", "/projects/{public_project}/merge_requests/{public_request}/time_estimate", &[("duration", "1h")], DEVELOPERS_PUBLIC),
    entry("POST /projects/:id/issues/:issue_id/reset_time_estimate", "/projects/{public_project}/issues/{public_issue}/reset_time_estimate", &[], REPORTERS_PUBLIC),
    entry("POST /projects/:id/merge_requests/:merge_request_id/reset_time_estimate", "/projects/{public_project}/merge_requests/{public_request}/reset_time_estimate", &[], DEVELOPERS_PUBLIC),
    entry("POST /projects/:id/issues/:issue_id/add_spent_time", "/projects/{public_project}/issues/{public_issue}/add_spent_time", &[("duration", "1h")], REPORTERS_PUBLIC_CREATE),
    entry("POST /projects/:id/merge_requests/:merge_request_id/add_spent_time", "/projects/{public_project}/merge_requests/{public_request}/add_spent_time", &[("duration", "1h")], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /projects/:id/issues/:issue_id/reset_spent_time", "/projects/{public_project}/issues/{public_issue}/reset_spent_time", &[], REPORTERS_PUBLIC),
    entry("POST /projects/:id/merge_requests/:merge_request_id/reset_spent_time", "/projects/{public_project}/merge_requests/{public_request}/reset_spent_time", &[], DEVELOPERS_PUBLIC),
];

/// Entries whose use case narrows the declared policy: only the own todos are found.
#[rustfmt::skip]
pub const TODOS_NARROWER: &[Entry] = &[
    entry("DELETE /todos/:id", "/todos/0", &[], "401 401 404 404 404 404 404 404 404 404"),
];
