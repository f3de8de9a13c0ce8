//! Presents the deploy keys of projects.

use holdfast_app::projects::deploy_key::DeployKey;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

#[derive(Serialize, ToSchema)]
pub struct DeployKeyBody {
    pub id: i64,
    pub title: String,
    pub key: String,
    pub created_at: Timestamp,
    pub can_push: bool,
}

pub fn present_deploy_key(key: DeployKey) -> DeployKeyBody {
    let DeployKey { id, title, key, created_at, can_push } = key;
    DeployKeyBody { id: id.get(), title, key, created_at: created_at.into(), can_push }
}
