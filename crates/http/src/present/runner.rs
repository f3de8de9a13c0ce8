use holdfast_app::ci::runner::{Detail, Runner};
use holdfast_app::projects::project::Project;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use crate::Site;

#[derive(Serialize, ToSchema)]
pub struct RunnerBody {
    pub id: i64,
    pub description: Option<String>,
    pub active: bool,
    pub is_shared: bool,
    /// The program, as it calls itself.
    pub name: Option<String>,
}

pub fn runner(it: &Runner) -> RunnerBody {
    RunnerBody {
        id: it.id.get(),
        description: it.description.clone(),
        active: it.active,
        is_shared: it.shared,
        name: it.info.name.clone(),
    }
}

#[derive(Serialize, ToSchema)]
pub struct RunnerDetail {
    #[serde(flatten)]
    pub summary: RunnerBody,
    pub tag_list: Vec<String>,
    pub run_untagged: bool,
    pub locked: bool,
    pub version: Option<String>,
    pub revision: Option<String>,
    pub platform: Option<String>,
    pub architecture: Option<String>,
    pub contacted_at: Option<Timestamp>,
    pub projects: Vec<ProjectOfRunner>,
}

#[derive(Serialize, ToSchema)]
pub struct ProjectOfRunner {
    pub id: i64,
    pub name: String,
    pub name_with_namespace: String,
    pub path: String,
    pub path_with_namespace: String,
    pub http_url_to_repo: String,
    pub web_url: String,
}

pub fn detail(it: Detail, site: &Site) -> RunnerDetail {
    let Detail { runner: it, projects } = it;
    RunnerDetail {
        summary: runner(&it),
        tag_list: it.tags,
        run_untagged: it.run_untagged,
        locked: it.locked,
        version: it.info.version,
        revision: it.info.revision,
        platform: it.info.platform,
        architecture: it.info.architecture,
        contacted_at: it.contacted_at.map(Into::into),
        projects: projects.into_iter().map(|project| of_runner(project, site)).collect(),
    }
}

fn of_runner(it: Project, site: &Site) -> ProjectOfRunner {
    let full = it.full_path();
    ProjectOfRunner {
        id: it.id.get(),
        name_with_namespace: format!("{} / {}", it.namespace.name, it.name),
        name: it.name,
        path: it.path,
        http_url_to_repo: site.url(&format!("/{full}.git")),
        web_url: site.url(&format!("/{full}")),
        path_with_namespace: full,
    }
}
