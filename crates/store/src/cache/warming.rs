//! Bringing copies up to date before they are asked for, without taking them for used.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::index_pack::PARTS;

use super::{Cache, Entry, Result};
use crate::repository::pack::Pack;
use crate::{Database, Objects};

/// How exactly it is known after a restart when a copy was used, in milliseconds.
const NOTED_EVERY: u64 = 60_000;

impl Cache {
    /// The copies that are here, that of the last use first.
    pub fn recently_used(&self) -> Vec<RepositoryId> {
        self.by_age().into_iter().rev().map(|(_, id)| id).collect()
    }

    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Whether what is missing of these would fit.
    pub fn has_room(&self, packs: &[Pack], at_most: u64) -> bool {
        let missing = packs.iter().filter(|pack| !self.slot.pack(pack, PARTS[0]).exists()).map(Pack::bytes);
        self.bytes() + missing.sum::<u64>() <= at_most
    }

    /// As a lease would, but not as a use.
    pub async fn warm(&self, database: &Database, objects: &Objects, id: RepositoryId) -> Result<()> {
        self.current(database, objects, id, i64::MAX).await.map(drop)
    }

    pub(super) fn touch(&self, id: RepositoryId, entry: &Entry) {
        let now = self.started.elapsed().as_millis() as u64;
        entry.last_used.store(now, Ordering::Relaxed);
        let noted = entry.noted.load(Ordering::Relaxed);
        if noted != 0 && now < noted + NOTED_EVERY {
            return;
        }
        entry.noted.store(now.max(1), Ordering::Relaxed);
        // On the disk, so that the next process knows. It is advice: without it the order is another.
        let file = std::fs::File::options().write(true).open(self.slot.repository(id).join("HEAD"));
        #[expect(clippy::disallowed_methods, reason = "it orders files of this machine, as the system's own times do")]
        let now = SystemTime::now();
        file.and_then(|file| file.set_modified(now)).ok();
    }
}
