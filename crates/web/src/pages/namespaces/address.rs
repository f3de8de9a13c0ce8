//! The addresses of the pages of a group: the group that a path names, and the redirect to its own address.

use holdfast_app::namespaces::group::{Group, GroupRef};
use holdfast_http_core::params;

use crate::addresses::{self, canonical_address};
use crate::errors::PageError;
use crate::request::RequestContext;
use crate::views::links;

params! {
    /// The group that a path names.
    pub struct GroupPathParams {
        required group: String,
    }
}

impl GroupPathParams {
    /// Returns the group for a use case. It is the one that was read together with the session.
    pub fn reference(&self) -> GroupRef {
        addresses::group_ref(&self.group)
    }

    /// Returns the address of a page or an action of the group as it was requested. Another spelling of its path leads to
    /// its address.
    pub fn page(&self, name: &str) -> String {
        links::group_page(&self.group, name)
    }

    /// Returns the address of the group as it was requested.
    pub fn home(&self) -> String {
        links::group(&self.group)
    }
}

/// Redirects if the page was requested by an old path of the group, or in another case. The use case has shown that the
/// viewer may see the group.
pub fn ensure_group_address(context: &RequestContext, group: &Group) -> Result<(), PageError> {
    let home = links::group(&group.path);
    // The first segment is `groups`, so that the address of a group has as many segments as that of a project.
    canonical_address(context.path(), &home).map_or(Ok(()), |address| Err(PageError::Moved(address)))
}
