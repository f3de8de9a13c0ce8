//! Executes one build: fetches the sources, restores caches, downloads artifacts, runs the scripts, saves caches and
//! uploads artifacts.
//!
//! - Everything that the repository or the script can influence, git included, runs in the sandbox.
//! - Output reaches the trace only through [`Trace`], which masks secrets.
//! - A canceled or stopped build saves no caches and uploads nothing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use gitlab_runner::job::Job;
use gitlab_runner::{CancellableJobHandler, JobResult, Phase};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::archive::{self, UnpackSummary};
use crate::configuration::Configuration;
use crate::directory::{self, Directories, Slot, Slots};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::local_proxy::JobState;
use crate::payload::Payload;
use crate::process::{ExitReason, Shell, StopConditions};
use crate::sandbox::{Confinement, SandboxStatus};
use crate::selection::{self, Patterns, Selection};
use crate::server::Server;
use crate::source::{Source, Strategy};
use crate::trace::Trace;
use crate::{VERSION, artifact, cache, script};

/// Time limit of jobs whose payload has none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(7200);
const MAX_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Time limit of `after_script`, which does not count toward the time limit of the job.
const AFTER_SCRIPT_TIMEOUT: Duration = Duration::from_secs(300);
/// Time limit of saving caches and uploading artifacts, which starts after the scripts.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(3600);

/// The state that all builds of a runner share.
#[derive(Debug)]
pub struct RunnerContext {
    pub configuration: Configuration,
    pub server: Server,
    pub slots: Slots,
    /// Command line that starts `runner-sandbox`.
    pub sandbox_command: Vec<OsString>,
    pub sandbox_status: SandboxStatus,
    pub is_sandbox_required: bool,
    /// Paths that scripts must not read: the runner's configuration file and its directory.
    pub hidden_paths: Vec<PathBuf>,
    pub stopped: CancellationToken,
}

/// A claimed build with its slot and its trace.
pub struct Build {
    context: Arc<RunnerContext>,
    job_state: Arc<JobState>,
    slot: Slot,
    trace: Trace,
}

impl Build {
    pub fn new(context: Arc<RunnerContext>, job_state: Arc<JobState>, job: Job) -> Build {
        let mut trace = Trace::new(Box::new(move |bytes| job.trace(bytes)), context.configuration.trace_bytes);
        trace.set_secrets([job_state.token.as_str()]);
        Build { slot: context.slots.acquire(), context, job_state, trace }
    }

    async fn execute(&mut self, canceled: &CancellationToken) -> Result<(), Failure> {
        let job_state = self.job_state.clone();
        let payload = job_state.payload.as_ref().map_err(|error| anyhow!("malformed job response: {error}"))?;
        let timeout = Some(payload.runner_info.timeout).filter(|it| *it > 0).map(Duration::from_secs);
        let stop = StopConditions {
            canceled: canceled.clone(),
            stopped: self.context.stopped.clone(),
            deadline: Instant::now() + timeout.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT),
        };
        self.trace.heading(&format!(
            "Running {} ({}) with holdfast-runner {VERSION}, runner {}, slot {}",
            payload.job_info.name,
            payload.job_info.stage,
            self.context.configuration.short_token(),
            self.slot.number,
        ));
        self.log_sandbox_status();
        let directories = self.directories(payload)?;
        let result = self.run_steps(payload, &directories, &stop).await;
        self.trace.flush();
        let Directories { temporary, scripts, .. } = directories;
        let clear = move || directory::remove(&temporary).and(directory::remove(&scripts));
        let cleared = tokio::task::spawn_blocking(clear).await;
        if let Ok(Err(error)) = cleared {
            tracing::warn!(error = format!("{error:#}"), "cleaning the build directory failed");
        }
        result
    }

    fn log_sandbox_status(&mut self) {
        match self.context.sandbox_status {
            SandboxStatus::FilesAndSignals => {}
            SandboxStatus::Files => self.trace.warning(
                "the kernel's Landlock is too old: the script can send signals to other processes of the runner's user",
            ),
            SandboxStatus::None => self.trace.warning(
                "the kernel has no Landlock: the script can read and change all files that the runner's user can",
            ),
        }
    }

    fn directories(&self, payload: &Payload) -> anyhow::Result<Directories> {
        let configuration = &self.context.configuration;
        let url = Url::parse(&payload.git_info.repo_url).context("the URL of the repository is invalid")?;
        // The path comes from the URL and not from CI_PROJECT_PATH: the CI file could set that variable to the
        // directory of another project.
        Directories::create(&configuration.directory, &configuration.short_token(), self.slot.number, url.path())
    }

    fn shell(&self, directories: &Directories) -> Shell {
        let sandbox = &self.context.configuration.sandbox;
        let mut write = sandbox.write.clone();
        write.extend([directories.project.clone(), directories.temporary.clone()]);
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Shell {
            sandbox_command: self.context.sandbox_command.clone(),
            directory: directories.project.clone(),
            scripts: directories.scripts.clone(),
            confinement: Confinement::new(&sandbox.read, &write, &self.context.hidden_paths, home.as_deref())
                .with_scripts(&directories.scripts)
                .with_processes(sandbox.processes)
                .with_required(self.context.is_sandbox_required),
        }
    }

    async fn run_steps(
        &mut self,
        payload: &Payload,
        directories: &Directories,
        stop: &StopConditions,
    ) -> Result<(), Failure> {
        let mut environment =
            Environment::new(payload, directories, self.context.configuration.sandbox.path.as_deref())?;
        let source = Source::new(payload, &environment)?;
        environment.secrets.extend(source.secret());
        self.trace.set_secrets(environment.secrets.iter().map(String::as_str));
        for key in &environment.rejected {
            self.trace.warning(&format!("the variable {key:?} is ignored: its name or value is not valid in a shell"));
        }
        let shell = self.shell(directories);

        self.fetch_source(&source, payload, &environment, &shell, stop).await?;
        self.pull_caches(payload, &environment, directories).await;
        self.download(payload, directories, stop).await?;

        let mut result = self.run_script(payload.script("script"), &environment, &shell, stop).await;
        self.run_after_script(payload, &mut environment, &shell, stop, &result).await;
        if result.as_ref().is_err_and(Failure::is_abort) {
            return result;
        }
        let stop = StopConditions { deadline: Instant::now() + UPLOAD_TIMEOUT, ..stop.clone() };
        self.push_caches(payload, &environment, &shell, directories, &stop, result.is_ok()).await;
        let uploaded = self.upload(payload, &environment, &shell, directories, &stop, result.is_ok()).await;
        if result.is_ok() {
            result = uploaded;
        }
        result
    }

    async fn fetch_source(
        &mut self,
        source: &Source,
        payload: &Payload,
        environment: &Environment,
        shell: &Shell,
        stop: &StopConditions,
    ) -> Result<(), Failure> {
        if source.strategy == Strategy::None {
            self.trace.heading("Skipping git (GIT_STRATEGY is none)");
            return Ok(());
        }
        let is_used = shell.directory.join(".git").exists();
        if source.strategy == Strategy::Clone {
            empty_directory(&shell.directory).await?;
        }
        let sha: String = payload.git_info.sha.chars().take(8).collect();
        self.trace.heading(&format!("Fetching {} at {sha}", payload.git_info.name));
        let variables = source.environment(&environment.variables);
        let mut ended = shell.run(&source.script(), &variables, stop, |bytes| self.trace.write(bytes)).await?;
        self.trace.flush();
        if matches!(ended, ExitReason::Code(1..)) && is_used && source.strategy == Strategy::Fetch {
            self.trace.line("Updating the existing checkout failed; cloning again");
            empty_directory(&shell.directory).await?;
            ended = shell.run(&source.script(), &variables, stop, |bytes| self.trace.write(bytes)).await?;
            self.trace.flush();
        }
        match ended {
            ExitReason::Code(0) => Ok(()),
            ExitReason::Code(_) => Err(anyhow!("fetching the sources failed").into()),
            ended => Err(Failure::Interrupted(ended)),
        }
    }

    async fn download(
        &mut self,
        payload: &Payload,
        directories: &Directories,
        stop: &StopConditions,
    ) -> Result<(), Failure> {
        for dependency in payload.dependencies.iter().filter(|it| it.artifacts_file.is_some()) {
            self.trace.heading(&format!("Downloading the artifacts of {}", dependency.name));
            let about = || format!("downloading the artifacts of {} failed", dependency.name);
            let file = tokio::select! {
                file = artifact::download(&self.context.server, dependency, &directories.temporary) => file.with_context(about)?,
                ended = stop.wait() => return Err(Failure::Interrupted(ended)),
            };
            let Some(file) = file else {
                return Err(anyhow!("the artifacts of {} do not exist; they may have expired", dependency.name).into());
            };
            let root = directories.project.clone();
            let unpacked = tokio::task::spawn_blocking(move || archive::unpack(file, &root)).await?;
            self.log_unpacked(&unpacked.with_context(about)?);
        }
        Ok(())
    }

    fn log_unpacked(&mut self, unpacked: &UnpackSummary) {
        self.trace.line(&format!("{} files", unpacked.files));
        for name in &unpacked.rejected {
            self.trace.warning(&format!("{name:?} is skipped: it is outside of the project directory"));
        }
    }

    async fn run_script(
        &mut self,
        lines: &[String],
        environment: &Environment,
        shell: &Shell,
        stop: &StopConditions,
    ) -> Result<(), Failure> {
        let text = script::render(lines);
        let ended = shell.run(&text, &environment.variables, stop, |bytes| self.trace.write(bytes)).await;
        self.trace.flush();
        Failure::check_exit(ended?)
    }

    /// Runs `after_script`. Its failure does not change the result of the job; a cancellation while it runs is detected
    /// by the following steps.
    async fn run_after_script(
        &mut self,
        payload: &Payload,
        environment: &mut Environment,
        shell: &Shell,
        stop: &StopConditions,
        result: &Result<(), Failure>,
    ) {
        let lines = payload.script("after_script");
        if lines.is_empty() || result.as_ref().is_err_and(Failure::is_abort) {
            return;
        }
        self.trace.heading("Running after_script");
        let status = if result.is_ok() { "success" } else { "failed" };
        environment.variables.insert("CI_JOB_STATUS".to_owned(), status.to_owned());
        let stop = StopConditions { deadline: Instant::now() + AFTER_SCRIPT_TIMEOUT, ..stop.clone() };
        if let Err(failure) = self.run_script(lines, environment, shell, &stop).await {
            self.trace.warning(&format!(
                "after_script failed; the result of the job does not change ({})",
                failure.message()
            ));
        }
    }

    /// Restores the caches of the job. A cache that is missing or damaged does not fail the build.
    async fn pull_caches(&mut self, payload: &Payload, environment: &Environment, directories: &Directories) {
        for wanted in payload.cache.iter().filter(|it| it.policy.as_deref() != Some("push")) {
            let (key, file) = self.cache_file(payload, wanted.key.as_deref(), environment);
            let root = directories.project.clone();
            let pulled = tokio::task::spawn_blocking(move || cache::pull(&file, &root)).await;
            match pulled.map_err(Into::into).and_then(|it| it) {
                Ok(Some(unpacked)) => {
                    self.trace.heading(&format!("Restored the cache {key}"));
                    self.log_unpacked(&unpacked);
                }
                Ok(None) => self.trace.line(&format!("No cache {key} exists yet")),
                Err(error) => self.trace.warning(&format!("the cache {key} cannot be restored: {error:#}")),
            }
        }
    }

    fn cache_file(&self, payload: &Payload, key: Option<&str>, environment: &Environment) -> (String, PathBuf) {
        let key = environment.expand(key.filter(|it| !it.is_empty()).unwrap_or("default"));
        let file = cache::archive_path(&self.context.configuration.directory, payload.job_info.project_id, &key);
        (key, file)
    }

    async fn push_caches(
        &mut self,
        payload: &Payload,
        environment: &Environment,
        shell: &Shell,
        directories: &Directories,
        stop: &StopConditions,
        is_success: bool,
    ) {
        let is_wanted =
            |it: &&crate::payload::Cache| it.policy.as_deref() != Some("pull") && it.when.applies(is_success);
        for wanted in payload.cache.iter().filter(is_wanted) {
            let (key, file) = self.cache_file(payload, wanted.key.as_deref(), environment);
            let untracked =
                if wanted.untracked { list_untracked(shell, environment, stop).await } else { BTreeSet::new() };
            let root = directories.project.clone();
            let paths: Vec<String> = wanted.paths.iter().map(|path| environment.expand(path)).collect();
            let pushed = tokio::task::spawn_blocking(move || {
                let include = Patterns::new(&root, &paths)?;
                let selection = selection::select(&root, &include, &Patterns::default(), &untracked)?;
                cache::push(&file, &root, &selection.paths)?;
                anyhow::Ok(selection)
            });
            match pushed.await.map_err(Into::into).and_then(|it| it) {
                Ok(selection) => self.trace.line(&format!("Saved {} files in the cache {key}", selection.paths.len())),
                Err(error) => self.trace.warning(&format!("the cache {key} cannot be saved: {error:#}")),
            }
        }
    }

    async fn upload(
        &mut self,
        payload: &Payload,
        environment: &Environment,
        shell: &Shell,
        directories: &Directories,
        stop: &StopConditions,
        is_success: bool,
    ) -> Result<(), Failure> {
        for wanted in payload.artifacts.iter().filter(|it| it.when.applies(is_success)) {
            if wanted.artifact_format.as_deref().is_some_and(|it| it != "zip") {
                self.trace.warning("this runner uploads only zip artifacts; others are skipped");
                continue;
            }
            let untracked =
                if wanted.untracked { list_untracked(shell, environment, stop).await } else { BTreeSet::new() };
            let expand = |paths: &[String]| paths.iter().map(|path| environment.expand(path)).collect::<Vec<_>>();
            let include = Patterns::new(&directories.project, &expand(&wanted.paths))?;
            let exclude = Patterns::new(&directories.project, &expand(&wanted.exclude))?;
            let (root, temporary) = (directories.project.clone(), directories.temporary.clone());
            let packed = tokio::task::spawn_blocking(move || {
                let selection = selection::select(&root, &include, &exclude, &untracked)?;
                let file = archive::pack(&root, &selection.paths, tempfile::tempfile_in(&temporary)?)?;
                anyhow::Ok((selection, file))
            });
            let (selection, file) = packed.await??;
            self.log_skipped_files(&selection);
            if selection.paths.is_empty() {
                self.trace.warning("no files match the artifact paths; nothing is uploaded");
                continue;
            }
            self.trace.heading(&format!("Uploading {} files as artifacts", selection.paths.len()));
            let name = wanted.name.as_deref().map(|name| environment.expand(name).replace('/', "_"));
            let name = name.filter(|it| !it.is_empty()).unwrap_or_else(|| "artifacts".to_owned());
            tokio::select! {
                sent = artifact::upload(&self.context.server, payload, wanted, &name, &file) => {
                    sent.context("uploading the artifacts failed")?;
                }
                ended = stop.wait() => return Err(Failure::Interrupted(ended)),
            }
        }
        Ok(())
    }

    fn log_skipped_files(&mut self, selection: &Selection) {
        for path in &selection.skipped {
            self.trace.warning(&format!("{path:?} is skipped: it is not a file in the project directory"));
        }
    }
}

/// Deletes the contents of a directory.
async fn empty_directory(directory: &Path) -> anyhow::Result<()> {
    let path = directory.to_owned();
    tokio::task::spawn_blocking(move || directory::remove(&path).and_then(|()| directory::create(&path))).await?
}

/// Lists the untracked files of the project directory, including ignored ones. Returns an empty set if git fails. Git
/// runs in the sandbox, because the script may have changed its configuration.
async fn list_untracked(shell: &Shell, environment: &Environment, stop: &StopConditions) -> BTreeSet<PathBuf> {
    let mut names = Vec::new();
    let listed = shell.run("git ls-files -z --others 2>/dev/null", &environment.variables, stop, |bytes| {
        names.extend_from_slice(bytes);
    });
    if !matches!(listed.await, Ok(ExitReason::Code(0))) {
        return BTreeSet::new();
    }
    names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok()).map(PathBuf::from).collect()
}

#[async_trait::async_trait]
impl CancellableJobHandler for Build {
    /// Executes the whole build: [`LocalProxy`](crate::local_proxy::LocalProxy) presents it to the crate as one step.
    async fn step(&mut self, _: &[String], _: Phase, canceled: &CancellationToken) -> JobResult {
        match self.execute(canceled).await {
            Ok(()) => {
                self.trace.line("\x1b[32;1mJob succeeded\x1b[0;m");
                self.trace.flush();
                Ok(())
            }
            Err(failure) => {
                self.trace.error(&failure.message());
                self.job_state.set_failure(failure.report());
                Err(())
            }
        }
    }
}
