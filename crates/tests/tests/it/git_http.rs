//! Git over HTTP with real clients.

use std::path::PathBuf;

use holdfast_tests::{Client, Server, Setup, WorkTree, programs};

/// A public project of ada's with one commit on `main`, and a clone of it.
async fn world(server: &Server, program: PathBuf) -> (Client, String, WorkTree) {
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::with(program).await;
    tree.git(["remote", "add", "origin", &url]).await.ok();
    tree.commit("f", b"one\n", "one").await;
    tree.git(["push", "-q", "origin", "main"]).await.ok();
    (ada, url, tree)
}

async fn refs(tree: &WorkTree, url: &str) -> String {
    tree.git(["ls-remote", url]).await.ok().stdout
}

#[tokio::test]
async fn every_kind_of_push_and_fetch() {
    for program in programs() {
        let server = Server::start().await;
        let (ada, url, tree) = world(&server, program.clone()).await;
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
        let listed = refs(&tree, &url).await;
        assert!(listed.contains(&format!("{second}\trefs/heads/topic\n")), "{listed}");
        assert!(listed.contains(&format!("{second}\trefs/tags/v1^{{}}\n")), "{listed}");
        assert!(listed.starts_with(&format!("{first}\tHEAD\n")), "{listed}");
        // A new ref to what is known already, and its end.
        tree.git(["push", "-q", "origin", "topic:same"]).await.ok();
        tree.git(["push", "-q", "origin", ":same"]).await.ok();
        assert!(!refs(&tree, &url).await.contains("same"));
        // One name is a directory of the other.
        tree.commit("c", b"three\n", "three").await;
        let conflict = tree.git(["push", "-q", "origin", "topic:topic/x"]).await.refused();
        assert!(conflict.stderr.contains("another ref is in the way"), "{}", conflict.stderr);
        // All or nothing, and each for itself.
        tree.git(["push", "-q", "--atomic", "origin", "topic:at1", "topic:topic/y"]).await.refused();
        assert!(!refs(&tree, &url).await.contains("at1"));
        tree.git(["push", "-q", "origin", "topic:at2", "topic:topic/y"]).await.refused();
        assert!(refs(&tree, &url).await.contains("at2"));
        // Backwards only by force.
        tree.git(["commit", "-q", "--amend", "-m", "three again"]).await.ok();
        tree.git(["push", "-q", "origin", "topic:at2"]).await.refused();
        tree.git(["push", "-q", "-f", "origin", "topic:at2"]).await.ok();
        // Shallow, deeper, and a push from there.
        let (cloned, shallow) = WorkTree::clone_with(program.clone(), &url, &["--depth", "1", "-b", "topic"]).await;
        cloned.ok();
        assert_eq!(shallow.git(["rev-list", "--count", "HEAD"]).await.ok().line(), "1");
        shallow.commit("s", b"s\n", "from shallow").await;
        shallow.git(["push", "-q", "origin", "HEAD:from-shallow"]).await.ok();
        shallow.git(["fetch", "-q", "--unshallow"]).await.ok();
        // Without what is not needed yet, which is fetched when it is.
        let (cloned, partial) = WorkTree::clone_with(program.clone(), &url, &["--filter=blob:none"]).await;
        cloned.ok();
        assert_eq!(partial.git(["show", "HEAD:f"]).await.ok().stdout, "one\n");
        assert_eq!(partial.git(["show", "origin/topic:f"]).await.ok().stdout, "two\n");
        // Many local commits make a long request, which git compresses.
        for n in 0..40 {
            shallow.git(["commit", "-q", "--allow-empty", "-m", &n.to_string()]).await.ok();
        }
        tree.git(["push", "-q", "origin", "topic:news"]).await.ok();
        shallow.git(["fetch", "-q", "origin"]).await.ok();
        // And all of it is sound.
        let (cloned, mirror) = WorkTree::clone_with(program.clone(), &url, &["--mirror"]).await;
        cloned.ok();
        mirror.git(["fsck", "--full", "--strict"]).await.ok();
        let default = ada.get("/projects/ada%2Fp").await.body["default_branch"].clone();
        assert_eq!(default, "main");
    }
}

/// Those at the server, old and new: what it is told must be understood by all.
#[tokio::test]
async fn every_git_can_serve() {
    for program in programs() {
        let mut setup = Setup::default();
        setup.settings.git.program = program.clone();
        setup.settings.git.compact_at = 2;
        let server = Server::with(setup).await;
        let version = server.app.engine.git.version().await.unwrap();
        let (ada, url, tree) = world(&server, program).await;
        tree.git(["commit", "-q", "--allow-empty", "-m", "nothing new"]).await.ok();
        tree.commit("g", b"two\n", "two").await;
        tree.git(["push", "-q", "origin", "main", "HEAD~1:refs/heads/old", "HEAD:refs/tags/v1"]).await.ok();
        tree.git(["push", "-q", "origin", "HEAD:old"]).await.ok();
        tree.git(["push", "-q", "--force", "origin", "HEAD~1:old"]).await.ok();
        let (_, bea) = server.user("bea").await;
        let forked = bea.post("/projects/fork/ada%2Fp", &[("namespace", "bea")]).await;
        assert_eq!(forked.status, 201, "git {version}: {}", forked.body);
        server.work().await;
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
async fn a_large_file_goes_to_the_object_store_and_comes_back() {
    let server = Server::start().await;
    let (_, url, tree) = world(&server, "git".into()).await;
    let noise = noise(3_000_000);
    tree.commit("large", &noise, "large").await;
    tree.git(["push", "-q", "origin", "main"]).await.ok();
    assert_eq!(std::fs::read_dir(server.directory.path().join("packs")).unwrap().count(), 1);
    // Another node knows nothing but what the database and the object store tell it.
    let other = server.another_node().await;
    let (cloned, clone) = WorkTree::clone(&url.replace(&server.address(), &other), &[]).await;
    cloned.ok();
    assert_eq!(std::fs::read(clone.path().join("large")).unwrap(), noise);
}

/// Bytes that cannot be compressed.
fn noise(count: usize) -> Vec<u8> {
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
async fn who_may_fetch_and_push() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (guest_id, guest) = server.user("guest").await;
    let (reporter_id, reporter) = server.user("reporter").await;
    let (developer_id, developer) = server.user("developer").await;
    let (_, eve) = server.user("eve").await;
    let project = server.project(&ada, "p", 0).await;
    for (user, level) in [(guest_id, 10), (reporter_id, 20), (developer_id, 30)] {
        crate::projects::add(&ada, &format!("/projects/{project}"), user.get(), level).await;
    }
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    let url = |client: &Client| server.git_url(client, "ada/p");
    // Who is no master makes no first branch: it would be the default one.
    let refused = tree.push(&url(&developer), &["main"]).await.refused();
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
        assert_eq!(outcome.success, may_read, "{}", outcome.stderr);
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
        let outcome = tree.push(&url(client), &["topic"]).await.refused();
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    tree.push(&url(&developer), &["topic"]).await.ok();
    // A protected branch wants a master, and nobody goes back on it or removes it.
    let refused = tree.push(&url(&developer), &["topic:main"]).await.refused();
    assert!(refused.stderr.contains("not allowed to push code to protected branches"), "{}", refused.stderr);
    tree.push(&url(&ada), &["topic:main"]).await.ok();
    let refused = tree.push(&url(&ada), &["-f", "topic~1:main"]).await.refused();
    assert!(refused.stderr.contains("not allowed to force push"), "{}", refused.stderr);
    let refused = tree.push(&url(&ada), &[":main"]).await.refused();
    assert!(refused.stderr.contains("The default branch cannot be deleted"), "{}", refused.stderr);
    // A tag stays where it is, unless a master moves it.
    tree.git(["tag", "v1"]).await.ok();
    tree.push(&url(&developer), &["v1"]).await.ok();
    let refused = tree.push(&url(&developer), &[":v1"]).await.refused();
    assert!(refused.stderr.contains("not allowed to change existing tags"), "{}", refused.stderr);
    tree.push(&url(&ada), &[":v1"]).await.ok();
    // What is archived explains itself.
    assert_eq!(ada.post(&format!("/projects/{project}/archive"), &[]).await.status, 201);
    let refused = tree.push(&url(&ada), &["topic:more"]).await.refused();
    assert!(refused.stderr.contains("The project is archived"), "{}", refused.stderr);
    tree.git(["ls-remote", &url(&ada)]).await.ok();
}

#[tokio::test]
async fn passwords_and_tokens_let_in() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    let base = server.base.strip_prefix("http://").unwrap();
    let tries = async |name: &str, secret: &str| {
        tree.git(["ls-remote", &format!("http://{name}:{secret}@{base}/ada/p.git")]).await.success
    };
    assert!(tries("ada", "correct%20horse%20battery").await);
    assert!(tries("ada%40example.com", "correct%20horse%20battery").await);
    assert!(tries("ada", ada.token()).await && tries("oauth2", ada.token()).await);
    assert!(!tries("ada", "wrong").await && !tries("nobody", "correct%20horse%20battery").await);
    let reader = server.token(ada_id, &["read_user"]).await;
    assert!(!tries("ada", &reader).await, "a token without the scope");
    // A password that worked a moment ago and was changed works no more.
    server.admin.put(&format!("/users/{ada_id}"), &[("password", "another password")]).await;
    assert!(!tries("ada", "correct%20horse%20battery").await);
    assert!(tries("ada", "another%20password").await);
    server.admin.put(&format!("/users/{ada_id}/block"), &[]).await;
    assert!(!tries("ada", "another%20password").await && !tries("ada", ada.token()).await);
}

#[tokio::test]
async fn a_renamed_project_is_found_under_its_old_address() {
    let server = Server::start().await;
    let (ada, url, tree) = world(&server, "git".into()).await;
    ada.put("/projects/ada%2Fp", &[("name", "p"), ("path", "moved")]).await;
    let pulled = tree.git(["fetch", "origin"]).await.ok();
    assert!(pulled.stderr.is_empty() || pulled.stderr.contains("redirect"), "{}", pulled.stderr);
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let address = format!("{}/ada/p.git/info/refs?service=git-upload-pack", server.base);
    let answer = http.get(&address).send().await.unwrap();
    assert_eq!(answer.status(), 308);
    let to = answer.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(to, "/ada/moved.git/info/refs?service=git-upload-pack");
    let _ = url;
}

#[tokio::test]
async fn answers_to_what_is_not_git() {
    let server = Server::start().await;
    let (ada, _, _) = world(&server, "git".into()).await;
    server.project(&ada, "hidden", 0).await;
    let http = reqwest::Client::new();
    let get = async |path: &str| {
        let answer = http.get(format!("{}{path}", server.base)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, page) = get("/ada/p").await;
    assert!(status == 200 && page.contains("git clone http://holdfast.test/ada/p.git"), "{page}");
    assert_eq!(get("/ada/p.git").await.0, 200);
    assert_eq!(get("/ada/p.git/info/refs").await.0, 403);
    assert_eq!(get("/ada/p.git/info/refs?service=git-upload-archive").await.0, 403);
    assert_eq!(
        get("/ada/hidden.git/info/refs?service=git-upload-pack").await,
        get("/ada/none.git/info/refs?service=git-upload-pack").await
    );
    assert_eq!(get("/ada/hidden").await, get("/ada/none").await);
    assert_eq!(get("/ada/p.git/HEAD").await.0, 404);
    let post = http.post(format!("{}/ada/p.git/git-upload-pack", server.base)).body("0000").send().await.unwrap();
    assert_eq!(post.status(), 415);
}

/// Eight at once over two nodes, all from the same state: one wins, and the others are told to fetch first.
#[tokio::test(flavor = "multi_thread")]
async fn of_racing_pushes_one_wins() {
    let server = Server::start().await;
    let (ada, url, tree) = world(&server, "git".into()).await;
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
    let winners: Vec<_> = outcomes.iter().filter(|(outcome, _)| outcome.success).collect();
    assert_eq!(winners.len(), 1);
    for (outcome, _) in outcomes.iter().filter(|(outcome, _)| !outcome.success) {
        assert!(outcome.stderr.contains("fetch first"), "{}", outcome.stderr);
    }
    let branch = ada.get("/projects/ada%2Fp/repository/branches/race").await;
    assert_eq!(branch.body["commit"]["id"], winners[0].1.as_str());
}

#[tokio::test]
async fn the_default_branch_is_one_that_exists() {
    let server = Server::start().await;
    let (ada, url, tree) = world(&server, "git".into()).await;
    tree.push(&url, &["main:other"]).await.ok();
    let set = async |branch: &str| ada.put("/projects/ada%2Fp", &[("name", "p"), ("default_branch", branch)]).await;
    assert_eq!(set("none").await.status, 400);
    assert_eq!(set("other").await.body["default_branch"], "other");
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.git(["symbolic-ref", "--short", "HEAD"]).await.ok().line(), "other");
    tree.push(&url, &[":other"]).await.refused();
    assert_eq!(ada.delete("/projects/ada%2Fp/repository/branches/other").await.status, 400);
}

/// A pack with one tiny object is hardly larger than one with none.
#[tokio::test]
async fn the_smallest_objects_are_kept() {
    let server = Server::start().await;
    let (_, url, tree) = world(&server, "git".into()).await;
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
