//! Projects.

use holdfast_domain::activity::Action;
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::policy::{GroupAction, InstanceAction, InstanceRole, ProjectAction};
use holdfast_domain::projects::{ProjectName, ProjectPath};
use holdfast_domain::repository::ImportUrl;
use holdfast_domain::violations::TAKEN;
use holdfast_domain::{AccessLevel, Field, Violations, Visibility};
use holdfast_store::Connection;
use holdfast_store::accounts::user::{self, Account};
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::ci::queue;
use holdfast_store::namespaces::member::{self, MembershipScope};
use holdfast_store::namespaces::namespace::{self, CreationTarget};
use holdfast_store::projects::attributes::{self, Attributes};
use holdfast_store::projects::project;
use holdfast_store::projects::{fork, redirect};
use holdfast_store::repository::{import as import_record, repository};
use holdfast_store::worker::{import, removal};

pub use holdfast_store::projects::project::{Features, Owner, Project, ProjectNamespace, ProjectRef};

use crate::error::OnConstraint;
use crate::repository::transfer::import::Import;
use crate::{Actor, App, Error, Resource, Result, access, events};

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    access::read_project(app, actor, project, ProjectAction::Read).await
}

/// Returns a project to an actor who may change it.
#[crate::boxed]
pub async fn show_for_update(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    access::read_project(app, actor, project, ProjectAction::Update).await
}

/// Returns a project to an actor who may delete it.
#[crate::boxed]
pub async fn show_for_deletion(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    access::read_project(app, actor, project, ProjectAction::Delete).await
}

/// Returns a project with the state of its import. None if the repository was not imported.
#[crate::boxed]
pub async fn show_with_import(app: &App, actor: &Actor, project: &ProjectRef) -> Result<(Project, Option<Import>)> {
    find_with_import(app, actor, project, ProjectAction::Read).await
}

/// Like [`show_with_import`], for an actor who may change the project.
#[crate::boxed]
pub async fn show_import(app: &App, actor: &Actor, project: &ProjectRef) -> Result<(Project, Option<Import>)> {
    find_with_import(app, actor, project, ProjectAction::Update).await
}

async fn find_with_import(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<(Project, Option<Import>)> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let import = import_record::find(&mut connection, project.id).await?;
    Ok((project, import))
}

/// Returns whether the viewer may see the token with which runners are registered.
pub fn can_see_runners_token(project: &Project, role: InstanceRole) -> bool {
    ProjectAction::Update.is_allowed(project.visibility, role, project.level())
}

/// The features and options that a creation or an update sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureChanges {
    pub issues_enabled: Option<bool>,
    pub merge_requests_enabled: Option<bool>,
    pub wiki_enabled: Option<bool>,
    pub builds_enabled: Option<bool>,
    pub snippets_enabled: Option<bool>,
    pub container_registry_enabled: Option<bool>,
    pub shared_runners_enabled: Option<bool>,
    pub public_builds: Option<bool>,
    pub lfs_enabled: Option<bool>,
    pub request_access_enabled: Option<bool>,
    pub only_allow_merge_if_build_succeeds: Option<bool>,
    pub only_allow_merge_if_all_discussions_are_resolved: Option<bool>,
}

impl FeatureChanges {
    fn apply(self, current: Features) -> Features {
        Features {
            issues_enabled: self.issues_enabled.unwrap_or(current.issues_enabled),
            merge_requests_enabled: self.merge_requests_enabled.unwrap_or(current.merge_requests_enabled),
            wiki_enabled: self.wiki_enabled.unwrap_or(current.wiki_enabled),
            builds_enabled: self.builds_enabled.unwrap_or(current.builds_enabled),
            snippets_enabled: self.snippets_enabled.unwrap_or(current.snippets_enabled),
            container_registry_enabled: self.container_registry_enabled.unwrap_or(current.container_registry_enabled),
            shared_runners_enabled: self.shared_runners_enabled.unwrap_or(current.shared_runners_enabled),
            public_builds: self.public_builds.unwrap_or(current.public_builds),
            lfs_enabled: self.lfs_enabled.unwrap_or(current.lfs_enabled),
            request_access_enabled: self.request_access_enabled.unwrap_or(current.request_access_enabled),
            only_allow_merge_if_build_succeeds: self
                .only_allow_merge_if_build_succeeds
                .unwrap_or(current.only_allow_merge_if_build_succeeds),
            only_allow_merge_if_all_discussions_are_resolved: self
                .only_allow_merge_if_all_discussions_are_resolved
                .unwrap_or(current.only_allow_merge_if_all_discussions_are_resolved),
        }
    }
}

/// The features and options of a new project, unless the request sets them.
const DEFAULT_FEATURES: Features = Features {
    issues_enabled: true,
    merge_requests_enabled: true,
    wiki_enabled: true,
    builds_enabled: true,
    snippets_enabled: false,
    container_registry_enabled: true,
    shared_runners_enabled: true,
    public_builds: true,
    lfs_enabled: true,
    request_access_enabled: false,
    only_allow_merge_if_build_succeeds: false,
    only_allow_merge_if_all_discussions_are_resolved: false,
};

/// The attributes that a creation or an update sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectChanges {
    pub name: Field<String>,
    pub path: Field<String>,
    pub description: Field<String>,
    pub visibility: Option<Visibility>,
    pub features: FeatureChanges,
    pub import_url: Option<String>,
    /// The name of an existing branch. Only for updates.
    pub default_branch: Option<String>,
}

impl ProjectChanges {
    /// Parses the URL from which the repository is imported.
    fn parse_import_url(&self) -> Result<Option<ImportUrl>> {
        let import_url = self.import_url.as_deref().filter(|url| !url.is_empty());
        let parsed = import_url.map(ImportUrl::parse).transpose();
        parsed.map_err(|error| Violations::single("import_url", error.to_string()).into())
    }

    pub(super) fn apply(
        self,
        current: Attributes,
        namespace_kind: NamespaceKind,
        max_visibility: Visibility,
    ) -> Result<Attributes> {
        let name = self.name.or(current.name);
        let default_path = if current.path.is_empty() { ProjectPath::from_name(&name) } else { current.path };
        let attributes = Attributes {
            path: self.path.value().filter(|path| !path.is_empty()).unwrap_or(default_path),
            description: self.description.or_nullable(current.description),
            visibility: self.visibility.unwrap_or(current.visibility),
            features: self.features.apply(current.features),
            name,
        };
        let mut violations = Violations::default();
        violations.check("name", ProjectName::parse(&attributes.name));
        violations.check("path", ProjectPath::parse(&attributes.path));
        violations.check_length("description", attributes.description.as_deref().unwrap_or_default(), 2000);
        if namespace_kind == NamespaceKind::Group && attributes.visibility > max_visibility {
            let text =
                format!("{} is not allowed in a {} group.", attributes.visibility.as_str(), max_visibility.as_str());
            violations.add("visibility_level", text);
        }
        violations.into_result()?;
        Ok(attributes)
    }
}

/// Creates a project in the current user's namespace, or in another one where the user may.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    namespace: Option<NamespaceId>,
    changes: ProjectChanges,
) -> Result<Project> {
    access::authorize_instance(actor, InstanceAction::CreateProject)?;
    let creator = &actor.current_user()?.account;
    let mut transaction = app.database.begin().await?;
    let target = namespace::lock_creation_target(&mut transaction, namespace, creator.id(), app.today()).await?;
    let target = target.filter(|target| can_create_in(actor, creator, *target));
    let target = target.ok_or_else(|| Violations::single("namespace", "is not valid"))?;
    let id = insert(app, &mut transaction, creator, target, changes).await?;
    commit_and_reload(app, transaction, actor, id).await
}

/// Fails if the actor may not create a project of this user in a namespace. The creation decides again.
pub(crate) async fn ensure_can_create(
    app: &App,
    actor: &Actor,
    creator: UserId,
    namespace: Option<NamespaceId>,
) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let found = user::find(&mut transaction, creator).await?.ok_or(Error::NotFound(Resource::User))?.account();
    let target = namespace::lock_creation_target(&mut transaction, namespace, creator, app.today()).await?;
    let is_allowed = target.is_some_and(|target| actor.is_administrator() || can_create_in(actor, &found, target));
    if is_allowed { Ok(()) } else { Err(Violations::single("namespace", "is not valid").into()) }
}

/// Creates a project on behalf of another user, in that user's namespace or in any other.
#[crate::boxed]
pub async fn create_for(
    app: &App,
    actor: &Actor,
    owner: UserId,
    namespace: Option<NamespaceId>,
    changes: ProjectChanges,
) -> Result<Project> {
    access::authorize_instance(actor, InstanceAction::CreateProjectForOthers)?;
    let mut transaction = app.database.begin().await?;
    let owner = user::find(&mut transaction, owner).await?.ok_or(Error::NotFound(Resource::User))?.account();
    let target = namespace::lock_creation_target(&mut transaction, namespace, owner.id(), app.today()).await?;
    let target = target.ok_or_else(|| Violations::single("namespace", "is not valid"))?;
    let id = insert(app, &mut transaction, &owner, target, changes).await?;
    commit_and_reload(app, transaction, actor, id).await
}

pub(super) fn can_create_in(actor: &Actor, creator: &Account, target: CreationTarget) -> bool {
    match target.kind {
        NamespaceKind::User => target.owner == Some(creator.id()) || actor.is_administrator(),
        NamespaceKind::Group => GroupAction::CreateProject.is_allowed(target.visibility, actor.role(), target.level),
    }
}

async fn insert(
    app: &App,
    connection: &mut Connection,
    creator: &Account,
    target: CreationTarget,
    changes: ProjectChanges,
) -> Result<ProjectId> {
    let blank = Attributes {
        name: String::new(),
        path: String::new(),
        description: None,
        visibility: Visibility::Private,
        features: DEFAULT_FEATURES,
    };
    let source = changes.parse_import_url()?;
    let attributes = changes.apply(blank, target.kind, target.visibility)?;
    // Projects in groups are not limited. A user's own projects are counted while the namespace is locked.
    if target.kind == NamespaceKind::User && !is_below_project_limit(connection, creator).await? {
        return Err(Error::ProjectLimit(creator.projects_limit));
    }
    let now = app.clock.now();
    let runners_token = app.entropy.hex::<20>();
    let inserted = attributes::insert(connection, target.id, creator.id(), &attributes, &runners_token, now).await;
    let id = map_unique_violation(inserted)?;
    repository::insert(connection, id, now).await?;
    let owner = target.owner;
    if let Some(owner) = owner {
        member::upsert(connection, MembershipScope::Project(id), owner, AccessLevel::Master, None, now).await?;
    }
    let project = load(app, connection, id, Some(creator.id())).await?;
    let action = if source.is_some() { Action::Imported } else { Action::Created };
    let event = NewEvent::for_project(id, creator.id(), action);
    event::record(connection, event, Some(&events::project::project_created(&project)), now).await?;
    if let Some(source) = source {
        enqueue_import(app, connection, &project, Some(creator), &source).await?;
    }
    if let Some(owner) = project.owner() {
        let outbox_event = events::project::member_added(&project, &owner.summary, AccessLevel::Master, now);
        event::publish(connection, Some(id), &outbox_event, now).await?;
    }
    Ok(id)
}

/// Maximum number of pending imports of one user. Imports run one after the other, so more of them would only wait in
/// the queue, and the project limit does not bound them because it does not apply to groups. Arbitrary. Administrators
/// are not limited, because they migrate whole instances.
const MAX_PENDING_IMPORTS: i64 = 20;

/// Enqueues the import of a repository. Concurrent requests can exceed the maximum by a few.
async fn enqueue_import(
    app: &App,
    connection: &mut Connection,
    project: &Project,
    requester: Option<&Account>,
    source: &ImportUrl,
) -> Result<()> {
    if let Some(user) = requester.filter(|account| !account.admin) {
        check_pending_imports(connection, user.id(), "import_url").await?;
    }
    let subject = format!("import into {}", project.full_path());
    import::enqueue(connection, project.id, requester.map(Account::id), &subject, source, app.clock.now()).await?;
    Ok(())
}

/// Fails if too many imports of a user wait or run. The error names the parameter with the source of the import.
pub(crate) async fn check_pending_imports(
    connection: &mut Connection,
    user: UserId,
    parameter: &'static str,
) -> Result<()> {
    if import::count_pending(connection, user, MAX_PENDING_IMPORTS).await? >= MAX_PENDING_IMPORTS {
        let text = format!(
            "cannot be imported now: {MAX_PENDING_IMPORTS} imports of yours are waiting or running. Try again when one of \
             them has finished"
        );
        return Err(Violations::single(parameter, text).into());
    }
    Ok(())
}

pub(super) async fn is_below_project_limit(connection: &mut Connection, creator: &Account) -> Result<bool> {
    let Some(namespace_id) = namespace::find_id_for_user(connection, creator.id()).await? else { return Ok(false) };
    let limit = i64::from(creator.projects_limit);
    Ok(project::count_in_namespace(connection, namespace_id, limit).await? < limit)
}

#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, changes: ProjectChanges) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let before =
        access::lock_project_and_namespace(app, &mut transaction, actor, project, ProjectAction::Update).await?;
    let now = app.clock.now();
    let current = Attributes {
        name: before.name.clone(),
        path: before.path.clone(),
        description: before.description.clone(),
        visibility: before.visibility,
        features: before.features,
    };
    let needs_rename_permission =
        |attributes: &Attributes| attributes.name != before.name || attributes.visibility != before.visibility;
    let namespace = &before.namespace;
    let source = changes.parse_import_url()?;
    if source.is_some() && before.repository.head.is_some() {
        return Err(Violations::single("import_url", "can only be given while the repository is empty").into());
    }
    let default_branch = changes.default_branch.clone();
    let attributes = changes.apply(current, namespace.kind, namespace.visibility)?;
    let is_raised = attributes.visibility > before.visibility;
    let limit = if is_raised { fork::visibility_limit(&mut transaction, before.id).await? } else { None };
    if limit.is_some_and(|limit| attributes.visibility > limit) {
        let text = format!(
            "{} is not allowed since the fork source project has lower visibility.",
            attributes.visibility.as_str()
        );
        return Err(Violations::single("visibility_level", text).into());
    }
    if needs_rename_permission(&attributes) {
        access::authorize_project(app, &mut transaction, actor, &ProjectRef::Id(before.id), ProjectAction::Rename)
            .await?;
    }
    map_unique_violation(attributes::update(&mut transaction, before.id, &attributes, now).await)?;
    let uses_shared_runners = |features: &Features| features.builds_enabled && features.shared_runners_enabled;
    if uses_shared_runners(&attributes.features) != uses_shared_runners(&before.features) {
        queue::set_shared(&mut transaction, before.id, uses_shared_runners(&attributes.features)).await?;
    }
    if let Some(branch) = default_branch.filter(|branch| before.repository.default_branch() != Some(branch)) {
        let name = format!("refs/heads/{branch}");
        if !repository::set_head(&mut transaction, before.repository.id, &name).await? {
            return Err(Violations::single("default_branch", "does not exist").into());
        }
    }
    if let Some(source) = source {
        let requester = actor.current_user().ok().map(|caller| &caller.account);
        enqueue_import(app, &mut transaction, &before, requester, &source).await?;
    }
    if attributes.visibility < before.visibility {
        fork::cap_visibility(&mut transaction, before.id, attributes.visibility).await?;
    }
    if !attributes.path.eq_ignore_ascii_case(&before.path) {
        redirect::insert_for_project(&mut transaction, namespace.id, &before.path, before.id).await?;
    }
    if attributes.path != before.path {
        let project = load(app, &mut transaction, before.id, None).await?;
        let outbox_event = events::project::project_renamed(&project, &before.full_path());
        event::publish(&mut transaction, Some(before.id), &outbox_event, now).await?;
    }
    commit_and_reload(app, transaction, actor, before.id).await
}

/// Archives or unarchives a project. No content can be added to an archived project.
#[crate::boxed]
pub async fn set_archived(app: &App, actor: &Actor, project: &ProjectRef, is_archived: bool) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let before = access::lock_project(app, &mut transaction, actor, project, ProjectAction::Archive).await?;
    project::set_archived(&mut transaction, before.id, is_archived, app.clock.now()).await?;
    commit_and_reload(app, transaction, actor, before.id).await
}

/// Deletes a project at once. A job removes its content afterwards (ADR 0008).
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let requested = project;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::Delete).await?;
    // A project is not deleted by a former path.
    if let ProjectRef::Path { namespace, project: path } = requested
        && !project.full_path().eq_ignore_ascii_case(&format!("{namespace}/{path}"))
    {
        return Err(Error::NotFound(Resource::Project));
    }
    let now = app.clock.now();
    let subject = format!("project {}", project.full_path());
    events::removal::publish_for_project(&mut transaction, project.id, now).await?;
    removal::detach_project(&mut transaction, project.id, &subject, now).await?;
    event::publish(&mut transaction, Some(project.id), &events::project::project_destroyed(&project), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(())
}

pub(crate) async fn load(
    app: &App,
    connection: &mut Connection,
    id: ProjectId,
    viewer: Option<UserId>,
) -> Result<Project> {
    let found = project::find(connection, &ProjectRef::Id(id), viewer, app.today()).await?;
    found.ok_or(Error::NotFound(Resource::Project))
}

/// Loads the project as the current user sees it after the changes, and commits.
pub(super) async fn commit_and_reload(
    app: &App,
    mut transaction: holdfast_store::Transaction,
    actor: &Actor,
    id: ProjectId,
) -> Result<Project> {
    let project = load(app, &mut transaction, id, actor.user_id()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(project)
}

pub(super) fn map_unique_violation<T>(saved: holdfast_store::Result<T>) -> Result<T> {
    saved
        .on_constraint("projects_path_key", || Violations::single("path", TAKEN).into())
        .on_constraint("projects_name_key", || Violations::single("name", TAKEN).into())
}
