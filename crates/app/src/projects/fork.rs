//! Forks: a project with the same history that costs rows, not bytes.

use holdfast_domain::activity::Action;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::Rule;
use holdfast_domain::{AccessLevel, Violations};
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::namespaces::member::{self, Source};
use holdfast_store::namespaces::namespace;
use holdfast_store::projects::attributes::{self, Attributes};
use holdfast_store::projects::fork;
use holdfast_store::repository::{protection, repository};

use super::notice;
use super::project::{Project, ProjectRef, finish, has_room, load, may_create_in, refuse_taken};
use crate::{Actor, App, Error, Result, Thing, access};

/// `namespace` is the number or the path of one in which the caller may create projects.
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, namespace: &str) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let source = access::project(app, &mut transaction, actor, project, ProjectAction::Fork).await?;
    let creator = &actor.caller()?.account;
    let missing = || Error::NotFound(Thing::TargetNamespace);
    let target = namespace::find_id(&mut transaction, namespace).await?.ok_or_else(missing)?;
    let target = namespace::lock_target(&mut transaction, Some(target), creator.id(), app.today()).await?;
    let target = target.filter(|target| may_create_in(actor, creator, *target)).ok_or_else(missing)?;
    if target.kind == NamespaceKind::User && !has_room(&mut transaction, creator).await? {
        return Err(Violations::of("limit_reached", "is reached: delete a project, or ask an administrator").into());
    }
    let now = app.clock.now();
    let visibility = match target.kind {
        NamespaceKind::Group => source.visibility.min(target.visibility),
        NamespaceKind::User => source.visibility,
    };
    let attributes = Attributes {
        name: source.name.clone(),
        path: source.path.clone(),
        description: source.description.clone(),
        visibility,
        features: source.features,
    };
    let runners_token = app.entropy.hex::<20>();
    let inserted =
        attributes::insert(&mut transaction, target.id, creator.id(), &attributes, &runners_token, now).await;
    let id = refuse_taken(inserted).map_err(both_taken)?;
    fork::link(&mut transaction, id, source.id).await?;
    if !repository::insert_fork(&mut transaction, id, source.repository.id, now).await? {
        return Err(Error::NotFound(Thing::Project));
    }
    if let Some(owner) = target.owner {
        member::upsert(&mut transaction, Source::Project(id), owner, AccessLevel::Master, None, now).await?;
    }
    let made = load(app, &mut transaction, id, Some(creator.id())).await?;
    if let Some(branch) = made.repository.default_branch() {
        protection::upsert(&mut transaction, id, &Rule::of_masters(branch), now).await?;
    }
    let event = NewEvent::of_project(id, creator.id(), Action::Created);
    event::record(&mut transaction, event, Some(&notice::created(&made)), now).await?;
    if let Some(owner) = made.owner() {
        let joined = notice::joined(&made, &owner.person, AccessLevel::Master, now);
        event::tell(&mut transaction, Some(id), &joined, now).await?;
    }
    finish(app, transaction, actor, id).await
}

/// A fork takes its name and its path from elsewhere, so both are in the way.
fn both_taken(error: Error) -> Error {
    match error {
        Error::Invalid(_) => {
            let mut both = Violations::of("name", holdfast_domain::violations::TAKEN);
            both.add("path", holdfast_domain::violations::TAKEN);
            both.into()
        }
        other => other,
    }
}
