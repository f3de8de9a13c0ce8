use chrono::NaiveDate;
use holdfast_app::namespaces::member::Member;
use serde::Serialize;
use utoipa::ToSchema;

use super::user::{self, UserSummary};
use crate::Site;

#[derive(Serialize, ToSchema)]
pub struct MemberBody {
    #[serde(flatten)]
    pub user: UserSummary,
    /// 10 guest, 20 reporter, 30 developer, 40 master, 50 owner.
    pub access_level: i16,
    pub expires_at: Option<NaiveDate>,
}

pub fn member(member: Member, site: &Site) -> MemberBody {
    MemberBody {
        user: user::summary(&member.user, site),
        access_level: member.access_level.level(),
        expires_at: member.expires_at,
    }
}
