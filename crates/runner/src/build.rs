//! One build, from its directory to its last word.

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

use crate::archive::{self, Unpacked};
use crate::configuration::Configuration;
use crate::directory::{self, Directories, Slot, Slots};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::payload::Payload;
use crate::process::{Ended, Shell, Until};
use crate::relay::Ticket;
use crate::sandbox::{Confinement, Protection};
use crate::selection::{self, Patterns, Selection};
use crate::server::Server;
use crate::source::{Source, Strategy};
use crate::trace::Trace;
use crate::{VERSION, artifact, cache, script};

/// For jobs that name none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(7200);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);
/// What comes after the script has its own time.
const AFTER_SCRIPT_TIMEOUT: Duration = Duration::from_secs(300);
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(3600);

/// What all builds of a runner share.
#[derive(Debug)]
pub struct Site {
    pub configuration: Configuration,
    pub server: Server,
    pub slots: Slots,
    /// How `runner-sandbox` is started.
    pub sandbox: Vec<OsString>,
    pub protection: Protection,
    pub is_sandbox_required: bool,
    /// Not for scripts.
    pub hidden: Vec<PathBuf>,
    pub stopped: CancellationToken,
}

pub struct Build {
    site: Arc<Site>,
    ticket: Arc<Ticket>,
    slot: Slot,
    trace: Trace,
}

impl Build {
    pub fn new(site: Arc<Site>, ticket: Arc<Ticket>, job: Job) -> Build {
        let mut trace = Trace::new(Box::new(move |bytes| job.trace(bytes)), site.configuration.trace_bytes);
        trace.hide([ticket.token.as_str()]);
        Build { slot: site.slots.take(), site, ticket, trace }
    }

    async fn execute(&mut self, cancelled: &CancellationToken) -> Result<(), Failure> {
        let ticket = self.ticket.clone();
        let payload = ticket.payload.as_ref().map_err(|error| anyhow!("the job cannot be understood: {error}"))?;
        let timeout = Some(payload.runner_info.timeout).filter(|it| *it > 0).map(Duration::from_secs);
        let until = Until {
            cancelled: cancelled.clone(),
            stopped: self.site.stopped.clone(),
            deadline: Instant::now() + timeout.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_TIMEOUT),
        };
        self.trace.heading(&format!(
            "Running {} ({}) with holdfast-runner {VERSION}, runner {}, slot {}",
            payload.job_info.name,
            payload.job_info.stage,
            self.site.configuration.short_token(),
            self.slot.number,
        ));
        self.say_what_protects();
        let directories = self.directories(payload)?;
        let done = self.execute_in(payload, &directories, &until).await;
        self.trace.flush();
        let Directories { temporary, scripts, .. } = directories;
        let clear = move || directory::clear(&temporary).and(directory::clear(&scripts));
        let cleared = tokio::task::spawn_blocking(clear).await;
        if let Ok(Err(error)) = cleared {
            tracing::warn!(error = format!("{error:#}"), "something of a build is left");
        }
        done
    }

    fn say_what_protects(&mut self) {
        match self.site.protection {
            Protection::FilesAndSignals => {}
            Protection::Files => self
                .trace
                .warning("this kernel does not keep scripts from signalling other processes of the runner's user"),
            Protection::None => self
                .trace
                .warning("this kernel has no Landlock: the script can read and change whatever the runner's user can"),
        }
    }

    fn directories(&self, payload: &Payload) -> anyhow::Result<Directories> {
        let configuration = &self.site.configuration;
        let url = Url::parse(&payload.git_info.repo_url).context("the address of the repository is not one")?;
        // Not by a variable: whoever writes the CI file could name the place of another project.
        Directories::make(&configuration.directory, &configuration.short_token(), self.slot.number, url.path())
    }

    fn shell(&self, directories: &Directories) -> Shell {
        let sandbox = &self.site.configuration.sandbox;
        let mut write = sandbox.write.clone();
        write.extend([directories.project.clone(), directories.temporary.clone()]);
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Shell {
            sandbox: self.site.sandbox.clone(),
            directory: directories.project.clone(),
            scripts: directories.scripts.clone(),
            confinement: Confinement::new(&sandbox.read, &write, &self.site.hidden, home.as_deref())
                .with_scripts(&directories.scripts)
                .with_processes(sandbox.processes)
                .required(self.site.is_sandbox_required),
        }
    }

    async fn execute_in(&mut self, payload: &Payload, at: &Directories, until: &Until) -> Result<(), Failure> {
        let mut environment = Environment::new(payload, at, self.site.configuration.sandbox.path.as_deref())?;
        let source = Source::new(payload, &environment)?;
        environment.secrets.extend(source.secret());
        self.trace.hide(environment.secrets.iter().map(String::as_str));
        for key in &environment.refused {
            self.trace.warning(&format!("the variable {key:?} is left out: no shell can have it"));
        }
        let shell = self.shell(at);

        self.get_source(&source, payload, &environment, &shell, until).await?;
        self.pull_caches(payload, &environment, at).await;
        self.download(payload, at, until).await?;

        let mut done = self.run_script(payload.script("script"), &environment, &shell, until).await;
        self.run_after_script(payload, &mut environment, &shell, until, &done).await;
        if done.as_ref().is_err_and(Failure::is_abort) {
            return done;
        }
        let until = Until { deadline: Instant::now() + UPLOAD_TIMEOUT, ..until.clone() };
        self.push_caches(payload, &environment, &shell, at, &until, done.is_ok()).await;
        let uploaded = self.upload(payload, &environment, &shell, at, &until, done.is_ok()).await;
        if done.is_ok() {
            done = uploaded;
        }
        done
    }

    async fn get_source(
        &mut self,
        source: &Source,
        payload: &Payload,
        environment: &Environment,
        shell: &Shell,
        until: &Until,
    ) -> Result<(), Failure> {
        if source.strategy == Strategy::None {
            self.trace.heading("Leaving the sources as they are");
            return Ok(());
        }
        let is_used = shell.directory.join(".git").exists();
        if source.strategy == Strategy::Clone {
            empty(&shell.directory).await?;
        }
        let sha: String = payload.git_info.sha.chars().take(8).collect();
        self.trace.heading(&format!("Getting {} at {sha}", payload.git_info.name));
        let variables = source.environment(&environment.variables);
        let mut ended = shell.run(&source.script(), &variables, until, |bytes| self.trace.write(bytes)).await?;
        self.trace.flush();
        if matches!(ended, Ended::Code(1..)) && is_used && source.strategy == Strategy::Fetch {
            self.trace.line("That did not work with what an earlier build left; getting everything anew");
            empty(&shell.directory).await?;
            ended = shell.run(&source.script(), &variables, until, |bytes| self.trace.write(bytes)).await?;
            self.trace.flush();
        }
        match ended {
            Ended::Code(0) => Ok(()),
            Ended::Code(_) => Err(anyhow!("the sources could not be got").into()),
            ended => Err(Failure::Ended(ended)),
        }
    }

    async fn download(&mut self, payload: &Payload, at: &Directories, until: &Until) -> Result<(), Failure> {
        for dependency in payload.dependencies.iter().filter(|it| it.artifacts_file.is_some()) {
            self.trace.heading(&format!("Getting the artifacts of {}", dependency.name));
            let about = || format!("the artifacts of {} could not be got", dependency.name);
            let file = tokio::select! {
                file = artifact::download(&self.site.server, dependency, &at.temporary) => file.with_context(about)?,
                ended = until.over() => return Err(Failure::Ended(ended)),
            };
            let Some(file) = file else {
                return Err(anyhow!("the artifacts of {} are gone; they may have expired", dependency.name).into());
            };
            let root = at.project.clone();
            let unpacked = tokio::task::spawn_blocking(move || archive::unpack(file, &root)).await?;
            self.say_what_was_unpacked(&unpacked.with_context(about)?);
        }
        Ok(())
    }

    fn say_what_was_unpacked(&mut self, unpacked: &Unpacked) {
        self.trace.line(&format!("{} files", unpacked.files));
        for name in &unpacked.refused {
            self.trace.warning(&format!("{name:?} is left out: it leads out of the project's directory"));
        }
    }

    async fn run_script(
        &mut self,
        lines: &[String],
        environment: &Environment,
        shell: &Shell,
        until: &Until,
    ) -> Result<(), Failure> {
        let text = script::text(lines);
        let ended = shell.run(&text, &environment.variables, until, |bytes| self.trace.write(bytes)).await;
        self.trace.flush();
        Failure::unless_success(ended?)
    }

    /// Its failure does not matter, unless somebody cancels meanwhile: that is seen by what follows.
    async fn run_after_script(
        &mut self,
        payload: &Payload,
        environment: &mut Environment,
        shell: &Shell,
        until: &Until,
        done: &Result<(), Failure>,
    ) {
        let lines = payload.script("after_script");
        if lines.is_empty() || done.as_ref().is_err_and(Failure::is_abort) {
            return;
        }
        self.trace.heading("Running after_script");
        let status = if done.is_ok() { "success" } else { "failed" };
        environment.variables.insert("CI_JOB_STATUS".to_owned(), status.to_owned());
        let until = Until { deadline: Instant::now() + AFTER_SCRIPT_TIMEOUT, ..until.clone() };
        if let Err(failure) = self.run_script(lines, environment, shell, &until).await {
            self.trace.warning(&format!("after_script failed, which is ignored ({})", failure.explain()));
        }
    }

    /// A cache is a help, never a condition.
    async fn pull_caches(&mut self, payload: &Payload, environment: &Environment, at: &Directories) {
        for wanted in payload.cache.iter().filter(|it| it.policy.as_deref() != Some("push")) {
            let (key, file) = self.cache_file(payload, wanted.key.as_deref(), environment);
            let root = at.project.clone();
            let pulled = tokio::task::spawn_blocking(move || cache::pull(&file, &root)).await;
            match pulled.map_err(Into::into).and_then(|it| it) {
                Ok(Some(unpacked)) => {
                    self.trace.heading(&format!("Using the cache {key}"));
                    self.say_what_was_unpacked(&unpacked);
                }
                Ok(None) => self.trace.line(&format!("There is no cache {key} yet")),
                Err(error) => self.trace.warning(&format!("the cache {key} cannot be used: {error:#}")),
            }
        }
    }

    fn cache_file(&self, payload: &Payload, key: Option<&str>, environment: &Environment) -> (String, PathBuf) {
        let key = environment.expand(key.filter(|it| !it.is_empty()).unwrap_or("default"));
        let file = cache::file(&self.site.configuration.directory, payload.job_info.project_id, &key);
        (key, file)
    }

    async fn push_caches(
        &mut self,
        payload: &Payload,
        environment: &Environment,
        shell: &Shell,
        at: &Directories,
        until: &Until,
        is_success: bool,
    ) {
        let is_wanted = |it: &&crate::payload::Cache| it.policy.as_deref() != Some("pull") && it.when.fits(is_success);
        for wanted in payload.cache.iter().filter(is_wanted) {
            let (key, file) = self.cache_file(payload, wanted.key.as_deref(), environment);
            let untracked = if wanted.untracked { untracked(shell, environment, until).await } else { BTreeSet::new() };
            let root = at.project.clone();
            let paths: Vec<String> = wanted.paths.iter().map(|path| environment.expand(path)).collect();
            let pushed = tokio::task::spawn_blocking(move || {
                let include = Patterns::new(&root, &paths)?;
                let selection = selection::select(&root, &include, &Patterns::default(), &untracked)?;
                cache::push(&file, &root, &selection.paths)?;
                anyhow::Ok(selection)
            });
            match pushed.await.map_err(Into::into).and_then(|it| it) {
                Ok(selection) => self.trace.line(&format!("Kept {} files in the cache {key}", selection.paths.len())),
                Err(error) => self.trace.warning(&format!("the cache {key} cannot be kept: {error:#}")),
            }
        }
    }

    async fn upload(
        &mut self,
        payload: &Payload,
        environment: &Environment,
        shell: &Shell,
        at: &Directories,
        until: &Until,
        is_success: bool,
    ) -> Result<(), Failure> {
        for wanted in payload.artifacts.iter().filter(|it| it.when.fits(is_success)) {
            if wanted.artifact_format.as_deref().is_some_and(|it| it != "zip") {
                self.trace.warning("artifacts other than archives are not sent by this runner");
                continue;
            }
            let untracked = if wanted.untracked { untracked(shell, environment, until).await } else { BTreeSet::new() };
            let expand = |paths: &[String]| paths.iter().map(|path| environment.expand(path)).collect::<Vec<_>>();
            let include = Patterns::new(&at.project, &expand(&wanted.paths))?;
            let exclude = Patterns::new(&at.project, &expand(&wanted.exclude))?;
            let (root, temporary) = (at.project.clone(), at.temporary.clone());
            let packed = tokio::task::spawn_blocking(move || {
                let selection = selection::select(&root, &include, &exclude, &untracked)?;
                let file = archive::pack(&root, &selection.paths, tempfile::tempfile_in(&temporary)?)?;
                anyhow::Ok((selection, file))
            });
            let (selection, file) = packed.await??;
            self.say_what_was_left_out(&selection);
            if selection.paths.is_empty() {
                self.trace.warning("no file fits the paths of the artifacts; nothing is sent");
                continue;
            }
            self.trace.heading(&format!("Sending {} files as artifacts", selection.paths.len()));
            let name = wanted.name.as_deref().map(|name| environment.expand(name).replace('/', "_"));
            let name = name.filter(|it| !it.is_empty()).unwrap_or_else(|| "artifacts".to_owned());
            tokio::select! {
                sent = artifact::upload(&self.site.server, payload, wanted, &name, &file) => {
                    sent.context("the artifacts could not be sent")?;
                }
                ended = until.over() => return Err(Failure::Ended(ended)),
            }
        }
        Ok(())
    }

    fn say_what_was_left_out(&mut self, selection: &Selection) {
        for path in &selection.left_out {
            self.trace.warning(&format!("{path:?} is left out: it is not a file of the project's directory"));
        }
    }
}

/// The directory itself stays.
async fn empty(directory: &Path) -> anyhow::Result<()> {
    let path = directory.to_owned();
    tokio::task::spawn_blocking(move || directory::clear(&path).and_then(|()| directory::make(&path))).await?
}

/// Files that git does not know, ignored ones too. Git runs confined: the script may have changed its configuration.
async fn untracked(shell: &Shell, environment: &Environment, until: &Until) -> BTreeSet<PathBuf> {
    let mut names = Vec::new();
    let listed = shell.run("git ls-files -z --others 2>/dev/null", &environment.variables, until, |bytes| {
        names.extend_from_slice(bytes);
    });
    if !matches!(listed.await, Ok(Ended::Code(0))) {
        return BTreeSet::new();
    }
    names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok()).map(PathBuf::from).collect()
}

#[async_trait::async_trait]
impl CancellableJobHandler for Build {
    /// The relay makes everything one step.
    async fn step(&mut self, _: &[String], _: Phase, cancelled: &CancellationToken) -> JobResult {
        match self.execute(cancelled).await {
            Ok(()) => {
                self.trace.line("\x1b[32;1mJob succeeded\x1b[0;m");
                self.trace.flush();
                Ok(())
            }
            Err(failure) => {
                self.trace.error(&failure.explain());
                self.ticket.judge(failure.verdict());
                Err(())
            }
        }
    }
}
