//! Every route as every role. A route without an entry fails; so does an entry that disagrees with the policy that the
//! route declares, and a refusal that leaves a trace.

use std::collections::BTreeSet;

use holdfast_app::accounts::user::UserChanges;
use holdfast_domain::policy::Standing;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_http::{Access, Route};
use holdfast_tests::{Client, Server, database, named};

use crate::ssh_keys::ANOTHER;

/// In the order of the columns below.
const ROLES: [&str; 10] = [
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

type Form = &'static [(&'static str, &'static str)];

/// `{user}`, `{key}`, `{email}` are somebody else's; `{private}`, `{internal}` and `{public}` are groups in which guest
/// to owner are members.
struct Entry {
    route: &'static str,
    path: &'static str,
    form: Form,
    /// Statuses in the order of [`ROLES`].
    expected: &'static str,
}

const fn entry(route: &'static str, path: &'static str, form: Form, expected: &'static str) -> Entry {
    Entry { route, path, form, expected }
}

const SIGNED_IN: &str = "401 401 200 200 200 200 200 200 200 200";
const CREATES: &str = "401 401 201 201 201 201 201 201 201 201";
const ADMIN: &str = "401 401 403 403 403 403 403 403 403 200";
const ADMIN_CREATES: &str = "401 401 403 403 403 403 403 403 403 201";
const MEMBERS: &str = "404 401 404 404 200 200 200 200 200 200";
const MEMBERS_SIGNED_IN: &str = "401 401 404 404 200 200 200 200 200 200";
const OWNERS: &str = "401 401 404 404 403 403 403 403 200 200";
const OWNERS_PUBLIC: &str = "401 401 403 403 403 403 403 403 200 200";

const NEW_USER: Form =
    &[("email", "newcomer@example.com"), ("password", "long enough"), ("username", "newcomer"), ("name", "N")];
const NEW_KEY: Form = &[("title", "t"), ("key", ANOTHER)];
const NEW_GROUP: Form = &[("name", "new group"), ("path", "new-group")];

#[rustfmt::skip]
const TABLE: &[Entry] = &[
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
    entry("PUT /groups/:id", "/groups/{public}", &[("visibility_level", "0")], OWNERS_PUBLIC),
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
];

#[tokio::test]
async fn every_route_has_an_entry() {
    let routes: BTreeSet<String> = holdfast_http::api::v3::routes().list().iter().map(name).collect();
    let entries: BTreeSet<String> = TABLE.iter().map(|entry| entry.route.to_owned()).collect();
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
        let path = route.path.replace(":user_id", "1").replace(":uid", "1").replace(":id", "1");
        let reads_users = route.method == "GET" && path.starts_with("/user");
        let nobody = server.anonymous();
        let request = |path: &str| nobody.request(route.method.as_str(), path);
        let ways = [
            request(&path).header("PRIVATE-TOKEN", &reader),
            request(&format!("{path}?private_token={reader}")),
            request(&path).form(&[("private_token", &reader)]),
        ];
        for way in ways {
            let answer = nobody.send(way).await;
            let refused = answer.body["error"] == "insufficient_scope";
            assert_eq!(refused, !reads_users && route.path != "/session", "{}: {}", name(route), answer.text);
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

/// Private things seen through lists, searches and headers (GitLab CVE-2024-6323, CVE-2026-6713): the same requests of an
/// outsider to two instances that differ by one private group give the same answers.
#[tokio::test]
async fn two_worlds_look_the_same_to_an_outsider() {
    let mut answers = Vec::new();
    for world in ["a", "b"] {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (_, eve) = server.user("eve").await;
        server.group(&ada, "public-team", 20).await;
        if world == "b" {
            let hidden = server.group(&ada, "secret-team", 0).await;
            ada.post(&format!("/groups/{hidden}/members"), &[("user_id", "1"), ("access_level", "50")]).await;
        }
        let mut seen = Vec::new();
        for path in [
            "/groups",
            "/groups?all_available=true",
            "/groups?all_available=true&search=team",
            "/groups/secret-team",
            "/groups/secret-team/members",
            "/groups/secret-team/members/2",
            "/groups/secret-team/projects",
            "/groups/6",
            "/groups/owned",
            "/namespaces",
            "/namespaces?search=secret",
            "/users",
            "/users/2",
        ] {
            let answer = eve.get(path).await;
            let headers: Vec<_> = answer
                .headers
                .iter()
                .filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()))
                .map(|(name, value)| format!("{name}: {value:?}"))
                .collect();
            seen.push((path, answer.status, answer.text, headers));
        }
        answers.push(seen);
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn every_role_gets_what_the_table_says() {
    let server = Server::start().await;
    let mut world = World::new(&server).await;
    let before = database::contents(&mut world.database).await;
    let mut wrong = Vec::new();
    for entry in TABLE {
        for (role, expected) in ROLES.iter().zip(entry.expected.split(' ')) {
            let status = world.send(entry, role).await;
            if status.to_string() != expected {
                wrong.push(format!("{} {} as {role}: {status} instead of {expected}", entry.route, entry.path));
            }
            if status < 400 {
                world.restore().await;
            } else if database::contents(&mut world.database).await != before {
                wrong.push(format!("{} {} as {role}: refused, but something changed", entry.route, entry.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the routes declare is what the table says happens, and so what `docs/permissions.md` promises.
#[test]
fn the_table_agrees_with_the_declared_policy() {
    let routes = holdfast_http::api::v3::routes();
    for entry in TABLE {
        let route = routes.list().iter().find(|route| name(route) == entry.route).unwrap();
        for (role, status) in ROLES.iter().zip(entry.expected.split(' ')) {
            // A blocked user is nobody at all; 404 of an own child and a wrong password say nothing about rights.
            if *role == "blocked"
                || ["GET /user/", "DELETE /user/p", "POST /session"].iter().any(|it| entry.route.starts_with(it))
            {
                continue;
            }
            let allowed = is_allowed(route.access, entry.path, role);
            // Creating a group also needs the account's flag, which external users lack.
            let lacks_flag = entry.route == "POST /groups" && *role == "external";
            assert_eq!(status.starts_with('2'), allowed && !lacks_flag, "{} as {role}", entry.route);
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
    let visibility =
        Visibility::ALL.into_iter().find(|visibility| path.contains(&format!("{{{}}}", visibility.word())));
    match access {
        Access::Anyone => true,
        Access::Instance(action) => action.allowed(standing),
        Access::Group(action) => action.allowed(visibility.expect("a group in the path"), standing, level),
    }
}

fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

/// The callers, and what they reach for.
struct World {
    clients: Vec<(&'static str, Client)>,
    ids: Vec<(&'static str, i64)>,
    database: sqlx::PgConnection,
}

impl World {
    async fn new(server: &Server) -> Self {
        let mut clients = vec![("anonymous", server.anonymous())];
        let mut members = Vec::new();
        for role in &ROLES[1..9] {
            let changes = UserChanges { external: Some(*role == "external"), ..named(role) };
            let (id, client) = server.user_with(changes).await;
            if let Some(level) = AccessLevel::ALL.into_iter().find(|level| level.word().eq_ignore_ascii_case(role)) {
                members.push((id.get(), level.level()));
            }
            clients.push((role, client));
        }
        clients.push(("administrator", server.admin.clone()));
        let mut database = server.database().await;
        // What `restore` brings back after each request.
        sqlx::raw_sql("update users set state = 'blocked' where username = 'blocked'; create schema kept;")
            .execute(&mut database)
            .await
            .unwrap();
        let (user, target) = server.user("target").await;
        let (member, _) = server.user("member").await;
        let key =
            target.post("/user/keys", &[("title", "t"), ("key", crate::ssh_keys::ED25519)]).await.body["id"].clone();
        let email = target.post("/user/emails", &[("email", "target2@example.com")]).await.body["id"].clone();
        let mut ids = vec![
            ("{user}", user.get()),
            ("{member}", member.get()),
            ("{key}", key.as_i64().unwrap()),
            ("{email}", email.as_i64().unwrap()),
        ];
        for (placeholder, path, level) in
            [("{private}", "private", 0), ("{internal}", "internal", 10), ("{public}", "public-group", 20)]
        {
            let group = server.group(&server.admin, path, level).await;
            ids.push((placeholder, group));
            for (user, level) in members.iter().chain([&(member.get(), 10)]) {
                sqlx::query("insert into group_members (group_id, user_id, access_level, created_at) values ($1, $2, $3, now())")
                    .bind(group)
                    .bind(user)
                    .bind(level)
                    .execute(&mut database)
                    .await
                    .unwrap();
            }
        }
        for table in TABLES {
            sqlx::QueryBuilder::<sqlx::Postgres>::new(format!("create table kept.{table} as table {table}"))
                .build()
                .execute(&mut database)
                .await
                .unwrap();
        }
        Self { clients, ids, database }
    }

    /// Puts every table back to how it was.
    async fn restore(&mut self) {
        use sqlx::Executor;
        let mut statements = format!("begin; truncate {};", TABLES.join(", "));
        for table in TABLES {
            statements += &format!(
                "do $$ begin execute (select format('insert into {table} (%1$s) select %1$s from kept.{table}',
                   string_agg(quote_ident(column_name), ', ')) from information_schema.columns
                 where table_schema = 'public' and table_name = '{table}' and is_generated = 'NEVER'); end $$;"
            );
        }
        statements += "commit;";
        self.database.execute(sqlx::QueryBuilder::<sqlx::Postgres>::new(statements).into_sql()).await.unwrap();
    }

    async fn send(&self, entry: &Entry, role: &str) -> u16 {
        let client = &self.clients.iter().find(|(name, _)| *name == role).unwrap().1;
        let fill = |text: &str| {
            self.ids.iter().fold(text.to_owned(), |text, (placeholder, id)| text.replace(placeholder, &id.to_string()))
        };
        let method = entry.route.split(' ').next().unwrap();
        let form: Vec<(&str, String)> = entry.form.iter().map(|(name, value)| (*name, fill(value))).collect();
        client.send(client.request(method, &fill(entry.path)).form(&form)).await.status
    }
}

/// In an order in which rows can be inserted.
const TABLES: [&str; 7] = ["users", "emails", "identities", "ssh_keys", "tokens", "namespaces", "group_members"];
