//! Presents the members of groups and projects.

use chrono::NaiveDate;
use holdfast_app::namespaces::member::Member;
use serde::Serialize;
use utoipa::ToSchema;

use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

#[derive(Serialize, ToSchema)]
pub struct MemberBody {
    #[serde(flatten)]
    pub user: UserSummaryBody,
    /// 10 guest, 20 reporter, 30 developer, 40 master, 50 owner.
    pub access_level: i16,
    pub expires_at: Option<NaiveDate>,
}

pub fn present_member(member: Member, site: &InstanceUrls) -> MemberBody {
    MemberBody {
        user: user::summary(&member.user, site),
        access_level: member.access_level.as_i16(),
        expires_at: member.expires_at,
    }
}
