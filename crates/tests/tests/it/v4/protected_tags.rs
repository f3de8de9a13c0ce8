//! Protected tags: their rules, and who may create and change the tags that match them.

use holdfast_tests::ssh::{KeyPair, SshServer};
use holdfast_tests::{Client, GitOutcome, Server, WorkTree};
use serde_json::{Value, json};

use crate::git_security::{EMPTY_PACK, OpenPush, ZERO_ID, packet};
use crate::projects::add_member;

const DENIED: &str = "You are not allowed to create or change this tag, because it is protected.";
const EXISTS: &str = "You are not allowed to change existing tags on this project.";

/// Ada's private project `ada/p` with a commit. Bob is a developer.
struct Fixture {
    server: Server,
    ssh: SshServer,
    ada: Client,
    bob: Client,
    project: i64,
    tree: WorkTree,
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let ssh = server.ssh().await;
        let (_, ada) = server.user("ada").await;
        let (bob_id, bob) = server.user("bob").await;
        let project = server.project(&ada, "p", 0).await;
        add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
        let tree = WorkTree::new().await;
        tree.commit("f", b"one\n", "first").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
        Self { server, ssh, ada, bob, project, tree }
    }

    fn api(&self, path: &str) -> String {
        format!("/api/v4/projects/{}/{path}", self.project)
    }

    async fn protect(&self, name: &str, level: &str) {
        let form = [("name", name), ("create_access_level", level)];
        let created = self.ada.post(&self.api("protected_tags"), &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }

    async fn push(&self, client: &Client, refs: &[&str]) -> GitOutcome {
        self.tree.push(&self.server.git_url(client, "ada/p"), refs).await
    }

    async fn push_by_ssh(&self, key: &KeyPair, refs: &[&str]) -> GitOutcome {
        self.ssh.git(key, &self.tree, &[&["push", "-q", &self.ssh.url("ada/p")], refs].concat()).await
    }

    /// Returns the names of the tags, and whether each is protected.
    async fn tags(&self) -> Vec<(String, bool)> {
        let listed = self.ada.get(&self.api("repository/tags?order_by=name&sort=asc&per_page=100")).await;
        let row = |tag: &Value| (tag["name"].as_str().unwrap().to_owned(), tag["protected"].as_bool().unwrap());
        listed.body.as_array().unwrap().iter().map(row).collect()
    }
}

#[tokio::test]
async fn masters_create_list_and_delete_rules() {
    let fixture = Fixture::new().await;
    let (ada, path) = (&fixture.ada, fixture.api("protected_tags"));
    let mut bodies = Vec::new();
    for (form, level, description) in [
        (&[("name", "v*")][..], 40, "Maintainers"),
        (&[("name", "rc/1"), ("create_access_level", "30")], 30, "Developers + Maintainers"),
        (&[("name", "frozen"), ("create_access_level", "0")], 0, "No one"),
    ] {
        let created = ada.post(&path, form).await;
        let expected = json!({
            "name": form[0].1,
            "create_access_levels": [{
                "id": created.body["create_access_levels"][0]["id"],
                "access_level": level,
                "access_level_description": description,
                "user_id": null,
                "group_id": null,
                "deploy_key_id": null,
            }],
        });
        assert_eq!(created.status_and_body(), (201, &expected));
        bodies.push(expected);
    }
    let second = ada.get(&format!("{path}?per_page=1&page=2")).await;
    assert_eq!((second.status_and_body(), second.header("x-total")), ((200, &json!([bodies[1]])), Some("3")));
    for (name, body) in [("v*", &bodies[0]), ("v%2A", &bodies[0]), ("rc%2F1", &bodies[1])] {
        assert_eq!(ada.get(&format!("{path}/{name}")).await.status_and_body(), (200, body));
    }

    let before = fixture.server.dump_database().await;
    let missing = json!({ "message": "404 Not found" });
    // A rule is found by its own name, and not by that of a tag that it matches.
    assert_eq!(ada.get(&format!("{path}/v1")).await.status_and_body(), (404, &missing));
    assert_eq!(ada.delete(&format!("{path}/v1")).await.status_and_body(), (404, &missing));
    for name in
        ["", " v", "v ", "a b", "refs/tags/v*", "a..b", "a~1", "-v", ".v", "v/", "*/", "v.lock", "@{*", "v\u{202e}"]
    {
        let refused = json!({ "message": { "name": ["is invalid"] } });
        assert_eq!(ada.post(&path, &[("name", name)]).await.status_and_body(), (400, &refused), "{name:?}");
    }
    for level in ["10", "20", "50", "60"] {
        let refused = ada.post(&path, &[("name", "w*"), ("create_access_level", level)]).await;
        let error = json!({ "error": "create_access_level does not have a valid value" });
        assert_eq!(refused.status_and_body(), (400, &error), "{level}");
    }
    let taken = json!({ "message": "Protected tag 'v*' already exists" });
    assert_eq!(ada.post(&path, &[("name", "v*")]).await.status_and_body(), (409, &taken));
    assert_eq!(fixture.server.dump_database().await, before);

    assert_eq!(ada.delete(&format!("{path}/v*")).await.status, 204);
    let mut expected = before.clone();
    expected["protected_tags"].as_array_mut().unwrap().retain(|rule| rule["name"] != "v*");
    assert_eq!(fixture.server.dump_database().await, expected);
}

#[tokio::test]
async fn a_project_has_a_maximum_number_of_rules() {
    let fixture = Fixture::new().await;
    let insert = "insert into protected_tags (project_id, name, create_level, created_at)
        select $1, 't' || n, 40, now() from generate_series(1, 100) n";
    sqlx::query(insert).bind(fixture.project).execute(&mut fixture.server.database().await).await.unwrap();
    let before = fixture.server.dump_database().await;
    let refused = fixture.ada.post(&fixture.api("protected_tags"), &[("name", "v*")]).await;
    let text = json!({ "message": "A project has at most 100 protected tags" });
    assert_eq!(refused.status_and_body(), (400, &text));
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn a_rule_has_a_maximum_number_of_wildcards() {
    let fixture = Fixture::new().await;
    fixture.protect("a*b*c*d*e*", "40").await;
    let before = fixture.server.dump_database().await;
    let refused = fixture.ada.post(&fixture.api("protected_tags"), &[("name", "a*b*c*d*e*f*")]).await;
    let text = json!({ "message": "The name of a protected tag has at most 5 wildcards" });
    assert_eq!(refused.status_and_body(), (400, &text));
    assert_eq!(fixture.server.dump_database().await, before);
}

/// Privilege escalation: every way to create a tag asks for the level of the rule.
#[tokio::test]
async fn a_protected_tag_is_created_only_with_the_level_of_its_rule() {
    let fixture = Fixture::new().await;
    for (name, level) in [("v*", "40"), ("rc*", "30"), ("*-frozen", "0")] {
        fixture.protect(name, level).await;
    }
    let keys = [KeyPair::registered(&fixture.ada).await, KeyPair::registered(&fixture.bob).await];
    let mut expected = Vec::new();
    for (user, client, key, prefix, suffix, is_allowed) in [
        ("bob", &fixture.bob, Some(&keys[1]), "v", "", false),
        ("bob", &fixture.bob, Some(&keys[1]), "rc", "", true),
        ("bob", &fixture.bob, Some(&keys[1]), "o", "-frozen", false),
        // One matching rule that allows it is enough.
        ("bob", &fixture.bob, Some(&keys[1]), "rc", "-frozen", true),
        ("bob", &fixture.bob, Some(&keys[1]), "o", "", true),
        ("ada", &fixture.ada, Some(&keys[0]), "v", "", true),
        ("ada", &fixture.ada, Some(&keys[0]), "o", "-frozen", false),
        ("root", &fixture.server.admin, None, "v", "", true),
        ("root", &fixture.server.admin, None, "o", "-frozen", false),
    ] {
        let before = fixture.server.dump_database().await;
        let tag = |way: &str| format!("{prefix}-{user}-{way}{suffix}");
        let mut pushes = vec![fixture.push(client, &[&format!("main:refs/tags/{}", tag("http"))]).await];
        if let Some(key) = key {
            pushes.push(fixture.push_by_ssh(key, &[&format!("main:refs/tags/{}", tag("ssh"))]).await);
        }
        for pushed in pushes {
            let is_denied = pushed.stderr.contains(DENIED);
            assert_eq!((pushed.is_success, is_denied), (is_allowed, !is_allowed), "{user} {prefix}: {}", pushed.stderr);
        }
        let v3 = format!("/projects/{}/repository/tags", fixture.project);
        for (way, path, message, status) in [
            ("v3", v3.clone(), "", 405),
            ("annotated", v3, "An annotated tag", 405),
            ("v4", fixture.api("repository/tags"), "", 400),
            ("release", fixture.api("releases"), "", 400),
        ] {
            let tag = tag(way);
            let form = [("tag_name", &*tag), ("ref", "main"), ("message", message), ("description", "Notes")];
            let created = client.post(&path, &form).await;
            let status = if is_allowed { 201 } else { status };
            assert_eq!(created.status, status, "{tag}: {}", created.text);
            if !is_allowed {
                assert_eq!(created.body, json!({ "message": DENIED }), "{tag}");
            } else if way == "v4" {
                assert_eq!(created.body["protected"], prefix != "o", "{tag}");
            } else if way == "v3" {
                assert!(created.body.get("protected").is_none(), "{tag}");
            }
        }
        if is_allowed {
            let ways = ["annotated", "http", "release", "ssh", "v3", "v4"].into_iter();
            let ways = ways.filter(|way| *way != "ssh" || key.is_some());
            expected.extend(ways.map(|way| (tag(way), prefix != "o" || !suffix.is_empty())));
        } else {
            assert_eq!(fixture.server.dump_database().await, before);
        }
    }
    expected.sort_unstable();
    assert_eq!(fixture.tags().await, expected);

    // A deploy key has the level of a developer, whatever that of the user who added it.
    let key = KeyPair::new("ed25519").await;
    let form = [("title", "t"), ("key", &*key.public()), ("can_push", "true")];
    let added = fixture.ada.post(&format!("/projects/{}/deploy_keys", fixture.project), &form).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let refused = fixture.push_by_ssh(&key, &["main:refs/tags/v-key"]).await.expect_failure();
    assert!(refused.stderr.contains(DENIED), "{}", refused.stderr);
    fixture.push_by_ssh(&key, &["main:refs/tags/rc-key"]).await.ok();

    let browser = fixture.server.sign_in("bob").await;
    let page = browser.post("/ada/p/tags", &[("name", "v-web"), ("target", "main")]).await;
    assert_eq!((page.status, page.text.contains(DENIED)), (422, true), "{}", page.text);
}

/// Masters change protected tags that exist, unless nobody may create them. Developers change no tag that exists.
#[tokio::test]
async fn existing_protected_tags_are_changed_by_masters_alone() {
    let fixture = Fixture::new().await;
    let (ada, bob) = (&fixture.ada, &fixture.bob);
    fixture.push(ada, &["main:refs/tags/v1", "main:refs/tags/frozen", "main:refs/tags/plain"]).await.ok();
    fixture.protect("v*", "30").await;
    fixture.protect("frozen", "0").await;
    let flags = [("frozen", true), ("plain", false), ("v1", true)].map(|(name, flag)| (name.to_owned(), flag));
    assert_eq!(fixture.tags().await, flags);
    assert_eq!(ada.get(&fixture.api("repository/tags/v1")).await.body["protected"], true);
    fixture.tree.commit("f", b"two\n", "second").await;

    let before = fixture.server.dump_database().await;
    for name in ["v1", "frozen", "plain"] {
        for change in [format!(":refs/tags/{name}"), format!("+main:refs/tags/{name}")] {
            let refused = fixture.push(bob, &[&change]).await.expect_failure();
            assert!(refused.stderr.contains(EXISTS), "{change}: {}", refused.stderr);
        }
        assert_eq!(bob.delete(&fixture.api(&format!("repository/tags/{name}"))).await.status, 403, "{name}");
    }
    let refused = fixture.push(ada, &["+main:refs/tags/frozen"]).await.expect_failure();
    assert!(refused.stderr.contains(DENIED), "{}", refused.stderr);
    assert_eq!(fixture.server.dump_database().await, before);

    fixture.push(ada, &["+main:refs/tags/v1"]).await.ok();
    fixture.push(ada, &[":refs/tags/frozen"]).await.ok();
    assert_eq!(ada.delete(&fixture.api("repository/tags/v1")).await.status, 204);
    assert_eq!(fixture.tags().await, flags[1..2]);

    // A restore creates the tag again.
    fixture.protect("v1", "40").await;
    fixture.ada.delete(&fixture.api("protected_tags/v*")).await;
    let path = format!("/projects/{}/repository/ref_log", fixture.project);
    for (name, client, status) in [("frozen", ada, 409), ("v1", bob, 409), ("v1", ada, 201)] {
        let name = format!("refs/tags/{name}");
        let log = ada.get(&format!("{path}?ref_name={name}")).await;
        let restore = format!("{path}/{}/restore", log.body[0]["generation"]);
        let restored = client.post(&restore, &[("ref_name", &name)]).await;
        assert_eq!(restored.status, status, "{}", restored.text);
        assert_eq!(restored.body["message"] == DENIED, status == 409, "{}", restored.text);
    }
}

/// A push of several refs is refused for the protected tag alone, unless it is atomic.
#[tokio::test]
async fn other_refs_of_a_push_are_updated_beside_a_protected_tag() {
    let fixture = Fixture::new().await;
    fixture.protect("v*", "40").await;
    let before = fixture.server.dump_database().await;
    let refs = ["main:refs/heads/topic", "main:refs/tags/v1", "main:refs/tags/other"];
    let refused = fixture.push(&fixture.bob, &[&["--atomic"], &refs[..]].concat()).await.expect_failure();
    assert!(refused.stderr.contains(DENIED), "{}", refused.stderr);
    assert_eq!(fixture.server.dump_database().await, before);
    let refused = fixture.push(&fixture.bob, &refs).await.expect_failure();
    assert!(refused.stderr.contains(DENIED), "{}", refused.stderr);
    assert_eq!(fixture.tags().await, [("other".to_owned(), false)]);
    assert_eq!(fixture.bob.get(&fixture.api("repository/branches/topic")).await.status, 200);
}

/// A push that began before a tag existed can neither delete nor move the tag.
#[tokio::test]
async fn a_tag_that_is_created_during_a_push_is_not_changed_by_it() {
    let fixture = Fixture::new().await;
    fixture.protect("v*", "40").await;
    let old = fixture.tree.git(["rev-parse", "main"]).await.ok().stdout.trim().to_owned();
    fixture.tree.commit("f", b"two\n", "second").await;
    let new = fixture.tree.git(["rev-parse", "main"]).await.ok().stdout.trim().to_owned();
    fixture.push(&fixture.ada, &["main"]).await.ok();
    let key = KeyPair::registered(&fixture.bob).await;
    let push = OpenPush::start(&fixture.ssh, &key, "ada/p").await;
    for name in ["v1", "plain"] {
        let created = fixture.ada.post(&fixture.api("repository/tags"), &[("tag_name", name), ("ref", &old)]).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }
    let tags = fixture.tags().await;
    let mut content = packet(&format!("{old} {ZERO_ID} refs/tags/v1\0 report-status"));
    content.extend(packet(&format!("{old} {new} refs/tags/plain")));
    content.extend_from_slice(b"0000");
    content.extend_from_slice(EMPTY_PACK);
    let report = push.finish(&content).await;
    for name in ["v1", "plain"] {
        assert!(report.contains(&format!("ng refs/tags/{name} {EXISTS}")), "{report}");
        let target = &fixture.ada.get(&fixture.api(&format!("repository/tags/{name}"))).await.body["target"];
        assert_eq!(*target, json!(old), "{name}");
    }
    assert_eq!(fixture.tags().await, tags);
}

/// A stored pack with its receipt could be recovered, which would create the tag.
#[tokio::test]
async fn nothing_of_a_denied_push_is_stored() {
    let fixture = Fixture::new().await;
    fixture.protect("v*", "40").await;
    // Larger than the packs that are kept in the database.
    let bytes: Vec<u8> = (0..100_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fixture.tree.commit("large", &bytes, "second").await;
    let before = fixture.server.dump_database().await;
    let refused = fixture.push(&fixture.bob, &["main:refs/tags/v1"]).await.expect_failure();
    assert!(refused.stderr.contains(DENIED), "{}", refused.stderr);
    assert_eq!(fixture.server.dump_database().await, before);
    // The same push of a tag without a rule leaves an object.
    fixture.push(&fixture.bob, &["main:refs/tags/other"]).await.ok();
    assert_ne!(fixture.server.dump_database().await["packs"], before["packs"]);
}

/// Privilege escalation: the release of a protected tag, which says what people download, is changed only by users who may
/// create the tag.
#[tokio::test]
async fn the_release_of_a_protected_tag_needs_the_level_of_its_rule() {
    let fixture = Fixture::new().await;
    fixture.push(&fixture.ada, &["main:refs/tags/v1", "main:refs/tags/v2"]).await.ok();
    let release = fixture.api("releases/v1");
    let created = fixture.ada.post(&fixture.api("releases"), &[("tag_name", "v1"), ("description", "Notes")]).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let links = format!("{release}/assets/links");
    let form = [("name", "a"), ("url", "https://example.com/a")];
    let link = fixture.ada.post(&links, &form).await.body["id"].as_i64().unwrap();
    fixture.protect("v*", "40").await;
    let before = fixture.server.dump_database().await;
    let v3 = |tag: &str| format!("/projects/{}/repository/tags/{tag}/release", fixture.project);
    let text = "You are not allowed to change the release of this tag, because it is protected.";
    for (method, path, form) in [
        ("PUT", release.clone(), &[("description", "Others")][..]),
        ("DELETE", release.clone(), &[]),
        ("POST", links.clone(), &[("name", "b"), ("url", "https://example.com/b")]),
        ("PUT", format!("{links}/{link}"), &[("url", "https://example.com/b")]),
        ("DELETE", format!("{links}/{link}"), &[]),
        ("POST", fixture.api("releases"), &[("tag_name", "v2"), ("description", "Others")]),
        ("PUT", v3("v1"), &[("description", "Others")]),
        ("POST", v3("v2"), &[("description", "Others")]),
    ] {
        let refused = fixture.bob.send(fixture.bob.request(method, &path).form(form)).await;
        assert_eq!((refused.status, refused.text.contains(text)), (403, true), "{method} {path}: {}", refused.text);
        assert_eq!(fixture.server.dump_database().await, before, "{method} {path}");
    }
    let deleted = fixture.ada.delete(&format!("{links}/{link}")).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
}
