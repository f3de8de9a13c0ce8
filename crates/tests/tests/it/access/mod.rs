//! Sends every route as every role and compares the status with the access table. A route without an entry fails; so
//! does an entry that contradicts the declared policy of its route, and a rejected request or a read that changes the
//! database.

mod attributes;
mod award_table;
mod build_fixtures;
mod ci_table;
mod fixtures;
mod foreign;
mod merge_request_table;
mod responses;
mod table;

use std::collections::BTreeSet;

use holdfast_domain::policy::InstanceRole;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_http::{Access, Route};
use holdfast_tests::{Server, database};

use crate::ssh_keys::OTHER_ED25519;
use award_table::{AWARDS, AWARDS_NARROWER};
use ci_table::{CI, CI_NARROWER};
use fixtures::AccessFixture;
use merge_request_table::{MERGE_REQUESTS, MERGE_REQUESTS_NARROWER};
use table::{Entry, NARROWER, NEW_USER, ROLES, TABLE};

#[tokio::test]
async fn every_route_has_an_access_table_entry() {
    let routes: BTreeSet<String> = holdfast_http::api::v3::routes().list().iter().map(route_name).collect();
    let entries: BTreeSet<String> = all_entries().map(|entry| entry.route.to_owned()).collect();
    let missing: Vec<_> = routes.difference(&entries).collect();
    assert!(missing.is_empty(), "routes without an entry in the access table: {missing:?}");
    let gone: Vec<_> = entries.difference(&routes).collect();
    assert!(gone.is_empty(), "entries without a route: {gone:?}");
}

/// Token scope bypass (Gitea CVE-2026-28744, CVE-2026-24791): sends every route, with every way of passing a token,
/// with a token that has only the scope to read users.
#[tokio::test]
async fn token_scopes_are_enforced_on_every_route() {
    let server = Server::start().await;
    let reader = server.token(1.into(), &["read_user"]).await;
    let before = server.dump_database().await;
    for route in holdfast_http::api::v3::routes().list() {
        let path = [":user_id", ":uid", ":id", ":project_id", ":group_id", ":hook_id", ":query", ":ref"]
            .iter()
            .fold(route.path.to_owned(), |path, name| path.replace(name, "1"));
        let reads_users = route.method == "GET" && path.starts_with("/user") && !path.ends_with("/events");
        let nobody = server.anonymous();
        let request = |path: &str| nobody.request(route.method.as_str(), path);
        let ways = [
            request(&path).header("PRIVATE-TOKEN", &reader),
            request(&format!("{path}?private_token={reader}")),
            request(&path).form(&[("private_token", &reader)]),
        ];
        for way in ways {
            let answer = nobody.send(way).await;
            // The body of an upload is not read before authentication, so a token in it is not found.
            let is_unread = route.path.ends_with("/uploads") && answer.status == 401;
            let refused = answer.body["error"] == "insufficient_scope" || is_unread;
            assert_eq!(
                refused,
                !reads_users && route.access != Access::Anyone,
                "{}: {}",
                route_name(route),
                answer.text
            );
        }
    }
    assert_eq!(server.dump_database().await, before);
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
        let changing_reads = ["GET /projects/:id/repository/contributors", "GET /hooks/:id"];
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
        let is_unchanged = database::dump(&mut fixture.database).await == before;
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
    let routes = holdfast_http::api::v3::routes();
    for entry in TABLE.iter().chain(CI).chain(MERGE_REQUESTS).chain(AWARDS) {
        let route = routes.list().iter().find(|route| route_name(route) == entry.route).unwrap();
        for (role, status) in ROLES.iter().zip(entry.expected.split(' ')) {
            // A blocked user has no role. 404 for a child of one's own and a wrong password are not decided by
            // permissions.
            if *role == "blocked"
                || ["GET /user/", "DELETE /user/p", "POST /session"].iter().any(|it| entry.route.starts_with(it))
            {
                continue;
            }
            let allowed = is_allowed(route.access, entry.path, role);
            // Creating a group or a project also needs a flag or a limit of the account, which external users lack. A
            // member cannot request access.
            let lacks_flag = ["POST /groups", "POST /projects"].contains(&entry.route) && *role == "external"
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
    TABLE.iter().chain(NARROWER).chain(CI).chain(CI_NARROWER).chain(merge_requests).chain(awards)
}

fn route_name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}
