//! Sends every route as every role and compares the status with the access table. A route without an entry fails; so
//! does an entry that contradicts the declared policy of its route, and a rejected request or a read that changes the
//! database.

mod attributes;
mod award_table;
mod build_fixtures;
mod ci_table;
mod deploy_key_table;
mod discussion_table;
mod fixtures;
mod foreign;
mod merge_request_table;
mod responses;
mod table;
mod todo_table;
mod v4;

use std::collections::BTreeSet;

use holdfast_domain::policy::InstanceRole;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_http::{Access, ApiVersion, Route, api};
use holdfast_tests::{Server, database};

use crate::ssh_keys::OTHER_ED25519;
use award_table::{AWARDS, AWARDS_NARROWER};
use ci_table::{CI, CI_NARROWER};
use deploy_key_table::DEPLOY_KEYS;
use discussion_table::{DISCUSSIONS, DISCUSSIONS_NARROWER};
use fixtures::AccessFixture;
use merge_request_table::{MERGE_REQUESTS, MERGE_REQUESTS_NARROWER};
use table::{Entry, NARROWER, NEW_USER, ROLES, TABLE};
use todo_table::{TODOS, TODOS_NARROWER};

#[tokio::test]
async fn every_route_has_an_access_table_entry() {
    let routes: BTreeSet<String> = all_routes().iter().map(route_name).collect();
    let entries: BTreeSet<String> = all_entries().map(|entry| entry.route.to_owned()).collect();
    let missing: Vec<_> = routes.difference(&entries).collect();
    assert!(missing.is_empty(), "routes without an entry in the access table: {missing:?}");
    let gone: Vec<_> = entries.difference(&routes).collect();
    assert!(gone.is_empty(), "entries without a route: {gone:?}");
}

/// Token scope bypass (Gitea CVE-2026-28744, CVE-2026-24791): sends every route, with every way of passing a token,
/// with tokens that have only one of the narrow scopes.
#[tokio::test]
async fn token_scopes_are_enforced_on_every_route() {
    let server = Server::start().await;
    for scope in ["read_user", "read_api", "read_repository", "write_repository", "sudo"] {
        let token = server.token(1.into(), &[scope]).await;
        let before = server.dump_database().await;
        for route in all_routes() {
            let path = route_path(&route);
            let fill = |part| if str::starts_with(part, ":") { "1" } else { part };
            let path = path.split('/').map(fill).collect::<Vec<_>>().join("/");
            let is_allowed = route.access == Access::Anyone || is_in_scope(&route, scope);
            let nobody = server.anonymous();
            let request = |path: &str| nobody.request(route.method.as_str(), path);
            let mut ways = vec![
                request(&path).header("PRIVATE-TOKEN", &token),
                request(&format!("{path}?private_token={token}")),
                request(&path).form(&[("private_token", &token)]),
            ];
            if route.version == ApiVersion::V4 {
                ways.push(request(&path).bearer_auth(&token));
                ways.push(request(&format!("{path}?access_token={token}")));
            }
            for way in ways {
                let answer = nobody.send(way).await;
                // The body of an upload is not read before authentication, so a token in it is not found.
                let is_unread = route.takes_file && answer.status == 401;
                let refused = answer.body["error"] == "insufficient_scope" || is_unread;
                assert_eq!(refused, !is_allowed, "{scope}: {}: {}", route_name(&route), answer.text);
            }
        }
        assert_eq!(server.dump_database().await, before);
    }
}

/// Returns whether a token that has only this scope can call a route.
fn is_in_scope(route: &Route, scope: &str) -> bool {
    let is_account = ["user", "users"].contains(&route.path.split('/').nth(1).unwrap_or_default());
    let is_account = is_account && !route.path.ends_with("/events");
    let is_content = ["files", "archive", "archive.:format", "blobs", "tree"]
        .iter()
        .any(|part| route.path.starts_with(&format!("/projects/:id/repository/{part}")));
    // In version 3, reading a system hook tests it.
    let is_read = route.method == "GET" && (route.version, route.path) != (ApiVersion::V3, "/hooks/:id");
    match scope {
        "read_user" => is_read && is_account,
        "read_api" => is_read,
        "read_repository" | "write_repository" => is_read && is_content && route.version == ApiVersion::V4,
        _ => false,
    }
}

/// Mass assignment (Gogs GHSA-4565-r4x7-hg8j, GHSA-268j-37xf-pp52): a regular user sends privileged attributes.
#[tokio::test]
async fn privileged_attributes_are_ignored_from_ordinary_users() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 0).await;
    let privileged = [
        ("admin", "true"),
        ("is_admin", "true"),
        ("external", "false"),
        ("state", "active"),
        ("projects_limit", "9999"),
        ("owner_id", "1"),
        ("user_id", "1"),
        ("creator_id", "1"),
        ("kind", "user"),
        ("is_primary", "true"),
        ("scopes_all", "true"),
        ("fingerprint", "x"),
        ("created_at", "1999-01-01"),
        ("confirmed_at", ""),
        ("digest", "x"),
    ];
    let with = |own: &[(&'static str, &'static str)]| [own, &privileged[..]].concat();
    let before = server.dump_database().await;
    ada.post("/user/emails", &with(&[("email", "a@b.example")])).await;
    ada.post("/user/keys", &with(&[("title", "t"), ("key", OTHER_ED25519)])).await;
    ada.post("/user/personal_access_tokens", &with(&[("name", "n")])).await;
    ada.put(&format!("/groups/{group}"), &with(&[("description", "d")])).await;
    assert_eq!(ada.post("/users", &with(NEW_USER)).await.status, 403);
    assert_eq!(ada.put(&format!("/users/{id}"), &with(&[])).await.status, 403);
    let after = server.dump_database().await;
    assert_eq!(after["users"], before["users"]);
    assert_eq!(after["group_members"], before["group_members"]);
    let mine = |table: &str| {
        let rows = after[table].as_array().unwrap().iter();
        rows.filter(|row| row["user_id"] == id.get() || row["email"] == "a@b.example").cloned().collect::<Vec<_>>()
    };
    assert_eq!(mine("emails").iter().filter(|row| row["is_primary"] == false).count(), 1);
    assert_eq!(mine("ssh_keys").len(), 1);
    assert_eq!(mine("tokens").len(), 2);
}

#[tokio::test]
async fn every_role_gets_the_status_in_the_access_table() {
    let server = Server::start().await;
    let mut fixture = AccessFixture::new(&server).await;
    let before = database::dump(&mut fixture.database).await;
    let mut wrong = Vec::new();
    for entry in all_entries() {
        // These reads do write: contributors are counted on request, and reading a system hook tests it.
        let changing_reads = [
            "GET /projects/:id/repository/contributors",
            "GET /api/v4/projects/:id/repository/contributors",
            "GET /hooks/:id",
        ];
        let may_change = !entry.route.starts_with("GET ") || changing_reads.contains(&entry.route);
        let is_change = |expected: &str| may_change && expected < "304";
        let (changes, others): (Vec<_>, Vec<_>) =
            ROLES.iter().zip(entry.expected.split(' ')).partition(|(_, expected)| is_change(expected));
        let mut check = |role: &str, status: u16, expected: &str| {
            if status.to_string() != expected {
                wrong.push(format!("{} {} as {role}: {status} instead of {expected}", entry.route, entry.path));
            }
        };
        for (role, expected) in others {
            check(role, fixture.send_status(entry, role).await, expected);
        }
        let is_unchanged = !fixture.is_written().await || database::dump(&mut fixture.database).await == before;
        for (role, expected) in changes {
            check(role, fixture.send_status(entry, role).await, expected);
            fixture.restore().await;
        }
        if !is_unchanged {
            wrong.push(format!("{} {}: read or rejected, but something changed", entry.route, entry.path));
            fixture.restore().await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The access table agrees with the policies that the routes declare, from which `docs/permissions.md` is generated.
#[test]
fn the_access_table_matches_the_declared_policy() {
    let routes = all_routes();
    let v3 =
        TABLE.iter().chain(CI).chain(MERGE_REQUESTS).chain(AWARDS).chain(TODOS).chain(DISCUSSIONS).chain(DEPLOY_KEYS);
    for entry in v3.chain(v4::TABLES.into_iter().flatten()) {
        let route = routes.iter().find(|route| route_name(route) == entry.route).expect(entry.route);
        for (role, status) in ROLES.iter().zip(entry.expected.split(' ')) {
            // A blocked user has no role. 404 for a child of one's own and a wrong password are not decided by
            // permissions.
            let is_own_child = ["GET /user/", "DELETE /user/", "POST /session"];
            if *role == "blocked" || is_own_child.iter().any(|it| entry.route.replace("/api/v4", "").starts_with(it)) {
                continue;
            }
            let allowed = is_allowed(route.access, entry.path, role);
            // Creating a group or a project also needs a flag or a limit of the account, which external users lack. A
            // member cannot request access.
            let name = entry.route.replace("/api/v4", "");
            let lacks_flag = ["POST /groups", "POST /projects", "POST /projects/import"].contains(&name.as_str())
                && *role == "external"
                || entry.route.starts_with("POST") && entry.route.ends_with("/access_requests") && status == "403";
            assert_eq!(status.starts_with('2') || status == "304", allowed && !lacks_flag, "{} as {role}", entry.route);
        }
    }
}

fn is_allowed(access: Access, path: &str, role: &str) -> bool {
    let instance_role = match role {
        "anonymous" => InstanceRole::Anonymous,
        "external" => InstanceRole::External,
        "administrator" => InstanceRole::Administrator,
        _ => InstanceRole::Regular,
    };
    let level = AccessLevel::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(role));
    let visibility =
        Visibility::ALL.into_iter().find(|visibility| path.contains(&format!("{{{}", visibility.as_str())));
    match access {
        Access::Anyone => true,
        Access::Instance(action) => action.is_allowed(instance_role),
        Access::Group(action) => action.is_allowed(visibility.expect("a group in the path"), instance_role, level),
        Access::Project(action) => action.is_allowed(visibility.expect("a project in the path"), instance_role, level),
    }
}

fn all_entries() -> impl Iterator<Item = &'static Entry> {
    let merge_requests = MERGE_REQUESTS.iter().chain(MERGE_REQUESTS_NARROWER);
    let awards = AWARDS.iter().chain(AWARDS_NARROWER);
    let others = TODOS.iter().chain(TODOS_NARROWER).chain(DISCUSSIONS).chain(DISCUSSIONS_NARROWER).chain(DEPLOY_KEYS);
    let v3 =
        TABLE.iter().chain(NARROWER).chain(CI).chain(CI_NARROWER).chain(merge_requests).chain(awards).chain(others);
    v3.chain(v4::TABLES.into_iter().flatten()).chain(v4::NARROWER.into_iter().flatten())
}

/// Returns the routes of all versions.
pub fn all_routes() -> Vec<Route> {
    ApiVersion::ALL.into_iter().flat_map(|version| api::routes(version).into_list()).collect()
}

/// Returns the path as clients of the tests take it: the prefix of version 3 is left out.
pub fn route_path(route: &Route) -> String {
    match route.version {
        ApiVersion::V3 => route.path.to_owned(),
        ApiVersion::V4 => format!("{}{}", route.version.prefix(), route.path),
    }
}

fn route_name(route: &Route) -> String {
    format!("{} {}", route.method, route_path(route))
}
