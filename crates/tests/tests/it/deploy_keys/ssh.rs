//! Git over SSH with deploy keys, with ssh and git as clients.

use holdfast_app::accounts::authentication::authenticate_key;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, access};
use holdfast_domain::accounts::PublicKey;
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_tests::ssh::{KeyPair, SshServer, run_command};
use holdfast_tests::{Client, Server, WorkTree, log};
use serde_json::json;

use super::{add_key, added_key};
use crate::projects::add_member;

const NOT_FOUND: &str = "ERROR: The project you were looking for could not be found.\n";
const READ_ONLY: &str = "ERROR: This deploy key may not push to this project.\n";
const USER_MAY_NOT_PUSH: &str = "ERROR: This deploy key may not push to this project anymore, because the user who added \
                                 it may not. Another master can remove the key and add it again.\n";
const ARCHIVED: &str = "ERROR: The project is archived. Unarchive it to change its content.\n";
const SERVICES: [&str; 3] = ["git-upload-pack", "git-receive-pack", "git-upload-archive"];

/// Ada's private project `ada/mill` with two commits on `main`, and a key pair.
struct DeployKeyFixture {
    server: Server,
    ssh: SshServer,
    ada: Client,
    project: i64,
    pair: KeyPair,
    tree: WorkTree,
    url: String,
}

impl DeployKeyFixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let ssh = server.ssh().await;
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "mill", 0).await;
        let tree = WorkTree::new().await;
        tree.commit("README.md", b"Hello\n", "First").await;
        tree.commit("src/main.c", b"int main;\n", "Second").await;
        tree.push(&server.git_url(&ada, "ada/mill"), &["main"]).await.ok();
        let url = ssh.url("ada/mill.git");
        Self { server, ssh, ada, project, pair: KeyPair::new("ed25519").await, tree, url }
    }

    async fn add_key(&self, can_push: bool) -> i64 {
        added_key(&self.ada, self.project, &self.pair.public(), can_push).await
    }

    async fn push(&self, refs: &[&str]) -> holdfast_tests::GitOutcome {
        let arguments = [&["push", "-q", &self.url], refs].concat();
        self.ssh.git(&self.pair, &self.tree, &arguments).await
    }

    async fn can_read(&self, path: &str) -> bool {
        self.ssh.git(&self.pair, &self.tree, &["ls-remote", &self.ssh.url(path)]).await.is_success
    }

    /// Runs a service for a project, and returns the exit status and what ssh writes to standard error.
    async fn run(&self, service: &str, path: &str) -> (Option<i32>, String) {
        let output = self.ssh.run(&self.pair, &[&format!("{service} '{path}'")]).await;
        (output.status, output.stderr)
    }

    async fn branch_names(&self) -> Vec<String> {
        let branches = self.ada.get(&format!("/projects/{}/repository/branches", self.project)).await;
        branches.body.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn rejected(text: &str) -> (Option<i32>, String) {
    (Some(128), text.to_owned())
}

/// Token scope bypass by another entry point (such as Gitea CVE-2026-28744): a key for one project is tried on others,
/// among them public ones and those of the user who added it.
#[tokio::test]
async fn a_deploy_key_fetches_from_its_projects_only() {
    let fixture = DeployKeyFixture::new().await;
    let refused = fixture.ssh.run(&fixture.pair, &[]).await;
    assert!(refused.status == Some(255) && refused.stderr.contains("Permission denied"), "{refused:?}");
    let id = fixture.add_key(false).await;
    let greeted = fixture.ssh.run(&fixture.pair, &[]).await;
    assert_eq!((greeted.status, greeted.stdout.as_str()), (Some(0), "Welcome to Holdfast, deploy key server!\n"));
    for version in ["protocol.version=0", "protocol.version=1", "protocol.version=2"] {
        let copy = WorkTree::new().await;
        fixture.ssh.git(&fixture.pair, &copy, &["-c", version, "fetch", "-q", &fixture.url, "main"]).await.ok();
        let fetched = copy.git(["rev-parse", "FETCH_HEAD"]).await.ok().line().to_owned();
        assert_eq!(fetched, fixture.tree.head().await, "{version}");
    }
    let archive = ["archive", "--remote", fixture.url.as_str(), "-o", "a.tar", "main"];
    fixture.ssh.git(&fixture.pair, &fixture.tree, &archive).await.ok();
    let line = log::captured()
        .lines()
        .find(|line| line.contains("upload-archive") && line.contains("deploy_key="))
        .map(str::to_owned);
    assert!(line.is_some_and(|line| !line.contains("user=")));

    for (name, visibility) in [("private", 0), ("internal", 10), ("public", 20)] {
        fixture.server.project(&fixture.ada, name, visibility).await;
        fixture.server.push_first(&fixture.ada, &format!("ada/{name}")).await;
    }
    let before = fixture.server.dump_database().await;
    for path in ["ada/private", "ada/internal", "ada/public.git", "ada/none", "none/none"] {
        for service in SERVICES {
            assert_eq!(fixture.run(service, path).await, rejected(NOT_FOUND), "{service} {path}");
        }
    }
    assert_eq!(fixture.run("git-receive-pack", "ada/mill").await, rejected(READ_ONLY));
    let refused = fixture.push(&["main:mine"]).await.expect_failure();
    assert!(refused.stderr.contains(READ_ONLY.trim()), "{}", refused.stderr);
    assert_eq!(fixture.server.dump_database().await, before);

    // After a rename, the old path works as it does for users.
    let renamed = [("path", "windmill"), ("name", "windmill")];
    assert_eq!(fixture.ada.put(&format!("/projects/{}", fixture.project), &renamed).await.status, 200);
    assert!(fixture.can_read("ada/windmill").await && fixture.can_read("ada/mill").await);
    let team = fixture.server.group(&fixture.server.admin, "team", 0).await;
    let moved = fixture.server.admin.post(&format!("/groups/{team}/projects/{}", fixture.project), &[]).await;
    assert_eq!(moved.status, 201, "{}", moved.text);
    assert!(fixture.can_read("team/windmill").await);

    let other = fixture.server.admin.get("/projects/ada%2Fpublic").await.body["id"].clone();
    let enabled = fixture.server.admin.post(&format!("/projects/{other}/deploy_keys/{id}/enable"), &[]).await;
    assert_eq!(enabled.status, 201, "{}", enabled.text);
    assert!(fixture.can_read("ada/public").await);
    let removed = fixture.server.admin.delete(&format!("/projects/{}/deploy_keys/{id}", fixture.project)).await;
    assert_eq!(removed.status, 200);
    assert!(fixture.can_read("ada/public").await && !fixture.can_read("team/windmill").await);
    assert_eq!(fixture.run("git-upload-pack", "team/windmill").await, rejected(NOT_FOUND));
    assert_eq!(fixture.server.admin.delete(&format!("/projects/{other}/keys/{id}/disable")).await.status, 200);
    let refused = fixture.ssh.run(&fixture.pair, &[]).await;
    assert!(refused.status == Some(255) && refused.stderr.contains("Permission denied"), "{refused:?}");
}

#[tokio::test]
async fn a_deploy_key_pushes_as_a_developer_on_behalf_of_its_user() {
    let fixture = DeployKeyFixture::new().await;
    let (bob_id, bob) = fixture.server.user("bob").await;
    let project = format!("/projects/{}", fixture.project);
    add_member(&fixture.ada, &project, bob_id.get(), 40).await;
    added_key(&bob, fixture.project, &fixture.pair.public(), true).await;
    fixture.push(&["main:refs/heads/by-key", "main:refs/tags/v1"]).await.ok();
    assert_eq!(fixture.branch_names().await, ["by-key", "main"]);
    let entry = fixture.ada.get(&format!("{project}/repository/ref_log?ref_name=by-key")).await.body[0].clone();
    assert_eq!((&entry["via"], &entry["user"]["username"]), (&json!("deploy_key"), &json!("bob")));
    let event = fixture.ada.get(&format!("{project}/events")).await.body[0].clone();
    assert_eq!((&event["author_username"], &event["data"]["user_id"]), (&json!("bob"), &json!(bob_id)));

    // Bob is a master, his key is not.
    fixture.tree.commit("more", b"1\n", "More").await;
    let before = fixture.server.dump_database().await;
    let protected = "You are not allowed to push code to protected branches on this project.";
    let changed_tag = "You are not allowed to change existing tags on this project.";
    for (refs, text) in [("main", protected), ("+main:v1", changed_tag), (":refs/tags/v1", changed_tag)] {
        let refused = fixture.push(&[refs]).await.expect_failure();
        assert!(refused.stderr.contains(text), "{refs}: {}", refused.stderr);
    }
    assert_eq!(fixture.server.dump_database().await["refs"], before["refs"]);
    let branch = format!("{project}/repository/branches/main/protect");
    assert_eq!(fixture.ada.put(&branch, &[("developers_can_push", "true")]).await.status, 200);
    fixture.push(&["main", ":by-key"]).await.ok();
    assert_eq!(fixture.branch_names().await, ["main"]);
    let tip = fixture.ada.get(&format!("{project}/repository/branches/main")).await.body["commit"]["id"].clone();
    assert_eq!(tip, fixture.tree.head().await);

    // The first branch would be the protected default branch.
    let empty = fixture.server.project(&fixture.ada, "empty", 0).await;
    added_key(&fixture.server.admin, empty, &fixture.pair.public(), true).await;
    let url = fixture.ssh.url("ada/empty");
    let refused = fixture.ssh.git(&fixture.pair, &fixture.tree, &["push", &url, "main"]).await.expect_failure();
    assert!(refused.stderr.contains(protected), "{}", refused.stderr);
}

/// Stale access (such as Gitea CVE-2026-20883): a former member, or a blocked user, still has a key that pushes.
#[tokio::test]
async fn a_deploy_key_pushes_only_while_its_user_may() {
    let fixture = DeployKeyFixture::new().await;
    let (bob_id, bob) = fixture.server.user("bob").await;
    let project = format!("/projects/{}", fixture.project);
    add_member(&fixture.ada, &project, bob_id.get(), 40).await;
    let id = added_key(&bob, fixture.project, &fixture.pair.public(), true).await;
    let mut number = 0;
    let mut expect = async |text: Option<&str>| {
        number += 1;
        let pushed = fixture.push(&[&format!("main:refs/heads/b{number}")]).await;
        match text {
            None => drop(pushed.ok()),
            Some(text) => {
                let refused = pushed.expect_failure();
                assert!(refused.stderr.contains(text.trim()), "{}", refused.stderr);
                assert_eq!(fixture.run("git-receive-pack", "ada/mill").await, rejected(text));
            }
        }
        assert!(fixture.can_read("ada/mill").await, "it still fetches");
    };
    expect(None).await;
    let member = format!("{project}/members/{bob_id}");
    assert_eq!(fixture.ada.put(&member, &[("access_level", "20")]).await.status, 200);
    expect(Some(USER_MAY_NOT_PUSH)).await;
    assert_eq!(fixture.ada.put(&member, &[("access_level", "30")]).await.status, 200);
    expect(None).await;
    assert_eq!(fixture.ada.delete(&member).await.status, 200);
    expect(Some(USER_MAY_NOT_PUSH)).await;
    add_member(&fixture.ada, &project, bob_id.get(), 40).await;
    expect(None).await;
    assert_eq!(fixture.ada.post(&format!("{project}/archive"), &[]).await.status, 201);
    expect(Some(ARCHIVED)).await;
    assert_eq!(fixture.ada.post(&format!("{project}/unarchive"), &[]).await.status, 201);
    expect(None).await;
    assert_eq!(fixture.server.admin.put(&format!("/users/{bob_id}/block"), &[]).await.status, 200);
    expect(Some(USER_MAY_NOT_PUSH)).await;
    assert_eq!(fixture.server.admin.put(&format!("/users/{bob_id}/unblock"), &[]).await.status, 200);
    expect(None).await;
    assert_eq!(fixture.server.admin.delete(&format!("/users/{bob_id}")).await.status, 200);
    expect(Some(USER_MAY_NOT_PUSH)).await;
    fixture.server.run_jobs().await;
    expect(Some(USER_MAY_NOT_PUSH)).await;
    // The same key again changes nothing, as the message says.
    assert_eq!(add_key(&fixture.ada, fixture.project, &fixture.pair.public(), true).await.body["id"], id);
    expect(Some(USER_MAY_NOT_PUSH)).await;
    assert_eq!(fixture.ada.delete(&format!("{project}/deploy_keys/{id}")).await.status, 200);
    fixture.add_key(true).await;
    expect(None).await;
}

/// A master who lets the key of somebody else push does not give it the rights of that user: the pushes are their own.
#[tokio::test]
async fn a_deploy_key_pushes_in_the_name_of_the_user_who_let_it_push() {
    let fixture = DeployKeyFixture::new().await;
    let (bob_id, bob) = fixture.server.user("bob").await;
    add_member(&fixture.ada, &format!("/projects/{}", fixture.project), bob_id.get(), 40).await;
    let id = fixture.add_key(false).await;
    let path = format!("/api/v4/projects/{}/deploy_keys/{id}", fixture.project);
    fixture.push(&["main:refs/heads/b1"]).await.expect_failure();
    let updated = bob.put(&path, &[("can_push", "true")]).await;
    assert_eq!((updated.status, &updated.body["can_push"]), (200, &json!(true)), "{}", updated.text);
    fixture.push(&["main:refs/heads/b1"]).await.ok();
    let log = fixture.ada.get(&format!("/projects/{}/repository/ref_log", fixture.project)).await;
    assert_eq!(log.body[0]["user"]["username"], "bob", "{}", log.text);
    // Another change leaves the user as it is.
    assert_eq!(fixture.ada.put(&path, &[("title", "renamed")]).await.status, 200);
    fixture.push(&["main:refs/heads/b2"]).await.ok();
    let log = fixture.ada.get(&format!("/projects/{}/repository/ref_log", fixture.project)).await;
    assert_eq!(log.body[0]["user"]["username"], "bob", "{}", log.text);
    assert_eq!(bob.put(&path, &[("can_push", "false")]).await.body["can_push"], false);
    fixture.push(&["main:refs/heads/b3"]).await.expect_failure();
}

#[tokio::test]
async fn an_open_connection_loses_access_with_its_deploy_key() {
    let fixture = DeployKeyFixture::new().await;
    let id = fixture.add_key(false).await;
    let other = fixture.server.project(&fixture.ada, "other", 0).await;
    added_key(&fixture.ada, other, &fixture.pair.public(), false).await;
    let directory = tempfile::tempdir().unwrap();
    let control = format!("ControlPath={}/c", directory.path().display());
    let mut connection = fixture.ssh.command(&fixture.pair, &["-N", "-M", "-o", &control]).spawn().unwrap();
    crate::ssh_connections::wait_until("the connection is there", async || directory.path().join("c").exists()).await;
    let list_refs = async || {
        let mut command = fixture.ssh.command(&fixture.pair, &["-T", "-o", "ControlMaster=no", "-o", &control]);
        let output = run_command(command.arg("git-upload-archive 'ada/mill.git'")).await;
        (output.status, output.stderr)
    };
    // Without a request, the service ends at once.
    assert_eq!(list_refs().await.0, Some(0));
    assert_eq!(fixture.ada.delete(&format!("/projects/{}/deploy_keys/{id}", fixture.project)).await.status, 200);
    assert_eq!(list_refs().await, rejected(NOT_FOUND));
    assert_eq!(fixture.ada.delete(&format!("/projects/{other}/deploy_keys/{id}")).await.status, 200);
    assert_eq!(list_refs().await, rejected("ERROR: Your key is no longer accepted.\n"));
    connection.kill().await.unwrap();
}

#[tokio::test]
async fn a_deploy_key_does_not_open_a_deleted_project() {
    let fixture = DeployKeyFixture::new().await;
    fixture.add_key(true).await;
    assert!(fixture.can_read("ada/mill").await);
    assert_eq!(fixture.ada.delete(&format!("/projects/{}", fixture.project)).await.status, 200);
    for service in SERVICES {
        assert_eq!(fixture.run(service, "ada/mill").await, rejected(NOT_FOUND), "{service}");
    }
    // A new project at the same path has nothing to do with the key.
    fixture.server.project(&fixture.ada, "mill", 20).await;
    assert_eq!(fixture.run("git-upload-pack", "ada/mill").await, rejected(NOT_FOUND));
    fixture.server.run_jobs().await;
    let refused = fixture.ssh.run(&fixture.pair, &[]).await;
    assert!(refused.status == Some(255) && refused.stderr.contains("Permission denied"), "{refused:?}");
}

/// Every permission of the policy is tried with a deploy key, whatever entry point would need it.
#[tokio::test]
async fn a_deploy_key_has_no_permission_but_fetching_and_pushing() {
    let fixture = DeployKeyFixture::new().await;
    let group = fixture.server.group(&fixture.ada, "open", 20).await;
    let public = fixture.server.project(&fixture.ada, "public", 20).await;
    let app = &fixture.server.app;
    let fingerprint = PublicKey::parse(&fixture.pair.public()).unwrap().fingerprint().to_owned();
    for can_push in [false, true] {
        let id = fixture.add_key(can_push).await;
        let actor = authenticate_key(app, &fingerprint).await.unwrap();
        let mut connection = app.database.connection().await.unwrap();
        for action in ProjectAction::ALL {
            let own = ProjectRef::Id(fixture.project.into());
            let expected = action == ProjectAction::ReadCode || action == ProjectAction::WriteCode && can_push;
            match access::authorize_project(app, &mut connection, &actor, &own, action).await {
                Ok(_) => assert!(expected, "{action:?}"),
                Err(Error::Forbidden(Some(_))) => assert!(!expected, "{action:?}"),
                Err(error) => panic!("{action:?}: {error}"),
            }
            let other = ProjectRef::Id(public.into());
            let refused = access::authorize_project(app, &mut connection, &actor, &other, action).await;
            assert!(matches!(refused, Err(Error::NotFound(_))), "{action:?}");
        }
        for action in GroupAction::ALL {
            let group = holdfast_app::namespaces::group::GroupRef::Id(group.into());
            let refused = access::authorize_group(app, &mut connection, &actor, &group, action).await;
            assert!(matches!(refused, Err(Error::NotFound(_))), "{action:?}");
        }
        for action in InstanceAction::ALL {
            assert!(matches!(access::authorize_instance(&actor, action), Err(Error::Forbidden(_))), "{action:?}");
        }
        assert!(matches!(actor.current_user(), Err(Error::Forbidden(Some(_)))));
        let removed = fixture.ada.delete(&format!("/projects/{}/deploy_keys/{id}", fixture.project)).await;
        assert_eq!(removed.status, 200);
    }
}
