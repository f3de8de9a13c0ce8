//! Tags.

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::{MAX_TEXT_BYTES, shorten};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::protocol::receive::Command;
use holdfast_git::reader::{Kind, Signature};
use holdfast_git::tag::Annotation;
use holdfast_git::{ObjectId, RefName, Target, tag};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::ref_change::Mover;
use holdfast_store::repository::release;
use holdfast_store::repository::snapshot::Listed;

use super::commit::{self, Commit, MAX_LISTED_MESSAGE_BYTES};
use super::fetch::{self, Opened};
use super::pack::store;
use super::push_details::PushDetails;
use super::receipt::Intended;
use super::ref_change::{self, Change, Move};
use super::verdict::{Judge, TAG_CHANGED};
use super::{objects, push, revision};
use crate::actor::Caller;
use crate::{Actor, App, Error, Result, Thing};

#[derive(Clone, Debug)]
pub struct Tag {
    pub name: String,
    /// What an annotated tag says.
    pub message: Option<String>,
    /// None for a tag of something else.
    pub commit: Option<Commit>,
    /// Its notes.
    pub release: Option<String>,
}

#[derive(Clone, Debug)]
pub struct CreateTag {
    pub name: String,
    pub at: String,
    pub message: Option<String>,
    pub release_description: Option<String>,
}

/// By name, the last first.
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Tag>> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let total = opened.refs.count(Listed::Tags);
    let range = page.range(total);
    let mut found = opened.refs.listed(Listed::Tags, total - range.end..total - range.start);
    found.reverse();
    let (names, targets): (Vec<&str>, Vec<Target>) = found.into_iter().unzip();
    let mut releases =
        release::find(&mut *app.database.connection().await?, opened.project.id, &names, MAX_TEXT_BYTES as i32).await?;
    let looked = look(app, &opened, targets, Shown::InList).await?;
    let tags = names.into_iter().zip(looked).map(|(name, (message, commit))| Tag {
        name: name.to_owned(),
        message,
        commit,
        release: releases.remove(name),
    });
    Ok(Page::of_total(tags.collect(), page, total))
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Tag> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let target = opened.refs.find(&format!("refs/tags/{name}")).ok_or(Error::NotFound(Thing::Tag))?;
    let (message, commit) = look(app, &opened, vec![target], Shown::Whole).await?.remove(0);
    let mut releases =
        release::find(&mut *app.database.connection().await?, opened.project.id, &[name], i32::MAX).await?;
    Ok(Tag { name: name.to_owned(), message, commit, release: releases.remove(name) })
}

/// Whether something is shown as a whole or as one of many.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Whole,
    InList,
}

/// What each says, and the commit it leads to.
async fn look(
    app: &App,
    opened: &Opened,
    targets: Vec<Target>,
    shown: Shown,
) -> Result<Vec<(Option<String>, Option<Commit>)>> {
    objects::read(app, opened, move |reader| {
        let look = |target: Target| {
            let mut message = if target.peeled.is_some() { reader.annotation(target.id)? } else { None };
            let is_commit = reader.kind(target.object())? == Some(Kind::Commit);
            let mut commit = if is_commit { Some(Commit::from(reader.commit(target.object())?)) } else { None };
            if shown == Shown::InList {
                message.iter_mut().for_each(|message| shorten(message, MAX_LISTED_MESSAGE_BYTES));
                commit.iter_mut().for_each(Commit::abridge);
            }
            Ok((message, commit))
        };
        targets.into_iter().map(look).collect()
    })
    .await
}

/// Deletes a tag with its release and returns its name, which the API echoes. The rule is that of a push: developers make
/// tags, and masters change those that exist.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<String> {
    let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
    let full = format!("refs/tags/{name}");
    let found = opened.refs.find(&full).ok_or(Error::NotFound(Thing::Named("No such tag")))?;
    let command = Command { name: full.as_str().into(), old: Some(found.id), new: None };
    // The rules of a project are about branches.
    if Judge::new(actor, &opened, Vec::new()).of_name(&command).is_err() {
        return Err(Error::Forbidden(Some(TAG_CHANGED)));
    }
    let it = Move { name: RefName::trusted(&full), old: Some(found.id), new: None };
    match super::branch::move_one(app, actor.caller()?, &opened, it, None).await? {
        None => Ok(name.to_owned()),
        Some(_) => Err(Error::Refused("Failed to remove tag".into())),
    }
}

/// At a branch, another tag or a commit; annotated if there is something to say.
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, input: CreateTag) -> Result<Tag> {
    let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
    let caller = actor.caller()?;
    let refused = |text: String| Error::Refused(text);
    let name = RefName::tag(&input.name).map_err(|_| refused("Tag name invalid".into()))?;
    let exists = || refused(format!("Tag {} already exists", input.name));
    if opened.refs.find(name.as_str()).is_some() {
        return Err(exists());
    }
    let id = revision::resolve(app, &opened, &input.at).await?;
    let id = id.ok_or_else(|| refused(format!("Target {} is invalid", input.at)))?;
    let message = input.message.map(|message| message.trim().to_owned()).filter(|message| !message.is_empty());
    let release = input.release_description.filter(|notes| !notes.is_empty());
    super::release::check("message", message.as_deref().unwrap_or_default())?;
    super::release::check("release_description", release.as_deref().unwrap_or_default())?;
    let refusal = match &message {
        None => {
            let it = Move { name, old: None, new: Some(Target { id, peeled: None }) };
            super::branch::move_one(app, caller, &opened, it, release.as_deref()).await?
        }
        Some(message) => {
            let annotation = annotation(app, caller, id, &input.name, message);
            annotate(app, caller, &opened, name, annotation, release.as_deref()).await?
        }
    };
    match refusal {
        None => {}
        Some(ref_change::LOST_RACE) => return Err(exists()),
        Some(text) => return Err(refused(text.into())),
    }
    let commit = commit::load(app, &opened, id).await?;
    Ok(Tag { name: input.name, message, commit: Some(commit), release })
}

fn annotation(app: &App, caller: &Caller, target: ObjectId, name: &str, message: &str) -> Annotation {
    let person = &caller.account.person;
    let tagger = Signature {
        name: person.name.clone(),
        email: person.email.clone(),
        seconds: app.clock.now().timestamp(),
        offset_seconds: 0,
    };
    Annotation { target, name: name.to_owned(), tagger, message: message.to_owned() }
}

/// The tag itself is an object, which takes the way of a push.
async fn annotate(
    app: &App,
    caller: &Caller,
    opened: &Opened,
    name: RefName,
    annotation: Annotation,
    release: Option<&str>,
) -> Result<Option<&'static str>> {
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    let incoming = app.engine.cache()?.incoming(Some(&lease.bare))?;
    let target = annotation.target;
    let (id, pack) = tag::write(&app.engine.git, &incoming, annotation).await?;
    let it = Move { name, old: None, new: Some(Target { id, peeled: Some(target) }) };
    let mover = Mover { user: Some(caller.account.id()), via: "api" };
    let moves = vec![it];
    let stored = store(app, &pack, Some(Intended { opened, moves: &moves, mover, atomic: true })).await?;
    let files = Some((&pack, stored.sizes));
    let details = Some(PushDetails::without_commits(caller));
    let change = Change { pack: Some(stored), release, ..Change::new(opened, moves, details, mover) };
    let changed = ref_change::apply(app, change).await?;
    push::finish(app, &lease, &changed, files, opened).await;
    Ok(changed.refusals.into_iter().next().flatten())
}
