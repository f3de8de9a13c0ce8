//! The access table of projects, hooks, deploy keys, events, todos and searches in version 4.

use super::super::table::{
    ADMIN, CREATES, Entry, MASTERS, MASTERS_CREATE, MASTERS_PUBLIC, MEMBERS_CREATE, MEMBERS_SIGNED_IN, NEW_KEY, PUBLIC,
    SIGNED_IN, entry,
};

const MEMBERS: &str = "404 401 404 404 200 200 200 200 200 200";
const INTERNAL: &str = "404 401 404 200 200 200 200 200 200 200";
const ADMIN_CREATES: &str = "401 401 403 403 403 403 403 403 403 201";
const ADMIN_DELETES: &str = "401 401 403 403 403 403 403 403 403 204";
const MASTERS_DELETE: &str = "401 401 404 404 403 403 403 204 204 204";
const MASTERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 201 201 201";
const MASTERS_PUBLIC_DELETE: &str = "401 401 403 403 403 403 403 204 204 204";
const OWNERS_CREATE: &str = "401 401 404 404 403 403 403 403 201 201";
const OWNERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 403 201 201";

#[rustfmt::skip]
pub const PROJECTS: &[Entry] = &[
    entry("GET /api/v4/projects", "/api/v4/projects", &[], PUBLIC),
    entry("GET /api/v4/projects", "/api/v4/projects?pagination=keyset&order_by=id&sort=asc", &[], PUBLIC),
    entry("POST /api/v4/projects", "/api/v4/projects", &[("name", "new")], "401 401 403 201 201 201 201 201 201 201"),
    entry("POST /api/v4/projects/import", "/api/v4/projects/import", &[("path", "new")], "401 401 403 201 201 201 201 201 201 201"),
    entry("POST /api/v4/projects/user/:user_id", "/api/v4/projects/user/{user}", &[("name", "new")], ADMIN_CREATES),
    entry("GET /api/v4/projects/:id", "/api/v4/projects/{private_project}", &[], MEMBERS),
    entry("GET /api/v4/projects/:id", "/api/v4/projects/{internal_project}", &[], INTERNAL),
    entry("GET /api/v4/projects/:id", "/api/v4/projects/{public_project}", &[], PUBLIC),
    entry("PUT /api/v4/projects/:id", "/api/v4/projects/{private_project}", &[("description", "d")], MASTERS),
    entry("PUT /api/v4/projects/:id", "/api/v4/projects/{public_project}", &[("description", "d")], MASTERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id", "/api/v4/projects/{private_project}", &[], "401 401 404 404 403 403 403 403 202 202"),
    entry("DELETE /api/v4/projects/:id", "/api/v4/projects/{public_project}", &[], "401 401 403 403 403 403 403 403 202 202"),
    entry("POST /api/v4/projects/:id/archive", "/api/v4/projects/{private_project}/archive", &[], OWNERS_CREATE),
    entry("POST /api/v4/projects/:id/archive", "/api/v4/projects/{public_project}/archive", &[], OWNERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/unarchive", "/api/v4/projects/{private_project}/unarchive", &[], OWNERS_CREATE),
    entry("POST /api/v4/projects/:id/unarchive", "/api/v4/projects/{public_project}/unarchive", &[], OWNERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/star", "/api/v4/projects/{private_project}/star", &[], MEMBERS_CREATE),
    entry("POST /api/v4/projects/:id/star", "/api/v4/projects/{public_project}/star", &[], CREATES),
    entry("POST /api/v4/projects/:id/unstar", "/api/v4/projects/{private_project}/unstar", &[], "401 401 404 404 304 304 304 304 304 304"),
    entry("POST /api/v4/projects/:id/unstar", "/api/v4/projects/{public_project}/unstar", &[], "401 401 304 304 304 304 304 304 304 304"),
    entry("GET /api/v4/projects/:id/users", "/api/v4/projects/{private_project}/users", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/users", "/api/v4/projects/{public_project}/users", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/groups", "/api/v4/projects/{private_project}/groups", &[], MEMBERS),
    entry("GET /api/v4/projects/:id/groups", "/api/v4/projects/{public_project}/groups", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/fork", "/api/v4/projects/{private_project}/fork", &[], "401 401 404 404 403 201 201 201 201 201"),
    entry("POST /api/v4/projects/:id/fork", "/api/v4/projects/{public_project}/fork", &[], "401 401 403 201 201 201 201 201 201 201"),
    entry("GET /api/v4/projects/:id/forks", "/api/v4/projects/{private_project}/forks", &[], MEMBERS),
    entry("GET /api/v4/projects/:id/forks", "/api/v4/projects/{public_project}/forks", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/fork/:forked_from_id", "/api/v4/projects/{private_project}/fork/{public_project}", &[], OWNERS_CREATE),
    entry("POST /api/v4/projects/:id/fork/:forked_from_id", "/api/v4/projects/{public_project}/fork/{private_project}", &[], OWNERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/transfer", "/api/v4/projects/{loose}/transfer", &[("namespace", "{public}")], ADMIN),
    entry("GET /api/v4/projects/:id/import", "/api/v4/projects/{private_project}/import", &[], MASTERS),
    entry("GET /api/v4/projects/:id/import", "/api/v4/projects/{public_project}/import", &[], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/uploads", "/api/v4/projects/{private_project}/uploads", &[], MEMBERS_CREATE),
    entry("POST /api/v4/projects/:id/uploads", "/api/v4/projects/{public_project}/uploads", &[], CREATES),

    entry("GET /api/v4/projects/:id/hooks", "/api/v4/projects/{private_project}/hooks", &[], MASTERS),
    entry("GET /api/v4/projects/:id/hooks", "/api/v4/projects/{public_project}/hooks", &[], MASTERS_PUBLIC),
    entry("GET /api/v4/projects/:id/hooks/:hook_id", "/api/v4/projects/{private_project}/hooks/{hook}", &[], MASTERS),
    entry("POST /api/v4/projects/:id/hooks", "/api/v4/projects/{private_project}/hooks", &[("url", "http://hook.example")], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/hooks", "/api/v4/projects/{public_project}/hooks", &[("url", "http://hook.example")], MASTERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/hooks/:hook_id", "/api/v4/projects/{private_project}/hooks/{hook}", &[("url", "http://hook.example")], MASTERS),
    entry("DELETE /api/v4/projects/:id/hooks/:hook_id", "/api/v4/projects/{private_project}/hooks/{hook}", &[], MASTERS_DELETE),
    entry("POST /api/v4/projects/:id/hooks/:hook_id/test/:trigger", "/api/v4/projects/{private_project}/hooks/{hook}/test/push_events", &[], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/hooks/:hook_id/test/:trigger", "/api/v4/projects/{private_project}/hooks/{hook}/test/tag_push_events", &[], MASTERS_CREATE),
    entry("GET /api/v4/projects/:id/hooks/:hook_id/events", "/api/v4/projects/{private_project}/hooks/{hook}/events", &[], MASTERS),
    entry("POST /api/v4/projects/:id/hooks/:hook_id/events/:event_id/resend", "/api/v4/projects/{private_project}/hooks/{hook}/events/1/resend", &[], MASTERS_CREATE),
    entry("GET /api/v4/hooks", "/api/v4/hooks", &[], ADMIN),
    entry("POST /api/v4/hooks", "/api/v4/hooks", &[("url", "http://hook.example")], ADMIN_CREATES),
    entry("GET /api/v4/hooks/:id", "/api/v4/hooks/{system_hook}", &[], ADMIN),
    entry("PUT /api/v4/hooks/:id", "/api/v4/hooks/{system_hook}", &[("tag_push_events", "true")], ADMIN),
    entry("POST /api/v4/hooks/:id", "/api/v4/hooks/{system_hook}", &[], ADMIN_CREATES),
    entry("DELETE /api/v4/hooks/:id", "/api/v4/hooks/{system_hook}", &[], ADMIN_DELETES),
    entry("GET /api/v4/hooks/:id/events", "/api/v4/hooks/{system_hook}/events", &[], ADMIN),
    entry("POST /api/v4/hooks/:id/events/:event_id/resend", "/api/v4/hooks/{system_hook}/events/1/resend", &[], ADMIN_CREATES),

    entry("GET /api/v4/deploy_keys", "/api/v4/deploy_keys", &[], ADMIN),
    entry("GET /api/v4/projects/:id/deploy_keys", "/api/v4/projects/{private_project}/deploy_keys", &[], MASTERS),
    entry("GET /api/v4/projects/:id/deploy_keys", "/api/v4/projects/{public_project}/deploy_keys", &[], MASTERS_PUBLIC),
    entry("GET /api/v4/projects/:id/deploy_keys/:key_id", "/api/v4/projects/{private_project}/deploy_keys/{private_deploy_key}", &[], MASTERS),
    entry("GET /api/v4/projects/:id/deploy_keys/:key_id", "/api/v4/projects/{public_project}/deploy_keys/{public_deploy_key}", &[], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/deploy_keys", "/api/v4/projects/{private_project}/deploy_keys", NEW_KEY, MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/deploy_keys", "/api/v4/projects/{public_project}/deploy_keys", NEW_KEY, MASTERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/deploy_keys/:key_id", "/api/v4/projects/{private_project}/deploy_keys/{private_deploy_key}", &[("title", "renamed"), ("can_push", "true")], MASTERS),
    entry("PUT /api/v4/projects/:id/deploy_keys/:key_id", "/api/v4/projects/{public_project}/deploy_keys/{public_deploy_key}", &[("can_push", "true")], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/deploy_keys/:key_id/enable", "/api/v4/projects/{private_project}/deploy_keys/{private_deploy_key}/enable", &[], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/deploy_keys/:key_id/enable", "/api/v4/projects/{public_project}/deploy_keys/{public_deploy_key}/enable", &[], MASTERS_PUBLIC_CREATE),
    entry("DELETE /api/v4/projects/:id/deploy_keys/:key_id", "/api/v4/projects/{private_project}/deploy_keys/{private_deploy_key}", &[], MASTERS_DELETE),
    entry("DELETE /api/v4/projects/:id/deploy_keys/:key_id", "/api/v4/projects/{public_project}/deploy_keys/{public_deploy_key}", &[], MASTERS_PUBLIC_DELETE),

    entry("GET /api/v4/events", "/api/v4/events", &[], SIGNED_IN),
    entry("GET /api/v4/users/:id/events", "/api/v4/users/{user}/events", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/events", "/api/v4/projects/{private_project}/events", &[], MEMBERS),
    entry("GET /api/v4/projects/:id/events", "/api/v4/projects/{internal_project}/events", &[], INTERNAL),
    entry("GET /api/v4/projects/:id/events", "/api/v4/projects/{public_project}/events", &[], PUBLIC),

    entry("GET /api/v4/todos", "/api/v4/todos", &[], SIGNED_IN),
    entry("POST /api/v4/todos/mark_as_done", "/api/v4/todos/mark_as_done", &[], "401 401 204 204 204 204 204 204 204 204"),

    entry("GET /api/v4/search", "/api/v4/search?scope=projects&search=pro", &[], SIGNED_IN),
    entry("GET /api/v4/search", "/api/v4/search?scope=users&search=tar", &[], SIGNED_IN),
    entry("GET /api/v4/groups/:id/search", "/api/v4/groups/{private}/search?scope=projects&search=pro", &[], MEMBERS),
    entry("GET /api/v4/groups/:id/search", "/api/v4/groups/{public}/search?scope=projects&search=pro", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/search", "/api/v4/projects/{private_project}/search?scope=issues&search=t", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/search", "/api/v4/projects/{private_project}/search?scope=milestones&search=m", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/search", "/api/v4/projects/{private_project}/search?scope=users&search=m", &[], MEMBERS_SIGNED_IN),
    entry("GET /api/v4/projects/:id/search", "/api/v4/projects/{public_project}/search?scope=issues&search=t", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/search", "/api/v4/projects/{public_project}/search?scope=milestones&search=m", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/search", "/api/v4/projects/{public_project}/search?scope=merge_requests&search=t", &[], SIGNED_IN),
];

/// Requests whose status also depends on the object: whether a project is a fork, whose todo it is, and what is searched.
#[rustfmt::skip]
pub const PROJECTS_NARROWER: &[Entry] = &[
    entry("GET /api/v4/projects", "/api/v4/projects?membership=true", &[], SIGNED_IN),
    entry("GET /api/v4/projects", "/api/v4/projects?owned=true", &[], SIGNED_IN),
    entry("GET /api/v4/projects", "/api/v4/projects?starred=true", &[], SIGNED_IN),
    entry("DELETE /api/v4/projects/:id/fork", "/api/v4/projects/{private_project}/fork", &[], "401 401 404 404 403 403 403 403 404 404"),
    entry("DELETE /api/v4/projects/:id/fork", "/api/v4/projects/{public_project}/fork", &[], "401 401 403 403 403 403 403 403 404 404"),
    entry("POST /api/v4/todos/:id/mark_as_done", "/api/v4/todos/0/mark_as_done", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /api/v4/groups/:id/search", "/api/v4/groups/{private}/search?scope=issues&search=t", &[], MEMBERS),
    entry("GET /api/v4/groups/:id/search", "/api/v4/groups/{public}/search?scope=issues&search=t", &[], SIGNED_IN),
    entry("GET /api/v4/groups/:id/search", "/api/v4/groups/{private}/search?scope=users&search=m", &[], MEMBERS),
    entry("GET /api/v4/groups/:id/search", "/api/v4/groups/{public}/search?scope=users&search=m", &[], SIGNED_IN),
    entry("GET /api/v4/projects/:id/search", "/api/v4/projects/{private_project}/search?scope=merge_requests&search=t", &[], "401 401 404 404 403 200 200 200 200 200"),
];
