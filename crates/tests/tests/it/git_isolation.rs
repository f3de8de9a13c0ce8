//! Private projects and unreachable objects over git (GitLab CVE-2026-6713, Gitea CVE-2026-20883).
//!
//! Outsiders send the same requests to two instances, of which only one has private data. The responses must be the
//! same, byte for byte except for the order of the objects in a pack. Covers HTTP and SSH and all protocol versions,
//! with handwritten requests and with git itself.

use std::process::Stdio;

use holdfast_app::Actor;
use holdfast_app::accounts::user::UserChanges;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, RepackScope};
use holdfast_tests::ssh::{KeyPair, SshServer};
use holdfast_tests::{Client, PASSWORD, Server, WorkTree, user_attributes};
use tokio::io::AsyncWriteExt;

use crate::git_security::{ZERO_ID, packet};
use crate::projects::add_member;
use crate::unreachable_objects::empty_pack;

const VERSIONS: [u8; 3] = [0, 1, 2];

/// A response, without the values that differ between requests.
#[derive(PartialEq, Eq)]
struct Observation {
    request: String,
    /// The HTTP status, or the exit status of a program.
    status: i32,
    /// The HTTP headers, or the error output of a program.
    metadata: Vec<String>,
    body: Vec<u8>,
}

impl std::fmt::Debug for Observation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        write!(f, "{} {:?} {} bytes: {:?}", self.status, self.metadata, self.body.len(), body)
    }
}

fn assert_same(without: &[Observation], with: &[Observation]) {
    assert_eq!(without.len(), with.len());
    let mut wrong = Vec::new();
    for (a, b) in without.iter().zip(with) {
        assert_eq!(a.request, b.request, "both instances are asked the same");
        // git sends objects in storage order, which reveals that a pack was merged from several, but not their
        // contents.
        let about = |it: &Observation| (it.status, it.metadata.clone(), sent_objects(&it.body));
        if a != b && (about(a) != about(b) || sent_objects(&a.body).is_none()) {
            wrong.push(format!("{}\n  without: {a:?}\n  with:    {b:?}", a.request));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), with.len(), wrong.join("\n"));
}

/// Returns the bytes before the pack of a response, and the objects of the pack by id: each with its type, its size,
/// its size in the pack, and its delta base. Returns `None` if there is no complete pack.
fn sent_objects(body: &[u8]) -> Option<(Vec<u8>, Vec<String>)> {
    let start = body.windows(4).position(|four| four == b"PACK")?;
    let (before, pack) = body.split_at(start);
    let directory = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        let output = command.current_dir(directory.path()).args(arguments).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    std::fs::write(directory.path().join("sent.pack"), pack.strip_suffix(b"0000").unwrap_or(pack)).unwrap();
    git(&["index-pack", "sent.pack"])?;
    let listed = git(&["verify-pack", "-v", "sent.idx"])?;
    let without_offset = |line: &str| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        (words.first()?.len() == 40 && words.len() > 4).then(|| words.remove(4)).map(|_| words.join(" "))
    };
    let mut objects: Vec<String> = listed.lines().filter_map(without_offset).collect();
    objects.sort();
    Some((before.to_vec(), objects))
}

/// An HTTP request for a project.
struct GitRequest {
    method: &'static str,
    /// The part of the URL after the path of the project.
    suffix: String,
    version: u8,
    content_type: &'static str,
    body: Vec<u8>,
}

const UPLOAD: &str = "application/x-git-upload-pack-request";
const RECEIVE: &str = "application/x-git-receive-pack-request";

impl GitRequest {
    fn get(version: u8, suffix: &str) -> Self {
        Self { method: "GET", suffix: suffix.into(), version, content_type: "", body: Vec::new() }
    }

    fn post(version: u8, content_type: &'static str, body: Vec<u8>) -> Self {
        let service = if content_type == RECEIVE { "git-receive-pack" } else { "git-upload-pack" };
        Self { method: "POST", suffix: format!(".git/{service}"), version, content_type, body }
    }

    /// Sends the request with the user name and password of a caller.
    async fn send(&self, server: &Server, path: &str, caller: &str, credentials: Option<(&str, &str)>) -> Observation {
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = http.pool_max_idle_per_host(0).build().unwrap();
        let url = format!("{}/{path}{}", server.base_url, self.suffix);
        let mut request = http.request(self.method.parse().unwrap(), url);
        request = request.header("Git-Protocol", format!("version={}", self.version)).body(self.body.clone());
        if !self.content_type.is_empty() {
            request = request.header("Content-Type", self.content_type);
        }
        if let Some((name, password)) = credentials {
            request = request.basic_auth(name, Some(password));
        }
        let mut response = request.send().await.unwrap();
        let headers = response.headers().iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
        let about = headers.map(|(name, value)| format!("{name}: {value:?}")).collect();
        let body = String::from_utf8_lossy(&self.body);
        let request = format!("{caller}: {} {path}{}, version {}: {body:?}", self.method, self.suffix, self.version);
        let status = response.status().as_u16().into();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                // git aborts in the middle of a response to an invalid request.
                Err(_) => {
                    body.extend_from_slice(b"(breaks off)");
                    break;
                }
            }
        }
        Observation { request, status, metadata: about, body: without_frames(&body) }
    }
}

/// Joins the packets that carry a pack, since their number depends on the timing of git's writes.
fn without_frames(mut bytes: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    while let Some((length, rest)) = bytes.split_at_checked(4) {
        let number = std::str::from_utf8(length).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some((data, rest)) = number.and_then(|number| rest.split_at_checked(number.saturating_sub(4))) else {
            break;
        };
        match data.strip_prefix(b"\x01") {
            Some(pack) => joined.extend_from_slice(pack),
            None => joined.extend([length, data].concat()),
        }
        bytes = rest;
    }
    joined.extend_from_slice(bytes);
    joined
}

/// Returns a fetch request for one object. `lines` are sent before the `have` line.
fn fetch(version: u8, want: &str, lines: &[String], have: Option<&str>) -> Vec<u8> {
    let have = have.map(|id| format!("have {id}\n"));
    let mut body = Vec::new();
    if version == 2 {
        body.extend(packet("command=fetch"));
        body.extend_from_slice(b"0001");
        let all = [format!("want {want}\n")].into_iter().chain(lines.iter().map(|line| format!("{line}\n")));
        for line in all.chain(have).chain(["thin-pack\n", "no-progress\n", "done\n"].map(String::from)) {
            body.extend(packet(&line));
        }
        body.extend_from_slice(b"0000");
    } else {
        body.extend(packet(&format!("want {want} multi_ack_detailed thin-pack side-band-64k no-progress filter\n")));
        lines.iter().for_each(|line| body.extend(packet(&format!("{line}\n"))));
        body.extend_from_slice(b"0000");
        have.iter().chain([&"done\n".to_owned()]).for_each(|line| body.extend(packet(line)));
    }
    body
}

fn ls_refs(prefixes: &[&str]) -> Vec<u8> {
    let mut body = packet("command=ls-refs");
    body.extend_from_slice(b"0001");
    for line in ["peel\n", "symrefs\n"] {
        body.extend(packet(line));
    }
    prefixes.iter().for_each(|prefix| body.extend(packet(&format!("ref-prefix {prefix}\n"))));
    body.extend_from_slice(b"0000");
    body
}

fn push(id: &str, name: &str) -> Vec<u8> {
    let mut body = packet(&format!("{ZERO_ID} {id} {name}\0 report-status object-format=sha1 agent=evil"));
    body.extend_from_slice(b"0000");
    body.extend(empty_pack());
    body
}

/// Returns the requests that git sends over HTTP, and invalid ones.
fn requests(id: &str) -> Vec<GitRequest> {
    let mut requests = Vec::new();
    for version in VERSIONS {
        for service in ["git-upload-pack", "git-receive-pack"] {
            requests.push(GitRequest::get(version, &format!(".git/info/refs?service={service}")));
        }
        requests.push(GitRequest::post(version, UPLOAD, fetch(version, id, &[], None)));
        requests.push(GitRequest::post(version, UPLOAD, Vec::new()));
    }
    requests.push(GitRequest::post(2, UPLOAD, ls_refs(&[])));
    requests.push(GitRequest::post(0, RECEIVE, push(id, "refs/heads/new")));
    requests.push(GitRequest::post(0, "text/plain", b"0000".to_vec()));
    let suffixes = [
        "",
        "/",
        ".git",
        "/info/refs?service=git-upload-pack",
        ".git/info/refs",
        ".git/info/refs?service=git-upload-archive",
        ".git/HEAD",
        ".git/objects/info/packs",
        ".git/bundle",
        ".git/git-upload-pack",
        ".wiki.git/info/refs?service=git-upload-pack",
    ];
    requests.extend(suffixes.iter().map(|suffix| GitRequest::get(0, suffix)));
    requests.push(GitRequest { method: "HEAD", ..GitRequest::get(0, ".git/info/refs?service=git-upload-pack") });
    requests
}

/// Runs a command over SSH with this input.
async fn run_ssh(
    ssh: &SshServer,
    key: &KeyPair,
    caller: &str,
    command: &str,
    version: u8,
    input: &[u8],
) -> Observation {
    let mut program = ssh.command(key, &["-T", "-o", "SendEnv=GIT_PROTOCOL"]);
    program.arg(command).env("GIT_PROTOCOL", format!("version={version}"));
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The command may be rejected before it reads its input.
    stdin.write_all(input).await.ok();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let input = String::from_utf8_lossy(input);
    Observation {
        request: format!("{caller}: ssh {command}, version {version}: {input:?}"),
        status: output.status.code().unwrap(),
        metadata: vec![String::from_utf8_lossy(&output.stderr).into_owned()],
        body: without_frames(&output.stdout),
    }
}

/// Runs git over HTTP or with an SSH key. `hidden` are texts that differ between the instances.
async fn run_git(
    ssh_access: Option<(&SshServer, &KeyPair)>,
    caller: &str,
    arguments: &[&str],
    hidden: &[&str],
) -> Observation {
    let tree = WorkTree::new().await;
    tree.commit("f", b"f\n", "one").await;
    let outcome = match ssh_access {
        Some((ssh, key)) => ssh.git(key, &tree, arguments).await,
        None => tree.git(arguments).await,
    };
    let same = |text: &str| hidden.iter().fold(text.to_owned(), |text, hidden| text.replace(hidden, "..."));
    // The order of the lines of git and of ssh varies.
    let mut about: Vec<String> = outcome.stderr.lines().map(same).collect();
    about.sort();
    Observation {
        request: same(&format!("{caller}: git {}", arguments.join(" "))),
        status: i32::from(!outcome.is_success),
        metadata: about,
        body: outcome.stdout.into_bytes(),
    }
}

/// Paths in the second instance: a private project in two spellings, its former path, and a project in a private group.
const PRIVATE: [&str; 4] = ["ada/secret", "Ada/SECRET", "ada/former", "secret-team/inner"];
/// An internal project, which anonymous clients and external users cannot see.
const INTERNAL: &str = "ada/internal";

#[tokio::test]
async fn a_private_project_looks_nonexistent_over_git() {
    let (without, with) = (observe_private(false).await, observe_private(true).await);
    assert_same(&without, &with);
}

async fn observe_private(has_secret: bool) -> Vec<Observation> {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (eve_id, eve) = server.user("eve").await;
    let (_, external) = server.user_with(UserChanges { external: Some(true), ..user_attributes("external") }).await;
    let commit = WorkTree::new().await.commit("README.md", b"Hello\n", "First").await;
    if has_secret {
        let id = server.project(&ada, "former", 0).await;
        assert_eq!(server.push_first(&ada, "ada/former").await, commit);
        let path = format!("/projects/{id}");
        assert_eq!(ada.put(&path, &[("name", "secret"), ("path", "secret")]).await.status, 200);
        let group = server.group(&ada, "secret-team", 0).await;
        server.project_in(&ada, "inner", 0, Some(group)).await;
        server.push_first(&ada, "secret-team/inner").await;
        server.project(&ada, "internal", 10).await;
        server.push_first(&ada, INTERNAL).await;
        // A former member who has read the project is an outsider again.
        add_member(&ada, &path, eve_id.get(), 40).await;
        let tree = WorkTree::new().await;
        let listed = tree.git(["ls-remote", &server.git_url(&eve, "ada/secret")]).await.ok().stdout;
        assert!(listed.contains("refs/heads/main"), "{listed}");
        assert_eq!(ada.delete(&format!("{path}/members/{eve_id}")).await.status, 200);
        for path in PRIVATE.iter().chain([&INTERNAL]) {
            let listed = tree.git(["ls-remote", &server.git_url(&ada, path)]).await.ok().stdout;
            assert!(listed.contains("refs/heads/main"), "{path}: {listed}");
        }
    }
    let paths_for = |caller: &str| {
        let internal = (caller != "eve").then_some(INTERNAL);
        PRIVATE.into_iter().chain(internal)
    };
    let mut seen = Vec::new();
    let callers =
        [("anonymous", None, 401), ("eve", Some(eve.token()), 404), ("external", Some(external.token()), 404)];
    for (caller, token, status) in callers {
        for path in paths_for(caller) {
            for request in requests(&commit) {
                let response = request.send(&server, path, caller, token.map(|token| ("user", token))).await;
                let is_of_git = ["info/refs?service=git-upload-pack", "info/refs?service=git-receive-pack", "/bundle"]
                    .iter()
                    .any(|it| request.suffix.contains(it));
                if is_of_git || [UPLOAD, RECEIVE].contains(&request.content_type) {
                    assert_eq!(response.status, status, "{}: {response:?}", response.request);
                }
                seen.push(response);
            }
        }
    }
    // Valid and invalid passwords.
    let advertisement = GitRequest::get(2, ".git/info/refs?service=git-upload-pack");
    for credentials in [("eve", PASSWORD), ("eve", "wrong password"), ("gitlab-ci-token", "wrong")] {
        for path in PRIVATE {
            seen.push(advertisement.send(&server, path, credentials.1, Some(credentials)).await);
        }
    }
    let ssh = server.ssh().await;
    for (caller, client) in [("eve", &eve), ("external", &external)] {
        let key = KeyPair::registered(client).await;
        for path in paths_for(caller) {
            for service in ["git-upload-pack", "git-receive-pack", "git-upload-archive"] {
                // Only fetches depend on the protocol version, and one user is enough to try all versions.
                let versions = if service == "git-upload-pack" && caller == "eve" { &VERSIONS[..] } else { &[2] };
                for version in versions {
                    let command = format!("{service} '{path}.git'");
                    let response = run_ssh(&ssh, &key, caller, &command, *version, b"0000").await;
                    assert_ne!(response.status, 0, "{}: {response:?}", response.request);
                    seen.push(response);
                }
            }
        }
    }
    let (eve_key, unknown) = (KeyPair::registered(&eve).await, KeyPair::new("ed25519").await);
    let ssh_address = format!("127.0.0.1:{}", ssh.port);
    for path in PRIVATE {
        let urls = [
            ("anonymous", format!("{}/{path}.git", server.base_url), None),
            ("eve", server.git_url(&eve, path), None),
            ("eve", ssh.url(path), Some((&ssh, &eve_key))),
            ("unknown key", ssh.url(path), Some((&ssh, &unknown))),
        ];
        for (caller, url, over) in &urls {
            let differing = [server.address(), ssh_address.clone(), eve.token().to_owned()];
            let differing: Vec<&str> = differing.iter().map(String::as_str).collect();
            for arguments in [&["ls-remote", url.as_str()][..], &["clone", url, "copy"], &["push", url, "main"]] {
                let response = run_git(*over, caller, arguments, &differing).await;
                assert_ne!(response.status, 0, "{}: {response:?}", response.request);
                seen.push(response);
            }
        }
    }
    seen
}

/// Deleted and forced branches, a deleted tag, and objects of a private fork do not affect any response of the public
/// project or of another fork.
#[tokio::test]
async fn unreachable_commits_change_no_response() {
    let (without, few) = observe_public(false).await;
    let (with, many) = observe_public(true).await;
    assert!(few < many, "the hidden commits are stored: {few} and {many} packs");
    assert_same(&without, &with);
}

/// The ids of a public project, and of objects that are unreachable in one instance and were never pushed to the other.
struct Ids {
    tip: String,
    /// A commit, its tree, a file of it, a tag of it, and one other object.
    hidden: [String; 5],
}

/// Returns the observations of an instance with or without unreachable commits, and its number of packs.
async fn observe_public(has_hidden: bool) -> (Vec<Observation>, usize) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let (_, mallory) = server.user("mallory").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    let settings: String = (0..200).map(|n| format!("setting_{n} = {}\n", n * 7919 % 997)).collect();
    let first = tree.commit("config", settings.as_bytes(), "settings").await;
    let tip = tree.commit("other", b"other\n", "other").await;
    tree.push(&url, &["main"]).await.ok();
    let id = async |of: &str| tree.git(["rev-parse", of]).await.ok().line().to_owned();
    tree.git(["checkout", "-q", "-b", "hidden"]).await.ok();
    let secret = format!("{settings}db_password = hunter2-Zx9Q7\n");
    let commit = tree.commit("config", secret.as_bytes(), "password").await;
    tree.git(["tag", "-a", "-m", "hidden", "v1"]).await.ok();
    tree.git(["checkout", "-q", "-b", "own", &first]).await.ok();
    let own = tree.commit("config", format!("{settings}of_the_fork = 1\n").as_bytes(), "own").await;
    let hidden = [commit, id("hidden^{tree}").await, id("hidden:config").await, id("v1").await, own];
    if has_hidden {
        tree.push(&url, &["hidden", "v1"]).await.ok();
        tree.push(&url, &[":hidden", ":v1"]).await.ok();
        tree.push(&url, &["hidden:side"]).await.ok();
        tree.push(&url, &["-f", "main:side"]).await.ok();
        tree.push(&url, &[":side"]).await.ok();
        let fork = bob.post("/projects/fork/ada%2Fp", &[("namespace", "bob")]).await;
        assert_eq!(fork.status, 201, "{}", fork.text);
        let private = [("name", "p"), ("visibility_level", "0")];
        assert_eq!(bob.put(&format!("/projects/{}", fork.body["id"]), &private).await.status, 200);
        tree.push(&server.git_url(&bob, "bob/p"), &["own"]).await.ok();
    }
    let fork = mallory.post("/projects/fork/ada%2Fp", &[("namespace", "mallory")]).await;
    assert_eq!(fork.status, 201, "{}", fork.text);
    server.run_jobs().await;
    let packs = server.dump_database().await["packs"].as_array().unwrap().len();

    let ids = Ids { tip, hidden };
    let (ssh, key) = (server.ssh().await, KeyPair::registered(&mallory).await);
    let mut seen = observe(&server, &ssh, (&mallory, &key), &ids, &["ada/p", "mallory/p"]).await;
    repack(&server, &[project, fork.body["id"].as_i64().unwrap()]).await;
    seen.extend(observe(&server, &ssh, (&mallory, &key), &ids, &["ada/p", "mallory/p"]).await);
    (seen, packs)
}

async fn repack(server: &Server, projects: &[i64]) {
    for id in projects {
        let project = ProjectRef::Id((*id).into());
        maintenance::maintain(&server.app, &Actor::Operator, &project, RepackScope::Full).await.unwrap();
    }
    // Cached responses would be served again.
    server.app.git_runtime.invalidate_caches().await;
}

/// Forks share the packs of their source. After a repack, objects of the fork may be stored as deltas against objects
/// that were pushed to the source later. The fork sends the same objects and deltas as without them.
#[tokio::test]
async fn later_commits_of_the_source_change_no_response_of_a_fork() {
    let (without, with) = (observe_forked(false).await, observe_forked(true).await);
    assert_same(&without, &with);
}

async fn observe_forked(has_later: bool) -> Vec<Observation> {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, mallory) = server.user("mallory").await;
    let source = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    let settings: String = (0..200).map(|n| format!("setting_{n} = {}\n", n * 7919 % 997)).collect();
    tree.commit("config", settings.as_bytes(), "settings").await;
    let tip = tree.commit("copy", format!("{settings}more\n").as_bytes(), "copy").await;
    tree.push(&url, &["main"]).await.ok();
    let fork = mallory.post("/projects/fork/ada%2Fp", &[("namespace", "mallory")]).await;
    assert_eq!(fork.status, 201, "{}", fork.text);
    let secret = format!("{settings}more\ndb_password = hunter2-Zx9Q7\n");
    tree.commit("config", secret.as_bytes(), "later").await;
    let commit = tree.commit("copy", format!("{secret}and more\n").as_bytes(), "latest").await;
    tree.git(["tag", "-a", "-m", "later", "v1"]).await.ok();
    let id = async |of: &str| tree.git(["rev-parse", of]).await.ok().line().to_owned();
    let hidden = [commit, id("main^{tree}").await, id("main:config").await, id("v1").await, id("main:copy").await];
    if has_later {
        tree.push(&url, &["main", "v1"]).await.ok();
    }
    server.run_jobs().await;
    let ids = Ids { tip, hidden };
    let (ssh, key) = (server.ssh().await, KeyPair::registered(&mallory).await);
    let fork = fork.body["id"].as_i64().unwrap();
    let mut seen = observe(&server, &ssh, (&mallory, &key), &ids, &["mallory/p"]).await;
    repack(&server, &[source]).await;
    seen.extend(observe(&server, &ssh, (&mallory, &key), &ids, &["mallory/p"]).await);
    repack(&server, &[fork]).await;
    seen.extend(observe(&server, &ssh, (&mallory, &key), &ids, &["mallory/p"]).await);
    seen
}

/// Observes a project as an anonymous client over HTTP, the fork as its owner mallory, and both as mallory over SSH.
async fn observe(
    server: &Server,
    ssh: &SshServer,
    mallory: (&Client, &KeyPair),
    ids: &Ids,
    paths: &[&str],
) -> Vec<Observation> {
    let ((mallory, key), mut seen) = (mallory, Vec::new());
    for path in paths.iter().copied() {
        let mut all = requests(&ids.tip);
        for version in VERSIONS {
            let mut add = |want: &str, lines: &[String], have: Option<&str>| {
                all.push(GitRequest::post(version, UPLOAD, fetch(version, want, lines, have)));
            };
            for id in &ids.hidden {
                add(id, &[], None);
                add(&ids.tip, &[], Some(id));
                add(&ids.tip, &[format!("shallow {id}"), "deepen 2".into()], None);
                add(&ids.tip, &[format!("filter sparse:oid={id}")], None);
            }
            for line in ["deepen-not refs/heads/hidden", "deepen-not v1", "want-ref refs/heads/hidden"] {
                add(&ids.tip, &[line.into()], None);
            }
        }
        all.push(GitRequest::post(2, UPLOAD, ls_refs(&["refs/heads/hidden", "refs/tags/", "refs/heads/side"])));
        let bundles = [&packet("command=bundle-uri")[..], b"0001", b"0000"].concat();
        all.push(GitRequest::post(2, UPLOAD, bundles));
        // The page of a project shows the number of its forks and its last activity, which are public.
        all.retain(|request| !request.suffix.is_empty());
        // The owner of the fork may push to it, so these requests are left out.
        let is_fork = path == "mallory/p";
        if is_fork {
            all.retain(|request| request.content_type != RECEIVE);
            all.extend(ids.hidden.iter().map(|id| GitRequest::post(0, RECEIVE, push(id, "refs/heads/stolen"))));
        }
        let (caller, token) = if is_fork { ("mallory", Some(mallory.token())) } else { ("anonymous", None) };
        for request in all {
            let response = request.send(server, path, caller, token.map(|token| ("user", token))).await;
            let is_push = request.content_type == RECEIVE;
            let has_ok = String::from_utf8_lossy(&response.body).contains("ok refs/");
            assert!(!is_push || !has_ok, "{}: {response:?}", response.request);
            seen.push(response);
        }
        for version in VERSIONS {
            for id in [&ids.hidden[0], &ids.hidden[2], &ids.tip] {
                let input = fetch(version, id, &[], None);
                let command = format!("git-upload-pack '{path}.git'");
                seen.push(run_ssh(ssh, key, "mallory", &command, version, &input).await);
            }
        }
        let (url, address) = (ssh.url(path), format!("127.0.0.1:{}", ssh.port));
        for id in [&ids.hidden[0], &ids.hidden[3]] {
            let arguments = ["archive", "--remote", url.as_str(), id.as_str()];
            let refused = run_git(Some((ssh, key)), "mallory", &arguments, &[&address]).await;
            assert_ne!(refused.status, 0, "{refused:?}");
            seen.push(refused);
        }
    }
    let packs = seen.iter().filter(|it| it.body.windows(4).any(|four| four == b"PACK")).count();
    assert!(packs >= 6, "what is public is given out: {packs} packs");
    seen
}
