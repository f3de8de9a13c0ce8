//! Groups.

use holdfast_domain::namespaces::{GroupName, NamespacePath};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction, Standing};
use holdfast_domain::violations::TAKEN;
use holdfast_domain::{AccessLevel, Field, Violations, Visibility};
use holdfast_store::activity::event;
use holdfast_store::namespaces::group::{self, Attributes, Filter, Whose};
use holdfast_store::namespaces::member::{self, Member, Source};
use holdfast_store::projects::{project, redirect};
use holdfast_store::worker::removal;

pub use holdfast_store::namespaces::group::{Group, GroupRef, Order};

use super::notice;
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Result, Thing, access};

#[derive(Clone, Debug)]
pub struct ListGroups {
    pub all_available: bool,
    pub search: Option<String>,
    pub skip: Vec<i64>,
    pub order: Order,
}

/// Administrators get all groups, others their own, or all that they can see.
pub async fn list(app: &App, actor: &Actor, input: ListGroups, page: PageRequest) -> Result<Page<Group>> {
    access::instance(actor, InstanceAction::ListGroups)?;
    let user = actor.caller()?.account.id();
    let whose = match actor.standing() {
        Standing::Administrator => Whose::All,
        _ if !input.all_available => Whose::MemberOf(user),
        Standing::Ordinary => Whose::VisibleTo(user, Visibility::Internal),
        Standing::External | Standing::Anonymous => Whose::VisibleTo(user, Visibility::Public),
    };
    let filter = Filter { whose, search: input.search, skip: input.skip, order: input.order, today: app.today() };
    Ok(group::list(&app.database, &filter, page).await?)
}

pub async fn list_owned(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<Group>> {
    access::instance(actor, InstanceAction::ListGroups)?;
    let whose = Whose::OwnedBy(actor.caller()?.account.id());
    let filter = Filter { whose, search: None, skip: Vec::new(), order: Order::NewestFirst, today: app.today() };
    Ok(group::list(&app.database, &filter, page).await?)
}

/// What a creation gives or an update changes.
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
        let a = Attributes {
            name: self.name.or(current.name),
            path: self.path.or(current.path),
            description: self.description.or(current.description),
            visibility: self.visibility.unwrap_or(current.visibility),
            request_access_enabled: self.request_access_enabled.unwrap_or(current.request_access_enabled),
            lfs_enabled: self.lfs_enabled.unwrap_or(current.lfs_enabled),
        };
        let mut violations = Violations::default();
        violations.check("name", GroupName::parse(&a.name));
        violations.check("path", NamespacePath::parse(&a.path));
        violations.check_length("description", &a.description, 255);
        violations.into_result()?;
        Ok(a)
    }
}

/// The creator becomes its first owner.
pub async fn create(app: &App, actor: &Actor, changes: GroupChanges) -> Result<Group> {
    access::instance(actor, InstanceAction::CreateGroup)?;
    let creator = &actor.caller()?.account;
    if !creator.can_create_group {
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
    let group = refuse_taken(group::insert(&mut transaction, &attributes, now).await)?;
    let (source, level) = (Source::Group(group.id), AccessLevel::Owner);
    member::upsert(&mut transaction, source, creator.id(), level, None, now).await?;
    event::tell(&mut transaction, None, &notice::created(&group), now).await?;
    let owner = Member { user: creator.person.clone(), access_level: level, expires_at: None };
    event::tell(&mut transaction, None, &notice::joined(&group, &owner, now), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

pub async fn update(app: &App, actor: &Actor, group: &GroupRef, changes: GroupChanges) -> Result<Group> {
    let mut transaction = app.database.begin().await?;
    let before = access::locked_group(app, &mut transaction, actor, group, GroupAction::Update).await?;
    let attributes = changes.apply(Attributes {
        name: before.name,
        path: before.path.clone(),
        description: before.description,
        visibility: before.visibility,
        request_access_enabled: before.request_access_enabled,
        lfs_enabled: before.lfs_enabled,
    })?;
    let lowered = attributes.visibility < before.visibility;
    if lowered && project::exists_above(&mut transaction, before.id, attributes.visibility).await? {
        let level = attributes.visibility.word();
        let text = format!("{level} is not allowed since there are projects with higher visibility.");
        return Err(Violations::of("visibility_level", text).into());
    }
    let group = refuse_taken(group::update(&mut transaction, before.id, &attributes, app.clock.now()).await)?;
    if !group.path.eq_ignore_ascii_case(&before.path) {
        redirect::leave_for_namespace(&mut transaction, &before.path, group.id).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

/// The group and its projects are gone at once; a job removes what was in the projects.
pub async fn delete(app: &App, actor: &Actor, group: &GroupRef) -> Result<Group> {
    let mut transaction = app.database.begin().await?;
    let found = access::group(app, &mut transaction, actor, group, GroupAction::Delete).await?;
    // Nothing is deleted by a name that it no longer has.
    if matches!(group, GroupRef::Path(path) if !path.eq_ignore_ascii_case(&found.path)) {
        return Err(Error::NotFound(Thing::Group));
    }
    let id = found.id;
    group::lock_whole(&mut transaction, id).await?;
    let group = access::group(app, &mut transaction, actor, &GroupRef::Id(id), GroupAction::Delete).await?;
    let subject = format!("group {}", group.path);
    let now = app.clock.now();
    removal::begin_namespace(&mut transaction, id, &subject, now).await?;
    group::delete(&mut transaction, group.id).await?;
    event::tell(&mut transaction, None, &notice::destroyed(&group), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

fn refuse_taken(saved: holdfast_store::Result<Group>) -> Result<Group> {
    saved
        .on_constraint("namespaces_path_key", || Violations::of("path", TAKEN).into())
        .on_constraint("namespaces_name_key", || Violations::of("name", TAKEN).into())
}
