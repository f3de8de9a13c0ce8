/// How far a build has come, or a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Its stage has not been reached.
    Created,
    /// Waits for a runner.
    Pending,
    Running,
    Success,
    Failed,
    Canceled,
    Skipped,
}

/// What happens to a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its turn has come, or somebody wants it now.
    Enqueue,
    /// A runner has it.
    Take,
    Succeed,
    Fail,
    Cancel,
    /// Its turn has come, and it is not to run.
    Skip,
    /// It may have a turn again.
    Reset,
}

impl Status {
    pub const ALL: [Self; 7] =
        [Self::Created, Self::Pending, Self::Running, Self::Success, Self::Failed, Self::Canceled, Self::Skipped];

    pub const fn word(self) -> &'static str {
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

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether it has run, or would have.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Canceled)
    }

    /// Whether something is still to come of it.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Created | Self::Pending | Self::Running)
    }

    /// The whole table of what can happen to a build; None is what cannot.
    pub const fn after(self, event: Event) -> Option<Self> {
        match (event, self) {
            (Event::Enqueue, Self::Created | Self::Skipped) => Some(Self::Pending),
            (Event::Take, Self::Pending) => Some(Self::Running),
            (Event::Succeed, Self::Running) => Some(Self::Success),
            // One that nobody takes fails in the end, too.
            (Event::Fail, Self::Pending | Self::Running) => Some(Self::Failed),
            (Event::Cancel, Self::Created | Self::Pending | Self::Running) => Some(Self::Canceled),
            (Event::Skip, Self::Created) => Some(Self::Skipped),
            (Event::Reset, Self::Skipped) => Some(Self::Created),
            _ => None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no status")]
pub struct UnknownStatus(String);

impl TryFrom<String> for Status {
    type Error = UnknownStatus;

    fn try_from(word: String) -> Result<Self, UnknownStatus> {
        Self::named(&word).ok_or(UnknownStatus(word))
    }
}
