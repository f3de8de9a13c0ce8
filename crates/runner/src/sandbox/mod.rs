//! The process between the runner and a script.
//!
//! ```text
//! runner ── supervisor ── shell (confined) ── whatever the script starts
//! ```
//!
//! Both are the hidden command `holdfast runner-sandbox`. The supervisor adopts what its descendants leave behind and
//! kills it when the shell has ended or when the runner closes the supervisor's standard input, also by dying. The
//! inner process limits itself and then becomes the shell.
//!
//! The order comes over standard input: arguments are for everybody to see, and variables of a build such as
//! `LD_PRELOAD` must not be in the environment of a process that is not confined yet.

mod confine;
mod supervise;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub use confine::{Confinement, Protection, protection};

/// The argument that makes the process the inner one.
pub const INNER: &str = "--inner";

/// The shell could not be started; as shells say it themselves.
const CANNOT_START: u8 = 126;

/// What to run, and within which limits.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    /// The whole environment: nothing is inherited.
    pub environment: BTreeMap<String, String>,
    pub confinement: Confinement,
}

impl Order {
    /// One line.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    fn read(from: &mut impl BufRead) -> anyhow::Result<Order> {
        let mut line = String::new();
        from.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// The command `holdfast runner-sandbox`. What it has to say is read in the build's trace.
pub fn main(is_inner: bool) -> ExitCode {
    let ended = if is_inner { confine::become_shell() } else { supervise::run() };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            writeln!(std::io::stderr(), "The runner cannot start the script: {error:#}").ok();
            ExitCode::from(CANNOT_START)
        }
    }
}
