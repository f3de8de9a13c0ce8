//! Runs something confined, and ends it in time.

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

use crate::sandbox::{Confinement, Order};
use crate::script;

/// The supervisor kills what it started well within this; then it is itself killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What may end a build before its script does.
#[derive(Clone, Debug)]
pub struct Until {
    /// Somebody cancelled the build.
    pub cancelled: CancellationToken,
    /// The runner was told to stop at once.
    pub stopped: CancellationToken,
    pub deadline: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Cancelled,
    Stopped,
    TimedOut,
}

impl Until {
    pub async fn over(&self) -> Ended {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Ended::Cancelled,
            () = self.stopped.cancelled() => Ended::Stopped,
            () = tokio::time::sleep_until(self.deadline) => Ended::TimedOut,
        }
    }
}

/// The shell of one build.
#[derive(Clone, Debug)]
pub struct Shell {
    /// How `runner-sandbox` is started.
    pub sandbox: Vec<OsString>,
    pub directory: PathBuf,
    /// For the text of scripts, which may not write there: this process does, and nothing keeps it from following links.
    pub scripts: PathBuf,
    pub confinement: Confinement,
}

impl Shell {
    /// Standard output and standard error come as one, in their order.
    pub async fn run(
        &self,
        text: &str,
        environment: &BTreeMap<String, String>,
        until: &Until,
        mut output: impl FnMut(&[u8]),
    ) -> anyhow::Result<Ended> {
        let file = self.scripts.join("script");
        tokio::fs::write(&file, text).await.context("the script cannot be written")?;
        let program = script::shell();
        let is_bash = program.ends_with("bash");
        let mut arguments: Vec<String> = Vec::new();
        if is_bash {
            arguments.extend(["--noprofile".to_owned(), "--norc".to_owned()]);
        }
        arguments.push(file.display().to_string());
        let order = Order {
            program,
            arguments,
            directory: self.directory.clone(),
            environment: environment.clone(),
            confinement: self.confinement.clone(),
        };
        self.supervise(&order, until, &mut output).await
    }

    async fn supervise(&self, order: &Order, until: &Until, output: &mut impl FnMut(&[u8])) -> anyhow::Result<Ended> {
        let (reader, writer) = std::io::pipe()?;
        let mut reader = Receiver::from_owned_fd(reader.into())?;
        let (program, arguments) = self.sandbox.split_first().context("no sandbox is set")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        // A ctrl-c in the runner's terminal is for the runner alone.
        command.process_group(0);
        let mut supervisor = command.spawn().context("the sandbox cannot be started")?;
        // It holds the ends of the pipe that must be the script's alone.
        drop(command);
        // As long as this is open, the supervisor lets the script run.
        let mut leash = supervisor.stdin.take();
        if let Some(stdin) = &mut leash {
            stdin.write_all(&order.to_line()?).await.context("the sandbox does not listen")?;
        }

        let mut buffer = BytesMut::with_capacity(16 << 10);
        let mut is_open = true;
        let mut why = None;
        let mut patience = Instant::now();
        let status = loop {
            tokio::select! {
                read = reader.read_buf(&mut buffer), if is_open => {
                    is_open = read? > 0;
                    output(&buffer);
                    buffer.clear();
                }
                ended = until.over(), if why.is_none() => {
                    why = Some(ended);
                    patience = Instant::now() + PATIENCE;
                    leash = None;
                }
                () = tokio::time::sleep_until(patience), if why.is_some() => {
                    supervisor.start_kill()?;
                    patience += PATIENCE;
                }
                status = supervisor.wait() => break status?,
            }
        };
        drop(leash);
        // Nobody is left to write; what was written is still in the pipe.
        let rest = async {
            while is_open && reader.read_buf(&mut buffer).await? > 0 {
                output(&buffer);
                buffer.clear();
            }
            std::io::Result::Ok(())
        };
        tokio::time::timeout(PATIENCE, rest).await.ok();
        Ok(why.unwrap_or(Ended::Code(status.code().unwrap_or(1))))
    }
}
