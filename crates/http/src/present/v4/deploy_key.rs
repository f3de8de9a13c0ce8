//! Presents deploy keys.

use holdfast_app::projects::deploy_key::DeployKey;
use serde::Serialize;
use utoipa::ToSchema;

use crate::present::Timestamp;
use crate::present::deploy_key::{DeployKeyBody, present_deploy_key as present_fields};

/// A deploy key of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectDeployKey {
    #[serde(flatten)]
    pub key: DeployKeyBody,
    /// Always null: deploy keys do not expire.
    pub expires_at: Option<Timestamp>,
}

pub fn present_deploy_key(key: DeployKey) -> ProjectDeployKey {
    ProjectDeployKey { key: present_fields(key), expires_at: None }
}
