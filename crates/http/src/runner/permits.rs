//! Permits for traces and artifacts that builds upload. They are limited per project and per user of the pipeline,
//! because one user may have many projects.

use axum::http::request::Parts;
use holdfast_app::ci::runner_api::{self, ClaimedBuild};
use holdfast_app::client::{ClientKey, ClientPermits, KeyedPermit, KeyedSemaphores};
use holdfast_app::{App, Result};
use holdfast_domain::ids::ProjectId;
use holdfast_http_core::client_address;
use tokio::sync::OwnedSemaphorePermit;

/// Maximum numbers of permits, in total, per user and per project.
#[derive(Clone, Copy)]
pub struct BuildLimits {
    pub total: usize,
    pub per_user: usize,
    pub per_project: usize,
}

pub struct BuildPermits {
    projects: KeyedSemaphores<ProjectId>,
    clients: ClientPermits,
}

/// The permits of one upload, which are released on drop.
pub struct BuildPermit {
    _project_permit: OwnedSemaphorePermit,
    _client_permit: KeyedPermit,
}

impl BuildPermits {
    pub fn new(limits: BuildLimits) -> Self {
        Self {
            projects: KeyedSemaphores::new(limits.per_project),
            clients: ClientPermits::new(limits.total, limits.per_user),
        }
    }

    /// Waits for a permit. A waiting request delays only other requests of the same project or user. The client address
    /// counts instead of the user if the pipeline's user has been deleted.
    pub async fn acquire(&self, app: &App, build: &ClaimedBuild, parts: &Parts) -> Result<BuildPermit> {
        let client = match runner_api::find_pipeline_user(app, build).await? {
            Some(user) => ClientKey::User(user),
            None => ClientKey::from_address(client_address::from_extensions(parts)),
        };
        let project_permit = self.projects.acquire(build.project).await;
        let client_permit = self.clients.acquire(client).await;
        Ok(BuildPermit { _project_permit: project_permit, _client_permit: client_permit })
    }
}
