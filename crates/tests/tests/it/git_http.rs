//! Git over HTTP with the git program as client.

use std::path::PathBuf;

use holdfast_tests::{Client, Server, Setup, WorkTree, git_programs};

/// Creates a public project of ada's with one commit on `main`, and clones it.
async fn set_up(server: &Server, program: PathBuf) -> (Client, String, WorkTree) {
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::with_program(program).await;
    tree.git(["remote", "add", "origin", &url]).await.ok();
    tree.commit("f", b"one\n", "one").await;
    tree.git(["push", "-q", "origin", "main"]).await.ok();
    (ada, url, tree)
}

async fn list_refs(tree: &WorkTree, url: &str) -> String {
    tree.git(["ls-remote", url]).await.ok().stdout
}

#[tokio::test]
async fn every_kind_of_push_and_fetch_works() {
    for program in git_programs() {
        let server = Server::start().await;
        let (ada, url, tree) = set_up(&server, program.clone()).await;
        let first = tree.head().await;
        for version in ["0", "1", "2"] {
            let protocol = format!("protocol.version={version}");
            let (cloned, clone) = WorkTree::clone_with(program.clone(), &url, &["-c", &protocol]).await;
            cloned.ok();
            assert_eq!(clone.head().await, first, "version {version}");
        }
        // A branch and an annotated tag, with push options.
        tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
        let second = tree.commit("f", b"two\n", "two").await;
        tree.git(["tag", "-a", "v1", "-m", "Version 1"]).await.ok();
        tree.git(["push", "-q", "-o", "ci.skip", "origin", "topic", "v1"]).await.ok();
        let listed = list_refs(&tree, &url).await;
        assert!(listed.contains(&format!("{second}\trefs/heads/topic\n")), "{listed}");
        assert!(listed.contains(&format!("{second}\trefs/tags/v1^{{}}\n")), "{listed}");
        assert!(listed.starts_with(&format!("{first}\tHEAD\n")), "{listed}");
        // Creates and deletes a ref to a commit that the server already has.
        tree.git(["push", "-q", "origin", "topic:same"]).await.ok();
        tree.git(["push", "-q", "origin", ":same"]).await.ok();
        assert!(!list_refs(&tree, &url).await.contains("same"));
        // A ref name is a directory of another one.
        tree.commit("c", b"three\n", "three").await;
        let conflict = tree.git(["push", "-q", "origin", "topic:topic/x"]).await.expect_failure();
        assert!(conflict.stderr.contains("conflicts with an existing ref"), "{}", conflict.stderr);
        // An atomic push is rejected as a whole; otherwise each ref update is decided separately.
        tree.git(["push", "-q", "--atomic", "origin", "topic:at1", "topic:topic/y"]).await.expect_failure();
        assert!(!list_refs(&tree, &url).await.contains("at1"));
        tree.git(["push", "-q", "origin", "topic:at2", "topic:topic/y"]).await.expect_failure();
        assert!(list_refs(&tree, &url).await.contains("at2"));
        // A non-fast-forward needs force.
        tree.git(["commit", "-q", "--amend", "-m", "three again"]).await.ok();
        tree.git(["push", "-q", "origin", "topic:at2"]).await.expect_failure();
        tree.git(["push", "-q", "-f", "origin", "topic:at2"]).await.ok();
        // A shallow clone, deepening it, and a push from it.
        let (cloned, shallow) = WorkTree::clone_with(program.clone(), &url, &["--depth", "1", "-b", "topic"]).await;
        cloned.ok();
        assert_eq!(shallow.git(["rev-list", "--count", "HEAD"]).await.ok().line(), "1");
        shallow.commit("s", b"s\n", "from shallow").await;
        shallow.git(["push", "-q", "origin", "HEAD:from-shallow"]).await.ok();
        shallow.git(["fetch", "-q", "--unshallow"]).await.ok();
        // A partial clone, which fetches blobs on demand.
        let (cloned, partial) = WorkTree::clone_with(program.clone(), &url, &["--filter=blob:none"]).await;
        cloned.ok();
        assert_eq!(partial.git(["show", "HEAD:f"]).await.ok().stdout, "one\n");
        assert_eq!(partial.git(["show", "origin/topic:f"]).await.ok().stdout, "two\n");
        // Many local commits make a long request body, which git compresses.
        for n in 0..40 {
            shallow.git(["commit", "-q", "--allow-empty", "-m", &n.to_string()]).await.ok();
        }
        tree.git(["push", "-q", "origin", "topic:news"]).await.ok();
        shallow.git(["fetch", "-q", "origin"]).await.ok();
        // The repository passes fsck.
        let (cloned, mirror) = WorkTree::clone_with(program.clone(), &url, &["--mirror"]).await;
        cloned.ok();
        mirror.git(["fsck", "--full", "--strict"]).await.ok();
        let default = ada.get("/projects/ada%2Fp").await.body["default_branch"].clone();
        assert_eq!(default, "main");
    }
}

/// The server works with every installed version of git.
#[tokio::test]
async fn every_supported_git_version_can_serve() {
    for program in git_programs() {
        let mut setup = Setup::default();
        setup.settings.git.program = program.clone();
        setup.settings.maintenance.repack_threshold_packs = 2;
        let server = Server::start_with(setup).await;
        let version = server.app.git_runtime.git.version().await.unwrap();
        let (ada, url, tree) = set_up(&server, program).await;
        tree.git(["commit", "-q", "--allow-empty", "-m", "nothing new"]).await.ok();
        tree.commit("g", b"two\n", "two").await;
        tree.git(["push", "-q", "origin", "main", "HEAD~1:refs/heads/old", "HEAD:refs/tags/v1"]).await.ok();
        tree.git(["push", "-q", "origin", "HEAD:old"]).await.ok();
        tree.git(["push", "-q", "--force", "origin", "HEAD~1:old"]).await.ok();
        let (_, bea) = server.user("bea").await;
        let forked = bea.post("/projects/fork/ada%2Fp", &[("namespace", "bea")]).await;
        assert_eq!(forked.status, 201, "git {version}: {}", forked.body);
        server.run_jobs().await;
        for url in [url, server.git_url(&bea, "bea/p")] {
            let (cloned, clone) = WorkTree::clone(&url, &[]).await;
            cloned.ok();
            assert_eq!(clone.head().await, tree.head().await);
            clone.git(["fsck", "--full", "--strict"]).await.ok();
        }
        for path in ["tree?recursive=true", "compare?from=old&to=main", "contributors", "branches", "archive.tar"] {
            let answer = ada.get(&format!("/projects/ada%2Fp/repository/{path}")).await;
            assert_eq!(answer.status, 200, "git {version}: {path} {}", answer.body);
        }
    }
}

#[tokio::test]
async fn large_files_are_stored_in_and_served_from_the_object_store() {
    let server = Server::start().await;
    let (_, url, tree) = set_up(&server, "git".into()).await;
    let noise = random_bytes(3_000_000);
    tree.commit("large", &noise, "large").await;
    tree.git(["push", "-q", "origin", "main"]).await.ok();
    assert_eq!(std::fs::read_dir(server.directory.path().join("packs")).unwrap().count(), 1);
    // A second node has only what is in the database and the object store.
    let other = server.another_node().await;
    let (cloned, clone) = WorkTree::clone(&url.replace(&server.address(), &other), &[]).await;
    cloned.ok();
    assert_eq!(std::fs::read(clone.path().join("large")).unwrap(), noise);
}

/// Returns incompressible bytes.
fn random_bytes(count: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(&mut next).take(count).collect()
}

#[tokio::test]
async fn fetch_and_push_require_project_access() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (guest_id, guest) = server.user("guest").await;
    let (reporter_id, reporter) = server.user("reporter").await;
    let (developer_id, developer) = server.user("developer").await;
    let (_, eve) = server.user("eve").await;
    let project = server.project(&ada, "p", 0).await;
    for (user, level) in [(guest_id, 10), (reporter_id, 20), (developer_id, 30)] {
        crate::projects::add_member(&ada, &format!("/projects/{project}"), user.get(), level).await;
    }
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    let url = |client: &Client| server.git_url(client, "ada/p");
    // Only a master can create the first branch, because it becomes the default branch.
    let refused = tree.push(&url(&developer), &["main"]).await.expect_failure();
    assert!(refused.stderr.contains("not allowed to push code to protected branches"), "{}", refused.stderr);
    tree.push(&url(&ada), &["main"]).await.ok();
    let anonymous = server.anonymous();
    for (client, may_read, says) in [
        (&anonymous, false, "could not read Username"),
        (&eve, false, "could not be found"),
        (&guest, false, "not allowed to download code"),
        (&reporter, true, ""),
        (&developer, true, ""),
    ] {
        let outcome = tree.git(["ls-remote", &url(client)]).await;
        assert_eq!(outcome.is_success, may_read, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    tree.commit("f", b"two\n", "two").await;
    for (client, says) in [
        (&anonymous, "could not read Username"),
        (&eve, "could not be found"),
        (&guest, "not allowed to push code to this project"),
        (&reporter, "not allowed to push code to this project"),
    ] {
        let outcome = tree.push(&url(client), &["topic"]).await.expect_failure();
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    tree.push(&url(&developer), &["topic"]).await.ok();
    // A protected branch needs a master to push, and cannot be forced or deleted.
    let refused = tree.push(&url(&developer), &["topic:main"]).await.expect_failure();
    assert!(refused.stderr.contains("not allowed to push code to protected branches"), "{}", refused.stderr);
    tree.push(&url(&ada), &["topic:main"]).await.ok();
    let refused = tree.push(&url(&ada), &["-f", "topic~1:main"]).await.expect_failure();
    assert!(refused.stderr.contains("not allowed to force push"), "{}", refused.stderr);
    let refused = tree.push(&url(&ada), &[":main"]).await.expect_failure();
    assert!(refused.stderr.contains("The default branch cannot be deleted"), "{}", refused.stderr);
    // Only a master can update or delete a tag.
    tree.git(["tag", "v1"]).await.ok();
    tree.push(&url(&developer), &["v1"]).await.ok();
    let refused = tree.push(&url(&developer), &[":v1"]).await.expect_failure();
    assert!(refused.stderr.contains("not allowed to change existing tags"), "{}", refused.stderr);
    tree.push(&url(&ada), &[":v1"]).await.ok();
    // The rejection of a push to an archived project gives the reason.
    assert_eq!(ada.post(&format!("/projects/{project}/archive"), &[]).await.status, 201);
    let refused = tree.push(&url(&ada), &["topic:more"]).await.expect_failure();
    assert!(refused.stderr.contains("The project is archived"), "{}", refused.stderr);
    tree.git(["ls-remote", &url(&ada)]).await.ok();
}

#[tokio::test]
async fn passwords_and_tokens_authenticate() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    let base = server.base_url.strip_prefix("http://").unwrap();
    let tries = async |name: &str, secret: &str| {
        tree.git(["ls-remote", &format!("http://{name}:{secret}@{base}/ada/p.git")]).await.is_success
    };
    assert!(tries("ada", "correct%20horse%20battery").await);
    assert!(tries("ada%40example.com", "correct%20horse%20battery").await);
    assert!(tries("ada", ada.token()).await && tries("oauth2", ada.token()).await);
    // Release tools in builds send the token of a user with the name of builds.
    assert!(tries("gitlab-ci-token", ada.token()).await);
    assert!(!tries("ada", "wrong").await && !tries("nobody", "correct%20horse%20battery").await);
    let reader = server.token(ada_id, &["read_user"]).await;
    assert!(!tries("ada", &reader).await, "a token without the scope");
    // A changed password is rejected at once, although it was valid a moment ago.
    server.admin.put(&format!("/users/{ada_id}"), &[("password", "another password")]).await;
    assert!(!tries("ada", "correct%20horse%20battery").await);
    assert!(tries("ada", "another%20password").await);
    server.admin.put(&format!("/users/{ada_id}/block"), &[]).await;
    assert!(!tries("ada", "another%20password").await && !tries("ada", ada.token()).await);
}

#[tokio::test]
async fn a_renamed_project_redirects_from_its_old_url() {
    let server = Server::start().await;
    let (ada, url, tree) = set_up(&server, "git".into()).await;
    ada.put("/projects/ada%2Fp", &[("name", "p"), ("path", "moved")]).await;
    let pulled = tree.git(["fetch", "origin"]).await.ok();
    assert!(pulled.stderr.is_empty() || pulled.stderr.contains("redirect"), "{}", pulled.stderr);
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let address = format!("{}/ada/p.git/info/refs?service=git-upload-pack", server.base_url);
    let answer = http.get(&address).send().await.unwrap();
    assert_eq!(answer.status(), 308);
    let to = answer.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(to, "/ada/moved.git/info/refs?service=git-upload-pack");
    let _ = url;
}

#[tokio::test]
async fn non_git_requests_get_a_page_or_an_error() {
    let server = Server::start().await;
    let (ada, _, _) = set_up(&server, "git".into()).await;
    server.project(&ada, "hidden", 0).await;
    let http = reqwest::Client::new();
    let get = async |path: &str| {
        let answer = http.get(format!("{}{path}", server.base_url)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, page) = get("/ada/p").await;
    assert!(status == 200 && page.contains("http://holdfast.test/ada/p.git"), "{page}");
    assert_eq!(get("/ada/p.git").await.0, 200);
    assert_eq!(get("/ada/p.git/info/refs").await.0, 403);
    assert_eq!(get("/ada/p.git/info/refs?service=git-upload-archive").await.0, 403);
    assert_eq!(
        get("/ada/hidden.git/info/refs?service=git-upload-pack").await,
        get("/ada/none.git/info/refs?service=git-upload-pack").await
    );
    // The page repeats its own address, and nothing else differs.
    let (status, page) = get("/ada/hidden").await;
    let page = page.replace("ada%2Fhidden", "ada%2Fnone").replace("/ada/hidden", "/ada/none");
    assert_eq!((status, page), get("/ada/none").await);
    assert_eq!(get("/ada/p.git/HEAD").await.0, 404);
    let post = http.post(format!("{}/ada/p.git/git-upload-pack", server.base_url)).body("0000").send().await.unwrap();
    assert_eq!(post.status(), 415);
}

/// Eight concurrent pushes over two nodes from the same state: one succeeds, and the others are rejected with "fetch
/// first".
#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_of_racing_pushes_succeeds() {
    let server = Server::start().await;
    let (ada, url, tree) = set_up(&server, "git".into()).await;
    let other = url.replace(&server.address(), &server.another_node().await);
    tree.git(["push", "-q", "origin", "main:race"]).await.ok();
    let mut racers = tokio::task::JoinSet::new();
    for n in 0..8 {
        let url = if n % 2 == 0 { url.clone() } else { other.clone() };
        racers.spawn(async move {
            let (cloned, clone) = WorkTree::clone(&url, &["-b", "race"]).await;
            cloned.ok();
            let id = clone.commit("f", format!("{n}\n").as_bytes(), "race").await;
            (clone, url, id)
        });
    }
    let mut ready = racers.join_all().await;
    let mut pushes = tokio::task::JoinSet::new();
    for (clone, url, id) in ready.drain(..) {
        pushes.spawn(async move { (clone.push(&url, &["race"]).await, id) });
    }
    let outcomes = pushes.join_all().await;
    let winners: Vec<_> = outcomes.iter().filter(|(outcome, _)| outcome.is_success).collect();
    assert_eq!(winners.len(), 1);
    for (outcome, _) in outcomes.iter().filter(|(outcome, _)| !outcome.is_success) {
        assert!(outcome.stderr.contains("fetch first"), "{}", outcome.stderr);
    }
    let branch = ada.get("/projects/ada%2Fp/repository/branches/race").await;
    assert_eq!(branch.body["commit"]["id"], winners[0].1.as_str());
}

#[tokio::test]
async fn the_default_branch_must_exist() {
    let server = Server::start().await;
    let (ada, url, tree) = set_up(&server, "git".into()).await;
    tree.push(&url, &["main:other"]).await.ok();
    let set = async |branch: &str| ada.put("/projects/ada%2Fp", &[("name", "p"), ("default_branch", branch)]).await;
    assert_eq!(set("none").await.status, 400);
    assert_eq!(set("other").await.body["default_branch"], "other");
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.git(["symbolic-ref", "--short", "HEAD"]).await.ok().line(), "other");
    tree.push(&url, &[":other"]).await.expect_failure();
    assert_eq!(ada.delete("/projects/ada%2Fp/repository/branches/other").await.status, 400);
}

/// A pack with one tiny object is hardly larger than an empty one.
#[tokio::test]
async fn packs_with_one_tiny_object_are_stored() {
    let server = Server::start().await;
    let (_, url, tree) = set_up(&server, "git".into()).await;
    for (name, content) in [("none", ""), ("one", "1"), ("three", "123")] {
        std::fs::write(tree.path().join("tiny"), content).unwrap();
        let id = tree.git(["hash-object", "-w", "tiny"]).await.ok().line().to_owned();
        tree.push(&url, &[&format!("{id}:refs/tags/{name}")]).await.ok();
    }
    let other = url.replace(&server.address(), &server.another_node().await);
    let (cloned, clone) = WorkTree::clone(&other, &["--mirror"]).await;
    cloned.ok();
    assert_eq!(clone.git(["cat-file", "blob", "three"]).await.ok().stdout, "123");
    clone.git(["cat-file", "-e", "none"]).await.ok();
}
