//! Presents the entries of job token allow lists.

use holdfast_app::ci::job_token_allowlist::AllowedProject;
use holdfast_domain::ids::ProjectId;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

/// A project on the job token allow list. Its name is not returned, because the current user may not be allowed to see
/// it.
#[derive(Serialize, ToSchema)]
pub struct AllowedProjectBody {
    pub id: i64,
    pub created_at: Timestamp,
}

pub fn allowed_project(project: AllowedProject) -> AllowedProjectBody {
    AllowedProjectBody { id: project.id.get(), created_at: project.created_at.into() }
}

/// An entry that was added or removed. The field names are those of newer API versions.
#[derive(Serialize, ToSchema)]
pub struct AllowlistEntry {
    /// Id of the project that is read.
    pub source_project_id: i64,
    /// Id of the project whose builds may read it.
    pub target_project_id: i64,
}

pub fn entry(source: ProjectId, target: ProjectId) -> AllowlistEntry {
    AllowlistEntry { source_project_id: source.get(), target_project_id: target.get() }
}
