//! Putting a ref back to where it was: a branch that was deleted, or what a forced push left behind. Such a return is a
//! move like any other, through the same door and by the same rules as a push.

use std::sync::Arc;

use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::protocol::receive::Command;
use holdfast_git::reader::Reader;
use holdfast_git::{ObjectId, RefName, connectivity};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::ref_change::Mover;
use holdfast_store::repository::{protection, ref_log as rows};

use super::ci_file;
use super::fetch::{self, Opened};
use super::objects::GitObjects;
use super::push_details::PushDetails;
use super::ref_change::{self, Change, LOST_RACE, Move};
use super::ref_log::{Entry, full_name, is_too_late};
use super::verdict::{Judge, Verdict};
use crate::{Actor, App, Error, Result, Thing};

/// Where a ref is again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub name: String,
    /// Where it was in between; none if it was gone.
    pub from: Option<ObjectId>,
    pub target: ObjectId,
}

/// Which of its moves is taken back.
#[derive(Clone, Copy)]
enum Choice {
    Generation(i64),
    Last,
    /// The one that deleted it.
    Deletion,
}

/// To where it was before the move of that generation.
pub async fn restore(app: &App, actor: &Actor, project: &ProjectRef, name: &str, generation: i64) -> Result<Restored> {
    take_back(app, actor, project, &full_name(name), Choice::Generation(generation)).await
}

/// To where it was before it moved last.
pub async fn restore_last(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Restored> {
    take_back(app, actor, project, &full_name(name), Choice::Last).await
}

/// One that was deleted, to where it was last.
pub async fn restore_branch(app: &App, actor: &Actor, project: &ProjectRef, branch: &str) -> Result<Restored> {
    take_back(app, actor, project, &format!("refs/heads/{branch}"), Choice::Deletion).await
}

/// So often it is begun anew because objects were set apart or removed meanwhile.
const TRIES: usize = 3;

async fn take_back(app: &App, actor: &Actor, project: &ProjectRef, name: &str, choice: Choice) -> Result<Restored> {
    for _ in 0..TRIES {
        let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
        if let (Choice::Deletion, Some(is)) = (choice, opened.refs.find(name)) {
            let branch = name.trim_start_matches("refs/heads/");
            return Err(Error::Conflict(format!("{branch} is there, at {}", is.id)));
        }
        let id = opened.project.repository.id;
        let mut connection = app.database.connection().await?;
        let entry = match choice {
            Choice::Generation(generation) => rows::find(&mut connection, id, generation, name).await?,
            Choice::Last | Choice::Deletion => rows::last(&mut connection, id, name).await?,
        };
        drop(connection);
        match put_back(app, actor, opened, entry.ok_or(Error::NotFound(Thing::Record))?).await {
            Err(Error::CleanedUp) => {}
            done => return done,
        }
    }
    Err(Error::CleanedUp)
}

async fn put_back(app: &App, actor: &Actor, opened: Opened, entry: Entry) -> Result<Restored> {
    let name = &entry.name;
    let Some(old) = entry.old else {
        return Err(Error::Conflict(format!("{name} was made by that change: there is nothing to put it back to")));
    };
    if is_too_late(app, &entry, app.clock.now()) {
        let days = app.settings.maintenance.undo.num_days();
        return Err(Error::Conflict(format!("It is too late: changes can be undone for {days} days")));
    }
    let moved = || Error::Conflict(format!("{name} was moved again since that change"));
    if opened.refs.find(name).map(|target| target.id) != entry.new {
        return Err(moved());
    }
    let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
    let judge = Judge::new(actor, &opened, rules).of_return();
    let command = Command { name: name.as_str().into(), old: entry.new, new: Some(old) };
    let ref_name = judge.of_name(&command).map_err(Error::Refused)?;
    let opened = Arc::new(opened);
    let objects = GitObjects::of(app, &opened).await?;
    // What is there already ends the walk.
    let known: Vec<ObjectId> = entry.new.into_iter().chain(opened.refs.head_target()).collect();
    if !connectivity::is_whole(&app.engine.git, objects.bare(), old, &known).await? {
        return Err(Error::Conflict(format!("What {name} led to before is not there any more")));
    }
    let (it, details, built) = look(&objects, judge, actor, opened.clone(), ref_name, command).await?;
    let via = if matches!(actor, Actor::Operator) { "cli" } else { "api" };
    let mover = Mover { user: actor.user_id(), via };
    let change = Change { built, revives: true, ..Change::new(&opened, vec![it], details, mover) };
    let changed = ref_change::apply(app, change).await?;
    match changed.refusals.into_iter().next().flatten() {
        None => Ok(Restored { name: name.clone(), from: entry.new, target: old }),
        Some(LOST_RACE) => Err(moved()),
        Some(text) => Err(Error::Conflict(text.into())),
    }
}

/// What only the objects tell: whether it may be, and what is told of it.
async fn look(
    objects: &GitObjects,
    judge: Judge,
    actor: &Actor,
    opened: Arc<Opened>,
    name: RefName,
    command: Command,
) -> Result<(Move, Option<PushDetails>, Vec<usize>)> {
    let caller = actor.caller().ok().cloned();
    let look = move |reader: &Reader| -> Result<Verdict<_>> {
        let it = match judge.of_objects(reader, &name, &command)? {
            Ok(it) => it,
            Err(refusal) => return Ok(Err(refusal)),
        };
        // Nobody is told of what nobody did.
        let read = |caller| PushDetails::read(reader, &opened, caller, std::slice::from_ref(&it));
        let details = caller.map(read).transpose()?;
        let is_built = match it.new {
            Some(new) if opened.project.features.builds_enabled => ci_file::may_be_at(reader, new.object())?,
            _ => false,
        };
        Ok(Ok((it, details, if is_built { vec![0] } else { Vec::new() })))
    };
    objects.read(look).await?.map_err(Error::Refused)
}
