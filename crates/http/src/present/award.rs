//! Presents emoji that users gave.

use holdfast_app::planning::award::{Award, AwardAddress};
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// An emoji that a user gave to an issue, a merge request or a note.
#[derive(Serialize, ToSchema)]
pub struct AwardBody {
    pub id: i64,
    /// Name of the emoji, without colons.
    pub name: String,
    pub user: UserSummaryBody,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub awardable_id: i64,
    /// `Issue`, `MergeRequest` or `Note`.
    pub awardable_type: &'static str,
}

pub fn present_award(award: Award, address: AwardAddress, site: &InstanceUrls) -> AwardBody {
    let (awardable_id, awardable_type) = address.target().subject();
    AwardBody {
        id: award.id.get(),
        name: award.emoji,
        user: user::summary(&award.user, site),
        created_at: award.created_at.into(),
        updated_at: award.created_at.into(),
        awardable_id,
        awardable_type,
    }
}
