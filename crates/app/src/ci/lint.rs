//! Checks CI files for users of a project.

use holdfast_domain::policy::ProjectAction;

use super::creation;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::browse::ci_file::{self, CiFileContent};
use crate::repository::browse::revision;
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Resource, Result, access};

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

/// The CI file of a commit, and what is wrong with it.
pub struct LintedCommit {
    /// The text of the file. None if there is none, or if it is too large.
    pub text: Option<String>,
    /// Why the file is not valid. None if it is valid.
    pub error: Option<String>,
}

/// Checks the CI file of a commit, a branch or a tag, by default of the default branch.
#[crate::boxed]
pub async fn check_commit(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: Option<&str>,
) -> Result<LintedCommit> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let not_found = || Error::NotFound(Resource::Commit);
    let id = revision::resolve(app, &repository, revision.unwrap_or("HEAD")).await?.ok_or_else(not_found)?;
    let (_, content) = ci_file::load(app, &repository, id).await?.ok_or_else(not_found)?;
    let error = |text: &str| LintedCommit { text: None, error: Some(text.to_owned()) };
    match content {
        CiFileContent::Missing => Ok(error(creation::MISSING)),
        CiFileContent::TooLarge => Ok(error(creation::TOO_LARGE)),
        CiFileContent::Text(text) => {
            let text = String::from_utf8_lossy(&text).into_owned();
            let error = creation::parse_for_lint(app, text.clone()).await?.err();
            Ok(LintedCommit { text: Some(text), error })
        }
    }
}
