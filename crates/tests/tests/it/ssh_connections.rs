//! SSH connections: authentication, commands, limits, timeouts and shutdown.

use std::process::Stdio;
use std::time::Duration;

use holdfast_tests::ssh::{KeyPair, SshServer, run_command};
use holdfast_tests::{Server, Setup, WorkTree, log};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(120);
const NOT_FOUND: &str = "ERROR: The project you were looking for could not be found.\n";

#[tokio::test]
async fn sessions_without_a_command_greet_the_user() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let key = KeyPair::new(kind).await;
        key.register(&ada).await;
        let greeted = ssh.run(&key, &[]).await;
        assert_eq!((greeted.status, greeted.stdout.as_str()), (Some(0), "Welcome to Holdfast, @ada!\n"), "{greeted:?}");
    }
}

#[tokio::test]
async fn shells_and_forwarding_are_rejected() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let key = KeyPair::registered(&server.admin).await;
    // The client gives up by itself if it requires a terminal.
    let shell = run_command(&mut ssh.command(&key, &["-tt"])).await;
    assert_ne!(shell.status, Some(0), "{shell:?}");
    for command in
        ["id", "git", "git-shell", "sh -c id", "git-upload-pack", "git-upload-pack 'a", "scp -t x", "git lfs x"]
    {
        let refused = ssh.run(&key, &[command]).await;
        assert_eq!(refused.status, Some(1), "{command}: {refused:?}");
        assert!(
            refused.stderr.contains("ERROR: This server runs only the commands git-upload-pack")
                && refused.stdout.is_empty(),
            "{refused:?}"
        );
    }
    let subsystem = run_command(ssh.command(&key, &["-s"]).arg("sftp")).await;
    assert_ne!(subsystem.status, Some(0));
    let through = run_command(&mut ssh.command(&key, &["-W", "127.0.0.1:22"])).await;
    assert!(through.status != Some(0) && through.stdout.is_empty(), "{through:?}");
    let back =
        run_command(&mut ssh.command(&key, &["-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:22"])).await;
    assert!(back.status != Some(0), "{back:?}");
}

/// Command injection by a path (such as Gogs GHSA-vm62-9jw3-c8w3).
#[tokio::test]
async fn paths_cannot_inject_commands() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tools", 0).await;
    let key = KeyPair::registered(&ada).await;
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("mark").display().to_string();
    let paths = [
        "--upload-pack=id",
        "-u",
        "--help",
        "../../etc/passwd",
        "../..",
        "/",
        "",
        "~ada/tools",
        "ada",
        "ada/tools/x",
        "ada/tools\n",
        "\nada/tools",
        "ada/../ada/tools",
        "*",
        "ada/%74ools",
        &format!("$(touch {mark})"),
        &format!("`touch {mark}`"),
        &format!("ada/tools; touch {mark}"),
        &format!("ada/tools && touch {mark}"),
        &format!("|touch {mark}"),
        &format!("--exec=touch {mark}/x"),
    ];
    for service in ["git-upload-pack", "git-receive-pack", "git-upload-archive", "git upload-pack"] {
        for path in paths {
            let refused = ssh.run(&key, &[&format!("{service} '{path}'")]).await;
            assert_eq!((refused.status, refused.stderr.as_str()), (Some(128), NOT_FOUND), "{service} {path:?}");
            let bare = ssh.run(&key, &[&format!("{service} {path}")]).await;
            // Without quotes, a line break separates words.
            let is_plain = path.trim() == "ada/tools";
            assert!(is_plain || matches!(bare.status, Some(1 | 128)), "{service} {path:?}: {bare:?}");
        }
    }
    assert!(!std::fs::exists(&mark).unwrap());
}

#[tokio::test]
async fn unknown_keys_and_user_names_are_rejected() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (ada_id, ada) = server.user("ada").await;
    let (known, unknown) = (KeyPair::registered(&ada).await, KeyPair::new("ed25519").await);
    let refused = ssh.run(&unknown, &[]).await;
    assert_eq!(refused.status, Some(255));
    assert!(refused.stderr.contains("Permission denied (publickey)"), "{refused:?}");
    let other_name = run_command(&mut ssh.command(&known, &["-T", "-l", "root"])).await;
    assert_eq!((other_name.status, other_name.stdout.as_str()), (Some(255), ""), "{other_name:?}");
    assert_eq!(ssh.run(&known, &[]).await.status, Some(0));
    assert_eq!(server.admin.put(&format!("/users/{ada_id}/block"), &[]).await.status, 200);
    assert_eq!(ssh.run(&known, &[]).await.status, Some(255));
    assert_eq!(server.admin.put(&format!("/users/{ada_id}/unblock"), &[]).await.status, 200);
    let keys = ada.get("/user/keys").await;
    ada.delete(&format!("/user/keys/{}", keys.ids()[0])).await;
    assert_eq!(ssh.run(&known, &[]).await.status, Some(255));
}

/// An open connection loses access when its key is deleted or its user is blocked.
#[tokio::test]
async fn open_connections_lose_access_with_their_key_or_user() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (ada_id, ada) = server.user("ada").await;
    let key = KeyPair::registered(&ada).await;
    let directory = tempfile::tempdir().unwrap();
    let control = format!("ControlPath={}/c", directory.path().display());
    let mut master = ssh.command(&key, &["-N", "-M", "-o", &control]).spawn().unwrap();
    let through = async || run_command(&mut ssh.command(&key, &["-T", "-o", "ControlMaster=no", "-o", &control])).await;
    wait_until("the connection is there", async || directory.path().join("c").exists()).await;
    // More sessions than may be open at once, one after the other.
    for _ in 0..12 {
        assert_eq!(through().await.status, Some(0));
    }
    assert_eq!(server.admin.put(&format!("/users/{ada_id}/block"), &[]).await.status, 200);
    let refused = through().await;
    assert_eq!((refused.status, refused.stderr.as_str()), (Some(128), "ERROR: Your key is no longer accepted.\n"));
    master.kill().await.unwrap();
}

#[tokio::test]
async fn ssh_access_follows_project_permissions() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    let (eve_id, eve) = server.user("eve").await;
    let project = server.project(&ada, "tools", 0).await;
    let (owner, other) = (KeyPair::registered(&ada).await, KeyPair::registered(&eve).await);
    let tree = WorkTree::new().await;
    tree.commit("README.md", b"Hello\n", "First").await;
    let url = ssh.url("ada/tools.git");
    ssh.git(&owner, &tree, &["push", "-q", &url, "main"]).await.ok();
    let expect = async |service: &str, text: &str| {
        let refused = ssh.run(&other, &[&format!("{service} 'ada/tools.git'")]).await;
        assert_eq!((refused.status, refused.stderr.as_str()), (Some(128), text), "{service}");
    };
    // A project that the user cannot see is reported as not found, not as forbidden.
    for service in ["git-upload-pack", "git-receive-pack", "git-upload-archive"] {
        expect(service, NOT_FOUND).await;
    }
    let join = async |level: &str| {
        let path = format!("/projects/{project}/members");
        ada.delete(&format!("{path}/{eve_id}")).await;
        let joined = ada.post(&path, &[("user_id", &eve_id.to_string()), ("access_level", level)]).await;
        assert_eq!(joined.status, 201);
    };
    join("10").await;
    expect("git-upload-pack", "ERROR: You are not allowed to download code from this project.\n").await;
    join("20").await;
    ssh.git(&other, &tree, &["ls-remote", &url]).await.ok();
    expect("git-receive-pack", "ERROR: You are not allowed to push code to this project.\n").await;
    let refused = ssh.git(&other, &tree, &["push", &url, "main:mine"]).await.expect_failure();
    assert!(refused.stderr.contains("ERROR: You are not allowed to push code to this project."));
    join("30").await;
    ssh.git(&other, &tree, &["push", "-q", &url, "main:mine"]).await.ok();
    assert_eq!(ada.post(&format!("/projects/{project}/archive"), &[]).await.status, 201);
    expect("git-receive-pack", "ERROR: The project is archived. Unarchive it to change its content.\n").await;
    ssh.git(&other, &tree, &["ls-remote", &url]).await.ok();
    let served = log::captured();
    let message =
        |line: &&str| ["command completed", "receive-pack", "ada/tools.git"].iter().all(|word| line.contains(word));
    let line = served.lines().find(message).unwrap();
    assert!(line.contains("user="), "{line}");
}

#[tokio::test]
async fn every_node_has_the_same_host_keys() {
    let server = Server::start().await;
    // Two servers create the host keys concurrently.
    let (one, two) = tokio::join!(server.ssh(), server.another_ssh());
    let (one, two) = (scan_host_keys(&one).await, scan_host_keys(&two).await);
    assert_eq!(one.len(), 2, "{one:?}");
    assert_eq!(one, two);
}

async fn scan_host_keys(ssh: &SshServer) -> Vec<String> {
    let mut command = tokio::process::Command::new("ssh-keyscan");
    let found = run_command(command.args(["-T", "20", "-p", &ssh.port.to_string(), "127.0.0.1"])).await;
    let keys = found.stdout.lines().filter_map(|line| line.split_once(' ')).map(|(_, key)| key.to_owned());
    let mut keys: Vec<String> = keys.collect();
    keys.sort();
    keys
}

/// A stalled handshake held a connection forever (Gogs GHSA-xp79-5mx3-jx52).
#[tokio::test]
async fn stalled_handshakes_are_disconnected() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.handshake_timeout = Duration::from_millis(300)).await;
    for hello in [&b""[..], b"SSH-2.0-", b"SSH-2.0-slow\r\n", b"SSH-2.0-slow\r\n\0\0\0\x0c\x0a"] {
        let mut socket = connect(&ssh).await;
        socket.write_all(hello).await.unwrap();
        assert!(is_closed(&mut socket).await, "{hello:?}");
    }
}

#[tokio::test]
async fn unauthenticated_ssh_connections_are_limited() {
    let server = Server::start().await;
    let ssh = server
        .ssh_with(|settings| {
            settings.max_unauthenticated_connections = 2;
            // One address gets a quarter of the slots, a trusted proxy all of them.
            settings.connection_limits.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        })
        .await;
    let key = KeyPair::registered(&server.admin).await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut socket = connect(&ssh).await;
        // The server sends its banner when the connection has a slot.
        timeout(DEADLINE, socket.read_u8()).await.unwrap().unwrap();
        waiting.push(socket);
    }
    assert!(is_closed(&mut connect(&ssh).await).await);
    assert_eq!(ssh.run(&key, &[]).await.status, Some(255));
    waiting.clear();
    wait_until("there is a place again", async || ssh.run(&key, &[]).await.status == Some(0)).await;
    // Authenticated connections do not count as unauthenticated ones.
    let inside: Vec<_> = (0..3).map(|_| ssh.command(&key, &["-N"]).spawn().unwrap()).collect();
    wait_until("there is still a place", async || ssh.run(&key, &[]).await.status == Some(0)).await;
    drop(inside);
}

/// A client opens connections without authenticating, and new ones when they are closed, to keep all others out.
#[tokio::test]
async fn silent_connections_of_one_address_leave_slots_to_others() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.max_unauthenticated_connections = 8).await;
    let key = KeyPair::registered(&server.admin).await;
    let mut silent = Vec::new();
    for _ in 0..2 {
        let mut socket = connect(&ssh).await;
        timeout(DEADLINE, socket.read_u8()).await.unwrap().unwrap();
        silent.push(socket);
    }
    for _ in 0..20 {
        assert!(is_closed(&mut connect(&ssh).await).await);
    }
    assert_eq!(ssh.run(&key, &[]).await.status, Some(255));
    let elsewhere = run_command(&mut ssh.command(&key, &["-T", "-b", "127.0.0.2"])).await;
    assert_eq!(elsewhere.status, Some(0), "{elsewhere:?}");
    silent.clear();
    wait_until("there is a place again", async || ssh.run(&key, &[]).await.status == Some(0)).await;
}

/// The connections of one address are limited, authenticated or not.
#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.connection_limits.max_per_address = 3).await;
    let key = KeyPair::registered(&server.admin).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut socket = connect(&ssh).await;
        timeout(DEADLINE, socket.read_u8()).await.unwrap().unwrap();
        open.push(socket);
    }
    assert_eq!(ssh.run(&key, &[]).await.status, Some(255));
    let elsewhere = run_command(&mut ssh.command(&key, &["-T", "-b", "127.0.0.2"])).await;
    assert_eq!(elsewhere.status, Some(0), "{elsewhere:?}");
    drop(open);
    wait_until("there is room again", async || ssh.run(&key, &[]).await.status == Some(0)).await;
}

/// A client of protocol version 0 or 1, which gets the list of refs at once, starts sessions and sends nothing more, to
/// take all fetch permits of the node.
#[tokio::test]
async fn silent_sessions_hold_no_fetch_permits() {
    let mut setup = Setup::default();
    (setup.settings.git.max_fetches, setup.settings.git.max_fetches_per_repository) = (2, 2);
    setup.settings.git.request_timeout = Duration::from_secs(600);
    let server = Server::start_with(setup).await;
    let ssh = server.ssh().await;
    let ((_, ada), (_, mallory)) = (server.user("ada").await, server.user("mallory").await);
    server.project(&mallory, "mine", 0).await;
    server.project(&ada, "tools", 0).await;
    let wanted = server.push_first(&mallory, "mallory/mine").await;
    server.push_first(&ada, "ada/tools").await;
    let (key, own) = (KeyPair::registered(&ada).await, KeyPair::registered(&mallory).await);
    let mut sessions = Vec::new();
    for number in 0..6 {
        let mut command = ssh.command(&own, &["-T"]);
        command.arg("git-upload-pack 'mallory/mine'").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut session = command.spawn().unwrap();
        let mut advertised = Vec::new();
        while !advertised.ends_with(b"0000") {
            let read = session.stdout.as_mut().unwrap().read_buf(&mut advertised);
            assert!(timeout(DEADLINE, read).await.unwrap().unwrap() > 0, "it ended");
        }
        // Half of the sessions send their wants but no haves. These take permits of mallory.
        if number % 2 == 0 {
            let wants = format!("0032want {wanted}\n0000");
            session.stdin.as_mut().unwrap().write_all(wants.as_bytes()).await.unwrap();
        }
        sessions.push(session);
    }
    for url in [ssh.url("ada/tools"), server.git_url(&ada, "ada/tools")] {
        let tree = WorkTree::new().await;
        for version in ["0", "2"] {
            let protocol = format!("protocol.version={version}");
            let arguments = ["-c", &protocol, "fetch", "-q", &url, "main"];
            timeout(DEADLINE, ssh.git(&key, &tree, &arguments)).await.expect("others are served").ok();
        }
    }
    for session in &mut sessions {
        assert!(session.try_wait().unwrap().is_none(), "it was still there");
    }
}

/// Sending single bytes slowly does not keep a session or a permit forever.
#[tokio::test]
async fn unfinished_requests_time_out() {
    let mut setup = Setup::default();
    setup.settings.git.request_timeout = Duration::from_secs(1);
    let server = Server::start_with(setup).await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tools", 0).await;
    let wanted = server.push_first(&ada, "ada/tools").await;
    let key = KeyPair::registered(&ada).await;
    let wants = format!("0032want {wanted}\n0000");
    for (service, version, begin, goes_on) in [
        ("git-upload-pack", "version=0", "", ""),
        ("git-upload-pack", "version=0", "", "0032want "),
        ("git-upload-pack", "version=1", "", "0032want "),
        ("git-upload-pack", "version=0", &wants, ""),
        ("git-upload-pack", "version=0", &wants, "0032have "),
        ("git-upload-pack", "version=2", "", "0032command="),
        ("git-receive-pack", "version=0", "", "00ff"),
        ("git-upload-archive", "version=0", "", "00ff"),
    ] {
        let mut command = ssh.command(&key, &["-T", "-o", "SendEnv=GIT_PROTOCOL"]);
        command.env("GIT_PROTOCOL", version).arg(format!("{service} 'ada/tools'"));
        let mut session = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = session.stdin.take().unwrap();
        let drip = async {
            let mut every = tokio::time::interval(Duration::from_millis(50));
            stdin.write_all(begin.as_bytes()).await.ok();
            let bytes = goes_on.bytes().chain(std::iter::repeat(b'0').take_while(|_| !goes_on.is_empty()));
            for byte in bytes {
                every.tick().await;
                stdin.write_all(&[byte]).await.ok();
            }
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            ended = timeout(DEADLINE, session.wait_with_output()) => ended.expect("it is ended").unwrap(),
            () = drip => unreachable!("it does not end by itself"),
        };
        assert_eq!(ended.status.code(), Some(128), "{service} {version} {goes_on}");
        let output = String::from_utf8_lossy(&ended.stderr);
        assert!(output.contains("in time"), "{service} {version} {goes_on}: {output}");
    }
    let (cloned, _) = WorkTree::clone(&server.git_url(&ada, "ada/tools"), &[]).await;
    cloned.ok();
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.idle_timeout = Duration::from_secs(2)).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tools", 0).await;
    let key = KeyPair::registered(&ada).await;
    let idle = timeout(DEADLINE, run_command(&mut ssh.command(&key, &["-N"]))).await.expect("it is closed");
    assert_eq!(idle.status, Some(255));
    // In the middle of a request as well: the other side keeps the pipe open and sends nothing.
    for service in ["git-upload-pack", "git-receive-pack", "git-upload-archive"] {
        let mut command = ssh.command(&key, &["-T"]);
        command.arg(format!("{service} 'ada/tools'")).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let ended = timeout(DEADLINE, child.wait()).await.expect("it is closed").unwrap();
        assert_eq!(ended.code(), Some(128), "{service}");
        drop(stdin);
    }
}

#[tokio::test]
async fn shutdown_does_not_wait_for_idle_connections() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.shutdown_grace = Duration::from_secs(600)).await;
    let key = KeyPair::registered(&server.admin).await;
    let port = ssh.port;
    let mut idle = ssh.command(&key, &["-N", "-v"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = String::new();
    let stderr = idle.stderr.take().unwrap();
    let mut lines = tokio::io::BufReader::new(stderr);
    while !output.contains("Authenticated to") {
        let mut line = [0; 256];
        let count = timeout(DEADLINE, lines.read(&mut line)).await.unwrap().unwrap();
        assert!(count > 0, "it ended: {output}");
        output.push_str(&String::from_utf8_lossy(&line[..count]));
    }
    timeout(DEADLINE, ssh.stop()).await.expect("it stops");
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    drop(lines);
    timeout(DEADLINE, idle.wait()).await.expect("it was closed").unwrap();
}

/// A client whose connection was accepted, but that has not sent anything yet.
#[tokio::test]
async fn shutdown_serves_accepted_connections() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let key = KeyPair::registered(&server.admin).await;
    let port = ssh.port;
    let mut slow = connect(&ssh).await;
    // The server sends first, so the connection was accepted.
    assert_eq!(timeout(DEADLINE, slow.peek(&mut [0])).await.unwrap().unwrap(), 1);
    let relay = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let through = relay.local_addr().unwrap().port();
    let through = format!("exec 3<>/dev/tcp/127.0.0.1/{through}; cat <&3 & exec cat >&3");
    let mut late = ssh.command(&key, &["-T", "-o", &format!("ProxyCommand=bash -c '{through}'")]);
    let stopping = tokio::spawn(ssh.stop());
    wait_until("the listener is closed", async || TcpStream::connect(("127.0.0.1", port)).await.is_err()).await;
    let relay = tokio::spawn(async move {
        let (mut client, _) = relay.accept().await.unwrap();
        tokio::io::copy_bidirectional(&mut client, &mut slow).await.ok();
    });
    let greeted = run_command(&mut late).await;
    assert!(greeted.stdout.starts_with("Welcome to Holdfast"), "{greeted:?}");
    relay.await.unwrap();
    timeout(DEADLINE, stopping).await.expect("it stops").unwrap();
}

async fn connect(ssh: &SshServer) -> TcpStream {
    TcpStream::connect(("127.0.0.1", ssh.port)).await.unwrap()
}

/// Returns whether the server closes the connection within the deadline.
async fn is_closed(socket: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    timeout(DEADLINE, socket.read_to_end(&mut rest)).await.is_ok()
}

pub async fn wait_until(description: &str, condition: impl AsyncFn() -> bool) {
    let polling = async {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        while !condition().await {
            every.tick().await;
        }
    };
    timeout(DEADLINE, polling).await.expect(description);
}
