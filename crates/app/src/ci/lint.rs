//! Checks CI files on a page of a project.

use holdfast_domain::policy::ProjectAction;

use super::creation;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// The result of checking a CI file.
pub struct LintedFile {
    pub project: Project,
    /// The jobs of the file, or why it is not valid. None if no file was given.
    pub result: Option<std::result::Result<Vec<LintedStage>, String>>,
}

/// A stage with jobs, in the order in which the stages run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintedStage {
    pub name: String,
    pub jobs: Vec<String>,
}

/// Checks a CI file for the viewer of a project. It need not be one of its repository.
#[crate::boxed]
pub async fn check(app: &App, actor: &Actor, project: &ProjectRef, text: Option<String>) -> Result<LintedFile> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBuilds).await?;
    let Some(text) = text else { return Ok(LintedFile { project, result: None }) };
    let file = creation::parse_for_lint(app, text).await?;
    let result = file.map(|mut file| {
        file.jobs.sort_by_key(|job| job.stage_index);
        let mut stages: Vec<LintedStage> = Vec::new();
        for job in file.jobs {
            match stages.last_mut().filter(|stage| stage.name == job.stage) {
                Some(stage) => stage.jobs.push(job.name),
                None => stages.push(LintedStage { name: job.stage, jobs: vec![job.name] }),
            }
        }
        stages
    });
    Ok(LintedFile { project, result: Some(result) })
}
