//! The parameters of the forms about members, which groups and projects have in common.

use holdfast_app::namespaces::member::{MembershipInput, NewMemberInput};
use holdfast_http_core::params;

params! {
    /// A membership.
    pub struct MembershipParams {
        optional access_level: i64,
        /// The first day on which the membership is no longer valid, or an empty text.
        optional expires_at: String,
    }
}

impl From<MembershipParams> for MembershipInput {
    fn from(params: MembershipParams) -> Self {
        Self {
            access_level: params.access_level.unwrap_or_default(),
            expires_at: params.expires_at.unwrap_or_default(),
        }
    }
}

params! {
    /// A user who becomes a member.
    pub struct NewMemberParams {
        optional username: String,
        flatten membership: MembershipParams,
    }
}

impl From<NewMemberParams> for NewMemberInput {
    fn from(params: NewMemberParams) -> Self {
        Self { username: params.username.unwrap_or_default(), membership: params.membership.into() }
    }
}
