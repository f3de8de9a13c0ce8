//! How much the instance stores, for administrators. The figures are estimates, so that their cost is bounded.

use holdfast_domain::policy::InstanceAction;
use holdfast_store::instance::storage::{self, SampledObjects};

pub use holdfast_store::instance::storage::{LargePack, MAX_COUNTED_UNREFERENCED, StoredKind, UnreferencedPacks};

use crate::{Actor, App, Result, access};

/// Maximum number of large packs in a report. Arbitrary.
const MAX_LARGE_PACKS: i64 = 20;

/// The stored objects of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredObjects {
    pub kind: StoredKind,
    pub objects: u64,
    pub bytes: u64,
    /// Whether the numbers were computed from a sample.
    pub is_estimate: bool,
}

#[derive(Clone, Debug)]
pub struct StorageReport {
    pub stored: Vec<StoredObjects>,
    /// Size of the database with its indexes.
    pub database_bytes: u64,
    pub unreferenced: UnreferencedPacks,
    /// The largest packs among those that were examined.
    pub large_packs: Vec<LargePack>,
}

/// Returns what the instance stores.
#[crate::boxed]
pub async fn report(app: &App, actor: &Actor) -> Result<StorageReport> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let mut connection = app.database.connection().await?;
    let sizes = storage::sample_sizes(&mut connection).await?;
    let samples = storage::read_samples(&mut connection, &sizes).await?;
    let unreferenced = storage::count_unreferenced(&mut connection).await?;
    let percent = sizes.percent(StoredKind::Packs);
    let large_packs = storage::list_large_packs(&mut connection, percent, MAX_LARGE_PACKS).await?;
    let stored = StoredKind::ALL.into_iter().zip(samples);
    Ok(StorageReport {
        stored: stored.map(|(kind, sample)| extrapolate(kind, sample, sizes.percent(kind))).collect(),
        database_bytes: sizes.database_bytes.unsigned_abs(),
        unreferenced,
        large_packs,
    })
}

/// Computes the numbers of a table from those of a sample with this share of it.
fn extrapolate(kind: StoredKind, sample: SampledObjects, percent: f32) -> StoredObjects {
    let is_estimate = percent < 100.0;
    let scale = |sampled: i64| match is_estimate {
        // Converted with a loss of precision that an estimate has anyway.
        true => (sampled as f64 * 100.0 / f64::from(percent)) as u64,
        false => sampled.unsigned_abs(),
    };
    StoredObjects { kind, objects: scale(sample.objects), bytes: scale(sample.bytes), is_estimate }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_scaled_to_the_whole_table() {
        let sample = SampledObjects { objects: 30, bytes: 1_000 };
        let found = extrapolate(StoredKind::Packs, sample, 25.0);
        assert_eq!((found.objects, found.bytes, found.is_estimate), (120, 4_000, true));
        let found = extrapolate(StoredKind::Packs, sample, 100.0);
        assert_eq!((found.objects, found.bytes, found.is_estimate), (30, 1_000, false));
    }
}
