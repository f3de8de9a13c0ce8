//! The end of the addresses of files and directories.

use holdfast_http_core::params;

use crate::pages::projects::address::ProjectPathParams;

params! {
    /// A project with a revision and a path. Where the revision ends depends on the refs of the project, so the use case
    /// splits them.
    pub struct RevisionPathParams {
        flatten project: ProjectPathParams,
        required rest: String,
    }
}
