//! The projects of a group.

use holdfast_domain::page::{MAXIMUM_SIZE, Page, PageRequest};
use holdfast_domain::policy::GroupAction;
use holdfast_store::Connection;
use holdfast_store::namespaces::group::{Group, GroupRef};
use holdfast_store::projects::list::{self, Filter, Key, Order, Whose};

use super::list::{ListProjects, reader};
use super::project::Project;
use crate::{Actor, App, Result, access};

/// Its own and those shared with it, as far as the caller can see them.
pub async fn list(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    input: ListProjects,
    page: PageRequest,
) -> Result<Page<Project>> {
    let mut connection = app.database.connection().await?;
    let (group, level) = access::group_and_level(app, &mut connection, actor, group, GroupAction::Read).await?;
    let whose = Whose::OfGroup { group: group.id, own: true, shared: true, reader_is_member: level.is_some() };
    let filter = input.into_filter(reader(app, actor), whose);
    Ok(list::list(&mut connection, &app.database, &filter, page).await?)
}

/// A group with its newest projects. However many it has, no more than a page of each kind is loaded; the list of its
/// projects has them all.
pub struct GroupDetail {
    pub group: Group,
    pub projects: Vec<Project>,
    pub shared_projects: Vec<Project>,
}

pub async fn show(app: &App, actor: &Actor, group: &GroupRef) -> Result<GroupDetail> {
    let mut connection = app.database.connection().await?;
    let (group, level) = access::group_and_level(app, &mut connection, actor, group, GroupAction::Read).await?;
    let mut some = async |own: bool| {
        let whose = Whose::OfGroup { group: group.id, own, shared: !own, reader_is_member: level.is_some() };
        newest(app, &mut connection, actor, whose).await
    };
    let (projects, shared_projects) = (some(true).await?, some(false).await?);
    Ok(GroupDetail { group, projects, shared_projects })
}

async fn newest(app: &App, connection: &mut Connection, actor: &Actor, whose: Whose) -> Result<Vec<Project>> {
    let filter = Filter {
        reader: reader(app, actor),
        whose,
        archived: None,
        visibility: None,
        search: None,
        // In the order of the index that begins with the namespace: no more than these are read of it.
        order: Order { key: Key::Id, descending: true, builds_first: false },
    };
    Ok(list::first(connection, &filter, MAXIMUM_SIZE).await?)
}
