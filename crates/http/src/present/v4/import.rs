//! Presents the imports of projects.

use std::collections::BTreeMap;

use holdfast_app::gitlab_export::{LeftOut, Progress};
use holdfast_app::projects::project::Project;
use holdfast_app::repository::transfer::import::Import;
use serde::Serialize;
use utoipa::ToSchema;

use super::project::{ProjectIdentity, present_identity};

/// The import of the repository of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectImport {
    #[serde(flatten)]
    pub project: ProjectIdentity,
    /// `none`, `scheduled`, `started`, `finished` or `failed`.
    pub import_status: &'static str,
    /// `git` or `gitlab_project`, or null if the project was not imported.
    pub import_type: Option<&'static str>,
    pub correlation_id: Option<String>,
    /// Reason of the failure.
    pub import_error: Option<String>,
    /// Numbers of records, for the import of an export.
    pub stats: Option<ImportStats>,
    /// What the import of an export has left out, with the reasons.
    pub failed_relations: Vec<FailedRelation>,
}

/// The numbers of records of an export, by relation.
#[derive(Serialize, ToSchema)]
pub struct ImportStats {
    /// The records of the export.
    pub fetched: BTreeMap<String, u64>,
    /// The records that are imported until now.
    pub imported: BTreeMap<String, u64>,
}

/// Records of an export that were left out for one reason.
#[derive(Serialize, ToSchema)]
pub struct FailedRelation {
    pub relation_name: String,
    /// The reason.
    pub exception_message: String,
    /// The number of records.
    pub count: u64,
    /// The numbers or names of the first of them, if they have any.
    pub examples: Vec<String>,
}

pub fn present_import(project: &Project, import: Option<&Import>, progress: Option<Progress>) -> ProjectImport {
    let Progress { fetched, imported, left_out, .. } = progress.unwrap_or_default();
    let is_archive = import.is_some_and(|import| import_type(import) == GITLAB_PROJECT);
    ProjectImport {
        project: present_identity(project),
        import_status: import_status(import),
        import_type: import.map(import_type),
        correlation_id: None,
        import_error: import.and_then(import_error),
        stats: is_archive.then_some(ImportStats { fetched, imported }),
        failed_relations: left_out
            .into_iter()
            .map(|LeftOut { relation, reason, count, examples }| FailedRelation {
                relation_name: relation,
                exception_message: reason,
                count,
                examples,
            })
            .collect(),
    }
}

const GITLAB_PROJECT: &str = "gitlab_project";

pub(super) fn import_type(import: &Import) -> &'static str {
    if import.url.is_empty() { GITLAB_PROJECT } else { "git" }
}

/// Returns the word of version 4 for the phase of an import.
pub(super) fn import_status(import: Option<&Import>) -> &'static str {
    match import.map(|import| import.phase.as_str()) {
        None => "none",
        Some("waiting") => "scheduled",
        Some("finished") => "finished",
        Some("failed" | "canceled") => "failed",
        Some(_) => "started",
    }
}

/// Returns why an import failed. A finished import may have a note about skipped refs, which is no error.
pub(super) fn import_error(import: &Import) -> Option<String> {
    let text = import.error.clone().or_else(|| (import.phase == "canceled").then(|| "The import was canceled".into()));
    text.filter(|_| import_status(Some(import)) == "failed")
}
