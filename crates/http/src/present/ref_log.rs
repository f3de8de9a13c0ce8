use holdfast_app::repository::ref_log::Shown;
use holdfast_app::repository::undo::Restored;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

/// One move of one branch or tag.
#[derive(Serialize, ToSchema)]
pub struct RefLogBody {
    /// Grows with every change of the repository; refs that moved together have the same.
    pub generation: i64,
    /// In full, such as `refs/heads/main`.
    pub ref_name: String,
    /// Null if it was not there before.
    pub old: Option<String>,
    /// Null if it was removed.
    pub new: Option<String>,
    /// Null if it was nobody, or somebody who is gone.
    pub user: Option<UserSummary>,
    /// Through which door: `http`, `ssh`, `api`, `import`, `cli` and so on.
    pub via: String,
    pub created_at: Timestamp,
    /// Whether it can be put back to `old` now.
    pub restorable: bool,
}

pub fn entry(shown: Shown, site: &Site) -> RefLogBody {
    let Shown { entry, restorable } = shown;
    RefLogBody {
        generation: entry.generation,
        ref_name: entry.name,
        old: entry.old.map(|id| id.to_string()),
        new: entry.new.map(|id| id.to_string()),
        user: entry.user.as_ref().map(|person| user::summary(person, site)),
        via: entry.via,
        created_at: entry.created_at.into(),
        restorable,
    }
}

/// A ref that is where it was.
#[derive(Serialize, ToSchema)]
pub struct RestoredBody {
    pub ref_name: String,
    pub target: String,
}

pub fn restored(restored: Restored) -> RestoredBody {
    RestoredBody { ref_name: restored.name, target: restored.target.to_string() }
}
