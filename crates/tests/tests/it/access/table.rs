//! The access table: the expected status of every route for every role.

use crate::ssh_keys::OTHER_ED25519;

/// The roles, in the order of the columns below.
pub const ROLES: [&str; 10] = [
    "anonymous",
    "blocked",
    "external",
    "ordinary",
    "guest",
    "reporter",
    "developer",
    "master",
    "owner",
    "administrator",
];

pub type Form = &'static [(&'static str, &'static str)];

/// A request and its expected statuses.
///
/// `{user}`, `{key}`, `{email}` belong to another user; `{private}`, `{internal}` and `{public}` are groups in which
/// guest to owner are members, and `{private_project}` and so on are projects in them. `{role}` is the namespace of the
/// current user. `{requester}` has requested access to all.
pub struct Entry {
    pub route: &'static str,
    pub path: &'static str,
    pub form: Form,
    /// The statuses, in the order of [`ROLES`].
    pub expected: &'static str,
}

pub const fn entry(route: &'static str, path: &'static str, form: Form, expected: &'static str) -> Entry {
    Entry { route, path, form, expected }
}

pub const SIGNED_IN: &str = "401 401 200 200 200 200 200 200 200 200";
pub const CREATES: &str = "401 401 201 201 201 201 201 201 201 201";
pub const ADMIN: &str = "401 401 403 403 403 403 403 403 403 200";
const ADMIN_CREATES: &str = "401 401 403 403 403 403 403 403 403 201";
const MEMBERS: &str = "404 401 404 404 200 200 200 200 200 200";
pub const MEMBERS_SIGNED_IN: &str = "401 401 404 404 200 200 200 200 200 200";
const INTERNAL: &str = "404 401 404 200 200 200 200 200 200 200";
pub const PUBLIC: &str = "200 401 200 200 200 200 200 200 200 200";
pub const MEMBERS_CREATE: &str = "401 401 404 404 201 201 201 201 201 201";
pub const MASTERS: &str = "401 401 404 404 403 403 403 200 200 200";
pub const MASTERS_PUBLIC: &str = "401 401 403 403 403 403 403 200 200 200";
pub const MASTERS_CREATE: &str = "401 401 404 404 403 403 403 201 201 201";
const OWNERS_CREATE: &str = "401 401 404 404 403 403 403 403 201 201";
const OWNERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 403 201 201";
pub const OWNERS: &str = "401 401 404 404 403 403 403 403 200 200";
pub const OWNERS_PUBLIC: &str = "401 401 403 403 403 403 403 403 200 200";

pub const CODE: &str = "404 401 404 404 403 200 200 200 200 200";
pub const DEVELOPERS: &str = "401 401 404 404 403 403 200 200 200 200";
pub const DEVELOPERS_PUBLIC: &str = "401 401 403 403 403 403 200 200 200 200";

pub const DEVELOPERS_CREATE: &str = "401 401 404 404 403 403 201 201 201 201";
pub const DEVELOPERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 201 201 201 201";
pub const REPORTERS_CREATE: &str = "401 401 404 404 403 201 201 201 201 201";
pub const REPORTERS_PUBLIC_CREATE: &str = "401 401 403 403 403 201 201 201 201 201";
pub const REPORTERS: &str = "401 401 404 404 403 200 200 200 200 200";
pub const REPORTERS_PUBLIC: &str = "401 401 403 403 403 200 200 200 200 200";

pub const NEW_USER: Form =
    &[("email", "newcomer@example.com"), ("password", "long enough"), ("username", "newcomer"), ("name", "N")];
pub const NEW_KEY: Form = &[("title", "t"), ("key", OTHER_ED25519)];
const NEW_GROUP: Form = &[("name", "new group"), ("path", "new-group")];

#[rustfmt::skip]
pub const TABLE: &[Entry] = &[
    entry("POST /session", "/session", &[("login", "nobody"), ("password", "wrong")], "401 401 401 401 401 401 401 401 401 401"),

    entry("GET /user", "/user", &[], SIGNED_IN),
    entry("GET /users", "/users", &[], SIGNED_IN),
    entry("GET /users/:id", "/users/{user}", &[], SIGNED_IN),
    entry("POST /users", "/users", NEW_USER, ADMIN_CREATES),
    entry("PUT /users/:id", "/users/{user}", &[("admin", "true")], ADMIN),
    entry("DELETE /users/:id", "/users/{user}", &[], ADMIN),
    entry("PUT /users/:uid/block", "/users/{user}/block", &[], ADMIN),
    entry("PUT /users/:uid/unblock", "/users/{user}/unblock", &[], ADMIN),

    entry("GET /user/keys", "/user/keys", &[], SIGNED_IN),
    entry("GET /user/keys/:id", "/user/keys/{key}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("POST /user/keys", "/user/keys", NEW_KEY, CREATES),
    entry("DELETE /user/keys/:id", "/user/keys/{key}", &[], SIGNED_IN),
    entry("GET /users/:uid/keys", "/users/{user}/keys", &[], ADMIN),
    entry("POST /users/:uid/keys", "/users/{user}/keys", NEW_KEY, ADMIN_CREATES),
    entry("DELETE /users/:uid/keys/:id", "/users/{user}/keys/{key}", &[], ADMIN),

    entry("GET /user/emails", "/user/emails", &[], SIGNED_IN),
    entry("GET /user/emails/:id", "/user/emails/{email}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("POST /user/emails", "/user/emails", &[("email", "second@example.com")], CREATES),
    entry("DELETE /user/emails/:id", "/user/emails/{email}", &[], SIGNED_IN),
    entry("GET /users/:uid/emails", "/users/{user}/emails", &[], ADMIN),
    entry("POST /users/:uid/emails", "/users/{user}/emails", &[("email", "second@example.com")], ADMIN_CREATES),
    entry("DELETE /users/:uid/emails/:id", "/users/{user}/emails/{email}", &[], ADMIN),

    entry("GET /user/personal_access_tokens", "/user/personal_access_tokens", &[], SIGNED_IN),
    entry("POST /user/personal_access_tokens", "/user/personal_access_tokens", &[("name", "n")], CREATES),
    entry("DELETE /user/personal_access_tokens/:id", "/user/personal_access_tokens/0", &[], "401 401 404 404 404 404 404 404 404 404"),

    entry("GET /groups", "/groups", &[], SIGNED_IN),
    entry("GET /groups/owned", "/groups/owned", &[], SIGNED_IN),
    entry("POST /groups", "/groups", NEW_GROUP, "401 401 403 201 201 201 201 201 201 201"),
    entry("GET /groups/:id", "/groups/{private}", &[], MEMBERS),
    entry("GET /groups/:id", "/groups/{internal}", &[], "404 401 404 200 200 200 200 200 200 200"),
    entry("GET /groups/:id", "/groups/{public}", &[], "200 401 200 200 200 200 200 200 200 200"),
    entry("GET /groups/:id/projects", "/groups/{private}/projects", &[], MEMBERS),
    entry("GET /groups/:id/projects", "/groups/{public}/projects", &[], "200 401 200 200 200 200 200 200 200 200"),
    entry("PUT /groups/:id", "/groups/{private}", &[("visibility_level", "20")], OWNERS),
    entry("PUT /groups/:id", "/groups/{public}", &[("description", "d")], OWNERS_PUBLIC),
    entry("DELETE /groups/:id", "/groups/{private}", &[], OWNERS),
    entry("DELETE /groups/:id", "/groups/{public}", &[], OWNERS_PUBLIC),

    entry("GET /groups/:id/members", "/groups/{private}/members", &[], MEMBERS_SIGNED_IN),
    entry("GET /groups/:id/members", "/groups/{internal}/members", &[], "401 401 404 200 200 200 200 200 200 200"),
    entry("GET /groups/:id/members", "/groups/{public}/members", &[], SIGNED_IN),
    entry("GET /groups/:id/members/:user_id", "/groups/{private}/members/{member}", &[], MEMBERS_SIGNED_IN),
    entry("POST /groups/:id/members", "/groups/{private}/members", &[("user_id", "{user}"), ("access_level", "50")],
        "401 401 404 404 403 403 403 403 201 201"),
    entry("POST /groups/:id/members", "/groups/{public}/members", &[("user_id", "{user}"), ("access_level", "50")],
        "401 401 403 403 403 403 403 403 201 201"),
    entry("PUT /groups/:id/members/:user_id", "/groups/{private}/members/{member}", &[("access_level", "50")], OWNERS),
    entry("DELETE /groups/:id/members/:user_id", "/groups/{private}/members/{member}", &[], OWNERS),

    entry("GET /namespaces", "/namespaces", &[], SIGNED_IN),

    entry("POST /groups/:id/projects/:project_id", "/groups/{public}/projects/{loose}", &[], ADMIN_CREATES),
    entry("GET /groups/:id/access_requests", "/groups/{private}/access_requests", &[], OWNERS),
    entry("POST /groups/:id/access_requests", "/groups/{public}/access_requests", &[], "401 401 201 201 403 403 403 403 403 403"),
    entry("POST /groups/:id/access_requests", "/groups/{internal}/access_requests", &[], "401 401 404 201 403 403 403 403 403 403"),
    entry("PUT /groups/:id/access_requests/:user_id/approve", "/groups/{public}/access_requests/{requester}/approve", &[], OWNERS_PUBLIC_CREATE),
    entry("DELETE /groups/:id/access_requests/:user_id", "/groups/{public}/access_requests/{requester}", &[], OWNERS_PUBLIC),

    entry("GET /projects", "/projects", &[], SIGNED_IN),
    entry("GET /projects/visible", "/projects/visible", &[], SIGNED_IN),
    entry("GET /projects/owned", "/projects/owned", &[], SIGNED_IN),
    entry("GET /projects/starred", "/projects/starred", &[], SIGNED_IN),
    entry("GET /projects/all", "/projects/all", &[], ADMIN),
    entry("GET /projects/search/:query", "/projects/search/p", &[], SIGNED_IN),
    entry("POST /projects", "/projects", &[("name", "new")], "401 401 403 201 201 201 201 201 201 201"),
    entry("POST /projects/user/:user_id", "/projects/user/{user}", &[("name", "new")], ADMIN_CREATES),

    entry("GET /projects/:id", "/projects/{private_project}", &[], MEMBERS),
    entry("GET /projects/:id", "/projects/{internal_project}", &[], INTERNAL),
    entry("GET /projects/:id", "/projects/{public_project}", &[], PUBLIC),
    entry("GET /projects/:id/events", "/projects/{private_project}/events", &[], MEMBERS),
    entry("GET /projects/:id/events", "/projects/{internal_project}/events", &[], INTERNAL),
    entry("GET /projects/:id/events", "/projects/{public_project}/events", &[], PUBLIC),
    entry("GET /users/:id/events", "/users/{user}/events", &[], SIGNED_IN),
    entry("PUT /projects/:id", "/projects/{private_project}", &[("description", "d")], MASTERS),
    entry("PUT /projects/:id", "/projects/{public_project}", &[("description", "d")], MASTERS_PUBLIC),
    entry("DELETE /projects/:id", "/projects/{private_project}", &[], OWNERS),
    entry("DELETE /projects/:id", "/projects/{public_project}", &[], OWNERS_PUBLIC),
    entry("POST /projects/:id/archive", "/projects/{private_project}/archive", &[], OWNERS_CREATE),
    entry("POST /projects/:id/archive", "/projects/{public_project}/archive", &[], OWNERS_PUBLIC_CREATE),
    entry("POST /projects/:id/unarchive", "/projects/{private_project}/unarchive", &[], OWNERS_CREATE),
    entry("POST /projects/:id/star", "/projects/{private_project}/star", &[], MEMBERS_CREATE),
    entry("POST /projects/:id/star", "/projects/{public_project}/star", &[], CREATES),
    entry("DELETE /projects/:id/star", "/projects/{private_project}/star", &[], "401 401 404 404 304 304 304 304 304 304"),
    entry("POST /projects/:id/uploads", "/projects/{private_project}/uploads", &[], MEMBERS_CREATE),
    entry("POST /projects/:id/uploads", "/projects/{public_project}/uploads", &[], CREATES),

    entry("POST /projects/:id/share", "/projects/{private_project}/share", &[("group_id", "{public}"), ("group_access", "40")], MASTERS_CREATE),
    entry("DELETE /projects/:id/share/:group_id", "/projects/{private_project}/share/{internal}", &[], "401 401 404 404 403 403 403 204 204 204"),

    entry("GET /projects/:id/members", "/projects/{private_project}/members", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/members", "/projects/{public_project}/members", &[], SIGNED_IN),
    entry("GET /projects/:id/members/:user_id", "/projects/{private_project}/members/{member}", &[], MEMBERS_SIGNED_IN),
    entry("POST /projects/:id/members", "/projects/{private_project}/members", &[("user_id", "{user}"), ("access_level", "40")], MASTERS_CREATE),
    entry("POST /projects/:id/members", "/projects/{public_project}/members", &[("user_id", "{user}"), ("access_level", "40")],
        "401 401 403 403 403 403 403 201 201 201"),
    entry("PUT /projects/:id/members/:user_id", "/projects/{private_project}/members/{member}", &[("access_level", "40")], MASTERS),
    entry("DELETE /projects/:id/members/:user_id", "/projects/{private_project}/members/{member}", &[], MASTERS),
    entry("GET /projects/:id/access_requests", "/projects/{private_project}/access_requests", &[], MASTERS),
    entry("POST /projects/:id/access_requests", "/projects/{public_project}/access_requests", &[], "401 401 201 201 403 403 403 403 403 403"),
    entry("POST /projects/:id/access_requests", "/projects/{internal_project}/access_requests", &[], "401 401 404 201 403 403 403 403 403 403"),
    entry("PUT /projects/:id/access_requests/:user_id/approve", "/projects/{public_project}/access_requests/{requester}/approve", &[],
        "401 401 403 403 403 403 403 201 201 201"),
    entry("DELETE /projects/:id/access_requests/:user_id", "/projects/{public_project}/access_requests/{requester}", &[], MASTERS_PUBLIC),

    entry("GET /projects/:id/hooks", "/projects/{private_project}/hooks", &[], MASTERS),
    entry("GET /projects/:id/hooks", "/projects/{public_project}/hooks", &[], MASTERS_PUBLIC),
    entry("GET /projects/:id/hooks/:hook_id", "/projects/{private_project}/hooks/{hook}", &[], MASTERS),
    entry("POST /projects/:id/hooks", "/projects/{private_project}/hooks", &[("url", "http://hook.example")], MASTERS_CREATE),
    entry("PUT /projects/:id/hooks/:hook_id", "/projects/{private_project}/hooks/{hook}", &[("url", "http://hook.example")], MASTERS),
    entry("DELETE /projects/:id/hooks/:hook_id", "/projects/{private_project}/hooks/{hook}", &[], MASTERS),
    entry("GET /projects/:id/hooks/:hook_id/deliveries", "/projects/{private_project}/hooks/{hook}/deliveries", &[], MASTERS),
    entry("GET /projects/:id/hooks/:hook_id/deliveries/:delivery_id", "/projects/{private_project}/hooks/{hook}/deliveries/1", &[], MASTERS),
    entry("POST /projects/:id/hooks/:hook_id/deliveries/:delivery_id/replay", "/projects/{private_project}/hooks/{hook}/deliveries/1/replay", &[], MASTERS_CREATE),
    entry("POST /projects/:id/hooks/:hook_id/replay", "/projects/{private_project}/hooks/{hook}/replay", &[("from", "1")], MASTERS_CREATE),
    entry("GET /hooks", "/hooks", &[], ADMIN),
    entry("POST /hooks", "/hooks", &[("url", "http://hook.example")], ADMIN_CREATES),
    entry("GET /hooks/:id", "/hooks/{system_hook}", &[], ADMIN),
    entry("DELETE /hooks/:id", "/hooks/{system_hook}", &[], ADMIN),
    entry("GET /hooks/:id/deliveries", "/hooks/{system_hook}/deliveries", &[], ADMIN),
    entry("GET /hooks/:id/deliveries/:delivery_id", "/hooks/{system_hook}/deliveries/1", &[], ADMIN),
    entry("POST /hooks/:id/deliveries/:delivery_id/replay", "/hooks/{system_hook}/deliveries/1/replay", &[], ADMIN_CREATES),
    entry("POST /hooks/:id/replay", "/hooks/{system_hook}/replay", &[("from", "1")], ADMIN_CREATES),

    entry("POST /projects/fork/:id", "/projects/fork/{private_project}", &[("namespace", "{role}")], "401 401 404 404 403 201 201 201 201 201"),
    entry("POST /projects/fork/:id", "/projects/fork/{public_project}", &[("namespace", "{role}")], "401 401 403 201 201 201 201 201 201 201"),

    entry("GET /projects/:id/import", "/projects/{private_project}/import", &[], MASTERS),
    entry("DELETE /projects/:id/import", "/projects/{private_project}/import", &[], MASTERS),

    entry("GET /projects/:id/repository/branches", "/projects/{private_project}/repository/branches", &[], CODE),
    entry("GET /projects/:id/repository/branches", "/projects/{internal_project}/repository/branches", &[], INTERNAL),
    entry("GET /projects/:id/repository/branches", "/projects/{public_project}/repository/branches", &[], PUBLIC),
    entry("GET /projects/:id/repository/branches/:branch", "/projects/{private_project}/repository/branches/main", &[], CODE),
    entry("GET /projects/:id/repository/branches/:branch", "/projects/{public_project}/repository/branches/main", &[], PUBLIC),
    entry("POST /projects/:id/repository/branches", "/projects/{private_project}/repository/branches", &[("branch_name", "new"), ("ref", "main")], DEVELOPERS),
    entry("POST /projects/:id/repository/branches", "/projects/{public_project}/repository/branches", &[("branch_name", "new"), ("ref", "main")], DEVELOPERS_PUBLIC),
    entry("DELETE /projects/:id/repository/branches/:branch", "/projects/{private_project}/repository/branches/topic", &[], DEVELOPERS),
    entry("DELETE /projects/:id/repository/branches/:branch", "/projects/{public_project}/repository/branches/topic", &[], DEVELOPERS_PUBLIC),
    entry("POST /projects/:id/repository/tags", "/projects/{private_project}/repository/tags", &[("tag_name", "v1"), ("ref", "main")],
        "401 401 404 404 403 403 201 201 201 201"),
    entry("GET /projects/:id/repository/tags", "/projects/{private_project}/repository/tags", &[], CODE),
    entry("GET /projects/:id/repository/tags", "/projects/{internal_project}/repository/tags", &[], INTERNAL),
    entry("GET /projects/:id/repository/tags", "/projects/{public_project}/repository/tags", &[], PUBLIC),
    entry("GET /projects/:id/repository/tags/:tag_name", "/projects/{private_project}/repository/tags/noted", &[], CODE),
    entry("GET /projects/:id/repository/tags/:tag_name", "/projects/{public_project}/repository/tags/noted", &[], PUBLIC),
    entry("POST /projects/:id/repository/tags/:tag_name/release", "/projects/{private_project}/repository/tags/plain/release", &[("description", "d")],
        "401 401 404 404 403 403 201 201 201 201"),
    entry("POST /projects/:id/repository/tags/:tag_name/release", "/projects/{public_project}/repository/tags/plain/release", &[("description", "d")],
        "401 401 403 403 403 403 201 201 201 201"),
    entry("PUT /projects/:id/repository/tags/:tag_name/release", "/projects/{private_project}/repository/tags/noted/release", &[("description", "d")], DEVELOPERS),
    entry("PUT /projects/:id/repository/tags/:tag_name/release", "/projects/{public_project}/repository/tags/noted/release", &[("description", "d")], DEVELOPERS_PUBLIC),
    entry("PUT /projects/:id/repository/branches/:branch/protect", "/projects/{private_project}/repository/branches/topic/protect", &[], MASTERS),
    entry("PUT /projects/:id/repository/branches/:branch/protect", "/projects/{public_project}/repository/branches/topic/protect", &[], MASTERS_PUBLIC),
    entry("PUT /projects/:id/repository/branches/:branch/unprotect", "/projects/{private_project}/repository/branches/main/unprotect", &[], MASTERS),
    entry("PUT /projects/:id/repository/branches/:branch/unprotect", "/projects/{public_project}/repository/branches/main/unprotect", &[], MASTERS_PUBLIC),
    entry("DELETE /projects/:id/repository/merged_branches", "/projects/{private_project}/repository/merged_branches", &[], DEVELOPERS),
    entry("DELETE /projects/:id/repository/merged_branches", "/projects/{public_project}/repository/merged_branches", &[], DEVELOPERS_PUBLIC),
    entry("GET /projects/:id/repository/ref_log", "/projects/{private_project}/repository/ref_log", &[], DEVELOPERS),
    entry("GET /projects/:id/repository/ref_log", "/projects/{public_project}/repository/ref_log", &[], DEVELOPERS_PUBLIC),
    entry("POST /projects/:id/repository/ref_log/:generation/restore", "/projects/{private_project}/repository/ref_log/{private_move}/restore",
        &[("ref_name", "gone")], "401 401 404 404 403 403 201 201 201 201"),
    entry("POST /projects/:id/repository/ref_log/:generation/restore", "/projects/{public_project}/repository/ref_log/{public_move}/restore",
        &[("ref_name", "gone")], "401 401 403 403 403 403 201 201 201 201"),

    entry("GET /projects/:id/repository/commits", "/projects/{private_project}/repository/commits", &[], CODE),
    entry("GET /projects/:id/repository/commits/:sha", "/projects/{private_project}/repository/commits/main", &[], CODE),
    entry("GET /projects/:id/repository/commits/:sha/diff", "/projects/{private_project}/repository/commits/main/diff", &[], CODE),
    entry("GET /projects/:id/repository/commits/:sha/comments", "/projects/{private_project}/repository/commits/main/comments", &[], CODE),
    entry("GET /projects/:id/repository/files", "/projects/{private_project}/repository/files?file_path=README.md&ref=main", &[], CODE),
    entry("POST /projects/:id/repository/commits/:sha/comments", "/projects/{private_project}/repository/commits/main/comments", &[("note", "Why?")], "401 401 404 404 403 201 201 201 201 201"),
    entry("POST /projects/:id/repository/commits/:sha/cherry_pick", "/projects/{private_project}/repository/commits/built/cherry_pick", &[("branch", "topic")], "401 401 404 404 403 403 201 201 201 201"),
    entry("POST /projects/:id/repository/commits", "/projects/{private_project}/repository/commits", &[("branch_name", "topic"), ("commit_message", "m"), ("actions[][action]", "create"), ("actions[][file_path]", "new"), ("actions[][content]", "c")], "401 401 404 404 403 403 201 201 201 201"),
    entry("POST /projects/:id/repository/files", "/projects/{private_project}/repository/files", &[("branch_name", "topic"), ("commit_message", "m"), ("file_path", "new"), ("content", "c")], "401 401 404 404 403 403 201 201 201 201"),
    entry("PUT /projects/:id/repository/files", "/projects/{private_project}/repository/files", &[("branch_name", "topic"), ("commit_message", "m"), ("file_path", "README.md"), ("content", "c")], DEVELOPERS),
    entry("DELETE /projects/:id/repository/files", "/projects/{private_project}/repository/files", &[("branch_name", "topic"), ("commit_message", "m"), ("file_path", "README.md")], DEVELOPERS),
    entry("GET /projects/:id/repository/commits", "/projects/{public_project}/repository/commits", &[], PUBLIC),
    entry("GET /projects/:id/repository/commits/:sha", "/projects/{public_project}/repository/commits/main", &[], PUBLIC),
    entry("GET /projects/:id/repository/commits/:sha/diff", "/projects/{public_project}/repository/commits/main/diff", &[], PUBLIC),
    entry("GET /projects/:id/repository/commits/:sha/comments", "/projects/{public_project}/repository/commits/main/comments", &[], PUBLIC),
    entry("GET /projects/:id/repository/files", "/projects/{public_project}/repository/files?file_path=README.md&ref=main", &[], PUBLIC),
    entry("POST /projects/:id/repository/commits/:sha/comments", "/projects/{public_project}/repository/commits/main/comments", &[("note", "Why?")], CREATES),
    entry("POST /projects/:id/repository/commits/:sha/cherry_pick", "/projects/{public_project}/repository/commits/built/cherry_pick", &[("branch", "topic")], "401 401 403 403 403 403 201 201 201 201"),
    entry("POST /projects/:id/repository/commits", "/projects/{public_project}/repository/commits", &[("branch_name", "topic"), ("commit_message", "m"), ("actions[][action]", "create"), ("actions[][file_path]", "new"), ("actions[][content]", "c")], "401 401 403 403 403 403 201 201 201 201"),
    entry("POST /projects/:id/repository/files", "/projects/{public_project}/repository/files", &[("branch_name", "topic"), ("commit_message", "m"), ("file_path", "new"), ("content", "c")], "401 401 403 403 403 403 201 201 201 201"),
    entry("PUT /projects/:id/repository/files", "/projects/{public_project}/repository/files", &[("branch_name", "topic"), ("commit_message", "m"), ("file_path", "README.md"), ("content", "c")], DEVELOPERS_PUBLIC),
    entry("DELETE /projects/:id/repository/files", "/projects/{public_project}/repository/files", &[("branch_name", "topic"), ("commit_message", "m"), ("file_path", "README.md")], DEVELOPERS_PUBLIC),

    entry("GET /projects/:id/repository/tree", "/projects/{private_project}/repository/tree", &[], CODE),
    entry("GET /projects/:id/repository/tree", "/projects/{internal_project}/repository/tree", &[], INTERNAL),
    entry("GET /projects/:id/repository/tree", "/projects/{public_project}/repository/tree", &[], PUBLIC),
    entry("GET /projects/:id/repository/blobs/:sha", "/projects/{private_project}/repository/blobs/main?filepath=README.md", &[], CODE),
    entry("GET /projects/:id/repository/blobs/:sha", "/projects/{internal_project}/repository/blobs/main?filepath=README.md", &[], INTERNAL),
    entry("GET /projects/:id/repository/blobs/:sha", "/projects/{public_project}/repository/blobs/main?filepath=README.md", &[], PUBLIC),
    entry("GET /projects/:id/repository/raw_blobs/:sha", "/projects/{private_project}/repository/raw_blobs/e965047ad7c57865823c7d992b1d046ea66edf78", &[], CODE),
    entry("GET /projects/:id/repository/raw_blobs/:sha", "/projects/{internal_project}/repository/raw_blobs/e965047ad7c57865823c7d992b1d046ea66edf78", &[], INTERNAL),
    entry("GET /projects/:id/repository/raw_blobs/:sha", "/projects/{public_project}/repository/raw_blobs/e965047ad7c57865823c7d992b1d046ea66edf78", &[], PUBLIC),
    entry("GET /projects/:id/repository/compare", "/projects/{private_project}/repository/compare?from=topic&to=main", &[], CODE),
    entry("GET /projects/:id/repository/compare", "/projects/{internal_project}/repository/compare?from=topic&to=main", &[], INTERNAL),
    entry("GET /projects/:id/repository/compare", "/projects/{public_project}/repository/compare?from=topic&to=main", &[], PUBLIC),
    entry("GET /projects/:id/repository/contributors", "/projects/{private_project}/repository/contributors", &[], CODE),
    entry("GET /projects/:id/repository/contributors", "/projects/{internal_project}/repository/contributors", &[], INTERNAL),
    entry("GET /projects/:id/repository/contributors", "/projects/{public_project}/repository/contributors", &[], PUBLIC),
    entry("GET /projects/:id/repository/archive", "/projects/{private_project}/repository/archive", &[], CODE),
    entry("GET /projects/:id/repository/archive", "/projects/{internal_project}/repository/archive", &[], INTERNAL),
    entry("GET /projects/:id/repository/archive", "/projects/{public_project}/repository/archive", &[], PUBLIC),
    entry("GET /projects/:id/repository/archive.tar.gz", "/projects/{private_project}/repository/archive.tar.gz", &[], CODE),
    entry("GET /projects/:id/repository/archive.tgz", "/projects/{private_project}/repository/archive.tgz", &[], CODE),
    entry("GET /projects/:id/repository/archive.gz", "/projects/{private_project}/repository/archive.gz", &[], CODE),
    entry("GET /projects/:id/repository/archive.tar.bz2", "/projects/{private_project}/repository/archive.tar.bz2", &[], CODE),
    entry("GET /projects/:id/repository/archive.tbz", "/projects/{private_project}/repository/archive.tbz", &[], CODE),
    entry("GET /projects/:id/repository/archive.tbz2", "/projects/{private_project}/repository/archive.tbz2", &[], CODE),
    entry("GET /projects/:id/repository/archive.tb2", "/projects/{private_project}/repository/archive.tb2", &[], CODE),
    entry("GET /projects/:id/repository/archive.bz2", "/projects/{private_project}/repository/archive.bz2", &[], CODE),
    entry("GET /projects/:id/repository/archive.tar", "/projects/{private_project}/repository/archive.tar", &[], CODE),
    entry("GET /projects/:id/repository/archive.zip", "/projects/{private_project}/repository/archive.zip", &[], CODE),

    entry("GET /projects/:id/labels", "/projects/{private_project}/labels", &[], MEMBERS),
    entry("GET /projects/:id/labels", "/projects/{internal_project}/labels", &[], INTERNAL),
    entry("GET /projects/:id/labels", "/projects/{public_project}/labels", &[], PUBLIC),
    entry("POST /projects/:id/labels", "/projects/{private_project}/labels", &[("name", "new"), ("color", "#123456")], REPORTERS),
    entry("PUT /projects/:id/labels", "/projects/{private_project}/labels", &[("name", "bug"), ("color", "#123456")], REPORTERS),
    entry("DELETE /projects/:id/labels", "/projects/{private_project}/labels", &[("name", "bug")], REPORTERS),
    entry("POST /projects/:id/labels", "/projects/{public_project}/labels", &[("name", "new"), ("color", "#123456")], REPORTERS_PUBLIC),
    entry("PUT /projects/:id/labels", "/projects/{public_project}/labels", &[("name", "bug"), ("color", "#123456")], REPORTERS_PUBLIC),
    entry("DELETE /projects/:id/labels", "/projects/{public_project}/labels", &[("name", "bug")], REPORTERS_PUBLIC),
    entry("POST /projects/:id/labels/:label_id/subscription", "/projects/{private_project}/labels/bug/subscription", &[], MEMBERS_CREATE),
    entry("POST /projects/:id/labels/:label_id/subscription", "/projects/{public_project}/labels/bug/subscription", &[], CREATES),
    entry("DELETE /projects/:id/labels/:label_id/subscription", "/projects/{private_project}/labels/bug/subscription", &[], "401 401 404 404 304 304 304 304 304 304"),
    entry("DELETE /projects/:id/labels/:label_id/subscription", "/projects/{public_project}/labels/bug/subscription", &[], "401 401 304 304 304 304 304 304 304 304"),
    entry("GET /projects/:id/boards", "/projects/{private_project}/boards", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/boards/:board_id/lists", "/projects/{private_project}/boards/{private_project}/lists", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/boards/:board_id/lists/:list_id", "/projects/{private_project}/boards/{private_project}/lists/{private_list}", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/boards/:board_id/lists/:list_id/issues", "/projects/{private_project}/boards/{private_project}/lists/{private_list}/issues", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/boards", "/projects/{public_project}/boards", &[], SIGNED_IN),
    entry("GET /projects/:id/boards/:board_id/lists", "/projects/{public_project}/boards/{public_project}/lists", &[], SIGNED_IN),
    entry("GET /projects/:id/boards/:board_id/lists/:list_id", "/projects/{public_project}/boards/{public_project}/lists/{public_list}", &[], SIGNED_IN),
    entry("GET /projects/:id/boards/:board_id/lists/:list_id/issues", "/projects/{public_project}/boards/{public_project}/lists/{public_list}/issues", &[], SIGNED_IN),
    entry("POST /projects/:id/boards/:board_id/lists", "/projects/{private_project}/boards/{private_project}/lists", &[("label_id", "{private_label}")], REPORTERS),
    entry("PUT /projects/:id/boards/:board_id/lists/:list_id", "/projects/{private_project}/boards/{private_project}/lists/{private_list}", &[("position", "1")], REPORTERS),
    entry("PUT /projects/:id/boards/:board_id/issues/:issue_id", "/projects/{private_project}/boards/{private_project}/issues/{private_issue}", &[("to_list_id", "{private_list}")], REPORTERS),
    entry("DELETE /projects/:id/boards/:board_id/lists/:list_id", "/projects/{private_project}/boards/{private_project}/lists/{private_list}", &[], OWNERS),
    entry("POST /projects/:id/boards/:board_id/lists", "/projects/{public_project}/boards/{public_project}/lists", &[("label_id", "{public_label}")], REPORTERS_PUBLIC),
    entry("PUT /projects/:id/boards/:board_id/lists/:list_id", "/projects/{public_project}/boards/{public_project}/lists/{public_list}", &[("position", "1")], REPORTERS_PUBLIC),
    entry("PUT /projects/:id/boards/:board_id/issues/:issue_id", "/projects/{public_project}/boards/{public_project}/issues/{public_issue}", &[("to_list_id", "{public_list}")], REPORTERS_PUBLIC),
    entry("DELETE /projects/:id/boards/:board_id/lists/:list_id", "/projects/{public_project}/boards/{public_project}/lists/{public_list}", &[], OWNERS_PUBLIC),
    entry("GET /issues", "/issues", &[], SIGNED_IN),
    entry("GET /groups/:id/issues", "/groups/{private}/issues", &[], MEMBERS_SIGNED_IN),
    entry("GET /groups/:id/issues", "/groups/{internal}/issues", &[], "401 401 404 200 200 200 200 200 200 200"),
    entry("GET /groups/:id/issues", "/groups/{public}/issues", &[], SIGNED_IN),
    entry("GET /projects/:id/issues", "/projects/{private_project}/issues", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id", "/projects/{private_project}/issues/{private_issue}", &[], MEMBERS_SIGNED_IN),
    entry("POST /projects/:id/issues", "/projects/{private_project}/issues", &[("title", "t")], MEMBERS_CREATE),
    entry("DELETE /projects/:id/issues/:issue_id", "/projects/{private_project}/issues/{private_issue}", &[], OWNERS),
    entry("POST /projects/:id/issues/:issue_id/subscription", "/projects/{private_project}/issues/{private_issue}/subscription", &[], "401 401 404 404 201 201 201 201 201 304"),
    entry("DELETE /projects/:id/issues/:issue_id/subscription", "/projects/{private_project}/issues/{private_issue}/subscription", &[], "401 401 404 404 304 304 304 304 304 200"),
    entry("GET /projects/:id/issues/:issue_id/notes", "/projects/{private_project}/issues/{private_issue}/notes", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{private_project}/issues/{private_issue}/notes/{private_note}", &[], MEMBERS_SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/notes", "/projects/{private_project}/issues/{private_issue}/notes", &[("body", "b")], MEMBERS_CREATE),
    entry("GET /projects/:id/milestones", "/projects/{private_project}/milestones", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/milestones/:milestone_id", "/projects/{private_project}/milestones/{private_milestone}", &[], MEMBERS_SIGNED_IN),
    entry("GET /projects/:id/milestones/:milestone_id/issues", "/projects/{private_project}/milestones/{private_milestone}/issues", &[], MEMBERS_SIGNED_IN),
    entry("POST /projects/:id/milestones", "/projects/{private_project}/milestones", &[("title", "new")], MASTERS_CREATE),
    entry("PUT /projects/:id/milestones/:milestone_id", "/projects/{private_project}/milestones/{private_milestone}", &[("title", "new")], MASTERS),
    entry("GET /projects/:id/issues", "/projects/{public_project}/issues", &[], SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id", "/projects/{public_project}/issues/{public_issue}", &[], SIGNED_IN),
    entry("POST /projects/:id/issues", "/projects/{public_project}/issues", &[("title", "t")], CREATES),
    entry("DELETE /projects/:id/issues/:issue_id", "/projects/{public_project}/issues/{public_issue}", &[], OWNERS_PUBLIC),
    entry("POST /projects/:id/issues/:issue_id/subscription", "/projects/{public_project}/issues/{public_issue}/subscription", &[], "401 401 201 201 201 201 201 201 201 304"),
    entry("DELETE /projects/:id/issues/:issue_id/subscription", "/projects/{public_project}/issues/{public_issue}/subscription", &[], "401 401 304 304 304 304 304 304 304 200"),
    entry("GET /projects/:id/issues/:issue_id/notes", "/projects/{public_project}/issues/{public_issue}/notes", &[], SIGNED_IN),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{public_project}/issues/{public_issue}/notes/{public_note}", &[], SIGNED_IN),
    entry("POST /projects/:id/issues/:issue_id/notes", "/projects/{public_project}/issues/{public_issue}/notes", &[("body", "b")], CREATES),
    entry("GET /projects/:id/milestones", "/projects/{public_project}/milestones", &[], SIGNED_IN),
    entry("GET /projects/:id/milestones/:milestone_id", "/projects/{public_project}/milestones/{public_milestone}", &[], SIGNED_IN),
    entry("GET /projects/:id/milestones/:milestone_id/issues", "/projects/{public_project}/milestones/{public_milestone}/issues", &[], SIGNED_IN),
    entry("POST /projects/:id/milestones", "/projects/{public_project}/milestones", &[("title", "new")], "401 401 403 403 403 403 403 201 201 201"),
    entry("PUT /projects/:id/milestones/:milestone_id", "/projects/{public_project}/milestones/{public_milestone}", &[("title", "new")], MASTERS_PUBLIC),
];

/// Requests whose status also depends on the object: its author, whether it is confidential, its project, or whether a
/// tag exists.
#[rustfmt::skip]
pub const NARROWER: &[Entry] = &[
    entry("DELETE /projects/:id/repository/tags/:tag_name", "/projects/{private_project}/repository/tags/noted", &[], MASTERS),
    entry("DELETE /projects/:id/repository/tags/:tag_name", "/projects/{public_project}/repository/tags/noted", &[], MASTERS_PUBLIC),
    entry("PUT /projects/:id/issues/:issue_id", "/projects/{private_project}/issues/{private_secret}", &[("confidential", "false")], "401 401 404 404 404 200 200 200 200 200"),
    entry("PUT /projects/:id/issues/:issue_id", "/projects/{private_project}/issues/{private_issue}", &[("title", "t")], REPORTERS),
    entry("PUT /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{private_project}/issues/{private_issue}/notes/{private_note}", &[("body", "b")], MASTERS),
    entry("DELETE /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{private_project}/issues/{private_issue}/notes/{private_note}", &[], MASTERS),
    entry("GET /projects/:id/issues/:issue_id", "/projects/{private_project}/issues/{private_secret}", &[], "401 401 404 404 404 200 200 200 200 200"),
    entry("PUT /projects/:id/issues/:issue_id", "/projects/{private_project}/issues/{private_secret}", &[("title", "t")], "401 401 404 404 404 200 200 200 200 200"),
    entry("POST /projects/:id/issues/:issue_id/notes", "/projects/{private_project}/issues/{private_secret}/notes", &[("body", "b")], "401 401 404 404 404 201 201 201 201 201"),
    entry("GET /projects/:id/issues/:issue_id", "/projects/{private_project}/issues/{public_issue}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{private_project}/issues/{private_issue}/notes/{public_note}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/milestones/:milestone_id", "/projects/{private_project}/milestones/{public_milestone}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/boards/:board_id/lists/:list_id", "/projects/{private_project}/boards/{private_project}/lists/{public_list}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/boards/:board_id/lists", "/projects/{private_project}/boards/{public_project}/lists", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("PUT /projects/:id/issues/:issue_id", "/projects/{public_project}/issues/{public_issue}", &[("title", "t")], REPORTERS_PUBLIC),
    entry("PUT /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{public_project}/issues/{public_issue}/notes/{public_note}", &[("body", "b")], MASTERS_PUBLIC),
    entry("DELETE /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{public_project}/issues/{public_issue}/notes/{public_note}", &[], MASTERS_PUBLIC),
    entry("GET /projects/:id/issues/:issue_id", "/projects/{public_project}/issues/{public_secret}", &[], "401 401 404 404 404 200 200 200 200 200"),
    entry("PUT /projects/:id/issues/:issue_id", "/projects/{public_project}/issues/{public_secret}", &[("title", "t")], "401 401 404 404 404 200 200 200 200 200"),
    entry("POST /projects/:id/issues/:issue_id/notes", "/projects/{public_project}/issues/{public_secret}/notes", &[("body", "b")], "401 401 404 404 404 201 201 201 201 201"),
    entry("GET /projects/:id/issues/:issue_id", "/projects/{public_project}/issues/{private_issue}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/issues/:issue_id/notes/:note_id", "/projects/{public_project}/issues/{public_issue}/notes/{private_note}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/milestones/:milestone_id", "/projects/{public_project}/milestones/{private_milestone}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/boards/:board_id/lists/:list_id", "/projects/{public_project}/boards/{public_project}/lists/{private_list}", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /projects/:id/boards/:board_id/lists", "/projects/{public_project}/boards/{private_project}/lists", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("POST /projects/:id/issues/:issue_id/move", "/projects/{private_project}/issues/{private_issue}/move", &[("to_project_id", "{public_project}")], "401 401 404 404 400 201 201 201 201 201"),
    entry("POST /projects/:id/issues/:issue_id/move", "/projects/{public_project}/issues/{public_issue}/move", &[("to_project_id", "{internal_project}")], "401 401 404 400 400 201 201 201 201 201"),
    entry("POST /projects/:id/issues/:issue_id/move", "/projects/{public_project}/issues/{public_issue}/move", &[("to_project_id", "{loose}")], "401 401 404 404 404 404 404 404 404 201"),
];
