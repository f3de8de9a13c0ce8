//! Groups: list, show, create, update and delete. Their projects are in `projects::group`.

use holdfast_domain::namespaces::{GroupName, NamespacePath};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction, min_visibility_without_membership};
use holdfast_domain::violations::TAKEN;
use holdfast_domain::{AccessLevel, Field, Violations, Visibility};
use holdfast_store::activity::event;
use holdfast_store::namespaces::group::{self, Attributes, Filter, GroupScope};
use holdfast_store::namespaces::member::{self, MembershipScope};
use holdfast_store::projects::{project, redirect};
use holdfast_store::worker::removal;

pub use holdfast_store::namespaces::group::{Group, GroupRef, Order};

use crate::error::OnConstraint;
use crate::{Actor, App, Error, Resource, Result, access, events};

#[derive(Clone, Debug)]
pub struct ListGroups {
    pub all_available: bool,
    pub search: Option<String>,
    pub skip: Vec<i64>,
    pub order: Order,
}

/// Lists groups: all of them for administrators, and for others the groups in which they are members or, with
/// `all_available`, all groups that they can see.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, input: ListGroups, page: PageRequest) -> Result<Page<Group>> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let user = actor.current_user()?.account.id();
    let scope = match visible_scope(actor) {
        GroupScope::VisibleTo(..) if !input.all_available => GroupScope::MemberOf(user),
        scope => scope,
    };
    let ListGroups { search, skip, order, .. } = input;
    let filter = Filter { scope, search, skip, visibility: None, order, today: app.today() };
    Ok(group::list(&app.database, &filter, page).await?)
}

/// Which groups a list for users and anonymous visitors contains.
#[derive(Clone, Debug)]
pub struct BrowseGroups {
    /// Whether to list all visible groups instead of those in which the current user is a member.
    pub all_available: bool,
    /// Only groups in which the current user has at least this level. Takes precedence over `all_available`. Has no
    /// effect for an anonymous actor.
    pub min_level: Option<AccessLevel>,
    pub visibility: Option<Visibility>,
    pub search: Option<String>,
    pub skip: Vec<i64>,
    pub order: Order,
}

/// Like [`list`], but an anonymous actor lists public groups.
#[crate::boxed]
pub async fn browse(app: &App, actor: &Actor, input: BrowseGroups, page: PageRequest) -> Result<Page<Group>> {
    access::authorize_exploration(app, actor)?;
    let scope = match (actor.user_id(), input.min_level, visible_scope(actor)) {
        (Some(user), Some(min_level), _) => GroupScope::MemberWithLevel(user, min_level),
        (Some(user), None, GroupScope::VisibleTo(..)) if !input.all_available => GroupScope::MemberOf(user),
        (_, _, visible) => visible,
    };
    let BrowseGroups { visibility, search, skip, order, .. } = input;
    let filter = Filter { scope, search, skip, visibility, order, today: app.today() };
    Ok(group::list(&app.database, &filter, page).await?)
}

/// Returns a group without its projects.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, group: &GroupRef) -> Result<Group> {
    let mut connection = app.database.connection().await?;
    access::authorize_group(app, &mut connection, actor, group, GroupAction::Read).await
}

/// Lists the groups that the actor can see. An anonymous actor sees public groups.
#[crate::boxed]
pub async fn explore(
    app: &App,
    actor: &Actor,
    search: Option<String>,
    order: Order,
    page: PageRequest,
) -> Result<Page<Group>> {
    access::authorize_exploration(app, actor)?;
    let (scope, today) = (visible_scope(actor), app.today());
    let filter = Filter { scope, search, skip: Vec::new(), visibility: None, order, today };
    Ok(group::list(&app.database, &filter, page).await?)
}

/// Returns the groups that the actor can see.
fn visible_scope(actor: &Actor) -> GroupScope {
    match min_visibility_without_membership(actor.role()) {
        Some(min_visibility) => GroupScope::VisibleTo(actor.user_id(), min_visibility),
        None => GroupScope::All,
    }
}

#[crate::boxed]
pub async fn list_owned(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<Group>> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let scope = GroupScope::OwnedBy(actor.current_user()?.account.id());
    let (order, today) = (Order::NewestFirst, app.today());
    let filter = Filter { scope, search: None, skip: Vec::new(), visibility: None, order, today };
    Ok(group::list(&app.database, &filter, page).await?)
}

/// The attributes that a creation or an update sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupChanges {
    pub name: Field<String>,
    pub path: Field<String>,
    pub description: Field<String>,
    pub visibility: Option<Visibility>,
    pub request_access_enabled: Option<bool>,
    pub lfs_enabled: Option<bool>,
}

impl GroupChanges {
    fn apply(self, current: Attributes) -> Result<Attributes> {
        let path_before = current.path.clone();
        let attributes = Attributes {
            name: self.name.or(current.name),
            path: self.path.or(current.path),
            description: self.description.or(current.description),
            visibility: self.visibility.unwrap_or(current.visibility),
            request_access_enabled: self.request_access_enabled.unwrap_or(current.request_access_enabled),
            lfs_enabled: self.lfs_enabled.unwrap_or(current.lfs_enabled),
        };
        let mut violations = Violations::default();
        violations.check("name", GroupName::parse(&attributes.name));
        // An unchanged path stays valid: it may have been reserved since it was chosen.
        if attributes.path.is_empty() || attributes.path != path_before {
            violations.check("path", NamespacePath::parse(&attributes.path));
        }
        violations.check_length("description", &attributes.description, 255);
        violations.into_result()?;
        Ok(attributes)
    }
}

/// Returns whether the actor may create groups.
pub fn can_create(actor: &Actor) -> bool {
    access::authorize_instance(actor, InstanceAction::CreateGroup).is_ok()
        && actor.current_user().is_ok_and(|user| user.account.can_create_group)
}

/// Creates a group with the current user as its first owner.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, changes: GroupChanges) -> Result<Group> {
    access::authorize_instance(actor, InstanceAction::CreateGroup)?;
    let creator = &actor.current_user()?.account;
    if !can_create(actor) {
        return Err(Error::Forbidden(None));
    }
    let blank = Attributes {
        name: String::new(),
        path: String::new(),
        description: String::new(),
        visibility: Visibility::Public,
        request_access_enabled: false,
        lfs_enabled: true,
    };
    let attributes = changes.apply(blank)?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let group = map_unique_violation(group::insert(&mut transaction, &attributes, now).await)?;
    let (scope, level) = (MembershipScope::Group(group.id), AccessLevel::Owner);
    member::upsert(&mut transaction, scope, creator.id(), level, None, now).await?;
    event::publish(&mut transaction, None, &events::group::group_created(&group), now).await?;
    let owner_added = events::group::member_added(&group, &creator.summary, level, now);
    event::publish(&mut transaction, None, &owner_added, now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, group: &GroupRef, changes: GroupChanges) -> Result<Group> {
    let mut transaction = app.database.begin().await?;
    let before = access::lock_group(app, &mut transaction, actor, group, GroupAction::Update).await?;
    let attributes = changes.apply(Attributes {
        name: before.name,
        path: before.path.clone(),
        description: before.description,
        visibility: before.visibility,
        request_access_enabled: before.request_access_enabled,
        lfs_enabled: before.lfs_enabled,
    })?;
    let is_lowered = attributes.visibility < before.visibility;
    if is_lowered && project::exists_more_visible_than(&mut transaction, before.id, attributes.visibility).await? {
        let level = attributes.visibility.as_str();
        let text = format!("{level} is not allowed since there are projects with higher visibility.");
        return Err(Violations::single("visibility_level", text).into());
    }
    let group = map_unique_violation(group::update(&mut transaction, before.id, &attributes, app.clock.now()).await)?;
    if !group.path.eq_ignore_ascii_case(&before.path) {
        redirect::insert_for_namespace(&mut transaction, &before.path, group.id).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

/// Deletes a group and its projects at once. A job removes the content of the projects afterwards (ADR 0008).
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, group: &GroupRef) -> Result<Group> {
    let mut transaction = app.database.begin().await?;
    let found = access::authorize_group(app, &mut transaction, actor, group, GroupAction::Delete).await?;
    // A group is not deleted by a former path.
    if matches!(group, GroupRef::Path(path) if !path.eq_ignore_ascii_case(&found.path)) {
        return Err(Error::NotFound(Resource::Group));
    }
    let id = found.id;
    group::lock_exclusive(&mut transaction, id).await?;
    let group = access::authorize_group(app, &mut transaction, actor, &GroupRef::Id(id), GroupAction::Delete).await?;
    let subject = format!("group {}", group.path);
    let now = app.clock.now();
    removal::lock_projects(&mut transaction, id).await?;
    events::removal::publish_for_namespace(&mut transaction, id, now).await?;
    removal::detach_namespace(&mut transaction, id, &subject, now).await?;
    group::delete(&mut transaction, group.id).await?;
    event::publish(&mut transaction, None, &events::group::group_destroyed(&group), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

fn map_unique_violation(saved: holdfast_store::Result<Group>) -> Result<Group> {
    saved
        .on_constraint("namespaces_path_key", || Violations::single("path", TAKEN).into())
        .on_constraint("namespaces_name_key", || Violations::single("name", TAKEN).into())
}
