//! Who comes in over SSH, what for, and what is done about those who only stand in the door.

use std::process::Stdio;
use std::time::Duration;

use holdfast_tests::ssh::{Key, Ssh, heard};
use holdfast_tests::{Server, Setup, WorkTree, log};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(120);
const NOT_FOUND: &str = "ERROR: The project you were looking for could not be found.\n";

#[tokio::test]
async fn people_are_greeted_by_name() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let key = Key::new(kind).await;
        key.add_to(&ada).await;
        let greeted = ssh.run(&key, &[]).await;
        assert_eq!((greeted.status, greeted.stdout.as_str()), (Some(0), "Welcome to Holdfast, @ada!\n"), "{greeted:?}");
    }
}

#[tokio::test]
async fn there_is_no_shell_and_no_way_through() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let key = Key::of(&server.admin).await;
    // The client gives up by itself when it insists on a terminal.
    let shell = heard(&mut ssh.command(&key, &["-tt"])).await;
    assert_ne!(shell.status, Some(0), "{shell:?}");
    for command in
        ["id", "git", "git-shell", "sh -c id", "git-upload-pack", "git-upload-pack 'a", "scp -t x", "git lfs x"]
    {
        let refused = ssh.run(&key, &[command]).await;
        assert_eq!(refused.status, Some(1), "{command}: {refused:?}");
        assert!(refused.stderr.contains("ERROR: Only git is served here") && refused.stdout.is_empty(), "{refused:?}");
    }
    let subsystem = heard(ssh.command(&key, &["-s"]).arg("sftp")).await;
    assert_ne!(subsystem.status, Some(0));
    let through = heard(&mut ssh.command(&key, &["-W", "127.0.0.1:22"])).await;
    assert!(through.status != Some(0) && through.stdout.is_empty(), "{through:?}");
    let back = heard(&mut ssh.command(&key, &["-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:22"])).await;
    assert!(back.status != Some(0), "{back:?}");
}

/// Gogs GHSA-vm62-9jw3-c8w3 and its like: a path that is more than a path.
#[tokio::test]
async fn a_path_is_a_path() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tools", 0).await;
    let key = Key::of(&ada).await;
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
            // Without quotes a line break is between words.
            let is_plain = path.trim() == "ada/tools";
            assert!(is_plain || matches!(bare.status, Some(1 | 128)), "{service} {path:?}: {bare:?}");
        }
    }
    assert!(!std::fs::exists(&mark).unwrap());
}

#[tokio::test]
async fn unknown_keys_and_other_names_are_turned_away() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (ada_id, ada) = server.user("ada").await;
    let (known, unknown) = (Key::of(&ada).await, Key::new("ed25519").await);
    let refused = ssh.run(&unknown, &[]).await;
    assert_eq!(refused.status, Some(255));
    assert!(refused.stderr.contains("Permission denied (publickey)"), "{refused:?}");
    let other_name = heard(&mut ssh.command(&known, &["-T", "-l", "root"])).await;
    assert_eq!((other_name.status, other_name.stdout.as_str()), (Some(255), ""), "{other_name:?}");
    assert_eq!(ssh.run(&known, &[]).await.status, Some(0));
    assert_eq!(server.admin.put(&format!("/users/{ada_id}/block"), &[]).await.status, 200);
    assert_eq!(ssh.run(&known, &[]).await.status, Some(255));
    assert_eq!(server.admin.put(&format!("/users/{ada_id}/unblock"), &[]).await.status, 200);
    let keys = ada.get("/user/keys").await;
    ada.delete(&format!("/user/keys/{}", keys.ids()[0])).await;
    assert_eq!(ssh.run(&known, &[]).await.status, Some(255));
}

/// A connection that stays open outlives neither its key nor its owner's welcome.
#[tokio::test]
async fn a_kept_connection_gives_no_lasting_right() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (ada_id, ada) = server.user("ada").await;
    let key = Key::of(&ada).await;
    let directory = tempfile::tempdir().unwrap();
    let control = format!("ControlPath={}/c", directory.path().display());
    let mut master = ssh.command(&key, &["-N", "-M", "-o", &control]).spawn().unwrap();
    let through = async || heard(&mut ssh.command(&key, &["-T", "-o", "ControlMaster=no", "-o", &control])).await;
    poll("the connection is there", async || directory.path().join("c").exists()).await;
    // More than may be open at once, one after the other.
    for _ in 0..12 {
        assert_eq!(through().await.status, Some(0));
    }
    assert_eq!(server.admin.put(&format!("/users/{ada_id}/block"), &[]).await.status, 200);
    let refused = through().await;
    assert_eq!((refused.status, refused.stderr.as_str()), (Some(128), "ERROR: Your key is not accepted any more.\n"));
    master.kill().await.unwrap();
}

#[tokio::test]
async fn rights_are_those_of_the_project() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    let (eve_id, eve) = server.user("eve").await;
    let project = server.project(&ada, "tools", 0).await;
    let (owner, other) = (Key::of(&ada).await, Key::of(&eve).await);
    let tree = WorkTree::new().await;
    tree.commit("README.md", b"Hello\n", "First").await;
    let url = ssh.url("ada/tools.git");
    ssh.git(&owner, &tree, &["push", "-q", &url, "main"]).await.ok();
    let expect = async |service: &str, text: &str| {
        let refused = ssh.run(&other, &[&format!("{service} 'ada/tools.git'")]).await;
        assert_eq!((refused.status, refused.stderr.as_str()), (Some(128), text), "{service}");
    };
    // Hidden beats forbidden.
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
    let refused = ssh.git(&other, &tree, &["push", &url, "main:mine"]).await.refused();
    assert!(refused.stderr.contains("ERROR: You are not allowed to push code to this project."));
    join("30").await;
    ssh.git(&other, &tree, &["push", "-q", &url, "main:mine"]).await.ok();
    assert_eq!(ada.post(&format!("/projects/{project}/archive"), &[]).await.status, 201);
    expect("git-receive-pack", "ERROR: The project is archived: unarchive it to add to it.\n").await;
    ssh.git(&other, &tree, &["ls-remote", &url]).await.ok();
    let served = log::captured();
    let told = |line: &&str| ["served", "receive-pack", "ada/tools.git"].iter().all(|word| line.contains(word));
    let line = served.lines().find(told).unwrap();
    assert!(line.contains("user="), "{line}");
}

#[tokio::test]
async fn every_node_shows_the_same_keys() {
    let server = Server::start().await;
    // At once, on an empty table.
    let (one, two) = tokio::join!(server.ssh(), server.another_ssh());
    let (one, two) = (scan(&one).await, scan(&two).await);
    assert_eq!(one.len(), 2, "{one:?}");
    assert_eq!(one, two);
}

async fn scan(ssh: &Ssh) -> Vec<String> {
    let mut command = tokio::process::Command::new("ssh-keyscan");
    let found = heard(command.args(["-T", "20", "-p", &ssh.port.to_string(), "127.0.0.1"])).await;
    let keys = found.stdout.lines().filter_map(|line| line.split_once(' ')).map(|(_, key)| key.to_owned());
    let mut keys: Vec<String> = keys.collect();
    keys.sort();
    keys
}

/// Gogs GHSA-xp79-5mx3-jx52: a handshake that stalls holds a connection for ever.
#[tokio::test]
async fn who_does_not_sign_in_is_let_go() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.handshake_timeout = Duration::from_millis(300)).await;
    for hello in [&b""[..], b"SSH-2.0-", b"SSH-2.0-slow\r\n", b"SSH-2.0-slow\r\n\0\0\0\x0c\x0a"] {
        let mut socket = connect(&ssh).await;
        socket.write_all(hello).await.unwrap();
        assert!(is_closed(&mut socket).await, "{hello:?}");
    }
}

#[tokio::test]
async fn only_so_many_may_stand_in_the_door() {
    let server = Server::start().await;
    let ssh = server
        .ssh_with(|settings| {
            settings.max_unauthenticated = 2;
            // One address gets a quarter of them, a balancer all.
            settings.connections.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        })
        .await;
    let key = Key::of(&server.admin).await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut socket = connect(&ssh).await;
        // It has a place when it is greeted.
        timeout(DEADLINE, socket.read_u8()).await.unwrap().unwrap();
        waiting.push(socket);
    }
    assert!(is_closed(&mut connect(&ssh).await).await);
    assert_eq!(ssh.run(&key, &[]).await.status, Some(255));
    waiting.clear();
    poll("there is a place again", async || ssh.run(&key, &[]).await.status == Some(0)).await;
    // Who has signed in does not stand in the door any more.
    let inside: Vec<_> = (0..3).map(|_| ssh.command(&key, &["-N"]).spawn().unwrap()).collect();
    poll("there is still a place", async || ssh.run(&key, &[]).await.status == Some(0)).await;
    drop(inside);
}

/// A client opens connections, does not sign in on them and opens new ones when they are closed, to keep all others out.
#[tokio::test]
async fn silent_connections_of_one_address_leave_places_to_others() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.max_unauthenticated = 8).await;
    let key = Key::of(&server.admin).await;
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
    let elsewhere = heard(&mut ssh.command(&key, &["-T", "-b", "127.0.0.2"])).await;
    assert_eq!(elsewhere.status, Some(0), "{elsewhere:?}");
    silent.clear();
    poll("there is a place again", async || ssh.run(&key, &[]).await.status == Some(0)).await;
}

/// One address has only so many connections, signed in or not.
#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.connections.max_per_address = 3).await;
    let key = Key::of(&server.admin).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut socket = connect(&ssh).await;
        timeout(DEADLINE, socket.read_u8()).await.unwrap().unwrap();
        open.push(socket);
    }
    assert_eq!(ssh.run(&key, &[]).await.status, Some(255));
    let elsewhere = heard(&mut ssh.command(&key, &["-T", "-b", "127.0.0.2"])).await;
    assert_eq!(elsewhere.status, Some(0), "{elsewhere:?}");
    drop(open);
    poll("there is room again", async || ssh.run(&key, &[]).await.status == Some(0)).await;
}

/// A client of protocol version 0 or 1, which gets the list of refs unasked, starts sessions and sends nothing more, to take
/// all fetches of the node.
#[tokio::test]
async fn silent_sessions_take_no_turns() {
    let mut setup = Setup::default();
    (setup.settings.git.max_fetches, setup.settings.git.max_fetches_per_repository) = (2, 2);
    setup.settings.git.request_timeout = Duration::from_secs(600);
    let server = Server::with(setup).await;
    let ssh = server.ssh().await;
    let ((_, ada), (_, mallory)) = (server.user("ada").await, server.user("mallory").await);
    server.project(&mallory, "mine", 0).await;
    server.project(&ada, "tools", 0).await;
    let wanted = server.push_first(&mallory, "mallory/mine").await;
    server.push_first(&ada, "ada/tools").await;
    let (key, own) = (Key::of(&ada).await, Key::of(&mallory).await);
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
        // Half of them go on, and say what they want but not what they have: those take turns of mallory's.
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

/// To say a byte now and then does not keep a session, nor a turn, for ever.
#[tokio::test]
async fn requests_that_do_not_come_to_an_end_are_ended() {
    let mut setup = Setup::default();
    setup.settings.git.request_timeout = Duration::from_secs(1);
    let server = Server::with(setup).await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tools", 0).await;
    let wanted = server.push_first(&ada, "ada/tools").await;
    let key = Key::of(&ada).await;
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
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("in time"), "{service} {version} {goes_on}: {said}");
    }
    let (cloned, _) = WorkTree::clone(&server.git_url(&ada, "ada/tools"), &[]).await;
    cloned.ok();
}

#[tokio::test]
async fn silence_ends_a_connection() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.idle_timeout = Duration::from_secs(2)).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tools", 0).await;
    let key = Key::of(&ada).await;
    let idle = timeout(DEADLINE, heard(&mut ssh.command(&key, &["-N"]))).await.expect("it is closed");
    assert_eq!(idle.status, Some(255));
    // In the middle of a conversation, too: the other side of the pipe stays open and says nothing.
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
async fn stopping_waits_for_nobody_who_does_nothing() {
    let server = Server::start().await;
    let ssh = server.ssh_with(|settings| settings.shutdown_grace = Duration::from_secs(600)).await;
    let key = Key::of(&server.admin).await;
    let port = ssh.port;
    let mut idle = ssh.command(&key, &["-N", "-v"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let stderr = idle.stderr.take().unwrap();
    let mut lines = tokio::io::BufReader::new(stderr);
    while !said.contains("Authenticated to") {
        let mut line = [0; 256];
        let count = timeout(DEADLINE, lines.read(&mut line)).await.unwrap().unwrap();
        assert!(count > 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&line[..count]));
    }
    timeout(DEADLINE, ssh.stop()).await.expect("it stops");
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    drop(lines);
    timeout(DEADLINE, idle.wait()).await.expect("it was closed").unwrap();
}

/// A client that was let in, but has not said a word yet.
#[tokio::test]
async fn stopping_serves_who_has_just_come() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let key = Key::of(&server.admin).await;
    let port = ssh.port;
    let mut slow = connect(&ssh).await;
    // The server speaks first: it was let in.
    assert_eq!(timeout(DEADLINE, slow.peek(&mut [0])).await.unwrap().unwrap(), 1);
    let relay = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let through = relay.local_addr().unwrap().port();
    let through = format!("exec 3<>/dev/tcp/127.0.0.1/{through}; cat <&3 & exec cat >&3");
    let mut late = ssh.command(&key, &["-T", "-o", &format!("ProxyCommand=bash -c '{through}'")]);
    let stopping = tokio::spawn(ssh.stop());
    poll("the door is closed", async || TcpStream::connect(("127.0.0.1", port)).await.is_err()).await;
    let relay = tokio::spawn(async move {
        let (mut client, _) = relay.accept().await.unwrap();
        tokio::io::copy_bidirectional(&mut client, &mut slow).await.ok();
    });
    let greeted = heard(&mut late).await;
    assert!(greeted.stdout.starts_with("Welcome to Holdfast"), "{greeted:?}");
    relay.await.unwrap();
    timeout(DEADLINE, stopping).await.expect("it stops").unwrap();
}

async fn connect(ssh: &Ssh) -> TcpStream {
    TcpStream::connect(("127.0.0.1", ssh.port)).await.unwrap()
}

/// Within the deadline.
async fn is_closed(socket: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    timeout(DEADLINE, socket.read_to_end(&mut rest)).await.is_ok()
}

pub async fn poll(what: &str, is_so: impl AsyncFn() -> bool) {
    let polling = async {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        while !is_so().await {
            every.tick().await;
        }
    };
    timeout(DEADLINE, polling).await.expect(what);
}
