//! Forks: projects that share the packs of their source, so that creating one writes rows and no objects.

use holdfast_domain::activity::Action;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::Rule;
use holdfast_domain::{AccessLevel, Field, Violations, Visibility};
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::namespaces::member::{self, MembershipScope};
use holdfast_store::namespaces::namespace::{self, Namespace};
use holdfast_store::projects::attributes::{self, Attributes};
use holdfast_store::projects::list::{self, Order, ProjectScope, SortKey};
use holdfast_store::projects::{fork, project};
use holdfast_store::repository::{protection, repository};

use super::list::{ListProjects, viewer};
use super::project::{
    Project, ProjectChanges, ProjectRef, can_create_in, commit_and_reload, is_below_project_limit, load,
    map_unique_violation,
};
use crate::{Actor, App, Error, Resource, Result, access, events};

/// Forks a project. `namespace` is the id or the path of a namespace in which the current user may create projects.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, namespace: &str) -> Result<Project> {
    create_with(app, actor, project, Some(namespace), ProjectChanges::default()).await
}

/// Forks a project into a namespace, or into the current user's own one, with these changes of its attributes.
#[crate::boxed]
pub async fn create_with(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    namespace: Option<&str>,
    changes: ProjectChanges,
) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let source = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::Fork).await?;
    let creator = &actor.current_user()?.account;
    let missing = || Error::NotFound(Resource::TargetNamespace);
    let target = match namespace {
        Some(namespace) => Some(namespace::find_id(&mut transaction, namespace).await?.ok_or_else(missing)?),
        None => None,
    };
    let target = namespace::lock_creation_target(&mut transaction, target, creator.id(), app.today()).await?;
    let target = target.filter(|target| can_create_in(actor, creator, *target)).ok_or_else(missing)?;
    if target.kind == NamespaceKind::User && !is_below_project_limit(&mut transaction, creator).await? {
        return Err(Violations::single("limit_reached", "is reached: delete a project, or ask an administrator").into());
    }
    let now = app.clock.now();
    let visibility = match target.kind {
        NamespaceKind::Group => source.visibility.min(target.visibility),
        NamespaceKind::User => source.visibility,
    };
    if let Some(wanted) = changes.visibility.filter(|wanted| *wanted > source.visibility) {
        return Err(too_visible(wanted));
    }
    let has_own_name = changes.name != Field::Absent || changes.path != Field::Absent;
    let copied = Attributes {
        name: source.name.clone(),
        path: source.path.clone(),
        description: source.description.clone(),
        visibility,
        features: source.features,
    };
    let attributes = match changes == ProjectChanges::default() {
        true => copied,
        false => changes.apply(copied, target.kind, target.visibility)?,
    };
    let runners_token = app.entropy.hex::<20>();
    let inserted =
        attributes::insert(&mut transaction, target.id, creator.id(), &attributes, &runners_token, now).await;
    let id = map_unique_violation(inserted).map_err(|error| if has_own_name { error } else { both_taken(error) })?;
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
    let order = Order { sort_key: SortKey::LastActivityAt, descending: true, builds_first: false };
    let input = ListProjects { archived: None, visibility: None, search: None, order };
    list_with(app, actor, project, input, page).await
}

/// Lists the forks of a project that the actor can see and that fulfill the filters.
#[crate::boxed]
pub async fn list_with(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListProjects,
    page: PageRequest,
) -> Result<ProjectForks> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    let filter = input.into_filter(viewer(app, actor), ProjectScope::ForksOf(project.id));
    let forks = list::list(&mut *app.database.connection().await?, &app.database, &filter, page).await?;
    Ok(ProjectForks { project, forks })
}

const NOT_A_FORK: Error = Error::NotFound(Resource::Literal("404 Forked Project Not Found"));

/// Makes an existing project the fork of another one that the current user may fork, and that is neither a direct nor an
/// indirect fork of the project. The visibility of the fork is lowered to that of its source. Objects are not shared.
#[crate::boxed]
pub async fn link(app: &App, actor: &Actor, project: &ProjectRef, source: ProjectId) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    // Whoever may not see the project learns nothing about the source.
    access::authorize_project(app, &mut transaction, actor, project, ProjectAction::Rename).await?;
    fork::lock_links(&mut transaction).await?;
    // The source is locked before its fork, as by a change of its visibility.
    let source = ProjectRef::Id(source);
    let source = access::lock_project(app, &mut transaction, actor, &source, ProjectAction::Fork).await?;
    let before = access::lock_project(app, &mut transaction, actor, project, ProjectAction::Rename).await?;
    if before.id == source.id {
        return Err(Error::Unprocessable("A project cannot be a fork of itself"));
    }
    if before.source().is_some() {
        return Err(Error::Conflict("Project already forked".into()));
    }
    if fork::is_descendant(&mut transaction, source.id, before.id).await? {
        return Err(Error::Conflict("A project cannot be a fork of one of its own forks".into()));
    }
    fork::link(&mut transaction, before.id, source.id).await?;
    if source.visibility < before.visibility {
        fork::cap_visibility(&mut transaction, before.id, source.visibility).await?;
    }
    commit_and_reload(app, transaction, actor, before.id).await
}

/// Removes the relation of a fork to its source. As after the deletion of the source, the fork cannot become more
/// visible than the source was.
#[crate::boxed]
pub async fn unlink(app: &App, actor: &Actor, project: &ProjectRef) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let before = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::Rename).await?;
    let source = before.source().ok_or(NOT_A_FORK)?.id;
    // The source is locked before its fork, as by a change of its visibility.
    project::lock(&mut transaction, source).await?;
    let before = access::lock_project(app, &mut transaction, actor, project, ProjectAction::Rename).await?;
    if before.source().is_none_or(|found| found.id != source) {
        return Err(NOT_A_FORK);
    }
    fork::save_own_visibility_limit(&mut transaction, before.id).await?;
    fork::unlink(&mut transaction, before.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(())
}

fn too_visible(visibility: Visibility) -> Error {
    let text = format!("{} is not allowed since the fork source project has lower visibility.", visibility.as_str());
    Violations::single("visibility", text).into()
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
