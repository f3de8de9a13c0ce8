//! The one door through which refs move: by a push, by the interface, by a job. All that belongs to a move is one
//! transaction: the refs, their log, the pack they need, the events and what is told of them.

use std::collections::HashSet;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_domain::repository::Rule;
use holdfast_git::RefName;
use holdfast_store::activity::event;
use holdfast_store::repository::pack::{self, NewPack};
use holdfast_store::repository::ref_change::{self, Mover};
use holdfast_store::repository::{protection, release, repository};
use holdfast_store::worker::closing::{self, Closing};
use holdfast_store::worker::pipelines::{self, Pushed};
use holdfast_store::{Connection, commit};

pub use holdfast_store::repository::ref_change::Move;

use super::fetch::Opened;
use super::push_details::PushDetails;
use crate::{App, Error, Result};

pub struct Change<'a> {
    pub opened: &'a Opened,
    pub moves: Vec<Move>,
    /// What is told of the moves. None if nobody moves them: then nobody is told.
    pub details: Option<PushDetails>,
    /// All or none.
    pub atomic: bool,
    /// What the new objects are in.
    pub pack: Option<NewPack>,
    /// The default branch of a repository that had none, if it is known.
    pub default: Option<&'a RefName>,
    pub mover: Mover,
    /// The notes of the one tag that is made.
    pub release: Option<&'a str>,
    /// Places of moves that a pipeline may be made for: where a CI file is.
    pub built: Vec<usize>,
    /// Whether it leads to what no ref led to before.
    pub revives: bool,
    /// Whether new refs are refused beyond `git.max_refs`.
    pub is_limited: bool,
}

impl<'a> Change<'a> {
    /// All or none, without new objects.
    pub fn new(opened: &'a Opened, moves: Vec<Move>, details: Option<PushDetails>, mover: Mover) -> Self {
        Self {
            opened,
            moves,
            details,
            atomic: true,
            pack: None,
            default: None,
            mover,
            release: None,
            built: Vec::new(),
            revives: false,
            is_limited: true,
        }
    }
}

pub struct Changed {
    /// For each move, why it was not made.
    pub refusals: Vec<Option<&'static str>>,
    /// None if nothing was changed.
    pub made: Option<Made>,
}

pub struct Made {
    pub generation: i64,
    pub pack: Option<PackId>,
}

pub const HEAD_DELETED: &str = "The default branch cannot be deleted.";
const ARCHIVED: &str = "The project is archived: unarchive it to push to it.";
pub const LOST_RACE: &str = "fetch first";
const GONE: &str = "there is no such ref";
const CONFLICT: &str = "another ref is in the way: one name is a directory of the other";
const TOO_MANY: &str = "the repository has as many refs as this server accepts (git.max_refs): delete some that are not \
                        needed, or ask an administrator";
const WITH_OTHERS: &str = "atomic push failed";
/// Maximum number of notices that are written with one statement. Each takes some kilobytes of memory.
const MAX_NOTICES_IN_MEMORY: usize = 1000;

pub async fn apply(app: &App, change: Change<'_>) -> Result<Changed> {
    let project = &change.opened.project;
    let id = project.repository.id;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let locked = repository::lock(&mut transaction, id).await?;
    let locked = locked.ok_or(Error::NotFound(crate::Thing::Project))?;
    if !repository::takes_content(&mut transaction, id).await? {
        return Ok(Changed { refusals: vec![Some(ARCHIVED); change.moves.len()], made: None });
    }
    // What was found to be there may have been set apart or removed since.
    if locked.prune_epoch != project.repository.prune_epoch && change.moves.iter().any(|it| it.new.is_some()) {
        return Err(Error::CleanedUp);
    }
    let mut refusals = refuse(&mut transaction, id, locked.head.as_deref(), &change.moves).await?;
    let created = change.moves.iter().zip(&refusals).filter(|(it, refusal)| is_new(it) && refusal.is_none()).count();
    if change.is_limited && created > 0 {
        let (refs, max_refs) = (&change.opened.refs, app.engine.settings.max_refs);
        // Another change may have come first.
        let is_current = refs.generation == locked.generation;
        let existing = match is_current || !is_near_limit(refs.len(), created, max_refs) {
            true => refs.len(),
            false => ref_change::count(&mut transaction, id).await?,
        };
        refuse_too_many(&mut refusals, &change.moves, existing, max_refs);
    }
    if change.atomic && refusals.iter().any(Option::is_some) {
        refusals.iter_mut().for_each(|refusal| *refusal = refusal.or(Some(WITH_OTHERS)));
    }
    let is_made = |place: &usize| refusals[*place].is_none();
    let places: Vec<usize> = (0..change.moves.len()).filter(is_made).collect();
    if places.is_empty() {
        return Ok(Changed { refusals, made: None });
    }
    let moves: Vec<Move> = places.iter().map(|place| change.moves[*place].clone()).collect();

    let pack = match &change.pack {
        Some(new) => {
            let added = pack::add(&mut transaction, id, new, now).await?;
            Some(added.ok_or_else(|| Error::Conflict("The push took too long, please push again".into()))?)
        }
        None => None,
    };
    if change.revives {
        pack::revive(&mut transaction, id).await?;
    }
    let first = if locked.head.is_none() { change.default.or_else(|| first_branch(&moves)) } else { None };
    let head = first.map(RefName::as_str);
    let generation = locked.generation + 1;
    ref_change::apply(&mut transaction, id, generation, head, &moves, change.mover, now).await?;
    let removed: Vec<&str> = moves.iter().filter(|it| it.new.is_none()).filter_map(|it| it.name.as_tag()).collect();
    if !removed.is_empty() {
        release::delete(&mut transaction, project.id, &removed).await?;
    }
    if let (Some(notes), [tag]) = (change.release, &moves[..]) {
        release::insert(&mut transaction, project.id, tag.name.as_tag().unwrap_or_default(), notes, now).await?;
    }
    if let Some(branch) = first.and_then(RefName::as_branch) {
        protection::upsert(&mut transaction, project.id, &Rule::of_masters(branch), now).await?;
    }
    if let (Some(author), Some(details)) = (change.mover.user, &change.details) {
        if project.features.issues_enabled {
            let default = locked.head.as_deref().or(head);
            let on_default = places.iter().filter(|place| default == Some(change.moves[**place].name.as_str()));
            let closings: Vec<Closing> = on_default.flat_map(|place| details.closings(*place)).collect();
            if !closings.is_empty() {
                closing::enqueue(&mut transaction, project.id, author, &closings).await?;
            }
        }
        if project.features.builds_enabled {
            let made = change.built.iter().filter(|place| places.contains(place)).map(|place| &change.moves[*place]);
            let pushed: Vec<Pushed> = made.filter_map(pushed).collect();
            if !pushed.is_empty() {
                pipelines::enqueue(&mut transaction, project.id, author, generation, &pushed).await?;
            }
        }
        let default_branch = first.and_then(RefName::as_branch);
        for places in places.chunks(MAX_NOTICES_IN_MEMORY) {
            let notice = |place: &usize| details.notice(change.opened, *place, &change.moves[*place], default_branch);
            let notices = places.iter().map(notice).collect();
            event::record_pushes(&mut transaction, project.id, author, notices, now).await?;
        }
    }
    commit(transaction).await?;
    Ok(Changed { refusals, made: Some(Made { generation, pack }) })
}

fn pushed(it: &Move) -> Option<Pushed> {
    let (branch, tag) = (it.name.as_branch(), it.name.as_tag());
    let ref_name = branch.or(tag)?.to_owned();
    Some(Pushed { ref_name, tag: tag.is_some(), sha: it.new?.object().to_string() })
}

/// The branch that becomes the default one.
fn first_branch(moves: &[Move]) -> Option<&RefName> {
    let made = || moves.iter().filter(|it| it.new.is_some() && it.name.as_branch().is_some()).map(|it| &it.name);
    let usual = ["main", "master"].into_iter().find_map(|usual| made().find(|name| name.as_branch() == Some(usual)));
    usual.or_else(|| made().next())
}

fn is_new(it: &Move) -> bool {
    it.new.is_some() && it.old.is_none()
}

/// Returns whether a change is so large, or its repository was so full when it was read, that the refs must be counted if
/// another change came first. Counting reads every ref while the repository is locked, so it is left out below half of the
/// limit. Changes that run at once can exceed the limit by that much each; the next change is refused then.
fn is_near_limit(existing: usize, created: usize, max_refs: usize) -> bool {
    existing.saturating_add(created) > max_refs / 2
}

/// Refuses the new refs for which there is no room, the last ones first. Those that are deleted by the same change make
/// room.
fn refuse_too_many(refusals: &mut [Option<&'static str>], moves: &[Move], existing: usize, max_refs: usize) {
    let deleted = moves.iter().zip(&*refusals).filter(|(it, refusal)| it.new.is_none() && refusal.is_none()).count();
    let mut count = existing.saturating_sub(deleted);
    for (_, refusal) in moves.iter().zip(refusals).filter(|(it, refusal)| is_new(it) && refusal.is_none()) {
        if count >= max_refs {
            *refusal = Some(TOO_MANY);
        } else {
            count += 1;
        }
    }
}

/// Compares with what is there now, which stays as it is until the end of the transaction.
async fn refuse(
    connection: &mut Connection,
    id: RepositoryId,
    head: Option<&str>,
    moves: &[Move],
) -> Result<Vec<Option<&'static str>>> {
    let names: Vec<&str> = moves.iter().map(|it| it.name.as_str()).collect();
    let current = ref_change::current(connection, id, &names).await?;
    let mut refusals: Vec<Option<&'static str>> = moves
        .iter()
        .map(|it| match (current.get(it.name.as_str()).copied(), it.old, it.new) {
            (None, _, None) => Some(GONE),
            (Some(_), _, None) if head == Some(it.name.as_str()) => Some(HEAD_DELETED),
            (is, was, _) if is != was => Some(LOST_RACE),
            _ => None,
        })
        .collect();

    let new: Vec<&str> = moves.iter().filter(|it| is_new(it)).map(|it| it.name.as_str()).collect();
    if new.is_empty() {
        return Ok(refusals);
    }
    let directories: Vec<&str> = moves.iter().filter(|it| is_new(it)).flat_map(|it| it.name.directories()).collect();
    let goes = |(it, refusal): &(&Move, &Option<_>)| it.new.is_none() && refusal.is_none();
    let going: Vec<&str> = moves.iter().zip(&refusals).filter(goes).map(|(it, _)| it.name.as_str()).collect();
    let taken = ref_change::in_the_way(connection, id, &new, &directories, &going).await?;
    // A new one may also stand in the way of the next.
    let mut taken_directories: HashSet<&str> = HashSet::new();
    let mut made: HashSet<&str> = HashSet::new();
    for (it, refusal) in moves.iter().zip(&mut refusals) {
        if !is_new(it) || refusal.is_some() {
            continue;
        }
        let name = it.name.as_str();
        let below = format!("{name}/");
        let is_blocked = it.name.directories().any(|directory| taken.contains(directory) || made.contains(directory))
            || taken.range(below.clone()..).next().is_some_and(|other| other.starts_with(&below))
            || taken_directories.contains(name);
        if is_blocked {
            *refusal = Some(CONFLICT);
        } else {
            made.insert(name);
            taken_directories.extend(it.name.directories());
        }
    }
    Ok(refusals)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counting takes time that is proportional to the number of refs, and others wait for the lock meanwhile.
    #[test]
    fn refs_are_counted_near_the_limit_alone() {
        assert!(!is_near_limit(0, 1, 100_000));
        assert!(!is_near_limit(49_999, 1, 100_000));
        assert!(is_near_limit(50_000, 1, 100_000));
        assert!(is_near_limit(0, 50_001, 100_000), "a change may be large itself");
        assert!(is_near_limit(100_000, 1, 100_000));
        assert!(is_near_limit(usize::MAX, 1, usize::MAX));
        assert!(is_near_limit(0, 1, 1));
    }
}
