//! Presents the members of groups and projects, and requests to become a member.

use chrono::NaiveDate;
use holdfast_app::namespaces::access_request::AccessRequest;
use holdfast_app::namespaces::member::Member;
use serde::Serialize;
use utoipa::ToSchema;

use super::user::{UserBasic, present_basic};
use crate::InstanceUrls;
use crate::present::Timestamp;

/// A member of a group or a project.
#[derive(Serialize, ToSchema)]
pub struct MemberDetail {
    #[serde(flatten)]
    pub user: UserBasic,
    /// 10 guest, 20 reporter, 30 developer, 40 maintainer, 50 owner.
    pub access_level: i16,
    pub created_at: Timestamp,
    /// Always null: it is not recorded who added a member.
    pub created_by: Option<UserBasic>,
    pub expires_at: Option<NaiveDate>,
    pub membership_state: &'static str,
}

pub fn present_member(member: Member, site: &InstanceUrls) -> MemberDetail {
    MemberDetail {
        user: present_basic(&member.user, site),
        access_level: member.access_level.as_i16(),
        created_at: member.created_at.into(),
        created_by: None,
        expires_at: member.expires_at,
        membership_state: "active",
    }
}

/// A user who has requested to become a member.
#[derive(Serialize, ToSchema)]
pub struct AccessRequester {
    #[serde(flatten)]
    pub user: UserBasic,
    pub requested_at: Timestamp,
}

pub fn present_requester(request: AccessRequest, site: &InstanceUrls) -> AccessRequester {
    AccessRequester { user: present_basic(&request.user, site), requested_at: request.requested_at.into() }
}
