//! What the viewer may do in a project.
//!
//! Views ask these values before they show a link or a control, so that what a page offers is allowed. The use case
//! checks the permission again.

use holdfast_app::projects::project::Project;
use holdfast_app::{Actor, access};
use holdfast_domain::policy::ProjectAction;

/// What the viewer of a page may do in its project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub can_write_code: bool,
    pub can_read_issues: bool,
    pub can_read_builds: bool,
}

impl Abilities {
    /// Creates the abilities of an actor who has been authorized to read the project.
    pub fn new(project: &Project, actor: &Actor) -> Self {
        let is_authorized = |action| access::is_authorized(actor, project, action);
        Self {
            can_write_code: is_authorized(ProjectAction::WriteCode),
            can_read_issues: is_authorized(ProjectAction::ReadIssues),
            can_read_builds: is_authorized(ProjectAction::ReadBuilds),
        }
    }
}
