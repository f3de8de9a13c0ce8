//! Nodes under test: processes of this program, each with its own repository cache.

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

/// The program of the nodes, and the settings that all of them get.
pub struct Program {
    executable: PathBuf,
    configuration: Option<PathBuf>,
    directory: PathBuf,
    settings: Settings,
    /// Settings that inject faults, for all nodes that are not fault-free.
    fault_settings: Settings,
}

/// Settings as names and values of environment variables.
pub type Settings = Vec<(&'static str, String)>;

impl Program {
    /// Creates a program with settings in addition to those that every node of a test gets.
    pub fn new(
        configuration: Option<&Path>,
        directory: &Path,
        settings: Settings,
        fault_settings: Settings,
    ) -> anyhow::Result<Self> {
        let configuration = configuration.map(Path::canonicalize).transpose()?;
        let executable = std::env::current_exe()?;
        Ok(Self { executable, configuration, directory: directory.to_owned(), settings, fault_settings })
    }

    fn base_command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        if let Some(file) = &self.configuration {
            command.arg("--config").arg(file);
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Returns an `admin` command with the settings of the nodes and a cache of its own.
    pub fn admin_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.base_command();
        command
            .arg("admin")
            .args(arguments)
            .env("HOLDFAST__GIT__CACHE_DIRECTORY", self.directory.join("operator-cache"))
            .envs(self.settings.iter().chain(&self.fault_settings).map(|(name, value)| (name, value)));
        command
    }

    fn serve_command(
        &self,
        name: &str,
        address: SocketAddr,
        cache: &Path,
        load: &NodeOptions,
    ) -> anyhow::Result<Command> {
        let log =
            std::fs::File::options().create(true).append(true).open(self.directory.join(format!("{name}.log")))?;
        let mut command = self.base_command();
        let fault_settings: &[_] = if load.is_fault_free { &[] } else { &self.fault_settings };
        command
            .arg("serve")
            .env("HOLDFAST__SERVER__LISTEN", address.to_string())
            .env("HOLDFAST__SERVER__EXTERNAL_URL", format!("http://{address}"))
            .env("HOLDFAST__MONITORING__LISTEN", "")
            .env("HOLDFAST__SSH__LISTEN", "")
            .env("HOLDFAST__DATABASE__MAX_CONNECTIONS", "10")
            .env("HOLDFAST__WORKER__CONCURRENCY", load.workers.to_string())
            // A low threshold makes repacks frequent.
            .env("HOLDFAST__MAINTENANCE__REPACK_THRESHOLD_PACKS", "5")
            .env("HOLDFAST__GIT__CACHE_MAX_BYTES", load.cache_bytes.to_string())
            .env("HOLDFAST__GIT__CACHE_DIRECTORY", cache)
            .envs(self.settings.iter().chain(fault_settings).map(|(name, value)| (name, value)))
            .stdout(log.try_clone()?)
            .stderr(log);
        Ok(command)
    }
}

/// The options of one node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    pub workers: usize,
    pub cache_bytes: u64,
    /// Directory for the cache, if it is not in the directory of the test.
    pub disk: Option<PathBuf>,
    pub is_fault_free: bool,
    pub seed: u64,
}

/// A node that can be killed and started again at the same address with the same cache.
pub struct Node {
    pub name: String,
    pub address: SocketAddr,
    pub cache: PathBuf,
    command: Mutex<Command>,
    process: Mutex<Option<Child>>,
    /// Seed of the injected object store faults. Each run of the process derives another one from it.
    seed: u64,
    /// Incremented by each start and each kill, so it is odd while the node is running. The same odd number before and
    /// after an operation means that the node was not killed in between.
    current_run: AtomicU64,
}

/// How long a node may take to become ready. Generous, because the machine may be busy.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

impl Node {
    pub fn new(program: &Program, name: String, load: &NodeOptions, random: &mut StdRng) -> anyhow::Result<Self> {
        let address = free_address(random)?;
        let cache = load.disk.as_ref().unwrap_or(&program.directory).join(format!("{name}-cache"));
        let command = Mutex::new(program.serve_command(&name, address, &cache, load)?);
        Ok(Self {
            seed: load.seed,
            name,
            address,
            cache,
            command,
            process: Mutex::default(),
            current_run: AtomicU64::new(0),
        })
    }

    /// Returns the number of the current run, or `None` while the node is down.
    pub fn life(&self) -> Option<u64> {
        Some(self.current_run.load(Ordering::SeqCst)).filter(|life| life % 2 == 1)
    }

    pub async fn start(&self) -> anyhow::Result<()> {
        let mut process = self.process.lock().await;
        let seed = self.seed.wrapping_add(self.current_run.load(Ordering::SeqCst)) >> 1;
        let mut command = self.command.lock().await;
        let mut child = command
            .env("HOLDFAST__FAULT_INJECTION__SEED", seed.to_string())
            .spawn()
            .context("cannot start another process of this program")?;
        let url = format!("http://{}/readyz", self.address);
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let mut interval = tokio::time::interval(Duration::from_millis(50));
        let readiness = async {
            loop {
                interval.tick().await;
                if let Some(status) = child.try_wait()? {
                    bail!("{} stopped unexpectedly, {status}; see its log", self.name);
                }
                if client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
                    return Ok(());
                }
            }
        };
        let ready = tokio::time::timeout(READY_TIMEOUT, readiness).await;
        ready.with_context(|| format!("{} did not become ready; see its log", self.name))??;
        *process = Some(child);
        self.current_run.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Kills the node with SIGKILL. Returns whether it was running.
    pub async fn kill(&self) -> anyhow::Result<bool> {
        let Some(mut child) = self.process.lock().await.take() else { return Ok(false) };
        // Recorded before the kill, so that a client whose request fails sees that the node was killed.
        self.current_run.fetch_add(1, Ordering::SeqCst);
        if let Some(status) = child.try_wait()? {
            bail!("{} stopped unexpectedly, {status}; see its log", self.name);
        }
        child.kill().await?;
        Ok(true)
    }
}

/// Returns an unused loopback address. The port is below the ephemeral range, so that it is still free when a node is
/// started again.
pub fn free_address(random: &mut StdRng) -> anyhow::Result<SocketAddr> {
    for _ in 0..100 {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, random.random_range(20_000..30_000)));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no port from 20000 to 29999 is free on the loopback interface")
}
