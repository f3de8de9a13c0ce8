//! Starts SSH servers, and runs ssh and git as clients.

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

use crate::{Client, GitOutcome, Server, WorkTree};

/// The SSH server of a node. It stops when it is dropped.
pub struct SshServer {
    pub port: u16,
    directory: TempDir,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<holdfast_ssh::Result<()>>,
}

/// An SSH key pair in a temporary directory.
pub struct KeyPair(TempDir);

impl KeyPair {
    pub async fn new(kind: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", kind, "-N", "", "-C", "test", "-f"]).arg(directory.path().join("key"));
        assert!(command.status().await.expect("ssh-keygen runs").success());
        Self(directory)
    }

    /// Creates a key pair and adds its public key to the user of `client`.
    pub async fn registered(client: &Client) -> Self {
        let key = Self::new("ed25519").await;
        key.register(client).await;
        key
    }

    pub async fn register(&self, client: &Client) {
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

/// The result of one ssh command.
#[derive(Debug)]
pub struct SshOutput {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Server {
    pub async fn ssh(&self) -> SshServer {
        self.ssh_with(|_| {}).await
    }

    pub async fn ssh_with(&self, adjust: impl FnOnce(&mut Settings)) -> SshServer {
        SshServer::start(self.app.clone(), adjust)
    }

    /// Starts the SSH server of a second node.
    pub async fn another_ssh(&self) -> SshServer {
        SshServer::start(self.another_app(), |_| {})
    }
}

impl SshServer {
    pub(crate) fn start(app: Arc<App>, adjust: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            connection_limits: ConnectionLimits { max: 1000, max_per_address: 1000, trusted_proxies: Vec::new() },
            max_unauthenticated_connections: 64,
            handshake_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(600),
            shutdown_grace: Duration::from_secs(10),
            project_url: Arc::new(|path| format!("git@holdfast.test:{path}.git")),
        };
        adjust(&mut settings);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let serving = tokio::spawn(holdfast_ssh::serve(app, listener, settings, stopped));
        Self { port, directory: tempfile::tempdir().expect("a directory"), stop: Some(stop), serving }
    }

    /// Stops the server and waits until it has ended.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        self.serving.await.expect("it does not panic").expect("it ends well");
    }

    pub fn url(&self, path: &str) -> String {
        format!("ssh://git@127.0.0.1:{}/{path}", self.port)
    }

    fn options(&self, key: &KeyPair) -> Vec<String> {
        let mut options: Vec<String> = ["-F", "/dev/null", "-i"].map(str::to_owned).to_vec();
        options.push(key.private());
        let known_hosts = format!("UserKnownHostsFile={}", self.directory.path().join("known").display());
        let settings = [
            "LogLevel=ERROR",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "BatchMode=yes",
            "StrictHostKeyChecking=accept-new",
        ];
        for setting in settings.into_iter().chain([known_hosts.as_str()]) {
            options.extend(["-o".to_owned(), setting.to_owned()]);
        }
        options
    }

    /// Returns an ssh command to this server that the test completes with a remote command.
    pub fn command(&self, key: &KeyPair, options: &[&str]) -> Command {
        let mut command = Command::new("ssh");
        command.args(self.options(key)).args(["-p", &self.port.to_string()]).args(options).arg("git@127.0.0.1");
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    pub async fn run(&self, key: &KeyPair, arguments: &[&str]) -> SshOutput {
        let mut command = self.command(key, &["-T"]);
        run_command(command.args(arguments)).await
    }

    /// Runs git in a work tree, with ssh using this key.
    pub async fn git(&self, key: &KeyPair, tree: &WorkTree, arguments: &[&str]) -> GitOutcome {
        let program = ["ssh".to_owned()].into_iter().chain(self.options(key)).collect::<Vec<_>>().join(" ");
        tree.git_with(arguments, &[("GIT_SSH_COMMAND", &program)]).await
    }
}

pub async fn run_command(command: &mut Command) -> SshOutput {
    let output = command.output().await.expect("ssh runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    SshOutput { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}
