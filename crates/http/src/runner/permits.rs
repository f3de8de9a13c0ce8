//! Permits for what builds send. They are counted for the project and for the user of the pipeline: a user may have many
//! projects.

use std::net::IpAddr;

use axum::http::request::Parts;
use holdfast_app::ci::runner_door::{self, RunningBuild};
use holdfast_app::client::{ClientKey, ClientPermits, KeyedPermit, KeyedSemaphores};
use holdfast_app::{App, Result};
use holdfast_domain::ids::ProjectId;
use tokio::sync::OwnedSemaphorePermit;

/// How many permits there are.
#[derive(Clone, Copy)]
pub struct BuildLimits {
    pub all: usize,
    pub of_user: usize,
    pub of_project: usize,
}

pub struct BuildPermits {
    projects: KeyedSemaphores<ProjectId>,
    clients: ClientPermits,
}

/// Returns its permits when it is dropped.
pub struct BuildPermit {
    _of_project: OwnedSemaphorePermit,
    _of_client: KeyedPermit,
}

impl BuildPermits {
    pub fn new(limits: BuildLimits) -> Self {
        Self {
            projects: KeyedSemaphores::new(limits.of_project),
            clients: ClientPermits::new(limits.all, limits.of_user),
        }
    }

    /// Waits for a permit. Whoever waits keeps only others of the same project or the same user from theirs. The address counts
    /// where the user of the pipeline is gone.
    pub async fn acquire(&self, app: &App, build: &RunningBuild, parts: &Parts) -> Result<BuildPermit> {
        let client = match runner_door::pipeline_user(app, build).await? {
            Some(user) => ClientKey::User(user),
            None => ClientKey::from_address(*parts.extensions.get::<IpAddr>().unwrap_or(&IpAddr::from([0, 0, 0, 0]))),
        };
        let of_project = self.projects.acquire(build.project).await;
        let of_client = self.clients.acquire(client).await;
        Ok(BuildPermit { _of_project: of_project, _of_client: of_client })
    }
}
