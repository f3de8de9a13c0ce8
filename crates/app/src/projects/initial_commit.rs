//! The first commit of a new project, if its creator wants one.

use holdfast_domain::Violations;
use holdfast_git::RefName;

use super::project::{Project, ProjectRef};
use crate::repository::edit::file_changes::{self, CommitChanges, FileChange};
use crate::{Actor, App, Result};

/// The branch of the first commit, unless the creator names another one.
pub const DEFAULT_BRANCH: &str = "main";

/// The name of the branch of a first commit.
#[derive(Clone, Debug)]
pub struct InitialBranch(String);

impl InitialBranch {
    /// Parses the name of a branch. Callers do this before they create the project, so that an invalid name creates
    /// nothing.
    pub fn parse(name: Option<&str>) -> Result<Self> {
        let name = name.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_BRANCH);
        match RefName::branch(name) {
            Ok(_) => Ok(Self(name.to_owned())),
            Err(_) => Err(Violations::single("default_branch", "is not a valid name of a branch").into()),
        }
    }
}

/// Commits a file `README.md` with the name and the description of a project that was just created.
///
/// A failure is logged and not returned: the project exists, and an error would make the client create it again. Such a
/// project has no commit and no default branch, and a commit can be pushed to it.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &Project, branch: InitialBranch) {
    let description = project.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let content = match description {
        Some(description) => format!("# {}\n\n{description}\n", project.name),
        None => format!("# {}\n", project.name),
    };
    let changes = CommitChanges {
        branch: branch.0,
        start_branch: None,
        message: "Initial commit".into(),
        author: None,
        changes: vec![FileChange::Create { path: "README.md".into(), content: content.into_bytes() }],
        known_ids: None,
        counts_lines: false,
    };
    if let Err(error) = file_changes::commit(app, actor, &ProjectRef::Id(project.id), changes).await {
        tracing::warn!(%error, project = project.id.get(), "project created, its first commit failed");
    }
}
