//! Runs scripts in the sandbox, and stops them when the build is canceled, times out, or the runner is stopped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sandbox::{Confinement, SandboxSpec};
use crate::script;

/// How long the supervisor may take to end its descendants before it is killed itself. The supervisor sends SIGKILL to
/// them after one second.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The conditions that end a build before its script exits.
#[derive(Clone, Debug)]
pub struct StopConditions {
    /// The build was canceled on the server.
    pub canceled: CancellationToken,
    /// The runner was asked to stop immediately.
    pub stopped: CancellationToken,
    pub deadline: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Code(i32),
    Canceled,
    Stopped,
    TimedOut,
}

impl StopConditions {
    pub async fn wait(&self) -> ExitReason {
        tokio::select! {
            biased;
            () = self.canceled.cancelled() => ExitReason::Canceled,
            () = self.stopped.cancelled() => ExitReason::Stopped,
            () = tokio::time::sleep_until(self.deadline) => ExitReason::TimedOut,
        }
    }
}

/// The sandboxed shell of one build.
#[derive(Clone, Debug)]
pub struct Shell {
    /// Command line that starts `runner-sandbox`.
    pub sandbox_command: Vec<OsString>,
    pub directory: PathBuf,
    /// Directory for the text of scripts. Scripts have no write access to it: the runner writes there unconfined, and
    /// would follow symbolic links of a script.
    pub scripts: PathBuf,
    pub confinement: Confinement,
}

impl Shell {
    /// Runs a script and passes its output to `output`, with standard output and standard error merged in order.
    pub async fn run(
        &self,
        text: &str,
        environment: &BTreeMap<String, String>,
        stop: &StopConditions,
        mut output: impl FnMut(&[u8]),
    ) -> anyhow::Result<ExitReason> {
        let file = self.scripts.join("script");
        tokio::fs::write(&file, text).await.context("the script cannot be written")?;
        let program = script::find_shell();
        let is_bash = program.ends_with("bash");
        let mut arguments: Vec<String> = Vec::new();
        if is_bash {
            arguments.extend(["--noprofile".to_owned(), "--norc".to_owned()]);
        }
        arguments.push(file.display().to_string());
        let spec = SandboxSpec {
            program,
            arguments,
            directory: self.directory.clone(),
            environment: environment.clone(),
            confinement: self.confinement.clone(),
        };
        self.supervise(&spec, stop, &mut output).await
    }

    async fn supervise(
        &self,
        spec: &SandboxSpec,
        stop: &StopConditions,
        output: &mut impl FnMut(&[u8]),
    ) -> anyhow::Result<ExitReason> {
        let (reader, writer) = std::io::pipe()?;
        let mut reader = Receiver::from_owned_fd(reader.into())?;
        let (program, arguments) = self.sandbox_command.split_first().context("the sandbox command is empty")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        // Ctrl-c in the runner's terminal must reach only the runner.
        command.process_group(0);
        let mut supervisor = command.spawn().context("the sandbox cannot be started")?;
        // The command holds write ends of the pipe. While they are open, the reader does not see the end of the output.
        drop(command);
        // The supervisor ends the script when this pipe is closed.
        let mut supervisor_stdin = supervisor.stdin.take();
        if let Some(stdin) = &mut supervisor_stdin {
            stdin.write_all(&spec.to_json_line()?).await.context("sending the script to the sandbox failed")?;
        }

        let mut buffer = BytesMut::with_capacity(16 << 10);
        let mut is_open = true;
        let mut reason = None;
        let mut kill_at = Instant::now();
        let status = loop {
            tokio::select! {
                read = reader.read_buf(&mut buffer), if is_open => {
                    is_open = read? > 0;
                    output(&buffer);
                    buffer.clear();
                }
                ended = stop.wait(), if reason.is_none() => {
                    reason = Some(ended);
                    kill_at = Instant::now() + KILL_TIMEOUT;
                    supervisor_stdin = None;
                }
                () = tokio::time::sleep_until(kill_at), if reason.is_some() => {
                    supervisor.start_kill()?;
                    kill_at += KILL_TIMEOUT;
                }
                status = supervisor.wait() => break status?,
            }
        };
        drop(supervisor_stdin);
        // All writers have exited; read what is still in the pipe.
        let rest = async {
            while is_open && reader.read_buf(&mut buffer).await? > 0 {
                output(&buffer);
                buffer.clear();
            }
            std::io::Result::Ok(())
        };
        tokio::time::timeout(KILL_TIMEOUT, rest).await.ok();
        Ok(reason.unwrap_or(ExitReason::Code(status.code().unwrap_or(1))))
    }
}
