//! The project or group that a request names, read by the statement that finds its token.

use std::sync::{Mutex, PoisonError};

use holdfast_store::namespaces::group::{GroupRef, GroupWithLevel};
use holdfast_store::projects::project::{Project, ProjectRef};

/// The project or group that a request names in its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTarget {
    Project(ProjectRef),
    Group(GroupRef),
}

/// The target of a request, with the levels of the user who sent it, as it was when the request was authenticated.
/// Only the first permission check of the request uses it, which saves that check a round trip to the database. Every
/// later check, and every check under a lock, reads the database. Nothing of it outlives the request.
#[derive(Debug, Default)]
pub(crate) struct Prefetched(Mutex<Option<Target>>);

#[derive(Debug)]
enum Target {
    Project(ProjectRef, Box<Project>),
    Group(GroupRef, Box<GroupWithLevel>),
}

/// The clone of an actor begins a new attempt, which reads the database.
impl Clone for Prefetched {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Prefetched {
    pub(crate) fn project(reference: &ProjectRef, found: Project) -> Self {
        Self(Mutex::new(Some(Target::Project(reference.clone(), Box::new(found)))))
    }

    pub(crate) fn group(reference: &GroupRef, found: GroupWithLevel) -> Self {
        Self(Mutex::new(Some(Target::Group(reference.clone(), Box::new(found)))))
    }

    /// Returns the project if it is the prefetched one. Whatever was prefetched is discarded.
    pub(crate) fn take_project(&self, wanted: &ProjectRef) -> Option<Project> {
        match self.take()? {
            Target::Project(reference, project) if reference == *wanted => Some(*project),
            Target::Project(..) | Target::Group(..) => None,
        }
    }

    /// Returns the group if it is the prefetched one. Whatever was prefetched is discarded.
    pub(crate) fn take_group(&self, wanted: &GroupRef) -> Option<GroupWithLevel> {
        match self.take()? {
            Target::Group(reference, group) if reference == *wanted => Some(*group),
            Target::Project(..) | Target::Group(..) => None,
        }
    }

    fn take(&self) -> Option<Target> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
