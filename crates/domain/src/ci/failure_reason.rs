//! The reason why a build failed.

/// The reason why a build failed, as runners report it and the API shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    ScriptFailure,
    /// The runner or the server failed, and not the script.
    RunnerSystemFailure,
    JobExecutionTimeout,
    UnknownFailure,
    /// No runner claimed the build in time.
    StuckOrTimeoutFailure,
    TraceTooLong,
}

impl FailureReason {
    const ALL: [Self; 6] = [
        Self::ScriptFailure,
        Self::RunnerSystemFailure,
        Self::JobExecutionTimeout,
        Self::UnknownFailure,
        Self::StuckOrTimeoutFailure,
        Self::TraceTooLong,
    ];

    /// The reasons that a runner may report.
    pub const REPORTED_BY_RUNNERS: [Self; 4] =
        [Self::ScriptFailure, Self::RunnerSystemFailure, Self::JobExecutionTimeout, Self::UnknownFailure];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ScriptFailure => "script_failure",
            Self::RunnerSystemFailure => "runner_system_failure",
            Self::JobExecutionTimeout => "job_execution_timeout",
            Self::UnknownFailure => "unknown_failure",
            Self::StuckOrTimeoutFailure => "stuck_or_timeout_failure",
            Self::TraceTooLong => "trace_too_long",
        }
    }

    pub fn from_str_opt(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_reasons_are_read_as_written() {
        for reason in FailureReason::ALL {
            assert_eq!(FailureReason::from_str_opt(reason.as_str()), Some(reason));
        }
        assert_eq!(FailureReason::from_str_opt("other"), None);
    }
}
