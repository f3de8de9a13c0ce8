//! A group with what its settings show.

use holdfast_domain::policy::GroupAction;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_store::projects::project;

use super::group::{Group, GroupRef};
use crate::{Actor, App, Result, access};

/// Maximum number of projects that are counted. Arbitrary: nobody needs to know a larger number exactly.
pub const MAX_COUNTED_PROJECTS: i64 = 10_000;

/// A group with the numbers of its projects.
#[derive(Debug)]
pub struct GroupSettings {
    pub group: Group,
    /// The level of the current user in the group.
    pub level: Option<AccessLevel>,
    /// At most [`MAX_COUNTED_PROJECTS`] projects are counted.
    pub projects: Vec<(Visibility, i64)>,
}

impl GroupSettings {
    pub fn project_count(&self) -> i64 {
        self.projects.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of projects that are more visible than this.
    pub fn count_more_visible_than(&self, visibility: Visibility) -> i64 {
        self.projects.iter().filter(|(level, _)| *level > visibility).map(|(_, count)| count).sum()
    }
}

/// Returns a group to an actor who may change it.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, group: &GroupRef) -> Result<GroupSettings> {
    load(app, actor, group, GroupAction::Update).await
}

/// Returns a group to an actor who may delete it.
#[crate::boxed]
pub async fn show_for_deletion(app: &App, actor: &Actor, group: &GroupRef) -> Result<GroupSettings> {
    load(app, actor, group, GroupAction::Delete).await
}

async fn load(app: &App, actor: &Actor, group: &GroupRef, action: GroupAction) -> Result<GroupSettings> {
    let mut connection = app.database.connection().await?;
    let (group, level) = access::authorize_group_with_level(app, &mut connection, actor, group, action).await?;
    let projects = project::count_by_visibility(&mut connection, group.id, MAX_COUNTED_PROJECTS).await?;
    Ok(GroupSettings { group, level, projects })
}
