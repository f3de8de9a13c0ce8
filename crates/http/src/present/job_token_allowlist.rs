use holdfast_app::ci::job_token_allowlist::AllowedProject;
use holdfast_domain::ids::ProjectId;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

/// A project whose builds may read another one. Nothing but its id is shown: who keeps the list may not see the project.
#[derive(Serialize, ToSchema)]
pub struct AllowedProjectBody {
    pub id: i64,
    pub created_at: Timestamp,
}

pub fn allowed_project(project: AllowedProject) -> AllowedProjectBody {
    AllowedProjectBody { id: project.id.get(), created_at: project.created_at.into() }
}

/// An entry that was added or removed. The names of the fields are those of newer versions of the API.
#[derive(Serialize, ToSchema)]
pub struct AllowlistEntry {
    /// The project that is read.
    pub source_project_id: i64,
    /// The project whose builds read it.
    pub target_project_id: i64,
}

pub fn entry(read: ProjectId, reading: ProjectId) -> AllowlistEntry {
    AllowlistEntry { source_project_id: read.get(), target_project_id: reading.get() }
}
