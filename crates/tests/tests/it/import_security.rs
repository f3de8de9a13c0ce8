//! Attacks by malicious import sources, and by users who start many imports. Each test describes an attack.

use std::convert::Infallible;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt, stream};
use holdfast_app::accounts::user::UserChanges;
use holdfast_app::worker::{self, Concurrency};
use holdfast_domain::Field;
use holdfast_tests::database::tables_containing;
use holdfast_tests::{Client, Server, Setup, WorkTree, log, user_attributes};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::git_security::{hex, packet};

const PHASE_TIMEOUT: Duration = Duration::from_secs(90);
const ADVERTISEMENT: &str = "application/x-git-upload-pack-advertisement";

async fn start_with_loopback() -> Server {
    let mut setup = Setup::default();
    setup.settings.import_networks = vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
    Server::start_with(setup).await
}

/// Serves on a free port, and returns the URL of the repository `x.git`.
async fn start_source(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}/x.git")
}

async fn create_import(client: &Client, name: &str, url: &str) -> i64 {
    let created = client.post("/projects", &[("name", name), ("import_url", url)]).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.body["id"].as_i64().unwrap()
}

async fn import_state(client: &Client, project: i64) -> Value {
    client.get(&format!("/projects/{project}/import")).await.body
}

async fn wait_for_phase(client: &Client, project: i64, phase: &str) {
    let deadline = Instant::now() + PHASE_TIMEOUT;
    loop {
        let state = import_state(client, project).await;
        if state["phase"] == phase {
            return;
        }
        assert!(Instant::now() < deadline, "it is not {phase}: {state}");
        tokio::task::yield_now().await;
    }
}

fn response(kind: &str, body: impl Into<Body>) -> Response<Body> {
    Response::builder().header("content-type", kind).body(body.into()).unwrap()
}

/// Returns the advertisement of a git server with these refs, all at one commit.
fn advertisement(commit: &str, names: &[&str]) -> Vec<u8> {
    let mut text = packet("# service=git-upload-pack\n");
    text.extend_from_slice(b"0000");
    for (place, name) in names.iter().enumerate() {
        let capabilities = "\0multi_ack_detailed side-band-64k ofs-delta symref=HEAD:refs/heads/main agent=x";
        text.extend(packet(&format!("{commit} {name}{}\n", if place == 0 { capabilities } else { "" })));
    }
    text.extend_from_slice(b"0000");
    text
}

/// A source that advertises a branch and then sends a line of progress and nothing else.
fn endless_source() -> Router {
    let listed = advertisement(&"1".repeat(40), &["HEAD", "refs/heads/main"]);
    let count = || async {
        let begin = [packet("NAK\n"), packet("\u{2}still counting\n")].concat();
        let chunks = stream::iter([Ok::<_, Infallible>(Bytes::from(begin))]).chain(stream::pending());
        response("application/x-git-upload-pack-result", Body::from_stream(chunks))
    };
    Router::new()
        .route("/x.git/info/refs", get(move || async move { response(ADVERTISEMENT, listed) }))
        .route("/x.git/git-upload-pack", post(count))
}

/// A user starts imports from servers that never send anything, one for each worker of a node. All other jobs of the
/// node, such as creating pipelines, waited for them.
#[tokio::test]
async fn slow_imports_do_not_block_other_jobs() {
    let server = start_with_loopback().await;
    let (_, ada) = server.user("ada").await;
    let (_, mallory) = server.user("mallory").await;
    let (_, eve) = server.user("eve").await;
    let url = start_source(endless_source()).await;
    let first = create_import(&mallory, "first", &url).await;
    let second = create_import(&mallory, "second", &url).await;
    let other = create_import(&eve, "other", &url).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let concurrency = Concurrency { jobs: 1, imports: 2 };
    let working = tokio::spawn(worker::run(server.app.clone(), concurrency, Box::pin(async { drop(stopped.await) })));
    wait_for_phase(&mallory, first, "receiving").await;
    // A second import of the same user does not take the other worker.
    wait_for_phase(&eve, other, "receiving").await;
    assert_eq!(import_state(&mallory, second).await["phase"], "waiting");

    let project = server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    tree.commit(".gitlab-ci.yml", b"one:\n  script: make\n", "First").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let deadline = Instant::now() + PHASE_TIMEOUT;
    while ada.get(&format!("/projects/{project}/pipelines")).await.ids().is_empty() {
        assert!(Instant::now() < deadline, "pipelines wait for imports");
        tokio::task::yield_now().await;
    }
    assert_eq!(import_state(&mallory, first).await["phase"], "receiving", "it still runs");

    for project in [first, second] {
        assert_eq!(mallory.delete(&format!("/projects/{project}/import")).await.status, 200);
    }
    eve.delete(&format!("/projects/{other}/import")).await;
    drop(stop);
    tokio::time::timeout(PHASE_TIMEOUT, working).await.unwrap().unwrap().unwrap();
}

/// Groups have no limit of projects, so a user could queue thousands of imports.
#[tokio::test]
async fn queued_imports_are_limited_per_user() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let group = server.group(&ada, "many", 0).await.to_string();
    let url = "http://10.0.0.1/x.git";
    let create = async |client: &Client, name: &str| {
        client.post("/projects", &[("name", name), ("import_url", url), ("namespace_id", &group)]).await
    };
    for number in 0..20 {
        assert_eq!(create(&ada, &format!("p{number}")).await.status, 201);
    }
    let empty = server.project(&ada, "empty", 0).await;
    let before = server.dump_database().await;
    let text =
        "cannot be imported now: 20 imports of yours are waiting or running. Try again when one of them has finished";
    let refusal = json!({ "message": { "import_url": [text] } });
    assert_eq!(create(&ada, "more").await.status_and_body(), (400, &refusal));
    let update = ada.put(&format!("/projects/{empty}"), &[("name", "empty"), ("import_url", url)]).await;
    assert_eq!(update.status_and_body(), (400, &refusal), "an update is no way around it");
    assert_eq!(server.dump_database().await, before);
    create_import(&bob, "own", url).await;
    assert_eq!(create(&server.admin, "of-an-administrator").await.status, 201);
    server.run_jobs().await;
    assert_eq!(create(&ada, "more").await.status, 201);
}

/// Returns a repository whose commit contains `.git/post-checkout`, or a submodule whose URL is an option.
async fn evil_repository(is_submodule: bool) -> WorkTree {
    let tree = WorkTree::new().await;
    let write = |content: &[u8]| std::fs::write(tree.path().join("raw"), content).unwrap();
    let hash = async |kind: &str| {
        tree.git(["hash-object", "-w", "-t", kind, "--literally", "raw"]).await.ok().line().to_owned()
    };
    write(b"#!/bin/sh\necho pwned\n");
    let script = hash("blob").await;
    write(&[b"100755 post-checkout\0", &hex(&script)[..]].concat());
    let hooks = hash("tree").await;
    write(b"[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n");
    let modules = hash("blob").await;
    write(&match is_submodule {
        true => [b"100644 .gitmodules\0", &hex(&modules)[..]].concat(),
        false => [b"40000 .git\0", &hex(&hooks)[..]].concat(),
    });
    let root = hash("tree").await;
    let commit = tree.git(["commit-tree", &root, "-m", "evil"]).await.ok().line().to_owned();
    tree.git(["update-ref", "refs/heads/main", &commit]).await.ok();
    tree.git(["update-server-info"]).await.ok();
    tree
}

/// Serves the files of a repository by the dumb protocol, but claims to every client except git that it supports the
/// smart one.
fn dumb_source(repository: &Path) -> Router {
    let directory = repository.join(".git");
    let serve = move |request: Request| {
        let directory = directory.clone();
        async move {
            let path = request.uri().path().strip_prefix("/x.git/").unwrap_or_default().to_owned();
            let agent = request.headers().get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
            let is_look = path == "info/refs" && !agent.starts_with("git/");
            match std::fs::read(directory.join(path)) {
                Ok(content) => response(if is_look { ADVERTISEMENT } else { "text/plain" }, content),
                Err(_) => Response::builder().status(StatusCode::NOT_FOUND).body(Body::empty()).unwrap(),
            }
        }
    };
    Router::new().fallback(serve)
}

/// git does not check objects that it fetches by the dumb protocol, and the source chooses the protocol after the
/// server has probed it. Such trees install hooks in the clones of users, or make their git run programs.
#[tokio::test]
async fn imported_objects_are_checked_for_every_protocol() {
    let server = start_with_loopback().await;
    let (_, mallory) = server.user("mallory").await;
    for (is_submodule, reason) in
        [(false, "hasDotgit: contains '.git'"), (true, "gitmodulesUrl: disallowed submodule url")]
    {
        let tree = evil_repository(is_submodule).await;
        let url = start_source(dumb_source(tree.path())).await;
        let project = create_import(&mallory, &format!("p{is_submodule}"), &url).await;
        server.run_jobs().await;
        let done = import_state(&mallory, project).await;
        let text = done["error"].as_str().unwrap_or_default();
        assert!(done["phase"] == "failed" && text.contains(reason), "{done}");
        assert_eq!(mallory.get(&format!("/projects/{project}")).await.body["default_branch"], Value::Null);
    }
    let contents = server.dump_database().await;
    assert_eq!((&contents["refs"], &contents["repository_packs"]), (&json!([]), &json!([])), "nothing is stored");
    assert_eq!(std::fs::read_dir(server.cache.path().join("0/incoming")).unwrap().count(), 0);
}

/// A valid repository can be imported in the same way, so it is the check that rejects the others.
#[tokio::test]
async fn valid_repositories_can_be_imported_by_the_dumb_protocol() {
    let server = start_with_loopback().await;
    let (_, ada) = server.user("ada").await;
    let tree = WorkTree::new().await;
    let commit = tree.commit("f", b"one\n", "one").await;
    tree.git(["update-server-info"]).await.ok();
    let project = create_import(&ada, "p", &start_source(dumb_source(tree.path())).await).await;
    server.run_jobs().await;
    let done = import_state(&ada, project).await;
    assert_eq!(done["phase"], "finished", "{done}");
    let branch = ada.get(&format!("/projects/{project}/repository/branches/main")).await;
    assert_eq!(branch.body["commit"]["id"], commit);
}

/// A file that exceeds the limit of a push also exceeds that of an import.
#[tokio::test]
async fn imports_obey_the_push_limits() {
    let mut setup = Setup::default();
    setup.settings.import_networks = vec!["127.0.0.0/8".parse().unwrap()];
    setup.settings.git.pack_limits.max_object_bytes = 1 << 20;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let tree = WorkTree::new().await;
    tree.commit("zeros", &vec![0; 2 << 20], "large").await;
    tree.git(["update-server-info"]).await.ok();
    let project = create_import(&ada, "p", &start_source(dumb_source(tree.path())).await).await;
    server.run_jobs().await;
    let done = import_state(&ada, project).await;
    let text = done["error"].as_str().unwrap_or_default();
    assert!(text.starts_with("an object of 2097152 bytes is larger than this server accepts"), "{done}");
}

/// A source with more refs than the maximum is rejected before anything is stored, so that the import can be retried.
#[tokio::test]
async fn imports_obey_the_ref_limit() {
    let mut setup = Setup::default();
    setup.settings.import_networks = vec!["127.0.0.0/8".parse().unwrap()];
    setup.settings.git.max_refs = 3;
    // A pack in the object store has an intent row in `packs` first, which the test can look for.
    setup.settings.git.inline_pack_bytes = 0;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let tree = WorkTree::new().await;
    let commit = tree.commit("f", b"one\n", "one").await;
    for name in ["b1", "b2"] {
        tree.git(["branch", name]).await.ok();
    }
    tree.git(["tag", "v1"]).await.ok();
    tree.git(["update-server-info"]).await.ok();
    let url = start_source(dumb_source(tree.path())).await;
    let project = create_import(&ada, "p", &url).await;
    let retry = async || ada.put(&format!("/projects/{project}"), &[("name", "p"), ("import_url", &url)]).await;
    for _ in 0..2 {
        server.run_jobs().await;
        let done = import_state(&ada, project).await;
        let text = "The source has 4 branches and tags, and this server accepts 3 in a repository (git.max_refs)";
        assert_eq!((&done["phase"], &done["error"]), (&json!("failed"), &json!(text)));
        let contents = server.dump_database().await;
        for table in ["refs", "ref_log", "packs", "repository_packs"] {
            assert_eq!(contents[table], json!([]), "{table}");
        }
        assert_eq!(std::fs::read_dir(server.cache.path().join("0/incoming")).unwrap().count(), 0);
        let again = retry().await;
        assert_eq!(again.status, 200, "{}", again.text);
    }
    // Exactly the maximum is accepted.
    tree.git(["tag", "-d", "v1"]).await.ok();
    tree.git(["update-server-info"]).await.ok();
    server.run_jobs().await;
    let done = import_state(&ada, project).await;
    assert_eq!((&done["phase"], &done["error"]), (&json!("finished"), &Value::Null));
    let refs = tree.git(["ls-remote", "--refs", &server.git_url(&ada, "ada/p")]).await.ok().stdout;
    let listed = ["b1", "b2", "main"].map(|name| format!("{commit}\trefs/heads/{name}\n")).concat();
    assert_eq!(refs, listed);
}

/// The source has been fetched, and git packs it for a long time. Canceling the import frees the worker.
#[tokio::test]
async fn an_import_can_be_canceled_while_packing() {
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("git");
    let script =
        "#!/bin/sh\ncase \" $* \" in *\" pack-objects \"*\" --all \"*) exec sleep 600;; esac\nexec git \"$@\"\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut setup = Setup::default();
    setup.settings.import_networks = vec!["127.0.0.0/8".parse().unwrap()];
    setup.settings.git.program = program;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.git(["update-server-info"]).await.ok();
    let project = create_import(&ada, "p", &start_source(dumb_source(tree.path())).await).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let concurrency = Concurrency { jobs: 1, imports: 1 };
    let working = tokio::spawn(worker::run(server.app.clone(), concurrency, Box::pin(async { drop(stopped.await) })));
    wait_for_phase(&ada, project, "storing").await;
    let canceled = ada.delete(&format!("/projects/{project}/import")).await;
    assert_eq!((canceled.status, &canceled.body["phase"]), (200, &json!("canceled")));
    let deadline = Instant::now() + PHASE_TIMEOUT;
    while std::fs::read_dir(server.cache.path().join("0/incoming")).unwrap().count() > 0 {
        assert!(Instant::now() < deadline, "it goes on");
        tokio::task::yield_now().await;
    }
    drop(stop);
    tokio::time::timeout(PHASE_TIMEOUT, working).await.unwrap().unwrap().unwrap();
    assert_eq!(import_state(&ada, project).await["phase"], "canceled");
    let contents = server.dump_database().await;
    assert_eq!((&contents["refs"], &contents["packs"]), (&json!([]), &json!([])), "nothing is stored");
}

/// Ref names that are paths, options or ids. The source chooses them, and they become files of the repository into
/// which git fetches.
#[tokio::test]
async fn names_of_imported_refs_are_checked() {
    let server = start_with_loopback().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "source", 20).await;
    let commit = server.push_first(&ada, "ada/source").await;
    let hexadecimal = format!("refs/heads/{}", "a".repeat(40));
    let names = [
        "HEAD",
        "refs/heads/main",
        "refs/heads/../../../../../../tmp/holdfast-evil",
        "refs/heads/a/../../b",
        "refs/heads/x.lock",
        "refs/heads/.hidden",
        "refs/heads/-x",
        "refs/heads/--upload-pack=id",
        "refs/tags/--output=x",
        "refs/heads/a\u{202e}b",
        hexadecimal.as_str(),
        "refs/replace/1111111111111111111111111111111111111111",
        "refs/keep-around/x",
        "config",
    ];
    let listed = advertisement(&commit, &names);
    let genuine = format!("{}/ada/source.git/git-upload-pack", server.base_url);
    // The response to the fetch is that of a real server.
    let pass_on = move |body: Bytes| {
        let genuine = genuine.clone();
        async move {
            let kind = "application/x-git-upload-pack-request";
            let request = reqwest::Client::new().post(genuine).header("content-type", kind).body(body);
            let pack = request.send().await.unwrap().bytes().await.unwrap();
            response("application/x-git-upload-pack-result", pack)
        }
    };
    let router = Router::new()
        .route("/x.git/info/refs", get(move || async move { response(ADVERTISEMENT, listed) }))
        .route("/x.git/git-upload-pack", post(pass_on));
    let project = create_import(&ada, "copy", &start_source(router).await).await;
    server.run_jobs().await;
    let done = import_state(&ada, project).await;
    assert_eq!(done["phase"], "finished", "{done}");
    assert!(
        done["error"].as_str().unwrap().ends_with("refs were not imported: this server does not accept their names"),
        "{done}"
    );
    let tree = WorkTree::new().await;
    let refs = tree.git(["ls-remote", &server.git_url(&ada, "ada/copy")]).await.ok().stdout;
    assert_eq!(refs, format!("{commit}\tHEAD\n{commit}\trefs/heads/main\n"));
    assert!(!Path::new("/tmp/holdfast-evil").exists());
    assert_eq!(std::fs::read_dir(server.cache.path().join("0/incoming")).unwrap().count(), 0);
}

/// A URL that is set on an existing project is checked like that of a new one.
#[tokio::test]
async fn an_updated_import_url_is_checked_like_a_new_one() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let path = format!("/projects/{project}");
    for url in ["file:///etc", "ext::sh -c id", "ssh://-oProxyCommand=id/x", "/etc"] {
        let refused = ada.put(&path, &[("name", "p"), ("import_url", url)]).await;
        assert_eq!(
            refused.status_and_body(),
            (400, &json!({ "message": { "import_url": ["must be a valid URL"] } })),
            "{url}"
        );
    }
    for url in [format!("{}/ada/p.git", server.base_url), format!("git://{}/x", server.address())] {
        assert_eq!(ada.put(&path, &[("name", "p"), ("import_url", &url)]).await.status, 200);
        server.run_jobs().await;
        let done = import_state(&ada, project).await;
        let expected = (&json!("failed"), &json!("The address cannot be reached or is not allowed"));
        assert_eq!((&done["phase"], &done["error"]), expected, "{url}");
    }
}

/// These protocols cannot connect to an address under another host name, so git gets the checked address itself, also
/// for an allowed name. The user name in the URL does not become an option.
#[tokio::test]
async fn git_and_ssh_imports_connect_to_the_checked_address() {
    let server = start_with_loopback().await;
    let (_, ada) = server.user("ada").await;
    for (scheme, user, begins) in [("git", "", "00"), ("ssh", "somebody@", "SSH-2.0-")] {
        let listener = TcpListener::bind("[::]:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("{scheme}://{user}localhost:{port}/x.git");
        let project = create_import(&ada, scheme, &url).await;
        let listen = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut received, mut buffer) = (String::new(), vec![0; 300]);
            // The request may arrive in parts: a version line of ssh, or a request of git, which contains the host.
            while !received.contains('\n') && !received.contains("\0host=") {
                let count = stream.read(&mut buffer).await.unwrap();
                assert_ne!(count, 0, "{received:?}");
                received += &String::from_utf8_lossy(&buffer[..count]);
            }
            received
        };
        let both = async { tokio::join!(server.run_jobs(), listen) };
        let ((), received) = tokio::time::timeout(PHASE_TIMEOUT, both).await.unwrap();
        assert!(received.starts_with(begins), "{scheme}: {received:?}");
        if scheme == "git" {
            let is_address = received.contains(&format!("host=127.0.0.1:{port}"))
                || received.contains(&format!("host=[::1]:{port}"));
            assert!(received.contains("git-upload-pack /x.git\0") && is_address, "{received:?}");
        }
        assert_eq!(import_state(&ada, project).await["phase"], "failed", "nobody answered");
    }
}

/// A password of an import, as in its URL and as git sends it.
struct Password(&'static str);

impl Password {
    fn in_url(&self, url: &str) -> String {
        url.replace("://", &format!("://source:{}@", self.0))
    }

    fn basic(&self) -> String {
        STANDARD.encode(format!("source:{}", self.0))
    }
}

/// A source that repeats the credentials that it got, in an error message that git prints.
fn echoing_source() -> Router {
    let repeat = |headers: HeaderMap| async move {
        let sent = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let both = STANDARD.decode(sent.trim_start_matches("Basic ")).unwrap_or_default();
        let text = format!("ERR no repository for {sent}, which is {}", String::from_utf8_lossy(&both));
        response(ADVERTISEMENT, [packet("# service=git-upload-pack\n"), b"0000".to_vec(), packet(&text)].concat())
    };
    Router::new().route("/x.git/info/refs", get(repeat))
}

/// Returns the arguments of all processes of this machine.
fn process_arguments() -> String {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path().join("cmdline")));
    // A process may exit while it is inspected.
    let arguments = processes.filter_map(|file| std::fs::read(file).ok());
    arguments.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " ") + "\n").collect()
}

/// The user name and password in an import URL (Gitea #35530, #37440). The database contains them in one table while
/// they are needed, and nowhere after the import has ended, whatever its result. They are never in the log, in the
/// arguments of a process, or in a response.
#[tokio::test]
async fn import_passwords_are_deleted_and_never_exposed() {
    let server = start_with_loopback().await;
    let (_, ada) = server.user("ada").await;
    let right = Password("canary-import-right-3f8d");
    let changes = UserChanges { password: Field::Value(right.0.into()), ..user_attributes("source") };
    let (_, owner) = server.user_with(changes).await;
    server.project(&owner, "p", 0).await;
    server.push_first(&owner, "source/p").await;
    let genuine = format!("{}/source/p.git", server.base_url);
    // The target of a redirect, on another host.
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let other = start_source(Router::new().fallback(move |headers: HeaderMap| {
        sender.send(headers.contains_key("authorization")).unwrap();
        async { StatusCode::NOT_FOUND }
    }))
    .await;
    let to = format!("{other}/info/refs?service=git-upload-pack");
    let redirecting =
        Router::new().route("/x.git/info/refs", get(move || async move { axum::response::Redirect::temporary(&to) }));
    let broken = Router::new().fallback(|headers: HeaderMap| async move {
        let text = format!("{:?}", headers.get("authorization"));
        (StatusCode::INTERNAL_SERVER_ERROR, text)
    });
    let cases = [
        (right, genuine.clone(), "finished"),
        (Password("canary-import-wrong-3f8d"), genuine, "failed"),
        (Password("canary-import-refused-3f8d"), "http://10.1.2.3/x.git".into(), "failed"),
        (Password("canary-import-nowhere-3f8d"), "http://import.invalid/x.git".into(), "failed"),
        (Password("canary-import-repeated-3f8d"), start_source(echoing_source()).await, "failed"),
        (Password("canary-import-broken-3f8d"), start_source(broken).await, "failed"),
        (Password("canary-import-redirected-3f8d"), start_source(redirecting).await, "failed"),
        (Password("canary-import-git-3f8d"), "git://127.0.0.1:1/x.git".into(), "failed"),
        (Password("canary-import-canceled-3f8d"), other.clone(), "canceled"),
    ];
    let mut shown = Vec::new();
    let jobs = async || -> String {
        let query = sqlx::query_scalar(
            "select coalesce(jsonb_agg(to_jsonb(j)), '[]')::text from graphile_worker._private_jobs j",
        );
        query.fetch_one(&mut server.database().await).await.unwrap()
    };
    for (place, (password, url, phase)) in cases.iter().enumerate() {
        let path = format!("/projects/{}", server.project(&ada, &format!("p{place}"), 0).await);
        let set = ada.put(&path, &[("import_url", &*password.in_url(url))]).await;
        assert_eq!(set.status, 200, "{}", set.text);
        let waiting = ada.get(&format!("{path}/import")).await;
        assert_eq!((waiting.status, &waiting.body["phase"]), (200, &json!("waiting")), "{}", waiting.text);
        assert_eq!(tables_containing(&server.dump_database().await, password.0), ["imports"], "{url}");
        assert!(!jobs().await.contains(password.0), "{url}");
        if *phase == "canceled" {
            assert_eq!(ada.delete(&format!("{path}/import")).await.status, 200);
        }
        server.run_jobs().await;
        let ended = ada.get(&format!("{path}/import")).await;
        assert_eq!(&ended.body["phase"], phase, "{url}: {}", ended.text);
        let is_repeated = password.0.contains("repeated");
        let hidden = "no repository for Basic [hidden], which is source:[hidden]";
        assert_eq!(ended.text.contains(hidden), is_repeated, "{url}: {}", ended.text);
        let contents = server.dump_database().await;
        for secret in [password.0, &password.basic()] {
            assert_eq!(tables_containing(&contents, secret), [""; 0], "{url}: {}", ended.text);
        }
        shown.extend([set.text, waiting.text, ended.text]);
        shown.push(ada.get(&path).await.text);
        shown.push(ada.get(&format!("{path}/events")).await.text);
    }
    let mut visits = Vec::new();
    while let Ok(has_password) = heard.try_recv() {
        visits.push(has_password);
    }
    assert_eq!(visits, [false], "a password is for the server that it was given for");
    // An invalid URL is rejected without being repeated.
    let refused = Password("canary-import-invalid-3f8d");
    for url in ["ftp://h.example/x.git", "file:///x.git", "http:///x.git", "ext://h x.git"] {
        let answer = ada.post("/projects", &[("name", "n"), ("import_url", &*refused.in_url(url))]).await;
        assert_eq!(answer.status, 400, "{url}");
        shown.push(answer.text);
    }

    // While git runs.
    let running = Password("canary-import-running-3f8d");
    let project = create_import(&ada, "running", &running.in_url(&start_source(endless_source()).await)).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let concurrency = Concurrency { jobs: 1, imports: 1 };
    let working = tokio::spawn(worker::run(server.app.clone(), concurrency, Box::pin(async { drop(stopped.await) })));
    wait_for_phase(&ada, project, "receiving").await;
    let deadline = Instant::now() + PHASE_TIMEOUT;
    let arguments = loop {
        let arguments = process_arguments();
        if arguments.contains("fetch --progress --no-tags") {
            break arguments;
        }
        assert!(Instant::now() < deadline, "git does not run: {arguments}");
        tokio::task::yield_now().await;
    };
    assert_eq!(tables_containing(&server.dump_database().await, running.0), ["imports"]);
    assert_eq!(ada.delete(&format!("/projects/{project}/import")).await.status, 200);
    drop(stop);
    tokio::time::timeout(PHASE_TIMEOUT, working).await.unwrap().unwrap().unwrap();
    assert_eq!(tables_containing(&server.dump_database().await, running.0), [""; 0]);

    let logged = log::captured();
    assert!(logged.contains(&format!("/projects/{project}/import")), "the log is captured");
    for password in cases.iter().map(|(password, ..)| password).chain([&refused, &running]) {
        for secret in [password.0, &password.basic()] {
            assert!(!logged.contains(secret), "{secret} was logged");
            assert!(!arguments.contains(secret), "{secret} is an argument of a process");
            assert!(shown.iter().all(|text| !text.contains(secret)), "{secret} is shown: {shown:?}");
        }
    }
}
