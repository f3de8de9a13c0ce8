//! The processes between the runner and a script.
//!
//! ```text
//! runner ── supervisor ── shell (confined) ── processes of the script
//! ```
//!
//! Supervisor and shell both start as the hidden command `holdfast runner-sandbox`. The supervisor adopts orphaned
//! descendants. It kills all descendants when the shell has exited, or when the runner closes the supervisor's standard
//! input or dies. The inner process restricts itself and then executes the shell.
//!
//! The [`SandboxSpec`] is passed on standard input: other users can see command line arguments, and variables of a
//! build such as `LD_PRELOAD` must not be in the environment of a process that is not confined yet.

mod confine;
mod supervise;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub use confine::{Confinement, SandboxStatus, detect_status};

/// Argument that selects the inner process.
pub const INNER_ARGUMENT: &str = "--inner";

/// Exit code if the shell cannot be started; shells use the same code for commands that they cannot execute.
const EXIT_CANNOT_START: u8 = 126;

/// A program to run, with its environment and its restrictions.
#[derive(Debug, Serialize, Deserialize)]
pub struct SandboxSpec {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    /// The complete environment; nothing is inherited.
    pub environment: BTreeMap<String, String>,
    pub confinement: Confinement,
}

impl SandboxSpec {
    /// Serializes the specification as one line of JSON.
    pub fn to_json_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    fn read(from: &mut impl BufRead) -> anyhow::Result<SandboxSpec> {
        let mut line = String::new();
        from.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// Runs the command `holdfast runner-sandbox`. Its error messages appear in the trace of the build.
pub fn main(is_inner: bool) -> ExitCode {
    let ended = if is_inner { confine::exec_shell() } else { supervise::run() };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            writeln!(std::io::stderr(), "The runner cannot start the script: {error:#}").ok();
            ExitCode::from(EXIT_CANNOT_START)
        }
    }
}
