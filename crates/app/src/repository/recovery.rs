//! Finds pushes that are in the object store and not in the database, and applies them again.
//!
//! The database loses acknowledged pushes if it is rolled back to an earlier point, or if a replica takes over that
//! lagged behind. The packs and their receipts are still in the object store.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt;
use holdfast_domain::ids::PackId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::objects::ObjectMeta;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::pack::{self, ObjectRecord};
use holdfast_store::repository::ref_log;

use super::fetch::{self, OpenRepository};
use super::receipt::{self, Receipt, ReceiptReadResult, ReceiptRefUpdate};
use crate::{Actor, App, Error, Result, access};

pub use super::replay::apply;

/// A push that is in the object store, and whose pack the database has never listed.
#[derive(Clone, Debug)]
pub struct LostPush {
    pub key: String,
    pub receipt: Receipt,
    /// The upload intent, if the database has it. Such a push may have been rejected, or never have finished.
    pub upload_intent: Option<PackId>,
    pub state: LostPushState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostPushState {
    /// This number of its refs have their old values, once the pushes before it in the list have been applied.
    Applicable { refs: usize },
    /// Another push updates this ref from the same old value to another new one: one of them must have been rejected.
    Contested { name: String },
    /// All of its refs have their new values.
    Present,
    /// The ref log has it. Its objects are in other packs, or no longer needed.
    Logged,
    /// The project has been deleted, or another one has its id.
    NoProject,
    /// This ref does not have its old value.
    RefChanged { name: String, current: Option<String> },
}

/// The pushes that a search includes.
#[derive(Clone, Debug, Default)]
pub struct PushFilter {
    /// Whether pushes with an upload intent are included.
    pub includes_unfinished: bool,
    /// If not empty, exactly the pushes with these object keys are included.
    pub only_keys: Vec<String>,
}

impl PushFilter {
    fn includes(&self, lost: &LostPush) -> bool {
        match self.only_keys.is_empty() {
            true => lost.upload_intent.is_none() || self.includes_unfinished,
            false => self.only_keys.contains(&lost.key),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    /// The lost pushes, in the order in which they can be applied.
    pub lost: Vec<LostPush>,
    /// Number of lost pushes that the filter excludes.
    pub filtered_out: usize,
    /// Keys of the objects whose receipts cannot be trusted, and the reasons.
    pub untrusted: Vec<(String, &'static str)>,
    /// Number and size of the objects that the database does not know and that have no receipt.
    pub without_receipt: (u64, u64),
}

/// Number of objects that are looked up in the database at a time.
const BATCH_SIZE: usize = 1000;

/// Searches the object store for lost pushes and classifies them.
pub async fn search(app: &App, actor: &Actor, filter: &PushFilter) -> Result<SearchResult> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let mut found = SearchResult::default();
    let mut chunks = app.objects.list("packs")?.try_chunks(BATCH_SIZE);
    while let Some(objects) = chunks.try_next().await.map_err(|failure| failure.1)? {
        inspect_objects(app, objects, &mut found).await?;
    }
    let all = found.lost.len();
    found.lost.retain(|lost| filter.includes(lost));
    found.filtered_out = all - found.lost.len();
    found.lost.sort_by_key(|lost| (lost.receipt.at(), lost.key.clone()));
    classify(app, &mut found.lost).await?;
    Ok(found)
}

async fn inspect_objects(app: &App, objects: Vec<ObjectMeta>, found: &mut SearchResult) -> Result<()> {
    let keys: Vec<&str> = objects.iter().map(|object| object.key.as_str()).collect();
    let records = pack::find_records(&mut *app.database.connection().await?, &keys).await?;
    for object in objects {
        let upload_intent = match records.get(&object.key) {
            Some(ObjectRecord::Listed) => continue,
            Some(ObjectRecord::Intent(id)) => Some(*id),
            None => None,
        };
        match receipt::read(app, &object.key, object.size).await? {
            ReceiptReadResult::Receipt(receipt) => {
                found.lost.push(LostPush {
                    key: object.key,
                    receipt: *receipt,
                    upload_intent,
                    state: LostPushState::NoProject,
                });
            }
            ReceiptReadResult::Untrusted(why) => found.untrusted.push((object.key, why)),
            // The upload may still be running.
            ReceiptReadResult::None if upload_intent.is_some() => {}
            ReceiptReadResult::None => {
                found.without_receipt = (found.without_receipt.0 + 1, found.without_receipt.1 + object.size)
            }
        }
    }
    Ok(())
}

/// Opens the project that a push was for. Returns `None` if it has been deleted, or another one has its id.
pub(super) async fn open_recorded_project(app: &App, receipt: &Receipt) -> Result<Option<OpenRepository>> {
    let project = ProjectRef::Id(receipt.project.into());
    let repository = match fetch::open_repository(app, &Actor::Operator, &project, ProjectAction::Read).await {
        Ok(opened) => opened,
        Err(Error::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let project = &repository.project;
    let is_same = project.created_at.timestamp_micros() == receipt.project_created
        && project.repository.id.get() == receipt.repository;
    Ok(is_same.then_some(repository))
}

/// Maximum number of refs of a push that are looked up in the ref log.
const MAX_CHECKED_REFS: usize = 100;

/// Returns whether the ref log has a push. Deleted objects may have come back from a backup of the object store, and a
/// push that the ref log has is not lost, whatever happened to its refs.
async fn is_logged(app: &App, receipt: &Receipt) -> Result<bool> {
    let Some(since) = receipt.at() else { return Ok(false) };
    let mut connection = app.database.connection().await?;
    for update in receipt.moves.iter().take(MAX_CHECKED_REFS) {
        if let Some(ids) = update.ids()
            && ref_log::contains(&mut connection, receipt.repository.into(), &update.name, ids, since).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The refs of projects as they are after the pushes that have been planned so far.
#[derive(Default)]
struct ProjectedRefs {
    projects: HashMap<i64, OpenRepository>,
    updated: HashMap<(i64, String), Option<String>>,
}

impl ProjectedRefs {
    fn find_id(&self, project: i64, name: &str) -> Option<String> {
        match self.updated.get(&(project, name.to_owned())) {
            Some(id) => id.clone(),
            None => {
                let repository = self.projects.get(&project)?;
                Some(repository.refs.find(name)?.id.to_string())
            }
        }
    }

    fn is_applicable(&self, project: i64, update: &ReceiptRefUpdate) -> bool {
        self.find_id(project, &update.name) == update.old
    }

    fn applicable_updates<'a>(&self, receipt: &'a Receipt) -> Vec<&'a ReceiptRefUpdate> {
        receipt.moves.iter().filter(|it| self.is_applicable(receipt.project, it)).collect()
    }

    fn is_fully_applicable(&self, receipt: &Receipt) -> bool {
        self.applicable_updates(receipt).len() == receipt.moves.len()
    }

    fn is_partly_applicable(&self, receipt: &Receipt) -> bool {
        !receipt.atomic && !self.applicable_updates(receipt).is_empty()
    }

    fn is_present(&self, receipt: &Receipt) -> bool {
        receipt.moves.iter().all(|it| self.find_id(receipt.project, &it.name) == it.new)
    }

    /// Plans a push: records the new values of its refs.
    fn advance(&mut self, receipt: &Receipt) -> LostPushState {
        let applicable = self.applicable_updates(receipt);
        let refs = applicable.len();
        for update in applicable {
            self.updated.insert((receipt.project, update.name.clone()), update.new.clone());
        }
        LostPushState::Applicable { refs }
    }
}

/// Sets the states of the pushes, and sorts them into the order in which they can be applied. A receipt is written
/// before its push is acknowledged and does not prove that it was. So pushes with an upload intent come after those
/// that the database does not know at all.
async fn classify(app: &App, lost: &mut Vec<LostPush>) -> Result<()> {
    let mut projected = ProjectedRefs::default();
    let (mut pending, mut ordered): (Vec<LostPush>, Vec<LostPush>) = (Vec::new(), Vec::new());
    for mut push in lost.drain(..) {
        let Some(repository) = open_recorded_project(app, &push.receipt).await? else {
            ordered.push(push);
            continue;
        };
        projected.projects.entry(push.receipt.project).or_insert(repository);
        if is_logged(app, &push.receipt).await? {
            push.state = LostPushState::Logged;
            ordered.push(push);
        } else {
            pending.push(push);
        }
    }
    let (with_intent, without_intent) = pending.into_iter().partition(|it| it.upload_intent.is_some());
    plan_order(&mut projected, without_intent, &mut ordered);
    plan_order(&mut projected, with_intent, &mut ordered);
    *lost = ordered;
    Ok(())
}

/// Plans pushes in the order in which they apply to the refs. The clocks of nodes differ, so a push may apply only
/// after one with a later time. A push that applies only in part comes after all that apply as a whole.
fn plan_order(projected: &mut ProjectedRefs, mut pending: Vec<LostPush>, ordered: &mut Vec<LostPush>) {
    let mut claims: HashMap<(i64, String, Option<String>), HashSet<Option<String>>> = HashMap::new();
    let claim = |lost: &LostPush, it: &ReceiptRefUpdate| (lost.receipt.project, it.name.clone(), it.old.clone());
    for lost in &pending {
        for update in &lost.receipt.moves {
            claims.entry(claim(lost, update)).or_default().insert(update.new.clone());
        }
    }
    loop {
        let before = pending.len();
        for mut lost in std::mem::take(&mut pending) {
            let applicable = projected.applicable_updates(&lost.receipt);
            let contested = applicable.into_iter().find(|update| claims[&claim(&lost, update)].len() > 1);
            lost.state = if projected.is_present(&lost.receipt) {
                LostPushState::Present
            } else if let Some(it) = contested {
                LostPushState::Contested { name: it.name.clone() }
            } else if projected.is_fully_applicable(&lost.receipt) {
                projected.advance(&lost.receipt)
            } else {
                pending.push(lost);
                continue;
            };
            ordered.push(lost);
        }
        if pending.len() < before {
            continue;
        }
        let Some(next) = pending.iter().position(|lost| projected.is_partly_applicable(&lost.receipt)) else { break };
        let mut lost = pending.remove(next);
        lost.state = projected.advance(&lost.receipt);
        ordered.push(lost);
    }
    for mut lost in pending {
        let project = lost.receipt.project;
        if let Some(conflicting) = lost.receipt.moves.iter().find(|moved| !projected.is_applicable(project, moved)) {
            lost.state = LostPushState::RefChanged {
                name: conflicting.name.clone(),
                current: projected.find_id(project, &conflicting.name),
            };
        }
        ordered.push(lost);
    }
}
