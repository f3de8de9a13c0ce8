//! The addresses of the pages of a project: the project that a path names, and the redirect to its own address.

use holdfast_app::projects::project::{Project, ProjectRef};
use holdfast_http_core::params;

use crate::addresses::{self, canonical_address};
use crate::errors::PageError;
use crate::request::RequestContext;
use crate::views::ProjectLinks;

params! {
    /// The project that a path names.
    pub struct ProjectPathParams {
        required namespace: String,
        required project: String,
    }
}

impl ProjectPathParams {
    /// Returns the project for a use case. It is the one that was read together with the session.
    pub fn reference(&self) -> ProjectRef {
        addresses::project_ref(&self.namespace, &self.project)
    }

    /// Returns the paths of the pages of the project as it was requested. Another spelling of its path leads to its
    /// address.
    pub fn links(&self) -> ProjectLinks {
        ProjectLinks::new(&format!("{}/{}", self.namespace, self.project))
    }
}

/// Redirects if the page was requested by an old path of the project, in another case, or with the suffix `.git`. The
/// use case has shown that the viewer may see the project.
pub fn ensure_address(context: &RequestContext, project: &Project) -> Result<(), PageError> {
    let links = ProjectLinks::new(&project.full_path());
    canonical_address(context.path(), links.home()).map_or(Ok(()), |address| Err(PageError::Moved(address)))
}
