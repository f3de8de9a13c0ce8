//! Real ssh and git, as people use them.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_app::client::ConnectionLimits;
use holdfast_ssh::Settings;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{Client, Outcome, Server, WorkTree};

/// A server's other door. It ends when this is dropped.
pub struct Ssh {
    pub port: u16,
    directory: TempDir,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<holdfast_ssh::Result<()>>,
}

/// A pair of keys on a disk.
pub struct Key(TempDir);

impl Key {
    pub async fn new(kind: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", kind, "-N", "", "-C", "test", "-f"]).arg(directory.path().join("key"));
        assert!(command.status().await.expect("ssh-keygen runs").success());
        Self(directory)
    }

    /// One that its owner has made known.
    pub async fn of(client: &Client) -> Self {
        let key = Self::new("ed25519").await;
        key.add_to(client).await;
        key
    }

    pub async fn add_to(&self, client: &Client) {
        let added = client.post("/user/keys", &[("title", "test"), ("key", &self.public())]).await;
        assert_eq!(added.status, 201, "{}", added.text);
    }

    pub fn public(&self) -> String {
        std::fs::read_to_string(self.0.path().join("key.pub")).expect("a public key").trim().to_owned()
    }

    fn private(&self) -> String {
        self.0.path().join("key").to_str().expect("a plain path").to_owned()
    }
}

/// What a call of ssh came to.
#[derive(Debug)]
pub struct Heard {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Server {
    pub async fn ssh(&self) -> Ssh {
        self.ssh_with(|_| {}).await
    }

    pub async fn ssh_with(&self, adjust: impl FnOnce(&mut Settings)) -> Ssh {
        Ssh::of(self.app.clone(), adjust)
    }

    /// The other door of another node.
    pub async fn another_ssh(&self) -> Ssh {
        Ssh::of(self.another_app(), |_| {})
    }
}

impl Ssh {
    pub(crate) fn of(app: Arc<App>, adjust: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            connections: ConnectionLimits { max: 1000, max_per_address: 1000, trusted_proxies: Vec::new() },
            max_unauthenticated: 64,
            handshake_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(600),
            shutdown_grace: Duration::from_secs(10),
            url: Arc::new(|path| format!("git@holdfast.test:{path}.git")),
        };
        adjust(&mut settings);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let serving = tokio::spawn(holdfast_ssh::serve(app, listener, settings, stopped));
        Self { port, directory: tempfile::tempdir().expect("a directory"), stop: Some(stop), serving }
    }

    /// Waits for the end of it.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        self.serving.await.expect("it does not panic").expect("it ends well");
    }

    pub fn url(&self, path: &str) -> String {
        format!("ssh://git@127.0.0.1:{}/{path}", self.port)
    }

    fn options(&self, key: &Key) -> Vec<String> {
        let mut options: Vec<String> = ["-F", "/dev/null", "-i"].map(str::to_owned).to_vec();
        options.push(key.private());
        let known = format!("UserKnownHostsFile={}", self.directory.path().join("known").display());
        let settings = [
            "LogLevel=ERROR",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "BatchMode=yes",
            "StrictHostKeyChecking=accept-new",
        ];
        for setting in settings.into_iter().chain([known.as_str()]) {
            options.extend(["-o".to_owned(), setting.to_owned()]);
        }
        options
    }

    /// A call of ssh to be completed by the test: the host is named, what is wanted of it is not.
    pub fn command(&self, key: &Key, options: &[&str]) -> Command {
        let mut command = Command::new("ssh");
        command.args(self.options(key)).args(["-p", &self.port.to_string()]).args(options).arg("git@127.0.0.1");
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    pub async fn run(&self, key: &Key, arguments: &[&str]) -> Heard {
        let mut command = self.command(key, &["-T"]);
        heard(command.args(arguments)).await
    }

    /// Runs git with this key.
    pub async fn git(&self, key: &Key, tree: &WorkTree, arguments: &[&str]) -> Outcome {
        let program = ["ssh".to_owned()].into_iter().chain(self.options(key)).collect::<Vec<_>>().join(" ");
        tree.git_with(arguments, &[("GIT_SSH_COMMAND", &program)]).await
    }
}

pub async fn heard(command: &mut Command) -> Heard {
    let output = command.output().await.expect("ssh runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Heard { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}
