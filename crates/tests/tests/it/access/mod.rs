//! Every route as every role. A route without an entry fails; so does an entry that disagrees with the policy that the
//! route declares, and a refusal or a read that leaves a trace.

mod attributes;
mod built;
mod ci_table;
mod foreign;
mod responses;
mod table;
mod world;

use std::collections::BTreeSet;

use holdfast_domain::policy::Standing;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_http::{Access, Route};
use holdfast_tests::{Server, database};

use crate::ssh_keys::ANOTHER;
use ci_table::{CI, CI_NARROWER};
use table::{Entry, NARROWER, NEW_USER, ROLES, TABLE};
use world::World;

#[tokio::test]
async fn every_route_has_an_entry() {
    let routes: BTreeSet<String> = holdfast_http::api::v3::routes().list().iter().map(name).collect();
    let entries: BTreeSet<String> = all().map(|entry| entry.route.to_owned()).collect();
    let missing: Vec<_> = routes.difference(&entries).collect();
    assert!(missing.is_empty(), "routes without an entry in the access table: {missing:?}");
    let gone: Vec<_> = entries.difference(&routes).collect();
    assert!(gone.is_empty(), "entries without a route: {gone:?}");
}

/// Token scope bypass by another door (Gitea CVE-2026-28744, CVE-2026-24791): every route, by every way of sending a
/// token, with a token that may only read users.
#[tokio::test]
async fn a_narrow_scope_is_narrow_at_every_door() {
    let server = Server::start().await;
    let reader = server.token(1.into(), &["read_user"]).await;
    let before = server.contents().await;
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
            // A form with a file is not read before it is known who sends it.
            let is_unread = route.path.ends_with("/uploads") && answer.status == 401;
            let refused = answer.body["error"] == "insufficient_scope" || is_unread;
            assert_eq!(refused, !reads_users && route.access != Access::Anyone, "{}: {}", name(route), answer.text);
        }
    }
    assert_eq!(server.contents().await, before);
}

/// Mass assignment (Gogs GHSA-4565-r4x7-hg8j, GHSA-268j-37xf-pp52): privileged attributes sent along by somebody who
/// has no right to them.
#[tokio::test]
async fn privileged_attributes_are_not_taken_from_everybody() {
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
    let before = server.contents().await;
    ada.post("/user/emails", &with(&[("email", "a@b.example")])).await;
    ada.post("/user/keys", &with(&[("title", "t"), ("key", ANOTHER)])).await;
    ada.post("/user/personal_access_tokens", &with(&[("name", "n")])).await;
    ada.put(&format!("/groups/{group}"), &with(&[("description", "d")])).await;
    assert_eq!(ada.post("/users", &with(NEW_USER)).await.status, 403);
    assert_eq!(ada.put(&format!("/users/{id}"), &with(&[])).await.status, 403);
    let after = server.contents().await;
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
async fn every_role_gets_what_the_table_says() {
    let server = Server::start().await;
    let mut world = World::new(&server).await;
    let before = database::contents(&mut world.database).await;
    let mut wrong = Vec::new();
    for entry in all() {
        // What is counted when it is asked for is no change that anybody could tell; and a hook is tried by looking at it.
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
            check(role, world.send(entry, role).await, expected);
        }
        let is_unchanged = database::contents(&mut world.database).await == before;
        for (role, expected) in changes {
            check(role, world.send(entry, role).await, expected);
            world.restore().await;
        }
        if !is_unchanged {
            wrong.push(format!("{} {}: read or refused, but something changed", entry.route, entry.path));
            world.restore().await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the routes declare is what the table says happens, and so what `docs/permissions.md` promises.
#[test]
fn the_table_agrees_with_the_declared_policy() {
    let routes = holdfast_http::api::v3::routes();
    for entry in TABLE.iter().chain(CI) {
        let route = routes.list().iter().find(|route| name(route) == entry.route).unwrap();
        for (role, status) in ROLES.iter().zip(entry.expected.split(' ')) {
            // A blocked user is nobody at all; 404 of an own child and a wrong password say nothing about rights.
            if *role == "blocked"
                || ["GET /user/", "DELETE /user/p", "POST /session"].iter().any(|it| entry.route.starts_with(it))
            {
                continue;
            }
            let allowed = is_allowed(route.access, entry.path, role);
            // Creating a group or a project also needs the account's flag or limit, which external users lack; and who
            // is a member already cannot ask for access.
            let lacks_flag = ["POST /groups", "POST /projects"].contains(&entry.route) && *role == "external"
                || entry.route.starts_with("POST") && entry.route.ends_with("/access_requests") && status == "403";
            assert_eq!(status.starts_with('2') || status == "304", allowed && !lacks_flag, "{} as {role}", entry.route);
        }
    }
}

fn is_allowed(access: Access, path: &str, role: &str) -> bool {
    let standing = match role {
        "anonymous" => Standing::Anonymous,
        "external" => Standing::External,
        "administrator" => Standing::Administrator,
        _ => Standing::Ordinary,
    };
    let level = AccessLevel::ALL.into_iter().find(|level| level.word().eq_ignore_ascii_case(role));
    let visibility = Visibility::ALL.into_iter().find(|visibility| path.contains(&format!("{{{}", visibility.word())));
    match access {
        Access::Anyone => true,
        Access::Instance(action) => action.allowed(standing),
        Access::Group(action) => action.allowed(visibility.expect("a group in the path"), standing, level),
        Access::Project(action) => action.allowed(visibility.expect("a project in the path"), standing, level),
    }
}

fn all() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().chain(NARROWER).chain(CI).chain(CI_NARROWER)
}

fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}
