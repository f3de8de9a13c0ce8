//! Git over SSH, with ssh and git as clients.

use holdfast_tests::ssh::{KeyPair, SshServer};
use holdfast_tests::{Server, WorkTree};

/// Ada, her key, and her project `ada/tools` with two commits and a tag.
struct SshFixture {
    server: Server,
    ssh: SshServer,
    key: KeyPair,
    tree: WorkTree,
    url: String,
}

impl SshFixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let ssh = server.ssh().await;
        let (_, ada) = server.user("ada").await;
        server.project(&ada, "tools", 0).await;
        let key = KeyPair::registered(&ada).await;
        let tree = WorkTree::new().await;
        tree.commit("README.md", b"Hello\n", "First").await;
        tree.commit("src/main.c", b"int main;\n", "Second").await;
        tree.git(["tag", "-a", "-m", "One", "v1"]).await.ok();
        let url = ssh.url("ada/tools.git");
        let fixture = Self { server, ssh, key, tree, url };
        fixture.git(&["push", "-q", &fixture.url, "main", "v1"]).await;
        fixture
    }

    /// Runs git in the work tree, and checks that it succeeds.
    async fn git(&self, arguments: &[&str]) -> String {
        self.git_in_tree(&self.tree, arguments).await
    }

    async fn git_in_tree(&self, tree: &WorkTree, arguments: &[&str]) -> String {
        self.ssh.git(&self.key, tree, arguments).await.ok().line().to_owned()
    }

    /// Clones into the directory `copy` of a new work tree.
    async fn clone(&self, options: &[&str]) -> WorkTree {
        let tree = WorkTree::new().await;
        let mut arguments = options.to_vec();
        arguments.extend([&self.url, "copy"]);
        self.git_in_tree(&tree, &arguments).await;
        tree
    }

    async fn list_refs(&self) -> String {
        self.git(&["ls-remote", &self.url]).await
    }
}

#[tokio::test]
async fn every_version_of_the_protocol_clones_and_fetches() {
    let fixture = SshFixture::new().await;
    for version in ["protocol.version=0", "protocol.version=1", "protocol.version=2"] {
        let clone = fixture.clone(&["-c", version, "clone", "-q"]).await;
        assert_eq!(fixture.git_in_tree(&clone, &["-C", "copy", "rev-parse", "HEAD"]).await, fixture.tree.head().await);
        assert_eq!(fixture.git_in_tree(&clone, &["-C", "copy", "tag"]).await, "v1");
        let next = fixture.tree.commit("next", version.as_bytes(), version).await;
        fixture.git(&["-c", version, "push", "-q", &fixture.url, "main"]).await;
        fixture.git_in_tree(&clone, &["-C", "copy", "-c", version, "pull", "-q"]).await;
        assert_eq!(fixture.git_in_tree(&clone, &["-C", "copy", "rev-parse", "HEAD"]).await, next, "{version}");
        fixture.git_in_tree(&clone, &["-C", "copy", "fsck", "--strict"]).await;
    }
}

#[tokio::test]
async fn common_path_spellings_are_accepted() {
    let fixture = SshFixture::new().await;
    for path in ["ada/tools", "/ada/tools.git", "Ada/Tools.git", "ada/tools.git/"] {
        let url = fixture.ssh.url(path);
        assert!(fixture.git(&["ls-remote", &url, "main"]).await.ends_with("refs/heads/main"), "{path}");
    }
    let listed = fixture.ssh.run(&fixture.key, &["git upload-pack 'ada/tools'"]).await;
    assert!(listed.stdout.contains("refs/heads/main"), "{listed:?}");
}

#[tokio::test]
async fn forced_pushes_tags_and_deletions_work() {
    let fixture = SshFixture::new().await;
    let first = fixture.tree.git(["rev-parse", "HEAD~1"]).await.ok().line().to_owned();
    fixture.tree.git(["checkout", "-q", "-b", "side", &first]).await.ok();
    let side = fixture.tree.commit("side", b"1", "Side").await;
    fixture.git(&["push", "-q", &fixture.url, "side"]).await;
    fixture.tree.git(["reset", "-q", "--hard", &first]).await.ok();
    let other = fixture.tree.commit("side", b"2", "Other").await;
    let refused = fixture.ssh.git(&fixture.key, &fixture.tree, &["push", &fixture.url, "side"]).await.expect_failure();
    assert!(
        refused.stderr.contains("fetch first") || refused.stderr.contains("non-fast-forward"),
        "{}",
        refused.stderr
    );
    assert!(fixture.list_refs().await.contains(&side));
    fixture.git(&["push", "-q", "-f", &fixture.url, "side"]).await;
    assert!(fixture.list_refs().await.contains(&other));
    fixture.git(&["push", "-q", &fixture.url, "side:refs/tags/light", ":side", ":v1"]).await;
    let refs = fixture.list_refs().await;
    assert!(refs.contains("refs/tags/light") && !refs.contains("refs/heads/side") && !refs.contains("v1"), "{refs}");
}

#[tokio::test]
async fn shallow_clones_can_push_and_unshallow() {
    let fixture = SshFixture::new().await;
    for version in ["protocol.version=0", "protocol.version=2"] {
        let shallow = fixture.clone(&["-c", version, "clone", "-q", "--depth=1", "--no-tags"]).await;
        assert_eq!(fixture.git_in_tree(&shallow, &["-C", "copy", "rev-list", "--count", "HEAD"]).await, "1");
        fixture.git_in_tree(&shallow, &["-C", "copy", "commit", "-q", "--allow-empty", "-m", version]).await;
        fixture.git_in_tree(&shallow, &["-C", "copy", "push", "-q", "origin", "HEAD:main"]).await;
        fixture.git_in_tree(&shallow, &["-C", "copy", "-c", version, "fetch", "-q", "--unshallow"]).await;
        let head = fixture.git_in_tree(&shallow, &["-C", "copy", "rev-parse", "HEAD"]).await;
        assert!(fixture.list_refs().await.contains(&head), "{version}");
    }
}

#[tokio::test]
async fn partial_clones_fetch_missing_blobs() {
    let fixture = SshFixture::new().await;
    let partial = fixture.clone(&["clone", "-q", "--no-checkout", "--filter=blob:none"]).await;
    let missing = ["-C", "copy", "rev-list", "--objects", "--missing=print", "HEAD"];
    assert_eq!(fixture.git_in_tree(&partial, &missing).await.matches('?').count(), 2);
    assert_eq!(fixture.git_in_tree(&partial, &["-C", "copy", "show", "HEAD:README.md"]).await, "Hello");
    assert_eq!(fixture.git_in_tree(&partial, &missing).await.matches('?').count(), 1);
}

/// Unreachable objects are not served, even by id (storage risk F3).
#[tokio::test]
async fn unreachable_objects_are_not_served() {
    let fixture = SshFixture::new().await;
    let secret = fixture.tree.commit("secret", b"1", "Secret").await;
    fixture.git(&["push", "-q", &fixture.url, "main:oops"]).await;
    fixture.git(&["push", "-q", &fixture.url, ":oops"]).await;
    for version in ["protocol.version=0", "protocol.version=1", "protocol.version=2"] {
        let empty = WorkTree::new().await;
        let fetch = ["-c", version, "fetch", &fixture.url, &secret];
        let refused = fixture.ssh.git(&fixture.key, &empty, &fetch).await.expect_failure();
        let text = &refused.stderr;
        assert!(text.contains("not our ref") || text.contains("unadvertised object"), "{version}: {text}");
    }
    let empty = WorkTree::new().await;
    let archive = ["archive", "--remote", fixture.url.as_str(), &secret];
    let refused = fixture.ssh.git(&fixture.key, &empty, &archive).await.expect_failure();
    assert!(refused.stderr.contains("is not a branch"), "{}", refused.stderr);
}

#[tokio::test]
async fn git_archive_works_over_ssh() {
    let fixture = SshFixture::new().await;
    let head = fixture.tree.head().await;
    for revision in ["HEAD", "main", "v1", "refs/heads/main", &head] {
        let archive = ["archive", "--remote", fixture.url.as_str(), "--prefix=a/", "-o", "a.tar", revision, "src"];
        fixture.git(&archive).await;
        let bytes = std::fs::read(fixture.tree.path().join("a.tar")).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("a/src/main.c") && !text.contains("README"), "{revision}");
    }
    fixture.git(&["archive", "--remote", &fixture.url, "--format=tgz", "-o", "a.tgz", "main"]).await;
    assert!(std::fs::read(fixture.tree.path().join("a.tgz")).unwrap().starts_with(b"\x1f\x8b"));
    for arguments in [&["--add-file=README.md", "main"][..], &["main:src"], &["main~99"], &["nothing"], &["--list"]] {
        let arguments = [&["archive", "--remote", fixture.url.as_str()], arguments].concat();
        let refused = fixture.ssh.git(&fixture.key, &fixture.tree, &arguments).await.expect_failure();
        assert!(refused.stderr.contains("NACK"), "{arguments:?}: {}", refused.stderr);
    }
}

#[tokio::test]
async fn a_renamed_project_announces_its_new_url() {
    let fixture = SshFixture::new().await;
    let ada = fixture.server.with_token(&fixture.server.token(2.into(), &["api"]).await);
    let renamed = ada.put("/projects/ada%2Ftools", &[("path", "instruments"), ("name", "instruments")]).await;
    assert_eq!(renamed.status, 200, "{}", renamed.text);
    let listed = fixture.ssh.git(&fixture.key, &fixture.tree, &["ls-remote", &fixture.url]).await.ok();
    assert!(listed.stdout.contains("refs/heads/main"));
    assert!(listed.stderr.contains("Its new address is git@holdfast.test:ada/instruments.git"), "{}", listed.stderr);
    fixture.tree.commit("more", b"1", "More").await;
    fixture.git(&["push", "-q", &fixture.url, "main"]).await;
}

#[tokio::test]
async fn an_empty_repository_can_be_cloned() {
    let fixture = SshFixture::new().await;
    let ada = fixture.server.with_token(&fixture.server.token(2.into(), &["api"]).await);
    fixture.server.project(&ada, "empty", 0).await;
    for version in ["protocol.version=0", "protocol.version=2"] {
        let tree = WorkTree::new().await;
        fixture.git_in_tree(&tree, &["-c", version, "clone", "-q", &fixture.ssh.url("ada/empty"), "copy"]).await;
    }
}

#[tokio::test]
async fn large_pushes_and_fetches_work() {
    let fixture = SshFixture::new().await;
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    // More than fits into all buffers and windows of the connection.
    let noise: Vec<u8> = (0..8 << 20).map(|_| random()).collect();
    let head = fixture.tree.commit("noise", &noise, "Noise").await;
    fixture.git(&["push", "-q", &fixture.url, "main"]).await;
    for version in ["protocol.version=0", "protocol.version=2"] {
        let clone = fixture.clone(&["-c", version, "clone", "-q"]).await;
        assert_eq!(fixture.git_in_tree(&clone, &["-C", "copy", "rev-parse", "HEAD"]).await, head);
        assert!(std::fs::read(clone.path().join("copy/noise")).unwrap() == noise, "{version}");
    }
}
