//! Statuses of builds as parameters.

use holdfast_domain::ci::Status;

use crate::choice;

choice! {
    /// The status of the builds that a list is limited to.
    pub enum BuildScope {
        Created = "created",
        Pending = "pending",
        Running = "running",
        Failed = "failed",
        Success = "success",
        Canceled = "canceled",
        Skipped = "skipped",
    }
}

impl From<BuildScope> for Status {
    fn from(scope: BuildScope) -> Self {
        match scope {
            BuildScope::Created => Self::Created,
            BuildScope::Pending => Self::Pending,
            BuildScope::Running => Self::Running,
            BuildScope::Failed => Self::Failed,
            BuildScope::Success => Self::Success,
            BuildScope::Canceled => Self::Canceled,
            BuildScope::Skipped => Self::Skipped,
        }
    }
}

pub fn to_statuses(scopes: Vec<BuildScope>) -> Vec<Status> {
    scopes.into_iter().map(Into::into).collect()
}
