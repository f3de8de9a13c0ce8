//! The status of builds and pipelines, and how an event changes the status of one build. What follows for the rest of
//! the pipeline is in [`super::transitions`].

/// The status of a build or a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The build's stage has not been reached.
    Created,
    /// The build waits for a runner.
    Pending,
    Running,
    Success,
    Failed,
    Canceled,
    Skipped,
}

/// An event that changes the status of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildEvent {
    /// The build's stage was reached and the build is to run, or a user started it.
    Enqueue,
    /// A runner claimed the build.
    Claim,
    Succeed,
    Fail,
    Cancel,
    /// The build's stage was reached, but its `when` condition is not met.
    Skip,
    /// The build's stage is to be evaluated again.
    Reset,
}

impl Status {
    pub const ALL: [Self; 7] =
        [Self::Created, Self::Pending, Self::Running, Self::Success, Self::Failed, Self::Canceled, Self::Skipped];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
        }
    }

    pub fn from_str_opt(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns whether the build or pipeline has ended. Skipped ones are not complete.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Canceled)
    }

    /// Returns whether the status can still change without the action of a user.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Created | Self::Pending | Self::Running)
    }

    /// Returns whether a pipeline with this status lets a merge happen that needs its success.
    pub const fn allows_merge(self) -> bool {
        matches!(self, Self::Success | Self::Skipped)
    }

    /// Returns the new status after an event, or None if the event is not possible in this status. This is the complete
    /// table of transitions.
    pub const fn transition(self, event: BuildEvent) -> Option<Self> {
        match (event, self) {
            (BuildEvent::Enqueue, Self::Created | Self::Skipped) => Some(Self::Pending),
            (BuildEvent::Claim, Self::Pending) => Some(Self::Running),
            (BuildEvent::Succeed, Self::Running) => Some(Self::Success),
            // A pending build that no runner claims becomes stale and fails.
            (BuildEvent::Fail, Self::Pending | Self::Running) => Some(Self::Failed),
            (BuildEvent::Cancel, Self::Created | Self::Pending | Self::Running) => Some(Self::Canceled),
            (BuildEvent::Skip, Self::Created) => Some(Self::Skipped),
            (BuildEvent::Reset, Self::Skipped) => Some(Self::Created),
            _ => None,
        }
    }
}

/// The error for a text that is no status of a build.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a build status")]
pub struct UnknownStatus(String);

impl TryFrom<String> for Status {
    type Error = UnknownStatus;

    fn try_from(word: String) -> Result<Self, UnknownStatus> {
        Self::from_str_opt(&word).ok_or(UnknownStatus(word))
    }
}
