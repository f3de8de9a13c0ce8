//! Server processes: this same program, each with a cache of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

/// What is started.
pub struct Program {
    executable: PathBuf,
    configuration: Option<PathBuf>,
    directory: PathBuf,
    settings: Settings,
    /// For those that shall not be calm.
    unrest: Settings,
}

/// As variables.
pub type Settings = Vec<(&'static str, String)>;

impl Program {
    /// With these settings besides those that all nodes get.
    pub fn new(
        configuration: Option<&Path>,
        directory: &Path,
        settings: Settings,
        unrest: Settings,
    ) -> anyhow::Result<Self> {
        let configuration = configuration.map(Path::canonicalize).transpose()?;
        let executable = std::env::current_exe()?;
        Ok(Self { executable, configuration, directory: directory.to_owned(), settings, unrest })
    }

    fn start(&self) -> Command {
        let mut command = Command::new(&self.executable);
        if let Some(file) = &self.configuration {
            command.arg("--config").arg(file);
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// What an operator does beside the nodes, under the same settings.
    pub fn admin(&self, arguments: &[&str]) -> Command {
        let mut command = self.start();
        command
            .arg("admin")
            .args(arguments)
            .env("HOLDFAST__GIT__CACHE_DIRECTORY", self.directory.join("operator-cache"))
            .envs(self.settings.iter().chain(&self.unrest).map(|(name, value)| (name, value)));
        command
    }

    fn command(&self, name: &str, address: SocketAddr, cache: &Path, load: &Load) -> anyhow::Result<Command> {
        let log =
            std::fs::File::options().create(true).append(true).open(self.directory.join(format!("{name}.log")))?;
        let mut command = self.start();
        let unrest: &[_] = if load.is_calm { &[] } else { &self.unrest };
        command
            .arg("serve")
            .env("HOLDFAST__SERVER__LISTEN", address.to_string())
            .env("HOLDFAST__SERVER__EXTERNAL_URL", format!("http://{address}"))
            .env("HOLDFAST__OPERATIONS__LISTEN", "")
            .env("HOLDFAST__SSH__LISTEN", "")
            .env("HOLDFAST__DATABASE__MAX_CONNECTIONS", "10")
            .env("HOLDFAST__WORKER__CONCURRENCY", load.workers.to_string())
            // What happens seldom shall happen often.
            .env("HOLDFAST__GIT__COMPACT_AT", "5")
            .env("HOLDFAST__GIT__CACHE_MAX_BYTES", load.cache_bytes.to_string())
            .env("HOLDFAST__GIT__CACHE_DIRECTORY", cache)
            .envs(self.settings.iter().chain(unrest).map(|(name, value)| (name, value)))
            .stdout(log.try_clone()?)
            .stderr(log);
        Ok(command)
    }
}

/// How much a node takes upon itself.
#[derive(Clone, Debug)]
pub struct Load {
    pub workers: usize,
    pub cache_bytes: u64,
    /// Where its cache is, if not where the others are.
    pub disk: Option<PathBuf>,
    pub is_calm: bool,
    pub seed: u64,
}

pub struct Node {
    pub name: String,
    pub address: SocketAddr,
    pub cache: PathBuf,
    command: Mutex<Command>,
    process: Mutex<Option<Child>>,
    /// Of what its object store does to it; another one each time it starts.
    seed: u64,
    /// Odd while it is up, so that the same odd number twice means: it was never killed in between.
    life: AtomicU64,
}

/// It must be ready after this time, also on a machine that does a lot besides.
const PATIENCE: Duration = Duration::from_secs(60);

impl Node {
    pub fn new(program: &Program, name: String, load: &Load, random: &mut StdRng) -> anyhow::Result<Self> {
        let address = free_address(random)?;
        let cache = load.disk.as_ref().unwrap_or(&program.directory).join(format!("{name}-cache"));
        let command = Mutex::new(program.command(&name, address, &cache, load)?);
        Ok(Self { seed: load.seed, name, address, cache, command, process: Mutex::default(), life: AtomicU64::new(0) })
    }

    /// None while it is down.
    pub fn life(&self) -> Option<u64> {
        Some(self.life.load(Ordering::SeqCst)).filter(|life| life % 2 == 1)
    }

    pub async fn start(&self) -> anyhow::Result<()> {
        let mut process = self.process.lock().await;
        let seed = self.seed.wrapping_add(self.life.load(Ordering::SeqCst)) >> 1;
        let mut command = self.command.lock().await;
        let mut child = command
            .env("HOLDFAST__CHAOS__SEED", seed.to_string())
            .spawn()
            .context("cannot start this program once more")?;
        let url = format!("http://{}/readyz", self.address);
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let mut every = tokio::time::interval(Duration::from_millis(50));
        let readiness = async {
            loop {
                every.tick().await;
                if let Some(status) = child.try_wait()? {
                    bail!("{} ended by itself, {status}; its log tells why", self.name);
                }
                if client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
                    return Ok(());
                }
            }
        };
        let ready = tokio::time::timeout(PATIENCE, readiness).await;
        ready.with_context(|| format!("{} did not become ready; its log tells why", self.name))??;
        *process = Some(child);
        self.life.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// With SIGKILL; whether it was up.
    pub async fn kill(&self) -> anyhow::Result<bool> {
        let Some(mut child) = self.process.lock().await.take() else { return Ok(false) };
        // Before it dies, so that who sees it dead also sees why.
        self.life.fetch_add(1, Ordering::SeqCst);
        if let Some(status) = child.try_wait()? {
            bail!("{} ended by itself, {status}; its log tells why", self.name);
        }
        child.kill().await?;
        Ok(true)
    }
}

/// Below the range from which outgoing connections get theirs: it must still be free when a node comes back.
pub fn free_address(random: &mut StdRng) -> anyhow::Result<SocketAddr> {
    for _ in 0..100 {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, random.random_range(20_000..30_000)));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no port from 20000 to 29999 is free on the loopback interface")
}
