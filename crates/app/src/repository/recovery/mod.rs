//! Finds pushes that are in the object store and not in the database, and applies them again.
//!
//! The database loses acknowledged pushes if it is rolled back to an earlier point, or if a replica takes over that
//! lagged behind. The packs and their receipts are still in the object store. [`search`] finds and classifies such
//! pushes, `plan` puts them into the order in which they can be applied, and [`apply()`] applies one of them.

mod apply;
mod plan;

use futures_util::TryStreamExt;
use holdfast_domain::ids::PackId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_store::objects::ObjectMeta;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::pack::{self, ObjectRecord};

use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::transfer::receipt::{self, Receipt, ReceiptReadResult};
use crate::{Actor, App, Error, Result, access};

pub use apply::apply;

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
    /// Number of objects that were inspected: all packs of the object store.
    pub objects: usize,
    /// The lost pushes, in the order in which they can be applied.
    pub lost: Vec<LostPush>,
    /// Number of lost pushes that the filter excludes.
    pub filtered_out: usize,
    /// Keys of the objects whose receipts cannot be trusted, and the reasons.
    pub untrusted: Vec<(String, &'static str)>,
    /// The objects that the database does not know and that have no receipt.
    pub without_receipt: ObjectTotals,
}

/// The number and the size of some objects in the object store.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectTotals {
    pub count: u64,
    pub bytes: u64,
}

/// Number of objects that are looked up in the database at a time.
const BATCH_SIZE: usize = 1000;

/// Searches the object store for lost pushes and classifies them.
#[crate::boxed]
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
    found.lost.sort_by_key(|lost| (lost.receipt.timestamp(), lost.key.clone()));
    plan::classify(app, &mut found.lost).await?;
    Ok(found)
}

async fn inspect_objects(app: &App, objects: Vec<ObjectMeta>, found: &mut SearchResult) -> Result<()> {
    found.objects += objects.len();
    let keys: Vec<&str> = objects.iter().map(|object| object.key.as_str()).collect();
    let records = pack::find_records(&mut *app.database.connection().await?, &keys).await?;
    for object in objects {
        let upload_intent = match records.get(&object.key) {
            Some(ObjectRecord::ListedOrUnreferenced) => continue,
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
                found.without_receipt.count += 1;
                found.without_receipt.bytes += object.size;
            }
        }
    }
    Ok(())
}

/// Opens the project that a push was for. Returns `None` if it has been deleted, or another one has its id.
async fn open_recorded_project(app: &App, receipt: &Receipt) -> Result<Option<OpenRepository>> {
    let project = ProjectRef::Id(receipt.project.into());
    let repository = match open_repository(app, &Actor::Operator, &project, ProjectAction::Read).await {
        Ok(opened) => opened,
        Err(Error::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let project = &repository.project;
    let is_same = project.created_at.timestamp_micros() == receipt.project_created
        && project.repository.id.get() == receipt.repository;
    Ok(is_same.then_some(repository))
}
