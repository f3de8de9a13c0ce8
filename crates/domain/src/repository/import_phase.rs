//! The phases of an import.

/// The phase of an import. The last three are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportPhase {
    /// The job has not begun.
    Waiting,
    Connecting,
    Receiving,
    Storing,
    Finished,
    Failed,
    Canceled,
}

impl ImportPhase {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Connecting => "connecting",
            Self::Receiving => "receiving",
            Self::Storing => "storing",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}
