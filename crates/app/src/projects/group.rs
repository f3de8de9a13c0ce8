//! The projects of a group. The group itself is in `namespaces::group`.

use holdfast_domain::AccessLevel;
use holdfast_domain::page::{MAX_PAGE_SIZE, Page, PageRequest};
use holdfast_domain::policy::GroupAction;
use holdfast_store::Connection;
use holdfast_store::namespaces::access_request;
use holdfast_store::namespaces::group::{Group, GroupRef};
use holdfast_store::namespaces::member::{self, MembershipScope};
use holdfast_store::projects::list::{self, Filter, Narrowing, Order, ProjectScope, SortKey};

use super::list::{ListProjects, viewer};
use super::project::Project;
use crate::namespaces::member::{Member, MemberFilter};
use crate::{Actor, App, Result, access};

/// Which projects a list of a group contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupProjects {
    /// The projects of the group.
    Own,
    /// The projects that are shared with the group.
    Shared,
    OwnAndShared,
}

/// The projects of a group that a client asks for, and their order.
#[derive(Clone, Debug)]
pub struct ListGroupProjects {
    pub selected: GroupProjects,
    pub list: ListProjects,
    pub narrowing: Narrowing,
}

/// Lists the projects of a group and those shared with it, as far as the current user can see them.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    input: ListProjects,
    page: PageRequest,
) -> Result<Page<Project>> {
    let (selected, narrowing) = (GroupProjects::OwnAndShared, Narrowing::default());
    list_selected(app, actor, group, ListGroupProjects { selected, list: input, narrowing }, page).await
}

/// Lists these projects of a group, as far as the current user can see them.
#[crate::boxed]
pub async fn list_selected(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    input: ListGroupProjects,
    page: PageRequest,
) -> Result<Page<Project>> {
    let mut connection = app.database.connection().await?;
    let (group, level) =
        access::authorize_group_with_level(app, &mut connection, actor, group, GroupAction::Read).await?;
    let scope = ProjectScope::Group {
        group: group.id,
        includes_own: input.selected != GroupProjects::Shared,
        includes_shared: input.selected != GroupProjects::Own,
        is_member: level.is_some(),
    };
    let filter = Filter { narrowing: input.narrowing, ..input.list.into_filter(viewer(app, actor), scope) };
    Ok(list::list(&mut connection, &app.database, &filter, page).await?)
}

/// A group with what its page shows.
#[derive(Debug)]
pub struct GroupHome {
    pub group: Group,
    /// The level of the current user in the group.
    pub level: Option<AccessLevel>,
    pub projects: Page<Project>,
    /// Some of the members, if the current user may see them.
    pub members: Vec<Member>,
    /// Whether the current user is not a member and has requested access.
    pub has_requested_access: bool,
}

/// Number of members on the page of a group.
const MAX_SHOWN_MEMBERS: i64 = 20;

/// Returns a group with what its page shows: its projects and those shared with it, as far as the current user can see
/// them, and some members.
#[crate::boxed]
pub async fn show_home(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    input: ListProjects,
    page: PageRequest,
) -> Result<GroupHome> {
    let mut connection = app.database.connection().await?;
    let (group, level) =
        access::authorize_group_with_level(app, &mut connection, actor, group, GroupAction::Read).await?;
    let scope =
        ProjectScope::Group { group: group.id, includes_own: true, includes_shared: true, is_member: level.is_some() };
    let filter = input.into_filter(viewer(app, actor), scope);
    let projects = list::list(&mut connection, &app.database, &filter, page).await?;
    let scope = MembershipScope::Group(group.id);
    let has_requested_access = match actor.user_id() {
        Some(user) if level.is_none() => access_request::exists(&mut connection, scope, user).await?,
        _ => false,
    };
    drop(connection);
    // Not everybody who may see a group may see its members.
    let members = match access::is_authorized_in_group(actor, &group, level, GroupAction::ReadMembers) {
        true => {
            let page = PageRequest::new(None, Some(MAX_SHOWN_MEMBERS));
            member::list(&app.database, scope, &MemberFilter::default(), page, app.today()).await?.items
        }
        false => Vec::new(),
    };
    Ok(GroupHome { group, level, projects, members, has_requested_access })
}

/// A group with its newest projects. At most one page of each kind is loaded; [`list()`] returns all of them.
pub struct GroupDetail {
    pub group: Group,
    pub projects: Vec<Project>,
    pub shared_projects: Vec<Project>,
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, group: &GroupRef) -> Result<GroupDetail> {
    let mut connection = app.database.connection().await?;
    let (group, level) =
        access::authorize_group_with_level(app, &mut connection, actor, group, GroupAction::Read).await?;
    let mut load_newest = async |includes_own: bool| {
        let scope = ProjectScope::Group {
            group: group.id,
            includes_own,
            includes_shared: !includes_own,
            is_member: level.is_some(),
        };
        list_newest(app, &mut connection, actor, scope).await
    };
    let (projects, shared_projects) = (load_newest(true).await?, load_newest(false).await?);
    Ok(GroupDetail { group, projects, shared_projects })
}

async fn list_newest(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    scope: ProjectScope,
) -> Result<Vec<Project>> {
    let filter = Filter {
        viewer: viewer(app, actor),
        scope,
        archived: None,
        visibility: None,
        search: None,
        narrowing: Narrowing::default(),
        // This is the order of the index that begins with the namespace, so only the returned rows are read.
        order: Order { sort_key: SortKey::Id, descending: true, builds_first: false },
    };
    Ok(list::list_first(connection, &filter, MAX_PAGE_SIZE).await?)
}
