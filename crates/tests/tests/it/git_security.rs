//! Requests of malicious git clients. Each test describes an attack, after which nothing has changed.

use std::process::Stdio;

use holdfast_tests::ssh::{KeyPair, SshServer};
use holdfast_tests::{Client, Server, WorkTree};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdout};

pub const ZERO_ID: &str = "0000000000000000000000000000000000000000";
/// A pack file that contains no objects. A push that only creates refs to objects of the repository sends it.
pub const EMPTY_PACK: &[u8] =
    b"PACK\0\0\0\x02\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e";
const CAPABILITIES: &str = "\0 report-status object-format=sha1 agent=evil";

pub fn packet(text: &str) -> Vec<u8> {
    let mut packet = format!("{:04x}", text.len() + 4).into_bytes();
    packet.extend_from_slice(text.as_bytes());
    packet
}

/// A push over SSH that has received the refs, so that the server has opened the repository, and has sent nothing yet.
pub struct OpenPush {
    process: Child,
    stdout: ChildStdout,
}

impl OpenPush {
    pub async fn start(ssh: &SshServer, key: &KeyPair, project: &str) -> Self {
        let command = format!("git-receive-pack '{project}.git'");
        let mut ssh = ssh.command(key, &["-T"]);
        let mut process = ssh.arg(command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = process.stdout.take().unwrap();
        loop {
            let mut length = [0; 4];
            stdout.read_exact(&mut length).await.unwrap();
            let length = usize::from_str_radix(std::str::from_utf8(&length).unwrap(), 16).unwrap();
            if length == 0 {
                return Self { process, stdout };
            }
            stdout.read_exact(&mut vec![0; length - 4]).await.unwrap();
        }
    }

    /// Sends the commands and the pack, and returns the report.
    pub async fn finish(mut self, content: &[u8]) -> String {
        self.process.stdin.take().unwrap().write_all(content).await.unwrap();
        let mut report = String::new();
        self.stdout.read_to_string(&mut report).await.unwrap();
        report
    }
}

pub struct GitFixture {
    pub server: Server,
    pub ada: Client,
    tree: WorkTree,
    commit: String,
    blob: String,
    pack: Vec<u8>,
}

pub async fn set_up() -> GitFixture {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let tree = WorkTree::new().await;
    let commit = tree.commit("f", b"evil\n", "evil").await;
    let blob = tree.git(["rev-parse", "HEAD:f"]).await.ok().line().to_owned();
    let pack = create_pack(&tree, &["--all"]).await;
    GitFixture { server, ada, tree, commit, blob, pack }
}

/// Returns the bytes of a pack with these revisions of the work tree's repository.
async fn create_pack(tree: &WorkTree, revisions: &[&str]) -> Vec<u8> {
    let name = tree.git(["pack-objects", "-q", "evil"].iter().chain(revisions)).await.ok().line().to_owned();
    std::fs::read(tree.path().join(format!("evil-{name}.pack"))).unwrap()
}

impl GitFixture {
    async fn post(&self, service: &str, body: Vec<u8>, encoding: Option<&str>) -> (u16, String) {
        let address = format!("{}/ada/p.git/{service}", self.server.base_url);
        let mut request = reqwest::Client::new()
            .post(address)
            .basic_auth("ada", Some(self.ada.token()))
            .header("Content-Type", format!("application/x-{service}-request"))
            .body(body);
        if let Some(encoding) = encoding {
            request = request.header("Content-Encoding", encoding);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), String::from_utf8_lossy(&answer.bytes().await.unwrap()).into_owned())
    }

    pub async fn push(&self, commands: &[(&str, &str, &str)], pack: &[u8]) -> (u16, String) {
        let mut body = Vec::new();
        for (place, (old, new, name)) in commands.iter().enumerate() {
            let capabilities = if place == 0 { CAPABILITIES } else { "" };
            body.extend(packet(&format!("{old} {new} {name}{capabilities}")));
        }
        body.extend_from_slice(b"0000");
        body.extend_from_slice(pack);
        self.post("git-receive-pack", body, None).await
    }

    pub async fn list_refs(&self) -> String {
        self.tree.git(["ls-remote", &self.server.git_url(&self.ada, "ada/p")]).await.ok().stdout
    }
}

#[tokio::test]
async fn malformed_packs_are_rejected() {
    let fixture = set_up().await;
    let before = (fixture.list_refs().await, fixture.server.dump_database().await);
    let (commit, pack) = (fixture.commit.as_str(), &fixture.pack);
    let name = "refs/heads/evil";
    let only_commit = {
        let list = fixture.tree.path().join("list");
        std::fs::write(&list, format!("{commit}\n")).unwrap();
        let name = std::process::Command::new("sh")
            .current_dir(fixture.tree.path())
            .args(["-c", "git pack-objects -q lone < list"])
            .output()
            .unwrap();
        let name = String::from_utf8(name.stdout).unwrap();
        std::fs::read(fixture.tree.path().join(format!("lone-{}.pack", name.trim()))).unwrap()
    };
    let mut flipped = pack.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 255;
    let missing = "missing necessary objects";
    for (what, new, pack, says) in [
        ("objects are missing", commit, &only_commit[..], missing),
        ("it breaks off", commit, &pack[..pack.len() - 30], "unpack git index-pack failed"),
        ("a byte is wrong", commit, &flipped, "unpack the pack is damaged"),
        ("there is none", "1111111111111111111111111111111111111111", b"", "unpack git index-pack failed"),
        ("it is something else", commit, b"PACK but not really", "unpack git index-pack failed"),
        ("a branch at a blob", &fixture.blob, pack, "a branch must point at a commit"),
    ] {
        let (status, text) = fixture.push(&[(ZERO_ID, new, name)], pack).await;
        assert!(status == 200 && text.contains(says), "{what}: {status} {text}");
        assert!(!text.contains("\nok") && text.contains(&format!("ng {name}")), "{what}: {text}");
    }
    assert_eq!((fixture.list_refs().await, fixture.server.dump_database().await), before, "nothing has changed");
    let (_, text) = fixture.push(&[(ZERO_ID, commit, name)], pack).await;
    assert!(text.contains("ok refs/heads/evil"), "the same, whole: {text}");
}

/// Path traversal, options, and misleading names: no such ref name reaches a file or a command.
#[tokio::test]
async fn invalid_ref_names_are_rejected() {
    let fixture = set_up().await;
    let before = fixture.list_refs().await;
    let hex = "a".repeat(40);
    let long = format!("refs/heads/{}", "x".repeat(300));
    let names = [
        "HEAD",
        "main",
        "refs/heads/../x",
        "refs/heads/../../../../etc/passwd",
        "refs/heads/.git",
        "refs/heads/a.lock",
        "refs/heads/a/../b",
        "refs/heads//a",
        "refs/heads/a\u{202e}b",
        "refs/heads/-x",
        "refs/heads/--upload-pack=id",
        "refs/tags/--output=x",
        "refs/heads/a b",
        "refs/heads/a~1",
        "refs/heads/a:b",
        "refs/heads/@{x",
        "refs/heads/",
        "refs/keep-around/x",
        "refs/merge-requests/1/head",
        "refs/heads/HEAD",
        "objects/info/alternates",
        "config",
        &long,
        &format!("refs/heads/{hex}"),
        &format!("refs/tags/{}", "0".repeat(64)),
    ];
    for name in names {
        let (status, text) = fixture.push(&[(ZERO_ID, &fixture.commit, name)], &fixture.pack).await;
        assert!(status == 200 && text.contains(&format!("ng {name}")), "{name}: {status} {text}");
    }
    let twice =
        [(ZERO_ID, fixture.commit.as_str(), "refs/heads/d"), (ZERO_ID, fixture.commit.as_str(), "refs/heads/d")];
    let (_, text) = fixture.push(&twice, &fixture.pack).await;
    assert_eq!(text.matches("ng refs/heads/d the push updates this ref more than once").count(), 2, "{text}");
    let both =
        [(ZERO_ID, fixture.commit.as_str(), "refs/heads/d/f"), (ZERO_ID, fixture.commit.as_str(), "refs/heads/d")];
    let (_, text) = fixture.push(&both, &fixture.pack).await;
    assert!(
        text.contains("ok refs/heads/d/f\n") && text.contains("ng refs/heads/d conflicts with an existing ref"),
        "{text}"
    );
    let (_, text) = fixture.push(&[(&fixture.commit, ZERO_ID, "refs/heads/d/f")], b"").await;
    assert!(text.contains("ok refs/heads/d/f"), "{text}");
    let (_, text) = fixture.push(&[(&fixture.commit, ZERO_ID, "refs/heads/none")], b"").await;
    assert!(text.contains("ng refs/heads/none"), "{text}");
    assert_eq!(fixture.list_refs().await, before);
}

#[tokio::test]
async fn malformed_requests_are_rejected() {
    let fixture = set_up().await;
    let before = (fixture.list_refs().await, fixture.server.dump_database().await);
    assert_eq!(
        fixture.post("git-receive-pack", b"0000".to_vec(), None).await,
        (200, String::new()),
        "git asks like this"
    );
    for body in [&b"zzzz"[..], b"0003", b"ffff", b"00", b"0009abc", b"0010nonsense\0\0\0\0", b"\xff\xfe"] {
        for service in ["git-receive-pack", "git-upload-pack"] {
            let (status, text) = fixture.post(service, body.to_vec(), None).await;
            assert!([200, 400, 500].contains(&status), "{service}: {status}");
            assert!(status != 500 && !text.contains("ok refs"), "{service} {body:?}: {status} {text}");
        }
    }
    assert_eq!(fixture.post("git-receive-pack", b"0000".to_vec(), Some("br")).await.0, 415);
    // A compressed request may be large when it is decompressed.
    let bomb = gzip_bomb();
    let (status, text) = fixture.post("git-upload-pack", bomb.clone(), Some("gzip")).await;
    assert!(status == 400, "{status} {text}");
    let (status, _) = fixture.post("git-receive-pack", bomb, Some("gzip")).await;
    assert!(status < 500);
    // Invalid ids, unknown ids, and ref names instead of ids.
    for want in ["x", "--all", &"f".repeat(40), &"0".repeat(64), "refs/heads/main"] {
        let mut body = packet("command=fetch");
        body.extend_from_slice(b"0001");
        body.extend(packet(&format!("want {want}\n")));
        body.extend(packet("done\n"));
        body.extend_from_slice(b"0000");
        let answer = reqwest::Client::new()
            .post(format!("{}/ada/p.git/git-upload-pack", fixture.server.base_url))
            .header("Content-Type", "application/x-git-upload-pack-request")
            .header("Git-Protocol", "version=2")
            .body(body)
            .send()
            .await
            .unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert!(status == 400 || text.contains("ERR upload-pack: not our ref"), "{want}: {status} {text}");
    }
    assert_eq!((fixture.list_refs().await, fixture.server.dump_database().await), before);
}

/// Returns 70 MB of pkt-lines, compressed to some kilobytes.
fn gzip_bomb() -> Vec<u8> {
    use std::io::Write;
    let line = packet(&format!("have {}\n", "1".repeat(40)));
    let mut encoder = std::process::Command::new("gzip")
        .arg("-c")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = encoder.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let block = line.repeat(1000);
        for _ in 0..1500 {
            stdin.write_all(&block).unwrap();
        }
    });
    let output = encoder.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    output
}

/// Trees that would write outside of a work tree or into its repository, and submodules whose URLs are options.
#[tokio::test]
async fn malicious_trees_are_rejected() {
    let fixture = set_up().await;
    let before = fixture.list_refs().await;
    for entry in [".git", ".GIT", "..", ".", "a/b", ".git ", "git~1", ".g\u{200c}it"] {
        let raw = [b"100644 ", entry.as_bytes(), b"\0", &hex(&fixture.blob)].concat();
        let (commit, pack) = commit_with_tree(&fixture.tree, &raw).await;
        let (_, text) = fixture.push(&[(ZERO_ID, &commit, "refs/heads/tree")], &pack).await;
        assert!(text.contains("unpack git index-pack failed"), "{entry}: {text}");
    }
    let tree = WorkTree::new().await;
    let modules = "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n";
    let commit = tree.commit(".gitmodules", modules.as_bytes(), "modules").await;
    let (_, text) =
        fixture.push(&[(ZERO_ID, &commit, "refs/heads/modules")], &create_pack(&tree, &["--all"]).await).await;
    assert!(text.contains("unpack git index-pack failed"), "{text}");
    assert_eq!(fixture.list_refs().await, before);
    // A symbolic link is stored as it is, and the server never follows it.
    let tree = WorkTree::new().await;
    std::os::unix::fs::symlink("/etc/passwd", tree.path().join("link")).unwrap();
    tree.git(["add", "link"]).await.ok();
    tree.git(["commit", "-q", "-m", "link"]).await.ok();
    tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["main:link"]).await.ok();
    assert_no_foreign_files(&fixture.server);
}

pub fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

async fn commit_with_tree(tree: &WorkTree, raw: &[u8]) -> (String, Vec<u8>) {
    std::fs::write(tree.path().join("raw-tree"), raw).unwrap();
    let id = tree.git(["hash-object", "-t", "tree", "-w", "--literally", "raw-tree"]).await.ok().line().to_owned();
    let commit = tree.git(["commit-tree", &id, "-m", "tree"]).await.ok().line().to_owned();
    tree.git(["update-ref", "refs/heads/raw", &commit]).await.ok();
    let pack = create_pack(tree, &["--all"]).await;
    tree.git(["update-ref", "-d", "refs/heads/raw"]).await.ok();
    (commit, pack)
}

/// Checks that the cached repository contains nothing but packs and files that the server wrote.
fn assert_no_foreign_files(server: &Server) {
    let directory = server.cache.path().join("0/repositories/1.git");
    let mut found: Vec<String> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, ["HEAD", "config", "objects", "refs"]);
    let config = std::fs::read_to_string(directory.join("config")).unwrap();
    assert_eq!(config, "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
    for file in std::fs::read_dir(directory.join("objects/pack")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with("pack-"), "{name}");
    }
}

/// A push beyond the maximum size is rejected, and the received part is deleted.
#[tokio::test]
async fn oversized_packs_are_rejected() {
    let mut setup = holdfast_tests::Setup::default();
    setup.settings.git.pack_limits.max_pack_bytes = 10_000;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    let noise: Vec<u8> = (0..200_000_u32)
        .map(|i| (i.wrapping_mul(i) >> 5) as u8 ^ (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    tree.commit("large", &noise, "large").await;
    let refused = tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.expect_failure();
    assert!(refused.stderr.contains("exceeds maximum allowed size"), "{}", refused.stderr);
    let limit =
        "remote unpack failed: pack exceeds maximum allowed size: this server accepts 10000 bytes (git.max_pack_bytes)";
    assert!(refused.stderr.contains(limit), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(server.cache.path().join("0/incoming")).unwrap().count(), 0);
}

/// A pack of some kilobytes that decompresses to more than the server has memory or time for. It is rejected by the
/// sizes in its object headers, before anything is decompressed, and other pushes go on meanwhile.
#[tokio::test]
async fn decompression_bombs_are_rejected() {
    let mut setup = holdfast_tests::Setup::default();
    setup.settings.git.pack_limits.max_object_bytes = 4 << 20;
    setup.settings.git.pack_limits.max_inflated_bytes = 16 << 20;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let url = server.git_url(&ada, "ada/p");

    let large = WorkTree::new().await;
    large.commit("zeros", &vec![0; 64 << 20], "large").await;
    let many = WorkTree::new().await;
    for number in 0_u8..10 {
        many.commit("zeros", &vec![number; 3 << 20], "many").await;
    }
    // Each object is a delta of the previous one and expands to all of it.
    let deltas = WorkTree::new().await;
    let text = "0".repeat(3 << 20);
    for number in 0..10 {
        deltas.commit("text", format!("{number}{text}").as_bytes(), "deltas").await;
    }
    deltas.git(["repack", "-adq"]).await.ok();
    let ordinary = WorkTree::new().await;
    ordinary.commit("f", b"ordinary\n", "ordinary").await;

    let before = (server.dump_database().await, large.git(["ls-remote", &url]).await.ok().stdout);
    for (tree, says) in [
        (&large, "an object of 67108864 bytes is larger than this server accepts (4194304 bytes)"),
        (&many, "the pack unpacks to more than"),
        (&deltas, "the pack unpacks to more than"),
    ] {
        let refused = tree.push(&url, &["main:bomb"]).await.expect_failure();
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    assert_eq!((server.dump_database().await, large.git(["ls-remote", &url]).await.ok().stdout), before);
    let (bomb, push) = tokio::join!(large.push(&url, &["main:bomb"]), ordinary.push(&url, &["main:other"]));
    bomb.expect_failure();
    push.ok();
    assert_eq!(std::fs::read_dir(server.cache.path().join("0/incoming")).unwrap().count(), 0);
}

/// More objects than fit into the memory limit of one git process: the process is killed, and the client gets the
/// reason.
#[tokio::test]
async fn packs_that_exceed_the_memory_limit_are_rejected() {
    let mut setup = holdfast_tests::Setup::default();
    setup.settings.git.max_process_memory_bytes = 64 << 20;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    tree.commit("zeros", &vec![0; 90 << 20], "large").await;
    let refused = tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.expect_failure();
    assert!(
        refused.stderr.contains("needs more memory than this server allows for a git process"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_dir(server.cache.path().join("0/incoming")).unwrap().count(), 0);
}

/// Commits are read as a whole, so their size is limited.
#[tokio::test]
async fn oversized_commits_are_rejected() {
    let fixture = set_up().await;
    let before = (fixture.list_refs().await, fixture.server.dump_database().await);
    let tree = WorkTree::new().await;
    std::fs::write(tree.path().join("message"), "x".repeat(2 << 20)).unwrap();
    tree.git(["commit", "-q", "--allow-empty", "-F", "message"]).await.ok();
    let refused = tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["main:long"]).await.expect_failure();
    assert!(refused.stderr.contains("larger than 1 MiB"), "{}", refused.stderr);
    assert_eq!((fixture.list_refs().await, fixture.server.dump_database().await), before);
}
