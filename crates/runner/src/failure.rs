//! How builds fail.

use crate::process::Ended;
use crate::relay::Verdict;

/// Why a build did not succeed.
#[derive(Debug)]
pub enum Failure {
    Script(i32),
    Ended(Ended),
    System(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::System(error.into())
    }
}

impl Failure {
    /// Of a script that ended like this.
    pub fn unless_success(ended: Ended) -> Result<(), Failure> {
        match ended {
            Ended::Code(0) => Ok(()),
            Ended::Code(code) => Err(Failure::Script(code)),
            ended => Err(Failure::Ended(ended)),
        }
    }

    pub fn verdict(&self) -> Verdict {
        match self {
            Failure::Script(code) => Verdict { reason: "script_failure", exit_code: Some(*code) },
            Failure::Ended(Ended::TimedOut) => Verdict { reason: "job_execution_timeout", exit_code: None },
            _ => Verdict { reason: "runner_system_failure", exit_code: None },
        }
    }

    pub fn explain(&self) -> String {
        match self {
            Failure::Script(code) => format!("Job failed: exit code {code}"),
            Failure::Ended(Ended::TimedOut) => "Job failed: it took longer than its time limit".to_owned(),
            Failure::Ended(Ended::Cancelled) => "Job was cancelled".to_owned(),
            Failure::Ended(_) => "Job failed: the runner was stopped".to_owned(),
            Failure::System(error) => format!("Job failed: {error:#}"),
        }
    }

    /// Whether nobody waits for anything more.
    pub fn is_abort(&self) -> bool {
        matches!(self, Failure::Ended(Ended::Cancelled | Ended::Stopped))
    }
}
