//! Access tokens of projects and groups with their bots, and impersonation tokens.

use chrono::TimeDelta;
use holdfast_domain::ids::UserId;
use holdfast_tests::{Client, PASSWORD, Server, WorkTree};
use serde_json::{Value, json};

use crate::jobs::sweep;
use crate::projects::add_member;

use crate::ssh_keys::{ED25519, OTHER_ED25519};

const NEW_USER: [(&str, &str); 4] =
    [("email", "new@b.example"), ("password", "long enough"), ("username", "newcomer"), ("name", "N")];

/// Ada's private project `ada/p` with a commit, and her private group `team`. Bob is a developer of both.
struct Fixture {
    server: Server,
    ada_id: UserId,
    ada: Client,
    bob_id: UserId,
    bob: Client,
    project: i64,
    group: i64,
    tree: WorkTree,
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (ada_id, ada) = server.user("ada").await;
        let (bob_id, bob) = server.user("bob").await;
        let project = server.project(&ada, "p", 0).await;
        let group = server.group(&ada, "team", 0).await;
        add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
        add_member(&ada, &format!("/groups/{group}"), bob_id.get(), 30).await;
        let tree = WorkTree::new().await;
        tree.commit("f", b"one\n", "first").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
        Self { server, ada_id, ada, bob_id, bob, project, group, tree }
    }

    fn of_project(&self) -> String {
        format!("/api/v4/projects/{}/access_tokens", self.project)
    }

    fn of_group(&self) -> String {
        format!("/api/v4/groups/{}/access_tokens", self.group)
    }

    /// Creates a token of the project, and returns its body and a client that uses it.
    async fn create(&self, scope: &str, level: &str) -> (Value, Client) {
        let form = [("name", "deployer"), ("scopes[]", scope), ("access_level", level)];
        let created = self.ada.post(&self.of_project(), &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
        let client = self.server.with_token(created.body["token"].as_str().unwrap());
        (created.body, client)
    }

    async fn count_bots(&self) -> i64 {
        let query = "select count(*) from users where bot";
        sqlx::query_scalar(query).fetch_one(&mut self.server.database().await).await.unwrap()
    }
}

#[tokio::test]
async fn a_token_has_a_bot_that_is_a_member_until_the_token_is_revoked() {
    let fixture = Fixture::new().await;
    let (ada, project) = (&fixture.ada, fixture.project);
    let (created, client) = fixture.create("api", "30").await;
    let id = created["id"].clone();
    let expected = json!({
        "id": id,
        "name": "deployer",
        "scopes": ["api"],
        "active": true,
        "revoked": false,
        "created_at": "2026-01-02T03:04:05.678Z",
        "expires_at": "2027-01-02",
        "last_used_at": null,
        "description": null,
        "user_id": created["user_id"],
        "access_level": 30,
        "resource_type": "project",
        "resource_id": project,
        "token": created["token"],
    });
    assert_eq!(created, expected);

    let own = client.get("/api/v4/user").await;
    assert_eq!((own.status, &own.body["id"], &own.body["bot"]), (200, &created["user_id"], &json!(true)));
    assert_eq!((&own.body["name"], &own.body["external"]), (&json!("deployer"), &json!(true)));
    let username = own.body["username"].as_str().unwrap().to_owned();
    assert!(username.starts_with(&format!("project_{project}_bot_")), "{username}");
    let member = format!("/api/v4/projects/{project}/members/{}", created["user_id"]);
    assert_eq!(ada.get(&member).await.body["access_level"], json!(30));
    let shown = client.get("/api/v4/personal_access_tokens/self").await;
    assert_eq!((shown.status, &shown.body["id"]), (200, &id));

    // Reads and writes as a developer, with the API and with git.
    let issue = client.post(&format!("/api/v4/projects/{project}/issues"), &[("title", "by a bot")]).await;
    assert_eq!((issue.status, &issue.body["author"]["username"]), (201, &json!(username)));
    fixture.tree.commit("g", b"two\n", "second").await;
    fixture.tree.push(&fixture.server.git_url(&client, "ada/p"), &["main:topic"]).await.ok();
    assert_eq!(client.get(&fixture.of_project()).await.status, 403);

    // The bot stays a member as long as its token exists.
    let before = fixture.server.dump_database().await;
    assert_eq!(ada.delete(&member).await.status, 403);
    assert_eq!(client.delete(&member).await.status, 403);
    let expiring = [("access_level", "30"), ("expires_at", "2026-01-03")];
    assert_eq!(ada.put(&member, &expiring).await.status, 403);
    assert_eq!(fixture.server.dump_database().await["project_members"], before["project_members"]);

    let listed = ada.get(&format!("{}?state=active", fixture.of_project())).await;
    assert_eq!((listed.status, listed.ids(), listed.body[0].get("token")), (200, vec![id.as_i64().unwrap()], None));
    let one = format!("{}/{id}", fixture.of_project());
    assert_eq!(ada.delete(&one).await.status, 204);
    assert_eq!(client.get("/api/v4/user").await.status, 401);
    assert_eq!(
        (ada.get(&member).await.status, ada.get(&one).await.status, ada.delete(&one).await.status),
        (404, 404, 404)
    );
    assert_eq!(fixture.count_bots().await, 0);
    fixture.server.run_jobs().await;
    let issue = ada.get(&format!("/api/v4/projects/{project}/issues/{}", issue.body["iid"])).await;
    assert_eq!(issue.body["author"]["username"], json!("ghost"));
}

#[tokio::test]
async fn group_tokens_reach_the_projects_of_the_group_and_do_not_count_as_owners() {
    let fixture = Fixture::new().await;
    let (server, ada, group) = (&fixture.server, &fixture.ada, fixture.group);
    let inside = server.project_in(ada, "inside", 0, Some(group)).await;
    let form = [("name", "n"), ("scopes[]", "api"), ("access_level", "50")];
    let created = ada.post(&fixture.of_group(), &form).await;
    assert_eq!((created.status, &created.body["resource_type"]), (201, &json!("group")), "{}", created.text);
    assert_eq!((&created.body["resource_id"], &created.body["access_level"]), (&json!(group), &json!(50)));
    let bot = server.with_token(created.body["token"].as_str().unwrap());
    assert_eq!(bot.get(&format!("/api/v4/projects/{inside}")).await.status, 200);
    assert_eq!(bot.get(&format!("/api/v4/projects/{}", fixture.project)).await.status, 404);

    // Ada is the only owner who is a person.
    let ada_id = fixture.ada_id;
    let own = format!("/api/v4/groups/{group}/members/{ada_id}");
    assert_eq!(ada.delete(&own).await.status, 403);
    assert_eq!(server.admin.delete(&format!("/api/v4/users/{ada_id}")).await.status, 409);
    let member = format!("/api/v4/groups/{group}/members/{}", created.body["user_id"]);
    assert_eq!(ada.delete(&member).await.status, 403);
    assert_eq!(ada.delete(&format!("{}/{}", fixture.of_group(), created.body["id"])).await.status, 204);
    assert_eq!((ada.get(&member).await.status, fixture.count_bots().await), (404, 0));
}

#[tokio::test]
async fn attributes_and_limits_are_checked() {
    let fixture = Fixture::new().await;
    let (server, ada) = (&fixture.server, &fixture.ada);
    let (path, long) = (fixture.of_project(), "x".repeat(256));
    let narrow = server.with_token(&server.token(fixture.ada_id, &["read_api"]).await);
    let before = server.dump_database().await;
    for (form, field) in [
        (vec![("name", ""), ("scopes[]", "api")], "name"),
        (vec![("name", &long), ("scopes[]", "api")], "name"),
        (vec![("name", "n")], "scopes"),
        (vec![("name", "n"), ("scopes[]", "root")], "scopes"),
        (vec![("name", "n"), ("scopes[]", "sudo")], "scopes"),
        (vec![("name", "n"), ("scopes[]", "api"), ("access_level", "50")], "access_level"),
        (vec![("name", "n"), ("scopes[]", "api"), ("access_level", "35")], "access_level"),
        (vec![("name", "n"), ("scopes[]", "api"), ("expires_at", "2026-01-02")], "expires_at"),
        (vec![("name", "n"), ("scopes[]", "api"), ("expires_at", "2027-01-03")], "expires_at"),
    ] {
        let refused = ada.post(&path, &form).await;
        assert_eq!(refused.status, 400, "{form:?} {}", refused.text);
        assert!(refused.body["message"].get(field).is_some(), "{form:?} {}", refused.text);
    }
    let narrow = narrow.post(&path, &[("name", "n"), ("scopes[]", "read_api")]).await;
    assert_eq!((narrow.status, &narrow.body["error"]), (403, &json!("insufficient_scope")), "{}", narrow.text);
    assert_eq!(server.dump_database().await, before);

    // Of several requests for the last token that the limit leaves, one succeeds.
    sqlx::raw_sql(
        "insert into users (username, name, email, password_hash, can_create_group, projects_limit, bot, created_at,
           updated_at) select 'b' || n, '', '', '', false, 0, true, now(), now() from generate_series(1, 99) n;
         insert into bots (user_id, project_id) select u.id, p.id from users u, projects p where u.bot",
    )
    .execute(&mut server.database().await)
    .await
    .unwrap();
    let token = [("name", "n"), ("scopes[]", "api")];
    let (first, second, third) =
        tokio::join!(ada.post(&path, &token), ada.post(&path, &token), ada.post(&path, &token));
    let mut statuses = [first.status, second.status, third.status];
    statuses.sort_unstable();
    assert_eq!((statuses, fixture.count_bots().await), ([201, 400, 400], 100), "{}", first.text);
    assert_eq!(ada.post(&fixture.of_group(), &token).await.status, 201);
}

/// Whichever request is first, no token works after its revocation was acknowledged.
#[tokio::test]
async fn a_rotated_token_does_not_survive_a_concurrent_revocation() {
    let fixture = Fixture::new().await;
    let ada = &fixture.ada;
    for _ in 0..10 {
        let (created, old) = fixture.create("api", "30").await;
        let one = format!("{}/{}", fixture.of_project(), created["id"]);
        let rotate = format!("{one}/rotate");
        let (rotated, revoked) = tokio::join!(ada.post(&rotate, &[]), ada.delete(&one));
        assert_eq!(old.get("/api/v4/user").await.status, 401);
        match rotated.status {
            // The token that is revoked was replaced before, so that revoking it was refused, or deleted the bot with it.
            200 => {
                let new = fixture.server.with_token(rotated.body["token"].as_str().unwrap());
                let status = new.get("/api/v4/user").await.status;
                assert_eq!(status, if revoked.status == 204 { 401 } else { 200 }, "{}", revoked.text);
            }
            _ => assert_eq!((rotated.status, revoked.status), (404, 204), "{} {}", rotated.text, revoked.text),
        }
    }
}

#[tokio::test]
async fn a_master_creates_no_bot_with_a_higher_level() {
    let fixture = Fixture::new().await;
    let bob_id = fixture.bob_id;
    let form = [("access_level", "40")];
    let project = format!("/projects/{}", fixture.project);
    assert_eq!(fixture.ada.put(&format!("{project}/members/{bob_id}"), &form).await.status, 200);
    let form = [("name", "n"), ("scopes[]", "api"), ("access_level", "40")];
    assert_eq!(fixture.bob.post(&fixture.of_project(), &form).await.status, 201);
    let form = [("name", "n"), ("scopes[]", "api"), ("access_level", "50")];
    assert_eq!(fixture.bob.post(&fixture.of_project(), &form).await.status, 400);
    assert_eq!(fixture.bob.post(&fixture.of_group(), &form).await.status, 403);
}

/// The bot authenticates with its token alone, and leaves nothing behind that works without it.
#[tokio::test]
async fn a_bot_has_no_other_credentials() {
    let fixture = Fixture::new().await;
    let (server, admin) = (&fixture.server, &fixture.server.admin);
    let (created, bot) = fixture.create("api", "40").await;
    let id = &created["user_id"];
    let username = bot.get("/api/v4/user").await.body["username"].as_str().unwrap().to_owned();
    let before = server.dump_database().await;
    let token = [("name", "n"), ("scopes[]", "api")];
    for (client, method, path, form, status) in [
        (&bot, "POST", "/api/v4/user/personal_access_tokens".into(), &token[..], 403),
        (&bot, "POST", "/api/v4/user/keys".into(), &[("title", "t"), ("key", OTHER_ED25519)], 403),
        (&bot, "POST", "/api/v4/user/emails".into(), &[("email", "a@b.example")], 404),
        (&bot, "POST", fixture.of_project(), &token, 403),
        (&bot, "POST", format!("{}/{}/rotate", fixture.of_project(), created["id"]), &[], 403),
        (&bot, "POST", "/api/v4/personal_access_tokens/self/rotate".into(), &[], 403),
        (&bot, "POST", "/api/v4/projects".into(), &[("name", "own")], 400),
        (&bot, "POST", "/api/v4/users".into(), &NEW_USER, 403),
        (admin, "POST", format!("/api/v4/users/{id}/personal_access_tokens"), &token, 404),
        (admin, "POST", format!("/api/v4/users/{id}/impersonation_tokens"), &token, 404),
        (admin, "POST", format!("/api/v4/users/{id}/keys"), &[("title", "t"), ("key", OTHER_ED25519)], 404),
        (admin, "PUT", format!("/api/v4/users/{id}"), &[("password", PASSWORD)], 404),
        (admin, "DELETE", format!("/api/v4/users/{id}"), &[], 404),
        (admin, "GET", format!("/api/v4/user?sudo={username}"), &[], 404),
    ] {
        let refused = client.send(client.request(method, &path).form(form)).await;
        assert_eq!(refused.status, status, "{path}: {}", refused.text);
    }
    assert_eq!(server.dump_database().await, before);

    // Rows that no use case makes give no access.
    for kind in ["personal", "session", "impersonation"] {
        let change = "update tokens set kind = $1 where user_id = $2";
        let change = sqlx::query(change).bind(kind).bind(id.as_i64());
        change.execute(&mut server.database().await).await.unwrap();
        assert_eq!(bot.get("/api/v4/user").await.status, 401, "{kind}");
    }
    let hash = "update users set password_hash = (select password_hash from users where username = 'ada') where bot";
    sqlx::query(hash).execute(&mut server.database().await).await.unwrap();
    let signed_in = server.anonymous().post("/session", &[("login", &username), ("password", PASSWORD)]).await;
    assert_eq!(signed_in.status, 401);
}

#[tokio::test]
async fn scopes_limit_bots() {
    let fixture = Fixture::new().await;
    let issues = format!("/api/v4/projects/{}/issues", fixture.project);
    let (_, reader) = fixture.create("read_api", "40").await;
    assert_eq!(reader.get(&issues).await.status, 200);
    assert_eq!(reader.post(&issues, &[("title", "t")]).await.status, 403);
    let (_, fetcher) = fixture.create("read_repository", "40").await;
    assert_eq!(fetcher.get(&issues).await.status, 403);
    let url = fixture.server.git_url(&fetcher, "ada/p");
    fixture.tree.git(["fetch", "-q", &url, "main"]).await.ok();
    assert!(!fixture.tree.push(&url, &["main:topic"]).await.is_success);
}

/// People see a bot as they see its project.
#[tokio::test]
async fn bots_are_hidden_with_their_projects() {
    let fixture = Fixture::new().await;
    let (_, eve) = fixture.server.user("eve").await;
    let (created, bot) = fixture.create("api", "30").await;
    let username = bot.get("/api/v4/user").await.body["username"].as_str().unwrap().to_owned();
    for prefix in ["/api/v4", ""] {
        let path = format!("{prefix}/users/{}", created["user_id"]);
        let status = async |client: &Client| client.get(&path).await.status;
        assert_eq!(
            (status(&eve).await, status(&fixture.bob).await, status(&fixture.server.admin).await),
            (404, 200, 200)
        );
        for query in [format!("username={username}"), format!("search={username}"), "per_page=100".into()] {
            let listed = fixture.server.admin.get(&format!("{prefix}/users?{query}")).await;
            assert!(!listed.text.contains(&username), "{query}");
        }
    }
    // Nor by a number, in a project and a group of one's own.
    let project = fixture.server.project(&eve, "own", 20).await;
    let group = fixture.server.group(&eve, "own-group", 20).await;
    let bot_id = created["user_id"].to_string();
    let issues = format!("/api/v4/projects/{project}/issues");
    let issue = eve.post(&issues, &[("title", "t")]).await.body["iid"].clone();
    let before = fixture.server.dump_database().await;
    let member = [("user_id", bot_id.as_str()), ("access_level", "30")];
    for path in [format!("/projects/{project}/members"), format!("/groups/{group}/members")] {
        for prefix in ["/api/v4", ""] {
            let unknown = eve.post(&format!("{prefix}{path}"), &[("user_id", "99999"), ("access_level", "30")]).await;
            let hidden = eve.post(&format!("{prefix}{path}"), &member).await;
            assert_eq!((hidden.status, hidden.body), (404, unknown.body), "{prefix}{path}");
        }
    }
    assert_eq!(eve.get(&format!("/api/v4/users/{bot_id}/events")).await.status, 404);
    let assigned = eve.put(&format!("{issues}/{issue}"), &[("assignee_ids[]", bot_id.as_str())]).await;
    assert!(!assigned.text.contains(&username), "{}", assigned.text);
    let mut after = fixture.server.dump_database().await;
    after["issues"] = before["issues"].clone();
    assert_eq!(after, before);

    let public = fixture.ada.put(&format!("/projects/{}", fixture.project), &[("visibility_level", "20")]).await;
    assert_eq!(public.status, 200);
    assert_eq!(eve.get(&format!("/api/v4/users/{bot_id}")).await.status, 200);
    // A bot can be a member elsewhere, and be removed from there.
    let members = format!("/api/v4/projects/{project}/members");
    assert_eq!(eve.post(&members, &member).await.status, 201);
    assert_eq!(bot.get(&format!("/api/v4/projects/{project}")).await.status, 200);
    assert_eq!(eve.delete(&format!("{members}/{bot_id}")).await.status, 204);
}

#[tokio::test]
async fn rotation_keeps_the_bot_and_prunes_earlier_tokens() {
    let fixture = Fixture::new().await;
    let (ada, list) = (&fixture.ada, fixture.of_project());
    let (mut current, _) = fixture.create("read_api", "30").await;
    let (first, user) = (current["id"].clone(), current["user_id"].clone());
    for _ in 0..3 {
        let rotated = ada.post(&format!("{list}/{}/rotate", current["id"]), &[]).await;
        assert_eq!((rotated.status, &rotated.body["user_id"]), (200, &user), "{}", rotated.text);
        assert_eq!((&rotated.body["expires_at"], &rotated.body["access_level"]), (&json!("2026-01-09"), &json!(30)));
        let old = fixture.server.with_token(current["token"].as_str().unwrap());
        assert_eq!(old.get("/api/v4/user").await.status, 401);
        let replaced = ada.post(&format!("{list}/{}/rotate", current["id"]), &[]).await;
        assert_eq!(replaced.status, 400, "{}", replaced.text);
        // Revoking the token that was replaced does not delete the bot of the new one.
        assert_eq!(ada.delete(&format!("{list}/{}", current["id"])).await.status, 404);
        current = rotated.body;
    }
    let client = fixture.server.with_token(current["token"].as_str().unwrap());
    assert_eq!(client.get("/api/v4/user").await.body["id"], user);
    assert_eq!(ada.get(&list).await.body.as_array().unwrap().len(), 2);
    assert_eq!(ada.get(&format!("{list}/{first}")).await.status, 404);
    assert_eq!(ada.get(&format!("{list}?state=inactive")).await.body.as_array().unwrap().len(), 1);
    let long = ada.post(&format!("{list}/{}/rotate", current["id"]), &[("expires_at", "2027-01-03")]).await;
    assert_eq!((long.status, fixture.count_bots().await), (400, 1), "{}", long.text);
}

/// The sweep deletes the bots of deleted projects and groups, and those whose tokens have been invalid for a month.
#[tokio::test]
async fn the_sweep_deletes_unused_bots() {
    let fixture = Fixture::new().await;
    let (server, ada) = (&fixture.server, &fixture.ada);
    let (kept, _) = fixture.create("api", "30").await;
    let form = [("name", "n"), ("scopes[]", "api"), ("expires_at", "2026-01-04")];
    let expiring = ada.post(&fixture.of_project(), &form).await.body;
    let (_, client) = fixture.create("api", "30").await;
    assert_eq!(client.delete("/api/v4/personal_access_tokens/self").await.status, 204);
    assert_eq!(client.get("/api/v4/user").await.status, 401);
    let other = server.project(ada, "other", 0).await;
    let lost = ada.post(&format!("/api/v4/projects/{other}/access_tokens"), &form).await.body;
    ada.post(&fixture.of_group(), &form).await;
    sweep(server).await;
    assert_eq!(fixture.count_bots().await, 4);

    assert_eq!(ada.delete(&format!("/api/v4/projects/{other}")).await.status, 202);
    assert_eq!(ada.delete(&format!("/api/v4/groups/{}", fixture.group)).await.status, 202);
    server.run_jobs().await;
    sweep(server).await;
    assert_eq!(fixture.count_bots().await, 2);
    assert_eq!(server.with_token(lost["token"].as_str().unwrap()).get("/api/v4/user").await.status, 401);

    server.advance(TimeDelta::days(33));
    sweep(server).await;
    let ids: Vec<i64> = ada.get(&fixture.of_project()).await.ids();
    assert_eq!(ids, [kept["id"].as_i64().unwrap()], "{expiring}");
    assert_eq!(fixture.count_bots().await, 1);
}

#[tokio::test]
async fn an_impersonation_token_acts_as_the_user_and_creates_no_credentials() {
    let fixture = Fixture::new().await;
    let (server, admin) = (&fixture.server, &fixture.server.admin);
    let user = fixture.ada_id;
    let path = format!("/api/v4/users/{user}/impersonation_tokens");
    let created = admin.post(&path, &[("name", "help"), ("scopes[]", "api"), ("expires_at", "2026-02-01")]).await;
    assert_eq!((created.status, &created.body["impersonation"]), (201, &json!(true)), "{}", created.text);
    let id = created.body["id"].clone();
    let client = server.with_token(created.body["token"].as_str().unwrap());
    assert_eq!(client.get("/api/v4/user").await.body["username"], json!("ada"));
    assert_eq!(client.get(&format!("/api/v4/projects/{}", fixture.project)).await.status, 200);

    // The user does not see it among the own tokens, and it creates no other credentials.
    for list in ["/api/v4/personal_access_tokens", "/user/personal_access_tokens"] {
        assert!(!fixture.ada.get(list).await.ids().contains(&id.as_i64().unwrap()));
    }
    assert_eq!(fixture.ada.get(&format!("/api/v4/personal_access_tokens/{id}")).await.status, 404);
    let before = server.dump_database().await;
    let token = [("name", "n"), ("scopes[]", "api")];
    for (path, form) in [
        ("/api/v4/user/personal_access_tokens".to_owned(), &token[..]),
        ("/user/personal_access_tokens".to_owned(), &token),
        ("/api/v4/user/keys".to_owned(), &[("title", "t"), ("key", ED25519)]),
        (fixture.of_project(), &token),
        ("/api/v4/personal_access_tokens/self/rotate".to_owned(), &[]),
    ] {
        assert_eq!(client.post(&path, form).await.status, 403, "{path}");
    }
    assert_eq!(server.dump_database().await, before);

    let one = format!("{path}/{id}");
    let shown = admin.get(&one).await;
    assert_eq!((shown.status, &shown.body["active"], shown.body.get("token")), (200, &json!(true), None));
    // A token of another user, and one of another kind, are not found here.
    let bob = fixture.bob_id;
    assert_eq!(admin.get(&format!("/api/v4/users/{bob}/impersonation_tokens/{id}")).await.status, 404);
    assert_eq!(admin.delete(&format!("/api/v4/users/{bob}/impersonation_tokens/{id}")).await.status, 404);
    assert_eq!(admin.get(&format!("{path}/1")).await.status, 404);
    assert_eq!(admin.delete(&one).await.status, 204);
    assert_eq!((client.get("/api/v4/user").await.status, admin.delete(&one).await.status), (401, 404));
    for (state, count) in [("all", 1), ("active", 0), ("inactive", 1)] {
        assert_eq!(admin.get(&format!("{path}?state={state}")).await.ids().len(), count, "{state}");
    }
}
