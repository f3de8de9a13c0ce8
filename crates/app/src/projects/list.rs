//! Lists of projects.

use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, InstanceRole, min_visibility_without_membership};
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_store::namespaces::namespace;
use holdfast_store::projects::list::{self, Filter, ProjectScope, Viewer};

pub use holdfast_store::projects::list::{Narrowing, Order, SortKey};

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
        Filter { viewer, scope, archived, visibility, search, narrowing: Narrowing::default(), order }
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
    list_in_scope(app, actor, project_scope, input, page).await
}

/// Lists the projects that the actor can see. An anonymous actor sees public projects.
#[crate::boxed]
pub async fn explore(app: &App, actor: &Actor, input: ListProjects, page: PageRequest) -> Result<Page<Project>> {
    access::authorize_exploration(app, actor)?;
    list_in_scope(app, actor, ProjectScope::Visible, input, page).await
}

async fn list_in_scope(
    app: &App,
    actor: &Actor,
    scope: ProjectScope,
    input: ListProjects,
    page: PageRequest,
) -> Result<Page<Project>> {
    let filter = input.into_filter(regular_viewer(app, actor), scope);
    Ok(list::list(&mut *app.database.connection().await?, &app.database, &filter, page).await?)
}

/// Returns the viewer of lists about the projects of the current user. In them, administrators see no more than regular
/// users.
fn regular_viewer(app: &App, actor: &Actor) -> Viewer {
    let role = actor.role().min(InstanceRole::Regular);
    Viewer { user: actor.user_id(), min_visibility: min_visibility_without_membership(role), today: app.today() }
}

/// The projects that [`browse`] lists: all that the actor can see, or those with all of these relations to the current
/// user.
#[derive(Clone, Debug)]
pub struct BrowseProjects {
    pub list: ListProjects,
    pub narrowing: Narrowing,
    pub is_owned: bool,
    pub is_member: bool,
    pub is_starred: bool,
}

impl BrowseProjects {
    fn into_filter(self, app: &App, actor: &Actor) -> Result<Filter> {
        let Self { list, mut narrowing, is_owned, is_member, is_starred } = self;
        let scope = match (is_starred, is_owned, is_member || narrowing.min_level.is_some()) {
            (true, ..) => ProjectScope::Starred,
            (false, true, _) => ProjectScope::Owned,
            (false, false, true) => ProjectScope::Member,
            (false, false, false) => ProjectScope::Visible,
        };
        if scope == ProjectScope::Visible {
            access::authorize_exploration(app, actor)?;
            return Ok(Filter { narrowing, ..list.into_filter(viewer(app, actor), scope) });
        }
        access::authorize_instance(actor, InstanceAction::ListProjects)?;
        if is_starred {
            let level_by_relation = match (is_owned, is_member) {
                (true, _) => Some(AccessLevel::Owner),
                (false, true) => Some(AccessLevel::Guest),
                (false, false) => None,
            };
            narrowing.min_level = narrowing.min_level.max(level_by_relation);
        }
        Ok(Filter { narrowing, ..list.into_filter(regular_viewer(app, actor), scope) })
    }
}

/// Lists projects. Without a relation to the current user, these are the projects that the actor can see: public ones
/// for an anonymous actor, and all for an administrator.
#[crate::boxed]
pub async fn browse(app: &App, actor: &Actor, input: BrowseProjects, page: PageRequest) -> Result<Page<Project>> {
    let filter = input.into_filter(app, actor)?;
    Ok(list::list(&mut *app.database.connection().await?, &app.database, &filter, page).await?)
}

/// Like [`browse`], but returns only the first projects, at most `size`, without a total. With [`Narrowing::id_after`]
/// and [`Narrowing::id_before`] a client reads the list part by part.
#[crate::boxed]
pub async fn browse_first(app: &App, actor: &Actor, input: BrowseProjects, size: i64) -> Result<Vec<Project>> {
    let filter = input.into_filter(app, actor)?;
    Ok(list::list_first(&mut *app.database.connection().await?, &filter, size).await?)
}

/// Lists the projects in the namespace of a user, as far as the actor can see them.
#[crate::boxed]
pub async fn list_for_user(
    app: &App,
    actor: &Actor,
    user: UserId,
    input: ListProjects,
    page: PageRequest,
) -> Result<Page<Project>> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let mut connection = app.database.connection().await?;
    // The ghost account has no namespace.
    let Some(namespace) = namespace::find_id_for_user(&mut connection, user).await? else {
        return Ok(Page::with_total(Vec::new(), page, 0));
    };
    let scope = ProjectScope::Group { group: namespace, includes_own: true, includes_shared: false, is_member: false };
    Ok(list::list(&mut connection, &app.database, &input.into_filter(viewer(app, actor), scope), page).await?)
}

/// Returns the viewer for the current user. Administrators see everything.
pub(crate) fn viewer(app: &App, actor: &Actor) -> Viewer {
    Viewer {
        user: actor.user_id(),
        min_visibility: min_visibility_without_membership(actor.role()),
        today: app.today(),
    }
}
