//! The access table of accounts, namespaces, groups and their members in version 4.

use super::super::table::{
    ADMIN, CREATES, Entry, MASTERS, MASTERS_CREATE, MASTERS_PUBLIC, MEMBERS_SIGNED_IN, NEW_KEY, NEW_USER, OWNERS,
    OWNERS_PUBLIC, PUBLIC, SIGNED_IN, entry,
};

const NOT_OWN: &str = "401 401 404 404 404 404 404 404 404 404";
const ADMIN_CREATES: &str = "401 401 403 403 403 403 403 403 403 201";
const ADMIN_DELETES: &str = "401 401 403 403 403 403 403 403 403 204";
const MEMBERS: &str = "404 401 404 404 200 200 200 200 200 200";
const INTERNAL: &str = "404 401 404 200 200 200 200 200 200 200";
const INTERNAL_SIGNED_IN: &str = "401 401 404 200 200 200 200 200 200 200";
const MASTERS_DELETE: &str = "401 401 404 404 403 403 403 204 204 204";
const MASTERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 201 201 201";
const MASTERS_PUBLIC_DELETE: &str = "401 401 403 403 403 403 403 204 204 204";
const OWNERS_CREATE: &str = "401 401 404 404 403 403 403 403 201 201";
const OWNERS_DELETE: &str = "401 401 404 404 403 403 403 403 204 204";
const OWNERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 403 201 201";
const OWNERS_PUBLIC_DELETE: &str = "401 401 403 403 403 403 403 403 204 204";

#[rustfmt::skip]
pub const ACCOUNTS: &[Entry] = &[
    entry("GET /api/v4/user", "/api/v4/user", &[], SIGNED_IN),
    entry("GET /api/v4/users", "/api/v4/users", &[], SIGNED_IN),
    entry("GET /api/v4/users/:id", "/api/v4/users/{user}", &[], SIGNED_IN),
    entry("POST /api/v4/users", "/api/v4/users", NEW_USER, ADMIN_CREATES),
    entry("PUT /api/v4/users/:id", "/api/v4/users/{user}", &[("admin", "true")], ADMIN),
    entry("DELETE /api/v4/users/:id", "/api/v4/users/{user}", &[], ADMIN_DELETES),
    entry("POST /api/v4/users/:id/block", "/api/v4/users/{user}/block", &[], ADMIN_CREATES),
    entry("POST /api/v4/users/:id/unblock", "/api/v4/users/{user}/unblock", &[], ADMIN_CREATES),

    entry("GET /api/v4/user/status", "/api/v4/user/status", &[], SIGNED_IN),
    entry("PUT /api/v4/user/status", "/api/v4/user/status", &[("emoji", "rocket"), ("message", "Away"), ("clear_status_after", "8_hours")], SIGNED_IN),
    entry("GET /api/v4/users/:id/status", "/api/v4/users/{user}/status", &[], SIGNED_IN),
    entry("GET /api/v4/user_counts", "/api/v4/user_counts", &[], SIGNED_IN),

    entry("GET /api/v4/user/keys", "/api/v4/user/keys", &[], SIGNED_IN),
    entry("GET /api/v4/user/keys/:key_id", "/api/v4/user/keys/{key}", &[], NOT_OWN),
    entry("POST /api/v4/user/keys", "/api/v4/user/keys", NEW_KEY, CREATES),
    entry("DELETE /api/v4/user/keys/:key_id", "/api/v4/user/keys/{key}", &[], NOT_OWN),
    entry("GET /api/v4/users/:id/keys", "/api/v4/users/{user}/keys", &[], ADMIN),
    entry("GET /api/v4/users/:id/keys/:key_id", "/api/v4/users/{user}/keys/{key}", &[], ADMIN),
    entry("POST /api/v4/users/:id/keys", "/api/v4/users/{user}/keys", NEW_KEY, ADMIN_CREATES),
    entry("DELETE /api/v4/users/:id/keys/:key_id", "/api/v4/users/{user}/keys/{key}", &[], ADMIN_DELETES),

    entry("GET /api/v4/user/emails", "/api/v4/user/emails", &[], SIGNED_IN),
    entry("GET /api/v4/user/emails/:email_id", "/api/v4/user/emails/{email}", &[], NOT_OWN),
    entry("POST /api/v4/user/emails", "/api/v4/user/emails", &[("email", "second@example.com")], CREATES),
    entry("DELETE /api/v4/user/emails/:email_id", "/api/v4/user/emails/{email}", &[], NOT_OWN),
    entry("GET /api/v4/users/:id/emails", "/api/v4/users/{user}/emails", &[], ADMIN),
    entry("POST /api/v4/users/:id/emails", "/api/v4/users/{user}/emails", &[("email", "second@example.com")], ADMIN_CREATES),
    entry("DELETE /api/v4/users/:id/emails/:email_id", "/api/v4/users/{user}/emails/{email}", &[], ADMIN_DELETES),

    entry("GET /api/v4/personal_access_tokens", "/api/v4/personal_access_tokens", &[], SIGNED_IN),
    entry("GET /api/v4/personal_access_tokens/self", "/api/v4/personal_access_tokens/self", &[], SIGNED_IN),
    entry("POST /api/v4/personal_access_tokens/self/rotate", "/api/v4/personal_access_tokens/self/rotate", &[], SIGNED_IN),
    entry("DELETE /api/v4/personal_access_tokens/self", "/api/v4/personal_access_tokens/self", &[], "401 401 204 204 204 204 204 204 204 204"),
    entry("POST /api/v4/user/personal_access_tokens", "/api/v4/user/personal_access_tokens", &[("name", "n"), ("scopes[]", "api")], CREATES),
    entry("POST /api/v4/users/:id/personal_access_tokens", "/api/v4/users/{user}/personal_access_tokens", &[("name", "n"), ("scopes[]", "api")], ADMIN_CREATES),

    entry("GET /api/v4/users/:id/impersonation_tokens", "/api/v4/users/{user}/impersonation_tokens", &[], ADMIN),
    entry("GET /api/v4/users/:id/impersonation_tokens/:token_id", "/api/v4/users/{user}/impersonation_tokens/{impersonation}", &[], ADMIN),
    entry("POST /api/v4/users/:id/impersonation_tokens", "/api/v4/users/{user}/impersonation_tokens", &[("name", "n"), ("scopes[]", "api")], ADMIN_CREATES),
    entry("DELETE /api/v4/users/:id/impersonation_tokens/:token_id", "/api/v4/users/{user}/impersonation_tokens/{impersonation}", &[], ADMIN_DELETES),

    entry("GET /api/v4/projects/:id/access_tokens", "/api/v4/projects/{private_project}/access_tokens", &[], MASTERS),
    entry("GET /api/v4/projects/:id/access_tokens/:token_id", "/api/v4/projects/{private_project}/access_tokens/{private_project_token}", &[], MASTERS),
    entry("POST /api/v4/projects/:id/access_tokens", "/api/v4/projects/{private_project}/access_tokens", &[("name", "n"), ("scopes[]", "api")], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/access_tokens/:token_id/rotate", "/api/v4/projects/{private_project}/access_tokens/{private_project_token}/rotate", &[], MASTERS),
    entry("DELETE /api/v4/projects/:id/access_tokens/:token_id", "/api/v4/projects/{private_project}/access_tokens/{private_project_token}", &[], MASTERS_DELETE),
    entry("GET /api/v4/projects/:id/access_tokens", "/api/v4/projects/{public_project}/access_tokens", &[], MASTERS_PUBLIC),
    entry("GET /api/v4/projects/:id/access_tokens/:token_id", "/api/v4/projects/{public_project}/access_tokens/{public_project_token}", &[], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/access_tokens", "/api/v4/projects/{public_project}/access_tokens", &[("name", "n"), ("scopes[]", "api")], MASTERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/access_tokens/:token_id/rotate", "/api/v4/projects/{public_project}/access_tokens/{public_project_token}/rotate", &[], MASTERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/access_tokens/:token_id", "/api/v4/projects/{public_project}/access_tokens/{public_project_token}", &[], MASTERS_PUBLIC_DELETE),
    entry("GET /api/v4/groups/:id/access_tokens", "/api/v4/groups/{private}/access_tokens", &[], OWNERS),
    entry("GET /api/v4/groups/:id/access_tokens/:token_id", "/api/v4/groups/{private}/access_tokens/{private_group_token}", &[], OWNERS),
    entry("POST /api/v4/groups/:id/access_tokens", "/api/v4/groups/{private}/access_tokens", &[("name", "n"), ("scopes[]", "api")], OWNERS_CREATE),
    entry("POST /api/v4/groups/:id/access_tokens/:token_id/rotate", "/api/v4/groups/{private}/access_tokens/{private_group_token}/rotate", &[], OWNERS),
    entry("DELETE /api/v4/groups/:id/access_tokens/:token_id", "/api/v4/groups/{private}/access_tokens/{private_group_token}", &[], OWNERS_DELETE),
    entry("GET /api/v4/groups/:id/access_tokens", "/api/v4/groups/{public}/access_tokens", &[], OWNERS_PUBLIC),
    entry("GET /api/v4/groups/:id/access_tokens/:token_id", "/api/v4/groups/{public}/access_tokens/{public_group_token}", &[], OWNERS_PUBLIC),
    entry("POST /api/v4/groups/:id/access_tokens", "/api/v4/groups/{public}/access_tokens", &[("name", "n"), ("scopes[]", "api")], OWNERS_PUBLIC_CREATE),
    entry("POST /api/v4/groups/:id/access_tokens/:token_id/rotate", "/api/v4/groups/{public}/access_tokens/{public_group_token}/rotate", &[], OWNERS_PUBLIC),
    entry("DELETE /api/v4/groups/:id/access_tokens/:token_id", "/api/v4/groups/{public}/access_tokens/{public_group_token}", &[], OWNERS_PUBLIC_DELETE),

    entry("GET /api/v4/namespaces", "/api/v4/namespaces", &[], SIGNED_IN),
    entry("GET /api/v4/namespaces/:id", "/api/v4/namespaces/{public}", &[], SIGNED_IN),
    entry("GET /api/v4/namespaces/:id/exists", "/api/v4/namespaces/private/exists", &[], SIGNED_IN),

    entry("GET /api/v4/groups", "/api/v4/groups", &[], PUBLIC),
    entry("POST /api/v4/groups", "/api/v4/groups", &[("name", "new group"), ("path", "new-group")], "401 401 403 201 201 201 201 201 201 201"),
    entry("GET /api/v4/groups/:id", "/api/v4/groups/{private}", &[], MEMBERS),
    entry("GET /api/v4/groups/:id", "/api/v4/groups/{internal}", &[], INTERNAL),
    entry("GET /api/v4/groups/:id", "/api/v4/groups/{public}", &[], PUBLIC),
    entry("GET /api/v4/groups/:id/projects", "/api/v4/groups/{private}/projects", &[], MEMBERS),
    entry("GET /api/v4/groups/:id/projects", "/api/v4/groups/{public}/projects", &[], PUBLIC),
    entry("GET /api/v4/groups/:id/projects/shared", "/api/v4/groups/{private}/projects/shared", &[], MEMBERS),
    entry("GET /api/v4/groups/:id/projects/shared", "/api/v4/groups/{public}/projects/shared", &[], PUBLIC),
    entry("GET /api/v4/groups/:id/subgroups", "/api/v4/groups/{private}/subgroups", &[], MEMBERS),
    entry("GET /api/v4/groups/:id/subgroups", "/api/v4/groups/{public}/subgroups", &[], PUBLIC),
    entry("GET /api/v4/groups/:id/descendant_groups", "/api/v4/groups/{private}/descendant_groups", &[], MEMBERS),
    entry("GET /api/v4/groups/:id/descendant_groups", "/api/v4/groups/{public}/descendant_groups", &[], PUBLIC),
    entry("PUT /api/v4/groups/:id", "/api/v4/groups/{private}", &[("visibility", "public")], OWNERS),
    entry("PUT /api/v4/groups/:id", "/api/v4/groups/{public}", &[("description", "d")], OWNERS_PUBLIC),
    entry("DELETE /api/v4/groups/:id", "/api/v4/groups/{private}", &[], "401 401 404 404 403 403 403 403 202 202"),
    entry("DELETE /api/v4/groups/:id", "/api/v4/groups/{public}", &[], "401 401 403 403 403 403 403 403 202 202"),
    entry("POST /api/v4/groups/:id/projects/:project_id", "/api/v4/groups/{public}/projects/{loose}", &[], ADMIN_CREATES),

    entry("GET /api/v4/groups/:id/members", "/api/v4/groups/{private}/members", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/groups/:id/members", "/api/v4/groups/{internal}/members", &[], INTERNAL_SIGNED_IN),
    entry("GET /api/v4/groups/:id/members", "/api/v4/groups/{public}/members", &[], SIGNED_IN),
    entry("GET /api/v4/groups/:id/members/:user_id", "/api/v4/groups/{private}/members/{member}", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/groups/:id/members/:user_id", "/api/v4/groups/{public}/members/{member}", &[], SIGNED_IN),
    entry("GET /api/v4/groups/:id/members/all", "/api/v4/groups/{private}/members/all", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/groups/:id/members/all", "/api/v4/groups/{internal}/members/all", &[], INTERNAL_SIGNED_IN),
    entry("GET /api/v4/groups/:id/members/all", "/api/v4/groups/{public}/members/all", &[], SIGNED_IN),
    entry("GET /api/v4/groups/:id/members/all/:user_id", "/api/v4/groups/{private}/members/all/{member}", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/groups/:id/members/all/:user_id", "/api/v4/groups/{public}/members/all/{member}", &[], SIGNED_IN),
    entry("POST /api/v4/groups/:id/members", "/api/v4/groups/{private}/members", &[("user_id", "{user}"), ("access_level", "50")], OWNERS_CREATE),
    entry("POST /api/v4/groups/:id/members", "/api/v4/groups/{public}/members", &[("user_id", "{user}"), ("access_level", "50")], OWNERS_PUBLIC_CREATE),
    entry("PUT /api/v4/groups/:id/members/:user_id", "/api/v4/groups/{private}/members/{member}", &[("access_level", "50")], OWNERS),
    entry("PUT /api/v4/groups/:id/members/:user_id", "/api/v4/groups/{public}/members/{member}", &[("access_level", "50")], OWNERS_PUBLIC),
    entry("DELETE /api/v4/groups/:id/members/:user_id", "/api/v4/groups/{private}/members/{member}", &[], OWNERS_DELETE),
    entry("DELETE /api/v4/groups/:id/members/:user_id", "/api/v4/groups/{public}/members/{member}", &[], OWNERS_PUBLIC_DELETE),

    entry("GET /api/v4/projects/:id/members", "/api/v4/projects/{private_project}/members", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/members", "/api/v4/projects/{public_project}/members", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/members/:user_id", "/api/v4/projects/{private_project}/members/{member}", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/members/:user_id", "/api/v4/projects/{public_project}/members/{member}", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/members/all", "/api/v4/projects/{private_project}/members/all", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/members/all", "/api/v4/projects/{public_project}/members/all", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/members/all/:user_id", "/api/v4/projects/{private_project}/members/all/{member}", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/members/all/:user_id", "/api/v4/projects/{public_project}/members/all/{member}", &[], SIGNED_IN),
    entry("POST /api/v4/projects/:id/members", "/api/v4/projects/{private_project}/members", &[("user_id", "{user}"), ("access_level", "40")], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/members", "/api/v4/projects/{public_project}/members", &[("user_id", "{user}"), ("access_level", "40")], MASTERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/members/:user_id", "/api/v4/projects/{private_project}/members/{member}", &[("access_level", "40")], MASTERS),
    entry("PUT /api/v4/projects/:id/members/:user_id", "/api/v4/projects/{public_project}/members/{member}", &[("access_level", "40")], MASTERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/members/:user_id", "/api/v4/projects/{private_project}/members/{member}", &[], MASTERS_DELETE),
    entry("DELETE /api/v4/projects/:id/members/:user_id", "/api/v4/projects/{public_project}/members/{member}", &[], MASTERS_PUBLIC_DELETE),

    entry("GET /api/v4/groups/:id/access_requests", "/api/v4/groups/{private}/access_requests", &[], OWNERS),
    entry("GET /api/v4/groups/:id/access_requests", "/api/v4/groups/{public}/access_requests", &[], OWNERS_PUBLIC),
    entry("POST /api/v4/groups/:id/access_requests", "/api/v4/groups/{public}/access_requests", &[], "401 401 201 201 403 403 403 403 403 403"),
    entry("POST /api/v4/groups/:id/access_requests", "/api/v4/groups/{internal}/access_requests", &[], "401 401 404 201 403 403 403 403 403 403"),
    entry("PUT /api/v4/groups/:id/access_requests/:user_id/approve", "/api/v4/groups/{public}/access_requests/{requester}/approve", &[], OWNERS_PUBLIC_CREATE),
    entry("DELETE /api/v4/groups/:id/access_requests/:user_id", "/api/v4/groups/{public}/access_requests/{requester}", &[], OWNERS_PUBLIC_DELETE),
    entry("GET /api/v4/projects/:id/access_requests", "/api/v4/projects/{private_project}/access_requests", &[], MASTERS),
    entry("GET /api/v4/projects/:id/access_requests", "/api/v4/projects/{public_project}/access_requests", &[], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/access_requests", "/api/v4/projects/{public_project}/access_requests", &[], "401 401 201 201 403 403 403 403 403 403"),
    entry("POST /api/v4/projects/:id/access_requests", "/api/v4/projects/{internal_project}/access_requests", &[], "401 401 404 201 403 403 403 403 403 403"),
    entry("PUT /api/v4/projects/:id/access_requests/:user_id/approve", "/api/v4/projects/{public_project}/access_requests/{requester}/approve", &[], MASTERS_PUBLIC_CREATE),
    entry("DELETE /api/v4/projects/:id/access_requests/:user_id", "/api/v4/projects/{public_project}/access_requests/{requester}", &[], MASTERS_PUBLIC_DELETE),

    entry("POST /api/v4/projects/:id/share", "/api/v4/projects/{private_project}/share", &[("group_id", "{public}"), ("group_access", "40")], MASTERS_CREATE),
    entry("DELETE /api/v4/projects/:id/share/:group_id", "/api/v4/projects/{private_project}/share/{internal}", &[], MASTERS_DELETE),
];

/// Entries whose use cases are narrower than the declared policies: the token 1 belongs to the administrator, and
/// namespaces are visible or not as their groups are.
#[rustfmt::skip]
pub const ACCOUNTS_NARROWER: &[Entry] = &[
    entry("GET /api/v4/personal_access_tokens/:id", "/api/v4/personal_access_tokens/1", &[], "401 401 404 404 404 404 404 404 404 200"),
    entry("POST /api/v4/personal_access_tokens/:id/rotate", "/api/v4/personal_access_tokens/1/rotate", &[], "401 401 404 404 404 404 404 404 404 200"),
    entry("DELETE /api/v4/personal_access_tokens/:id", "/api/v4/personal_access_tokens/1", &[], "401 401 404 404 404 404 404 404 404 204"),
    entry("GET /api/v4/personal_access_tokens", "/api/v4/personal_access_tokens?user_id={user}", &[], ADMIN),
    entry("GET /api/v4/namespaces/:id", "/api/v4/namespaces/{private}", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/namespaces/:id", "/api/v4/namespaces/{internal}", &[], INTERNAL_SIGNED_IN),
];
