//! Projects.

use holdfast_domain::activity::Action;
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction, Standing};
use holdfast_domain::projects::{ProjectName, ProjectPath};
use holdfast_domain::repository::ImportUrl;
use holdfast_domain::violations::TAKEN;
use holdfast_domain::{AccessLevel, Field, Violations, Visibility};
use holdfast_store::Connection;
use holdfast_store::accounts::user::{self, Account};
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::ci::queue;
use holdfast_store::namespaces::member::{self, Source};
use holdfast_store::namespaces::namespace::{self, Target};
use holdfast_store::projects::attributes::{self, Attributes};
use holdfast_store::projects::project;
use holdfast_store::projects::{fork, redirect};
use holdfast_store::repository::repository;
use holdfast_store::worker::{import, removal};

pub use holdfast_store::projects::project::{Features, Owner, Place, Project, ProjectRef};

use super::notice;
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    let mut connection = app.database.connection().await?;
    access::project(app, &mut connection, actor, project, ProjectAction::Read).await
}

/// Whether the reader may see what lets runners in.
pub fn shows_secrets(project: &Project, standing: Standing) -> bool {
    ProjectAction::Update.allowed(project.visibility, standing, project.level())
}

/// The switches a creation or an update sets.
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
    fn apply(self, now: Features) -> Features {
        Features {
            issues_enabled: self.issues_enabled.unwrap_or(now.issues_enabled),
            merge_requests_enabled: self.merge_requests_enabled.unwrap_or(now.merge_requests_enabled),
            wiki_enabled: self.wiki_enabled.unwrap_or(now.wiki_enabled),
            builds_enabled: self.builds_enabled.unwrap_or(now.builds_enabled),
            snippets_enabled: self.snippets_enabled.unwrap_or(now.snippets_enabled),
            container_registry_enabled: self.container_registry_enabled.unwrap_or(now.container_registry_enabled),
            shared_runners_enabled: self.shared_runners_enabled.unwrap_or(now.shared_runners_enabled),
            public_builds: self.public_builds.unwrap_or(now.public_builds),
            lfs_enabled: self.lfs_enabled.unwrap_or(now.lfs_enabled),
            request_access_enabled: self.request_access_enabled.unwrap_or(now.request_access_enabled),
            only_allow_merge_if_build_succeeds: self
                .only_allow_merge_if_build_succeeds
                .unwrap_or(now.only_allow_merge_if_build_succeeds),
            only_allow_merge_if_all_discussions_are_resolved: self
                .only_allow_merge_if_all_discussions_are_resolved
                .unwrap_or(now.only_allow_merge_if_all_discussions_are_resolved),
        }
    }
}

/// Of a project for which nothing was said.
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

/// What a creation gives or an update changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectChanges {
    pub name: Field<String>,
    pub path: Field<String>,
    pub description: Field<String>,
    pub visibility: Option<Visibility>,
    pub features: FeatureChanges,
    pub import_url: Option<String>,
    /// Of an update: a branch that exists.
    pub default_branch: Option<String>,
}

impl ProjectChanges {
    /// Where the repository is to be copied from.
    fn import(&self) -> Result<Option<ImportUrl>> {
        let given = self.import_url.as_deref().filter(|url| !url.is_empty());
        let parsed = given.map(ImportUrl::parse).transpose();
        parsed.map_err(|error| Violations::of("import_url", error.to_string()).into())
    }

    fn apply(self, now: Attributes, place: NamespaceKind, at_most: Visibility) -> Result<Attributes> {
        let name = self.name.or(now.name);
        let made_path = if now.path.is_empty() { ProjectPath::from_name(&name) } else { now.path };
        let a = Attributes {
            path: self.path.value().filter(|path| !path.is_empty()).unwrap_or(made_path),
            description: self.description.or_nullable(now.description),
            visibility: self.visibility.unwrap_or(now.visibility),
            features: self.features.apply(now.features),
            name,
        };
        let mut violations = Violations::default();
        violations.check("name", ProjectName::parse(&a.name));
        violations.check("path", ProjectPath::parse(&a.path));
        violations.check_length("description", a.description.as_deref().unwrap_or_default(), 2000);
        if place == NamespaceKind::Group && a.visibility > at_most {
            let text = format!("{} is not allowed in a {} group.", a.visibility.word(), at_most.word());
            violations.add("visibility_level", text);
        }
        violations.into_result()?;
        Ok(a)
    }
}

/// In the caller's own namespace, or in another one where it may.
pub async fn create(
    app: &App,
    actor: &Actor,
    namespace: Option<NamespaceId>,
    changes: ProjectChanges,
) -> Result<Project> {
    access::instance(actor, InstanceAction::CreateProject)?;
    let creator = &actor.caller()?.account;
    let mut transaction = app.database.begin().await?;
    let target = namespace::lock_target(&mut transaction, namespace, creator.id(), app.today()).await?;
    let target = target.filter(|target| may_create_in(actor, creator, *target));
    let target = target.ok_or_else(|| Violations::of("namespace", "is not valid"))?;
    let id = insert(app, &mut transaction, creator, target, changes).await?;
    finish(app, transaction, actor, id).await
}

/// As if by that user, in that user's namespace or in any other.
pub async fn create_for(
    app: &App,
    actor: &Actor,
    owner: UserId,
    namespace: Option<NamespaceId>,
    changes: ProjectChanges,
) -> Result<Project> {
    access::instance(actor, InstanceAction::CreateProjectForOthers)?;
    let mut transaction = app.database.begin().await?;
    let owner = user::find(&mut transaction, owner).await?.ok_or(Error::NotFound(Thing::User))?.account();
    let target = namespace::lock_target(&mut transaction, namespace, owner.id(), app.today()).await?;
    let target = target.ok_or_else(|| Violations::of("namespace", "is not valid"))?;
    let id = insert(app, &mut transaction, &owner, target, changes).await?;
    finish(app, transaction, actor, id).await
}

pub(super) fn may_create_in(actor: &Actor, creator: &Account, target: Target) -> bool {
    match target.kind {
        NamespaceKind::User => target.owner == Some(creator.id()) || actor.is_administrator(),
        NamespaceKind::Group => GroupAction::CreateProject.allowed(target.visibility, actor.standing(), target.level),
    }
}

async fn insert(
    app: &App,
    connection: &mut Connection,
    creator: &Account,
    target: Target,
    changes: ProjectChanges,
) -> Result<ProjectId> {
    let blank = Attributes {
        name: String::new(),
        path: String::new(),
        description: None,
        visibility: Visibility::Private,
        features: DEFAULT_FEATURES,
    };
    let source = changes.import()?;
    let attributes = changes.apply(blank, target.kind, target.visibility)?;
    // Groups are free; a user's own projects are counted while the namespace is locked.
    if target.kind == NamespaceKind::User && !has_room(connection, creator).await? {
        return Err(Error::ProjectLimit(creator.projects_limit));
    }
    let now = app.clock.now();
    let runners_token = app.entropy.hex::<20>();
    let inserted = attributes::insert(connection, target.id, creator.id(), &attributes, &runners_token, now).await;
    let id = refuse_taken(inserted)?;
    repository::insert(connection, id, now).await?;
    let owner = target.owner;
    if let Some(owner) = owner {
        member::upsert(connection, Source::Project(id), owner, AccessLevel::Master, None, now).await?;
    }
    let project = load(app, connection, id, Some(creator.id())).await?;
    let action = if source.is_some() { Action::Imported } else { Action::Created };
    let event = NewEvent::of_project(id, creator.id(), action);
    event::record(connection, event, Some(&notice::created(&project)), now).await?;
    if let Some(source) = source {
        enqueue_import(app, connection, &project, Some(creator), &source).await?;
    }
    if let Some(owner) = project.owner() {
        let joined = notice::joined(&project, &owner.person, AccessLevel::Master, now);
        event::tell(connection, Some(id), &joined, now).await?;
    }
    Ok(id)
}

/// Maximum number of imports of one user that wait or run. They run one after the other, so more would only lie in the
/// queue; groups have no limit of projects that would bound them. Arbitrary. Administrators move whole installations and
/// are not limited.
const MAX_PENDING_IMPORTS: i64 = 20;

/// Enqueues the import of a repository. Requests that come at the same moment may exceed the maximum by a few.
async fn enqueue_import(
    app: &App,
    connection: &mut Connection,
    project: &Project,
    requester: Option<&Account>,
    source: &ImportUrl,
) -> Result<()> {
    if let Some(user) = requester.filter(|account| !account.admin)
        && import::count_pending(connection, user.id(), MAX_PENDING_IMPORTS).await? >= MAX_PENDING_IMPORTS
    {
        let text = format!(
            "cannot be imported now: {MAX_PENDING_IMPORTS} imports of yours are waiting or running. Try again when one of \
             them has finished"
        );
        return Err(Violations::of("import_url", text).into());
    }
    let subject = format!("import into {}", project.full_path());
    import::enqueue(connection, project.id, requester.map(Account::id), &subject, source, app.clock.now()).await?;
    Ok(())
}

pub(super) async fn has_room(connection: &mut Connection, creator: &Account) -> Result<bool> {
    let Some(own) = namespace::id_of_user(connection, creator.id()).await? else { return Ok(false) };
    let limit = i64::from(creator.projects_limit);
    Ok(project::count_in(connection, own, limit).await? < limit)
}

pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, changes: ProjectChanges) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let before = access::locked_project_in_place(app, &mut transaction, actor, project, ProjectAction::Update).await?;
    let now = app.clock.now();
    let current = Attributes {
        name: before.name.clone(),
        path: before.path.clone(),
        description: before.description.clone(),
        visibility: before.visibility,
        features: before.features,
    };
    let renames = |a: &Attributes| a.name != before.name || a.visibility != before.visibility;
    let place = &before.namespace;
    let source = changes.import()?;
    if source.is_some() && before.repository.head.is_some() {
        return Err(Violations::of("import_url", "can only be given while the repository is empty").into());
    }
    let default_branch = changes.default_branch.clone();
    let attributes = changes.apply(current, place.kind, place.visibility)?;
    let is_raised = attributes.visibility > before.visibility;
    let limit = if is_raised { fork::visibility_limit(&mut transaction, before.id).await? } else { None };
    if limit.is_some_and(|limit| attributes.visibility > limit) {
        let text = format!(
            "{} is not allowed since the fork source project has lower visibility.",
            attributes.visibility.word()
        );
        return Err(Violations::of("visibility_level", text).into());
    }
    if renames(&attributes) {
        access::project(app, &mut transaction, actor, &ProjectRef::Id(before.id), ProjectAction::Rename).await?;
    }
    refuse_taken(attributes::update(&mut transaction, before.id, &attributes, now).await)?;
    let serves = |features: &Features| features.builds_enabled && features.shared_runners_enabled;
    if serves(&attributes.features) != serves(&before.features) {
        queue::set_shared(&mut transaction, before.id, serves(&attributes.features)).await?;
    }
    if let Some(branch) = default_branch.filter(|branch| before.repository.default_branch() != Some(branch)) {
        let name = format!("refs/heads/{branch}");
        if !repository::set_head(&mut transaction, before.repository.id, &name).await? {
            return Err(Violations::of("default_branch", "does not exist").into());
        }
    }
    if let Some(source) = source {
        let requester = actor.caller().ok().map(|caller| &caller.account);
        enqueue_import(app, &mut transaction, &before, requester, &source).await?;
    }
    if attributes.visibility < before.visibility {
        fork::lower(&mut transaction, before.id, attributes.visibility).await?;
    }
    if !attributes.path.eq_ignore_ascii_case(&before.path) {
        redirect::leave_for_project(&mut transaction, place.id, &before.path, before.id).await?;
    }
    if attributes.path != before.path {
        let project = load(app, &mut transaction, before.id, None).await?;
        let renamed = notice::renamed(&project, &before.full_path());
        event::tell(&mut transaction, Some(before.id), &renamed, now).await?;
    }
    finish(app, transaction, actor, before.id).await
}

/// An archived project stays as it is: nothing can be put into it until it is unarchived.
pub async fn set_archived(app: &App, actor: &Actor, project: &ProjectRef, archived: bool) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let before = access::locked_project(app, &mut transaction, actor, project, ProjectAction::Archive).await?;
    project::set_archived(&mut transaction, before.id, archived, app.clock.now()).await?;
    finish(app, transaction, actor, before.id).await
}

/// It is gone at once; a job removes what was in it.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let named = project;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::Delete).await?;
    // Nothing is deleted by a name that it no longer has.
    if let ProjectRef::Path { namespace, project: path } = named
        && !project.full_path().eq_ignore_ascii_case(&format!("{namespace}/{path}"))
    {
        return Err(Error::NotFound(Thing::Project));
    }
    let now = app.clock.now();
    let subject = format!("project {}", project.full_path());
    removal::begin_project(&mut transaction, project.id, &subject, now).await?;
    event::tell(&mut transaction, Some(project.id), &notice::destroyed(&project), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(())
}

pub(crate) async fn load(
    app: &App,
    connection: &mut Connection,
    id: ProjectId,
    reader: Option<UserId>,
) -> Result<Project> {
    let found = project::find(connection, &ProjectRef::Id(id), reader, app.today()).await?;
    found.ok_or(Error::NotFound(Thing::Project))
}

/// Commits, and gives the project as the caller now sees it.
pub(super) async fn finish(
    app: &App,
    mut transaction: holdfast_store::Transaction,
    actor: &Actor,
    id: ProjectId,
) -> Result<Project> {
    let project = load(app, &mut transaction, id, actor.user_id()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(project)
}

pub(super) fn refuse_taken<T>(saved: holdfast_store::Result<T>) -> Result<T> {
    saved
        .on_constraint("projects_path_key", || Violations::of("path", TAKEN).into())
        .on_constraint("projects_name_key", || Violations::of("name", TAKEN).into())
}
