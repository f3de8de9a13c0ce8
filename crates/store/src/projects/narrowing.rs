//! Further conditions of lists of projects.

use holdfast_domain::AccessLevel;
use holdfast_domain::ids::ProjectId;

/// Further conditions of a list. By default all projects fulfill them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Only projects with a higher id. With `SortKey::Id`, the list begins after this id.
    pub id_after: Option<ProjectId>,
    /// Only projects with a lower id.
    pub id_before: Option<ProjectId>,
    /// Only projects in which the viewer has at least this level.
    pub min_level: Option<AccessLevel>,
    /// Only projects in which issues are enabled. Few projects disable them, so a page reads few rows of others.
    pub needs_issues: bool,
    /// Only projects in which merge requests are enabled. Few projects disable them, too.
    pub needs_merge_requests: bool,
}

impl Narrowing {
    pub(super) const fn has_range(self) -> bool {
        self.id_after.is_some() || self.id_before.is_some()
    }
}
