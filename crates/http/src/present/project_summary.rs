//! Presents projects within other resources.

use holdfast_app::projects::project::Project;
use serde::Serialize;
use utoipa::ToSchema;

use crate::InstanceUrls;

/// The part of a project that is shown in other resources.
#[derive(Serialize, ToSchema)]
pub struct ProjectSummaryBody {
    pub id: i64,
    pub name: String,
    pub name_with_namespace: String,
    pub path: String,
    pub path_with_namespace: String,
    pub http_url_to_repo: String,
    pub web_url: String,
}

pub fn present_project_summary(project: Project, site: &InstanceUrls) -> ProjectSummaryBody {
    let full = project.full_path();
    ProjectSummaryBody {
        id: project.id.get(),
        name_with_namespace: format!("{} / {}", project.namespace.name, project.name),
        name: project.name,
        path: project.path,
        http_url_to_repo: site.url(&format!("/{full}.git")),
        web_url: site.url(&format!("/{full}")),
        path_with_namespace: full,
    }
}
