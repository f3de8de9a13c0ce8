//! Reasons for the failure of a build, and how they are reported to the server and in the trace.

use crate::local_proxy::FailureReport;
use crate::process::ExitReason;

/// The reason for which a build did not succeed.
#[derive(Debug)]
pub enum Failure {
    Script(i32),
    Interrupted(ExitReason),
    System(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::System(error.into())
    }
}

impl Failure {
    /// Converts the exit of a script to a result: only exit code 0 is a success.
    pub fn check_exit(exit: ExitReason) -> Result<(), Failure> {
        match exit {
            ExitReason::Code(0) => Ok(()),
            ExitReason::Code(code) => Err(Failure::Script(code)),
            ended => Err(Failure::Interrupted(ended)),
        }
    }

    pub fn report(&self) -> FailureReport {
        match self {
            Failure::Script(code) => FailureReport { reason: "script_failure", exit_code: Some(*code) },
            Failure::Interrupted(ExitReason::TimedOut) => {
                FailureReport { reason: "job_execution_timeout", exit_code: None }
            }
            _ => FailureReport { reason: "runner_system_failure", exit_code: None },
        }
    }

    pub fn message(&self) -> String {
        match self {
            Failure::Script(code) => format!("Job failed: exit code {code}"),
            Failure::Interrupted(ExitReason::TimedOut) => "Job failed: it exceeded its time limit".to_owned(),
            Failure::Interrupted(ExitReason::Canceled) => "Job was canceled".to_owned(),
            Failure::Interrupted(_) => "Job failed: the runner was stopped".to_owned(),
            Failure::System(error) => format!("Job failed: {error:#}"),
        }
    }

    /// Returns whether the build was canceled or the runner stopped, so that the remaining steps are skipped.
    pub fn is_abort(&self) -> bool {
        matches!(self, Failure::Interrupted(ExitReason::Canceled | ExitReason::Stopped))
    }
}
