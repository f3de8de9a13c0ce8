//! The entries of the access table for emoji.

use super::table::{CREATES, Entry, MEMBERS_CREATE, MEMBERS_SIGNED_IN, REPORTERS, SIGNED_IN, entry};

#[rustfmt::skip]
pub const AWARDS: &[Entry] = &[
    entry("GET /projects/:id/issues/:issue_id/award_emoji", "/projects/{private_project}/issues/{private_issue}/award_emoji", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id/award_emoji/:award_id", "/projects/{private_project}/issues/{private_issue}/award_emoji/{private_issue_award}", &[], MEMBERS_SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/award_emoji", "/projects/{private_project}/issues/{private_issue}/award_emoji", &[("name", "heart")], MEMBERS_CREATE),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id/award_emoji", "/projects/{private_project}/issues/{private_issue}/notes/{private_note}/award_emoji", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id/award_emoji/:award_id", "/projects/{private_project}/issues/{private_issue}/notes/{private_note}/award_emoji/{private_note_award}", &[], MEMBERS_SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/notes/:note_id/award_emoji", "/projects/{private_project}/issues/{private_issue}/notes/{private_note}/award_emoji", &[("name", "heart")], MEMBERS_CREATE),
    entry("GET /projects/:id/merge_requests/:merge_request_id/award_emoji", "/projects/{private_project}/merge_requests/{private_request}/award_emoji", &[], REPORTERS),
    entry("GET /projects/:id/merge_requests/:merge_request_id/award_emoji/:award_id", "/projects/{private_project}/merge_requests/{private_request}/award_emoji/{private_request_award}", &[], REPORTERS),
    entry("POST /projects/:id/merge_requests/:merge_request_id/award_emoji", "/projects/{private_project}/merge_requests/{private_request}/award_emoji", &[("name", "heart")], "401 401 404 404 403 201 201 201 201 201"),
    entry("GET /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji", "/projects/{private_project}/merge_requests/{private_request}/notes/{private_request_note}/award_emoji", &[], REPORTERS),
    entry("GET /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji/:award_id", "/projects/{private_project}/merge_requests/{private_request}/notes/{private_request_note}/award_emoji/{private_request_note_award}", &[], REPORTERS),
    entry("POST /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji", "/projects/{private_project}/merge_requests/{private_request}/notes/{private_request_note}/award_emoji", &[("name", "heart")], "401 401 404 404 403 201 201 201 201 201"),
    entry("GET /projects/:id/issues/:issue_id/award_emoji", "/projects/{public_project}/issues/{public_issue}/award_emoji", &[], SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id/award_emoji/:award_id", "/projects/{public_project}/issues/{public_issue}/award_emoji/{public_issue_award}", &[], SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/award_emoji", "/projects/{public_project}/issues/{public_issue}/award_emoji", &[("name", "heart")], CREATES),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id/award_emoji", "/projects/{public_project}/issues/{public_issue}/notes/{public_note}/award_emoji", &[], SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id/award_emoji/:award_id", "/projects/{public_project}/issues/{public_issue}/notes/{public_note}/award_emoji/{public_note_award}", &[], SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/notes/:note_id/award_emoji", "/projects/{public_project}/issues/{public_issue}/notes/{public_note}/award_emoji", &[("name", "heart")], CREATES),
    entry("GET /projects/:id/merge_requests/:merge_request_id/award_emoji", "/projects/{public_project}/merge_requests/{public_request}/award_emoji", &[], SIGNED_IN),
    entry("GET /projects/:id/merge_requests/:merge_request_id/award_emoji/:award_id", "/projects/{public_project}/merge_requests/{public_request}/award_emoji/{public_request_award}", &[], SIGNED_IN),
    entry("POST /projects/:id/merge_requests/:merge_request_id/award_emoji", "/projects/{public_project}/merge_requests/{public_request}/award_emoji", &[("name", "heart")], CREATES),
    entry("GET /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji", "/projects/{public_project}/merge_requests/{public_request}/notes/{public_request_note}/award_emoji", &[], SIGNED_IN),
    entry("GET /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji/:award_id", "/projects/{public_project}/merge_requests/{public_request}/notes/{public_request_note}/award_emoji/{public_request_note_award}", &[], SIGNED_IN),
    entry("POST /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji", "/projects/{public_project}/merge_requests/{public_request}/notes/{public_request_note}/award_emoji", &[("name", "heart")], CREATES),
];

/// Entries whose use case narrows the declared policy: only the user who gave an emoji deletes it.
#[rustfmt::skip]
pub const AWARDS_NARROWER: &[Entry] = &[
    entry("DELETE /projects/:id/issues/:issue_id/award_emoji/:award_id", "/projects/{private_project}/issues/{private_issue}/award_emoji/{private_issue_award}", &[], "401 401 404 404 401 401 401 401 401 200"),
    entry("DELETE /projects/:id/issues/:issue_id/notes/:note_id/award_emoji/:award_id", "/projects/{private_project}/issues/{private_issue}/notes/{private_note}/award_emoji/{private_note_award}", &[], "401 401 404 404 401 401 401 401 401 200"),
    entry("DELETE /projects/:id/merge_requests/:merge_request_id/award_emoji/:award_id", "/projects/{private_project}/merge_requests/{private_request}/award_emoji/{private_request_award}", &[], "401 401 404 404 403 401 401 401 401 200"),
    entry("DELETE /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji/:award_id", "/projects/{private_project}/merge_requests/{private_request}/notes/{private_request_note}/award_emoji/{private_request_note_award}", &[], "401 401 404 404 403 401 401 401 401 200"),
    entry("DELETE /projects/:id/issues/:issue_id/award_emoji/:award_id", "/projects/{public_project}/issues/{public_issue}/award_emoji/{public_issue_award}", &[], "401 401 401 401 401 401 401 401 401 200"),
    entry("DELETE /projects/:id/issues/:issue_id/notes/:note_id/award_emoji/:award_id", "/projects/{public_project}/issues/{public_issue}/notes/{public_note}/award_emoji/{public_note_award}", &[], "401 401 401 401 401 401 401 401 401 200"),
    entry("DELETE /projects/:id/merge_requests/:merge_request_id/award_emoji/:award_id", "/projects/{public_project}/merge_requests/{public_request}/award_emoji/{public_request_award}", &[], "401 401 401 401 401 401 401 401 401 200"),
    entry("DELETE /projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji/:award_id", "/projects/{public_project}/merge_requests/{public_request}/notes/{public_request_note}/award_emoji/{public_request_note_award}", &[], "401 401 401 401 401 401 401 401 401 200"),
];
