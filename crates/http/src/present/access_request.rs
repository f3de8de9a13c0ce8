use holdfast_app::namespaces::access_request::AccessRequest;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

/// Somebody who asks to become a member.
#[derive(Serialize, ToSchema)]
pub struct AccessRequestBody {
    #[serde(flatten)]
    pub user: UserSummary,
    pub requested_at: Timestamp,
}

pub fn access_request(request: AccessRequest, site: &Site) -> AccessRequestBody {
    AccessRequestBody { user: user::summary(&request.user, site), requested_at: request.requested_at.into() }
}
