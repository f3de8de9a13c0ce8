//! All groups, for administrators.

use std::collections::HashMap;

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::instance::owner;
use holdfast_store::namespaces::group::{self, Filter, Group, GroupScope, Order};

pub use holdfast_store::instance::owner::GroupOwner;

use crate::{Actor, App, Result, access};

/// Maximum number of owners of a group that a list names. Arbitrary.
const MAX_NAMED_OWNERS: i64 = 3;

/// A page of the groups of the instance, with some of their owners.
#[derive(Debug)]
pub struct GroupList {
    pub groups: Page<Group>,
    /// Some owners of each group, by the id of the group.
    pub owners: HashMap<i64, Vec<GroupOwner>>,
}

/// Lists all groups by name.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, search: Option<String>, page: PageRequest) -> Result<GroupList> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let (order, today) = (Order::Name { descending: false }, app.today());
    let filter = Filter { scope: GroupScope::All, search, skip: Vec::new(), visibility: None, order, today };
    let groups = group::list(&app.database, &filter, page).await?;
    let ids: Vec<i64> = groups.items.iter().map(|group| group.id.get()).collect();
    let mut owners: HashMap<i64, Vec<GroupOwner>> = HashMap::new();
    if !ids.is_empty() {
        let mut connection = app.database.connection().await?;
        for owner in owner::list_group_owners(&mut connection, &ids, MAX_NAMED_OWNERS, today).await? {
            owners.entry(owner.group_id).or_default().push(owner);
        }
    }
    Ok(GroupList { groups, owners })
}
