//! Plans the recovery of lost pushes: which of them can be applied, and in which order.

use std::collections::{HashMap, HashSet};

use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::repository::ref_log;

use super::{LostPush, LostPushState, open_recorded_project};
use crate::repository::open_repository::OpenRepository;
use crate::repository::transfer::receipt::{Receipt, ReceiptRefUpdate};
use crate::{App, Result};

/// Maximum number of refs of a push that are looked up in the ref log.
const MAX_CHECKED_REFS: usize = 100;

/// Returns whether the ref log has a push. Deleted objects may have come back from a backup of the object store, and a
/// push that the ref log has is not lost, whatever happened to its refs.
async fn is_logged(app: &App, receipt: &Receipt) -> Result<bool> {
    let Some(since) = receipt.timestamp() else { return Ok(false) };
    let mut connection = app.database.connection().await?;
    for update in receipt.ref_updates.iter().take(MAX_CHECKED_REFS) {
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
        receipt.ref_updates.iter().filter(|it| self.is_applicable(receipt.project, it)).collect()
    }

    fn is_fully_applicable(&self, receipt: &Receipt) -> bool {
        self.applicable_updates(receipt).len() == receipt.ref_updates.len()
    }

    fn is_partly_applicable(&self, receipt: &Receipt) -> bool {
        !receipt.atomic && !self.applicable_updates(receipt).is_empty()
    }

    fn is_present(&self, receipt: &Receipt) -> bool {
        receipt.ref_updates.iter().all(|it| self.find_id(receipt.project, &it.name) == it.new)
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
pub(super) async fn classify(app: &App, lost: &mut Vec<LostPush>) -> Result<()> {
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
        for update in &lost.receipt.ref_updates {
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
        if let Some(conflicting) =
            lost.receipt.ref_updates.iter().find(|moved| !projected.is_applicable(project, moved))
        {
            lost.state = LostPushState::RefChanged {
                name: conflicting.name.clone(),
                current: projected.find_id(project, &conflicting.name),
            };
        }
        ordered.push(lost);
    }
}
