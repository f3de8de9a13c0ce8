//! The access table of branches, tags, releases, commits and files in version 4.

use super::super::table::{
    CODE, CREATES, DEVELOPERS, DEVELOPERS_CREATE, DEVELOPERS_PUBLIC, DEVELOPERS_PUBLIC_CREATE, Entry, MASTERS,
    MASTERS_CREATE, MASTERS_PUBLIC, PUBLIC, REPORTERS_CREATE, entry,
};

const DEVELOPERS_DELETE: &str = "401 401 404 404 403 403 204 204 204 204";
const DEVELOPERS_PUBLIC_DELETE: &str = "401 401 403 403 403 403 204 204 204 204";
const DEVELOPERS_ACCEPTED: &str = "401 401 404 404 403 403 202 202 202 202";
const DEVELOPERS_PUBLIC_ACCEPTED: &str = "401 401 403 403 403 403 202 202 202 202";
const MASTERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 201 201 201";
const MASTERS_DELETE: &str = "401 401 404 404 403 403 403 204 204 204";
const MASTERS_PUBLIC_DELETE: &str = "401 401 403 403 403 403 403 204 204 204";

#[rustfmt::skip]
pub const REPOSITORY: &[Entry] = &[
    entry("GET /api/v4/projects/:id/repository/branches", "/api/v4/projects/{private_project}/repository/branches", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/branches", "/api/v4/projects/{public_project}/repository/branches", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/branches", "/api/v4/projects/{public_project}/repository/branches?search=^t&sort=updated_desc", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/branches/:branch", "/api/v4/projects/{private_project}/repository/branches/main", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/branches/:branch", "/api/v4/projects/{public_project}/repository/branches/main", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/repository/branches", "/api/v4/projects/{private_project}/repository/branches", &[("branch", "new"), ("ref", "main")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/repository/branches", "/api/v4/projects/{public_project}/repository/branches", &[("branch", "new"), ("ref", "main")], DEVELOPERS_PUBLIC_CREATE),
    entry("DELETE /api/v4/projects/:id/repository/branches/:branch", "/api/v4/projects/{private_project}/repository/branches/topic", &[], DEVELOPERS_DELETE),
    entry("DELETE /api/v4/projects/:id/repository/branches/:branch", "/api/v4/projects/{public_project}/repository/branches/topic", &[], DEVELOPERS_PUBLIC_DELETE),
    entry("DELETE /api/v4/projects/:id/repository/merged_branches", "/api/v4/projects/{private_project}/repository/merged_branches", &[], DEVELOPERS_ACCEPTED),
    entry("DELETE /api/v4/projects/:id/repository/merged_branches", "/api/v4/projects/{public_project}/repository/merged_branches", &[], DEVELOPERS_PUBLIC_ACCEPTED),

    entry("GET /api/v4/projects/:id/protected_branches", "/api/v4/projects/{private_project}/protected_branches", &[], MASTERS),
    entry("GET /api/v4/projects/:id/protected_branches", "/api/v4/projects/{public_project}/protected_branches", &[], MASTERS_PUBLIC),
    entry("GET /api/v4/projects/:id/protected_branches/:name", "/api/v4/projects/{private_project}/protected_branches/main", &[], MASTERS),
    entry("GET /api/v4/projects/:id/protected_branches/:name", "/api/v4/projects/{public_project}/protected_branches/main", &[], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/protected_branches", "/api/v4/projects/{private_project}/protected_branches", &[("name", "topic"), ("push_access_level", "30")], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/protected_branches", "/api/v4/projects/{public_project}/protected_branches", &[("name", "topic"), ("push_access_level", "30")], MASTERS_PUBLIC_CREATE),
    entry("PATCH /api/v4/projects/:id/protected_branches/:name", "/api/v4/projects/{private_project}/protected_branches/main", &[("merge_access_level", "30")], MASTERS),
    entry("PATCH /api/v4/projects/:id/protected_branches/:name", "/api/v4/projects/{public_project}/protected_branches/main", &[("merge_access_level", "30")], MASTERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/protected_branches/:name", "/api/v4/projects/{private_project}/protected_branches/main", &[], MASTERS_DELETE),
    entry("DELETE /api/v4/projects/:id/protected_branches/:name", "/api/v4/projects/{public_project}/protected_branches/main", &[], MASTERS_PUBLIC_DELETE),

    entry("GET /api/v4/projects/:id/repository/tags", "/api/v4/projects/{private_project}/repository/tags", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/tags", "/api/v4/projects/{public_project}/repository/tags", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/tags/:tag_name", "/api/v4/projects/{private_project}/repository/tags/noted", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/tags/:tag_name", "/api/v4/projects/{public_project}/repository/tags/noted", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/repository/tags", "/api/v4/projects/{private_project}/repository/tags", &[("tag_name", "v1"), ("ref", "main"), ("message", "m")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/repository/tags", "/api/v4/projects/{public_project}/repository/tags", &[("tag_name", "v1"), ("ref", "main"), ("message", "m")], DEVELOPERS_PUBLIC_CREATE),

    entry("GET /api/v4/projects/:id/releases", "/api/v4/projects/{private_project}/releases", &[], CODE),
    entry("GET /api/v4/projects/:id/releases", "/api/v4/projects/{public_project}/releases", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/releases/:tag_name", "/api/v4/projects/{private_project}/releases/noted", &[], CODE),
    entry("GET /api/v4/projects/:id/releases/:tag_name", "/api/v4/projects/{public_project}/releases/noted", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/releases/permalink/latest", "/api/v4/projects/{private_project}/releases/permalink/latest", &[], CODE),
    entry("GET /api/v4/projects/:id/releases/permalink/latest", "/api/v4/projects/{public_project}/releases/permalink/latest", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/releases", "/api/v4/projects/{private_project}/releases", &[("tag_name", "plain"), ("description", "d")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/releases", "/api/v4/projects/{public_project}/releases", &[("tag_name", "plain"), ("description", "d")], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/releases", "/api/v4/projects/{private_project}/releases", &[("tag_name", "v1"), ("ref", "main"), ("name", "One")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/releases", "/api/v4/projects/{public_project}/releases", &[("tag_name", "v1"), ("ref", "main"), ("name", "One")], DEVELOPERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/releases/:tag_name", "/api/v4/projects/{private_project}/releases/noted", &[("description", "d")], DEVELOPERS),
    entry("PUT /api/v4/projects/:id/releases/:tag_name", "/api/v4/projects/{public_project}/releases/noted", &[("description", "d")], DEVELOPERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/releases/:tag_name", "/api/v4/projects/{private_project}/releases/noted", &[], DEVELOPERS),
    entry("DELETE /api/v4/projects/:id/releases/:tag_name", "/api/v4/projects/{public_project}/releases/noted", &[], DEVELOPERS_PUBLIC),
    entry("GET /api/v4/projects/:id/releases/:tag_name/assets/links", "/api/v4/projects/{private_project}/releases/noted/assets/links", &[], CODE),
    entry("GET /api/v4/projects/:id/releases/:tag_name/assets/links", "/api/v4/projects/{public_project}/releases/noted/assets/links", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/releases/:tag_name/assets/links/:link_id", "/api/v4/projects/{private_project}/releases/noted/assets/links/{private_link}", &[], CODE),
    entry("GET /api/v4/projects/:id/releases/:tag_name/assets/links/:link_id", "/api/v4/projects/{public_project}/releases/noted/assets/links/{public_link}", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/releases/:tag_name/assets/links", "/api/v4/projects/{private_project}/releases/noted/assets/links", &[("name", "n"), ("url", "https://a.example/n")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/releases/:tag_name/assets/links", "/api/v4/projects/{public_project}/releases/noted/assets/links", &[("name", "n"), ("url", "https://a.example/n")], DEVELOPERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/releases/:tag_name/assets/links/:link_id", "/api/v4/projects/{private_project}/releases/noted/assets/links/{private_link}", &[("link_type", "image")], DEVELOPERS),
    entry("PUT /api/v4/projects/:id/releases/:tag_name/assets/links/:link_id", "/api/v4/projects/{public_project}/releases/noted/assets/links/{public_link}", &[("link_type", "image")], DEVELOPERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/releases/:tag_name/assets/links/:link_id", "/api/v4/projects/{private_project}/releases/noted/assets/links/{private_link}", &[], DEVELOPERS),
    entry("DELETE /api/v4/projects/:id/releases/:tag_name/assets/links/:link_id", "/api/v4/projects/{public_project}/releases/noted/assets/links/{public_link}", &[], DEVELOPERS_PUBLIC),

    entry("GET /api/v4/projects/:id/repository/tree", "/api/v4/projects/{private_project}/repository/tree", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/tree", "/api/v4/projects/{public_project}/repository/tree", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/tree", "/api/v4/projects/{private_project}/repository/tree?ref=main&recursive=true&pagination=keyset&per_page=1", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/tree", "/api/v4/projects/{public_project}/repository/tree?ref=main&recursive=true&pagination=keyset&per_page=1", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/blobs/:sha", "/api/v4/projects/{private_project}/repository/blobs/e965047ad7c57865823c7d992b1d046ea66edf78", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/blobs/:sha", "/api/v4/projects/{public_project}/repository/blobs/e965047ad7c57865823c7d992b1d046ea66edf78", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/blobs/:sha/raw", "/api/v4/projects/{private_project}/repository/blobs/e965047ad7c57865823c7d992b1d046ea66edf78/raw", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/blobs/:sha/raw", "/api/v4/projects/{public_project}/repository/blobs/e965047ad7c57865823c7d992b1d046ea66edf78/raw", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/compare", "/api/v4/projects/{private_project}/repository/compare?from=topic&to=main", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/compare", "/api/v4/projects/{public_project}/repository/compare?from=topic&to=main", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/merge_base", "/api/v4/projects/{private_project}/repository/merge_base?refs=topic,main", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/merge_base", "/api/v4/projects/{public_project}/repository/merge_base?refs=topic,main", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/contributors", "/api/v4/projects/{private_project}/repository/contributors", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/contributors", "/api/v4/projects/{public_project}/repository/contributors", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/archive", "/api/v4/projects/{private_project}/repository/archive", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive", "/api/v4/projects/{public_project}/repository/archive", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/archive.tar.gz", "/api/v4/projects/{private_project}/repository/archive.tar.gz", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.tgz", "/api/v4/projects/{private_project}/repository/archive.tgz", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.gz", "/api/v4/projects/{private_project}/repository/archive.gz", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.tar.bz2", "/api/v4/projects/{private_project}/repository/archive.tar.bz2", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.tbz", "/api/v4/projects/{private_project}/repository/archive.tbz", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.tbz2", "/api/v4/projects/{private_project}/repository/archive.tbz2", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.tb2", "/api/v4/projects/{private_project}/repository/archive.tb2", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.bz2", "/api/v4/projects/{private_project}/repository/archive.bz2", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.tar", "/api/v4/projects/{private_project}/repository/archive.tar", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/archive.zip", "/api/v4/projects/{private_project}/repository/archive.zip", &[], CODE),

    entry("GET /api/v4/projects/:id/repository/commits", "/api/v4/projects/{private_project}/repository/commits", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/commits", "/api/v4/projects/{public_project}/repository/commits", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/commits/:sha", "/api/v4/projects/{private_project}/repository/commits/main", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/commits/:sha", "/api/v4/projects/{public_project}/repository/commits/main", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/diff", "/api/v4/projects/{private_project}/repository/commits/main/diff", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/diff", "/api/v4/projects/{public_project}/repository/commits/main/diff", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/refs", "/api/v4/projects/{private_project}/repository/commits/main/refs", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/refs", "/api/v4/projects/{public_project}/repository/commits/main/refs", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/merge_requests", "/api/v4/projects/{private_project}/repository/commits/main/merge_requests", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/merge_requests", "/api/v4/projects/{public_project}/repository/commits/main/merge_requests", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/comments", "/api/v4/projects/{private_project}/repository/commits/main/comments", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/comments", "/api/v4/projects/{public_project}/repository/commits/main/comments", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/repository/commits/:sha/comments", "/api/v4/projects/{private_project}/repository/commits/main/comments", &[("note", "Why?")], REPORTERS_CREATE),
    entry("POST /api/v4/projects/:id/repository/commits/:sha/comments", "/api/v4/projects/{public_project}/repository/commits/main/comments", &[("note", "Why?")], CREATES),
    entry("POST /api/v4/projects/:id/repository/commits/:sha/cherry_pick", "/api/v4/projects/{private_project}/repository/commits/built/cherry_pick", &[("branch", "topic")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/repository/commits/:sha/cherry_pick", "/api/v4/projects/{public_project}/repository/commits/built/cherry_pick", &[("branch", "topic")], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/repository/commits", "/api/v4/projects/{private_project}/repository/commits", &[("branch", "topic"), ("commit_message", "m"), ("actions[][action]", "create"), ("actions[][file_path]", "new"), ("actions[][content]", "c")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/repository/commits", "/api/v4/projects/{public_project}/repository/commits", &[("branch", "topic"), ("commit_message", "m"), ("actions[][action]", "create"), ("actions[][file_path]", "new"), ("actions[][content]", "c")], DEVELOPERS_PUBLIC_CREATE),

    entry("GET /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{private_project}/repository/files/README.md?ref=main", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{public_project}/repository/files/README.md?ref=main", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/files/:file_path/raw", "/api/v4/projects/{private_project}/repository/files/README.md/raw?ref=main", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/files/:file_path/raw", "/api/v4/projects/{public_project}/repository/files/README.md/raw?ref=main", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/repository/files/:file_path/blame", "/api/v4/projects/{private_project}/repository/files/README.md/blame?ref=main", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/files/:file_path/blame", "/api/v4/projects/{public_project}/repository/files/README.md/blame?ref=main", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{private_project}/repository/files/new", &[("branch", "fresh"), ("start_branch", "main"), ("commit_message", "m"), ("content", "c")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{public_project}/repository/files/new", &[("branch", "fresh"), ("start_branch", "main"), ("commit_message", "m"), ("content", "c")], DEVELOPERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{private_project}/repository/files/README.md", &[("branch", "fresh"), ("start_branch", "main"), ("commit_message", "m"), ("content", "c")], DEVELOPERS),
    entry("PUT /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{public_project}/repository/files/README.md", &[("branch", "fresh"), ("start_branch", "main"), ("commit_message", "m"), ("content", "c")], DEVELOPERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{private_project}/repository/files/README.md", &[("branch", "fresh"), ("start_branch", "main"), ("commit_message", "m")], DEVELOPERS_DELETE),
    entry("DELETE /api/v4/projects/:id/repository/files/:file_path", "/api/v4/projects/{public_project}/repository/files/README.md", &[("branch", "fresh"), ("start_branch", "main"), ("commit_message", "m")], DEVELOPERS_PUBLIC_DELETE),
];

/// Developers create tags, and only masters delete them.
#[rustfmt::skip]
pub const REPOSITORY_NARROWER: &[Entry] = &[
    entry("DELETE /api/v4/projects/:id/repository/tags/:tag_name", "/api/v4/projects/{private_project}/repository/tags/noted", &[], MASTERS_DELETE),
    entry("DELETE /api/v4/projects/:id/repository/tags/:tag_name", "/api/v4/projects/{public_project}/repository/tags/noted", &[], MASTERS_PUBLIC_DELETE),
];
