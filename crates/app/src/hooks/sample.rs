//! Sample events with which masters test the hooks of their projects.

use holdfast_domain::hooks::EventKind;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::{ObjectId, SHA1};
use holdfast_store::hooks::delivery;
use holdfast_store::hooks::hook::{self, HookOwner};
use holdfast_store::repository::snapshot::RefKind;
use serde_json::{Value, json};

use crate::actor::CurrentUser;
use crate::events::project_json;
use crate::projects::project::ProjectRef;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::push_event_details;
use crate::{Actor, App, Error, Resource, Result};

/// The kind of a sample event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// The creation of the default branch with its last commit.
    Push,
    /// The creation of the last tag.
    TagPush,
}

/// Enqueues a delivery with a sample event for one hook, whether or not it subscribes to such events. As for system
/// hooks, the outcome is shown among the deliveries of the hook only.
#[crate::boxed]
pub async fn send(app: &App, actor: &Actor, project: &ProjectRef, id: HookId, kind: SampleKind) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::ManageHooks).await?;
    let project = repository.project.id;
    let found = hook::find(&mut *app.database.connection().await?, HookOwner::Project(project), id).await?;
    found.ok_or(Error::NotFound(Resource::Record))?;
    let current_user = actor.current_user()?;
    let (kind, payload) = match kind {
        SampleKind::Push => (EventKind::Push, push(app, &repository, current_user).await?),
        SampleKind::TagPush => (EventKind::TagPush, tag_push(&repository, current_user)?),
    };
    let mut transaction = app.database.begin().await?;
    delivery::publish_to_project_hook(&mut transaction, id, project, kind, &payload, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(())
}

async fn push(app: &App, repository: &OpenRepository, user: &CurrentUser) -> Result<Value> {
    let project = &repository.project;
    let head = project.repository.head.as_deref().zip(repository.refs.head_target());
    let (name, head) = head.ok_or(Error::Unprocessable("Ensure the project has at least one commit."))?;
    let commit = push_event_details::commit_details(app, project.id, head).await?;
    let commits: Vec<Value> = commit.into_iter().collect();
    let mut payload = new_ref(repository, user, name, head, head);
    payload["total_commits_count"] = commits.len().into();
    payload["commits"] = commits.into();
    Ok(payload)
}

fn tag_push(repository: &OpenRepository, user: &CurrentUser) -> Result<Value> {
    let count = repository.refs.count(RefKind::Tags);
    let last = repository.refs.list(RefKind::Tags, count.saturating_sub(1)..count).pop();
    let (tag, target) = last.ok_or(Error::Unprocessable("Ensure the project has at least one tag."))?;
    Ok(new_ref(repository, user, &format!("refs/tags/{tag}"), target.id, target.peeled_or_self()))
}

/// Returns the payload of the creation of a ref, with the same fields as that of a push.
fn new_ref(repository: &OpenRepository, user: &CurrentUser, name: &str, id: ObjectId, object: ObjectId) -> Value {
    let summary = &user.account.summary;
    json!({
        "before": ObjectId::null(SHA1).to_string(),
        "after": id.to_string(),
        "ref": name,
        "checkout_sha": object.to_string(),
        "user_id": user.account.id(),
        "user_name": summary.name,
        "user_email": summary.email,
        "user_username": summary.username,
        "project": project_json(&repository.project),
        "commits": [],
        "total_commits_count": 0,
    })
}
