//! The entries of the access table for discussions of merge requests and comparisons of their versions.

use super::table::{CREATES, DEVELOPERS, DEVELOPERS_PUBLIC, Entry, REPORTERS, REPORTERS_CREATE, SIGNED_IN, entry};

#[rustfmt::skip]
pub const DISCUSSIONS: &[Entry] = &[
    entry("GET /projects/:id/merge_requests/:merge_request_id/blockers", "/projects/{private_project}/merge_requests/{private_request}/blockers", &[], REPORTERS),
    entry("GET /projects/:id/merge_requests/:merge_request_id/discussions", "/projects/{private_project}/merge_requests/{private_request}/discussions", &[], REPORTERS),
    entry("POST /projects/:id/merge_requests/:merge_request_id/discussions", "/projects/{private_project}/merge_requests/{private_request}/discussions", &[("body", "b")], REPORTERS_CREATE),
    entry("GET /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id", "/projects/{private_project}/merge_requests/{private_request}/discussions/{private_discussion}", &[], REPORTERS),
    entry("POST /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id/notes", "/projects/{private_project}/merge_requests/{private_request}/discussions/{private_discussion}/notes", &[("body", "b")], REPORTERS_CREATE),
    entry("GET /projects/:id/merge_requests/:merge_request_id/versions/:version_id/range_diff", "/projects/{private_project}/merge_requests/{private_request}/versions/{private_version}/range_diff?from={private_version}", &[], REPORTERS),
    entry("GET /projects/:id/merge_requests/:merge_request_id/blockers", "/projects/{public_project}/merge_requests/{public_request}/blockers", &[], SIGNED_IN),
    entry("GET /projects/:id/merge_requests/:merge_request_id/discussions", "/projects/{public_project}/merge_requests/{public_request}/discussions", &[], SIGNED_IN),
    entry("POST /projects/:id/merge_requests/:merge_request_id/discussions", "/projects/{public_project}/merge_requests/{public_request}/discussions", &[("body", "b")], CREATES),
    entry("GET /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id", "/projects/{public_project}/merge_requests/{public_request}/discussions/{public_discussion}", &[], SIGNED_IN),
    entry("POST /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id/notes", "/projects/{public_project}/merge_requests/{public_request}/discussions/{public_discussion}/notes", &[("body", "b")], CREATES),
    entry("GET /projects/:id/merge_requests/:merge_request_id/versions/:version_id/range_diff", "/projects/{public_project}/merge_requests/{public_request}/versions/{public_version}/range_diff?from={public_version}", &[], SIGNED_IN),
];

/// Entries whose use case narrows the declared policy: developers and the author of the merge request resolve discussions.
#[rustfmt::skip]
pub const DISCUSSIONS_NARROWER: &[Entry] = &[
    entry("PUT /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id", "/projects/{private_project}/merge_requests/{private_request}/discussions/{private_discussion}", &[("resolved", "true")], DEVELOPERS),
    entry("PUT /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id", "/projects/{public_project}/merge_requests/{public_request}/discussions/{public_discussion}", &[("resolved", "true")], DEVELOPERS_PUBLIC),
];
