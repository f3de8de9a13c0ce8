//! Presents requests to become a member of a group or a project.

use holdfast_app::namespaces::access_request::AccessRequest;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// A request of a user to become a member.
#[derive(Serialize, ToSchema)]
pub struct AccessRequestBody {
    #[serde(flatten)]
    pub user: UserSummaryBody,
    pub requested_at: Timestamp,
}

pub fn present_access_request(request: AccessRequest, site: &InstanceUrls) -> AccessRequestBody {
    AccessRequestBody { user: user::summary(&request.user, site), requested_at: request.requested_at.into() }
}
