//! Presents the contributors of a repository.

use holdfast_app::repository::browse::contributor::Contributor;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct ContributorBody {
    pub name: String,
    pub email: String,
    pub commits: i64,
    /// Number of added lines, as counted by `git log --numstat`.
    pub additions: i64,
    /// Number of deleted lines.
    pub deletions: i64,
}

pub fn present_contributor(contributor: Contributor) -> ContributorBody {
    ContributorBody {
        name: contributor.name,
        email: contributor.email,
        commits: contributor.commits,
        additions: contributor.additions,
        deletions: contributor.deletions,
    }
}
