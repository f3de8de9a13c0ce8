//! Forks: projects that share the packs of their source, so that creating one writes rows and no objects.

use holdfast_domain::activity::Action;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::Rule;
use holdfast_domain::{AccessLevel, Violations};
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::namespaces::member::{self, MembershipScope};
use holdfast_store::namespaces::namespace::{self, Namespace};
use holdfast_store::projects::attributes::{self, Attributes};
use holdfast_store::projects::fork;
use holdfast_store::projects::list::{self, Filter, Order, ProjectScope, SortKey};
use holdfast_store::repository::{protection, repository};

use super::list::viewer;
use super::project::{
    Project, ProjectRef, can_create_in, commit_and_reload, is_below_project_limit, load, map_unique_violation,
};
use crate::{Actor, App, Error, Resource, Result, access, events};

/// Forks a project. `namespace` is the id or the path of a namespace in which the current user may create projects.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, namespace: &str) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let source = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::Fork).await?;
    let creator = &actor.current_user()?.account;
    let missing = || Error::NotFound(Resource::TargetNamespace);
    let target = namespace::find_id(&mut transaction, namespace).await?.ok_or_else(missing)?;
    let target = namespace::lock_creation_target(&mut transaction, Some(target), creator.id(), app.today()).await?;
    let target = target.filter(|target| can_create_in(actor, creator, *target)).ok_or_else(missing)?;
    if target.kind == NamespaceKind::User && !is_below_project_limit(&mut transaction, creator).await? {
        return Err(Violations::single("limit_reached", "is reached: delete a project, or ask an administrator").into());
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
    let id = map_unique_violation(inserted).map_err(both_taken)?;
    fork::link(&mut transaction, id, source.id).await?;
    if !repository::insert_fork(&mut transaction, id, source.repository.id, now).await? {
        return Err(Error::NotFound(Resource::Project));
    }
    if let Some(owner) = target.owner {
        member::upsert(&mut transaction, MembershipScope::Project(id), owner, AccessLevel::Master, None, now).await?;
    }
    let created = load(app, &mut transaction, id, Some(creator.id())).await?;
    if let Some(branch) = created.repository.default_branch() {
        protection::upsert(&mut transaction, id, &Rule::masters_only(branch), now).await?;
    }
    let event = NewEvent::for_project(id, creator.id(), Action::Created);
    event::record(&mut transaction, event, Some(&events::project::project_created(&created)), now).await?;
    if let Some(owner) = created.owner() {
        let outbox_event = events::project::member_added(&created, &owner.summary, AccessLevel::Master, now);
        event::publish(&mut transaction, Some(id), &outbox_event, now).await?;
    }
    commit_and_reload(app, transaction, actor, id).await
}

/// A project that can be forked, with the namespaces in which the current user can create projects.
#[derive(Debug)]
pub struct ForkTargets {
    pub project: Project,
    /// The first [`MAX_TARGETS`] of them.
    pub namespaces: Vec<Namespace>,
}

/// Maximum number of namespaces that a form offers.
const MAX_TARGETS: i64 = 100;

/// Returns a project with the namespaces in which the current user can fork it.
#[crate::boxed]
pub async fn list_targets(app: &App, actor: &Actor, project: &ProjectRef) -> Result<ForkTargets> {
    let project = access::read_project(app, actor, project, ProjectAction::Fork).await?;
    let creator = Some(actor.current_user()?.account.id());
    let page = PageRequest::new(None, Some(MAX_TARGETS));
    let namespaces = namespace::list(&app.database, creator, None, page, app.today()).await?.items;
    Ok(ForkTargets { project, namespaces })
}

/// A project with its forks.
#[derive(Debug)]
pub struct ProjectForks {
    pub project: Project,
    pub forks: Page<Project>,
}

/// Lists the forks of a project that the actor can see, the most recently active one first.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<ProjectForks> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    let filter = Filter {
        viewer: viewer(app, actor),
        scope: ProjectScope::ForksOf(project.id),
        archived: None,
        visibility: None,
        search: None,
        order: Order { sort_key: SortKey::LastActivityAt, descending: true, builds_first: false },
    };
    let forks = list::list(&mut *app.database.connection().await?, &app.database, &filter, page).await?;
    Ok(ProjectForks { project, forks })
}

/// Reports both name and path as taken, because a fork takes both from its source.
fn both_taken(error: Error) -> Error {
    match error {
        Error::Invalid(_) => {
            let mut both = Violations::single("name", holdfast_domain::violations::TAKEN);
            both.add("path", holdfast_domain::violations::TAKEN);
            both.into()
        }
        other => other,
    }
}
