//! Lists of projects.

use holdfast_domain::Visibility;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, InstanceRole, min_visibility_without_membership};
use holdfast_store::projects::list::{self, Filter, ProjectScope, Viewer};

pub use holdfast_store::projects::list::{Order, SortKey};

use super::project::Project;
use crate::{Actor, App, Result, access};

/// The set of projects that a list selects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListScope {
    /// Projects to which the current user has access by a membership of any kind.
    Member,
    Visible,
    Owned,
    Starred,
    All,
}

#[derive(Clone, Debug)]
pub struct ListProjects {
    pub archived: Option<bool>,
    pub visibility: Option<Visibility>,
    pub search: Option<String>,
    pub order: Order,
}

impl ListProjects {
    pub(crate) fn into_filter(self, viewer: Viewer, scope: ProjectScope) -> Filter {
        let Self { archived, visibility, search, order } = self;
        Filter { viewer, scope, archived, visibility, search, order }
    }
}

#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    scope: ListScope,
    input: ListProjects,
    page: PageRequest,
) -> Result<Page<Project>> {
    let (project_scope, action) = match scope {
        ListScope::Member => (ProjectScope::Member, InstanceAction::ListProjects),
        ListScope::Visible => (ProjectScope::Visible, InstanceAction::ListProjects),
        ListScope::Owned => (ProjectScope::Owned, InstanceAction::ListProjects),
        ListScope::Starred => (ProjectScope::Starred, InstanceAction::ListProjects),
        ListScope::All => (ProjectScope::All, InstanceAction::ListAllProjects),
    };
    access::authorize_instance(actor, action)?;
    // Administrators see no more than regular users here, because these lists are about the projects of the current
    // user.
    let role = actor.role().min(InstanceRole::Regular);
    let viewer =
        Viewer { user: actor.user_id(), min_visibility: min_visibility_without_membership(role), today: app.today() };
    let mut connection = app.database.connection().await?;
    Ok(list::list(&mut connection, &app.database, &input.into_filter(viewer, project_scope), page).await?)
}

/// Returns the viewer for the current user. Administrators see everything.
pub(crate) fn viewer(app: &App, actor: &Actor) -> Viewer {
    Viewer {
        user: actor.user_id(),
        min_visibility: min_visibility_without_membership(actor.role()),
        today: app.today(),
    }
}
