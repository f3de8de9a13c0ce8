//! Presents entries of the ref log, and restored refs.

use holdfast_app::repository::refs::ref_log::RestorableEntry;
use holdfast_app::repository::refs::ref_restore::RestoredRef;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// An update of one ref.
#[derive(Serialize, ToSchema)]
pub struct RefLogBody {
    /// Counter that increases with each change of the refs. Refs updated together have the same value.
    pub generation: i64,
    /// Full name, such as `refs/heads/main`.
    pub ref_name: String,
    /// Previous object id, null if the ref was created.
    pub old: Option<String>,
    /// New object id, null if the ref was deleted.
    pub new: Option<String>,
    /// User behind the update. Null if there was none, or if the user was deleted.
    pub user: Option<UserSummaryBody>,
    /// Entry point of the update, such as `http`, `ssh`, `api`, `import` or `cli`.
    pub via: String,
    pub created_at: Timestamp,
    /// Whether the ref can be restored to `old` now.
    pub restorable: bool,
}

pub fn present_entry(shown: RestorableEntry, site: &InstanceUrls) -> RefLogBody {
    let RestorableEntry { entry, is_restorable: restorable } = shown;
    RefLogBody {
        generation: entry.generation,
        ref_name: entry.name,
        old: entry.old.map(|id| id.to_string()),
        new: entry.new.map(|id| id.to_string()),
        user: entry.user.as_ref().map(|person| user::summary(person, site)),
        via: entry.channel,
        created_at: entry.created_at.into(),
        restorable,
    }
}

/// A restored ref.
#[derive(Serialize, ToSchema)]
pub struct RestoredBody {
    pub ref_name: String,
    pub target: String,
}

pub fn restored(restored: RestoredRef) -> RestoredBody {
    RestoredBody { ref_name: restored.name, target: restored.target.to_string() }
}
