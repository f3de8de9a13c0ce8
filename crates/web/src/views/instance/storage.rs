//! What the instance stores, for administrators.

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use holdfast_app::instance::storage::{LargePack, MAX_COUNTED_UNREFERENCED, StorageReport, StoredKind, StoredObjects};

use super::admin_nav::admin_frame;
use crate::layout::Layout;
use crate::views::{ProjectLinks, links};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "instance/storage.html")]
pub struct StoragePage {
    pub layout: Layout,
    pub stored: Vec<StoredRow>,
    /// Whether a row is an estimate.
    pub has_estimates: bool,
    pub database_size: String,
    /// The unreferenced packs with their size. None if there are none.
    pub unreferenced: Option<Unreferenced>,
    pub retention_days: i64,
    pub large_packs: Vec<LargePackRow>,
}

#[derive(Clone, Debug)]
pub struct StoredRow {
    pub label: &'static str,
    pub meaning: &'static str,
    pub objects: String,
    pub size: String,
    pub is_estimate: bool,
}

#[derive(Clone, Debug)]
pub struct Unreferenced {
    pub packs: String,
    pub size: String,
    pub oldest: Option<Time>,
}

#[derive(Clone, Debug)]
pub struct LargePackRow {
    pub size: String,
    pub created: Time,
    pub path: String,
    pub url: String,
    pub maintenance_action: String,
}

/// Builds the page.
pub fn storage_page(layout: Layout, report: &StorageReport, retention: TimeDelta, now: DateTime<Utc>) -> StoragePage {
    let row = |stored: &StoredObjects| {
        let (label, meaning) = match stored.kind {
            StoredKind::Packs => ("Packs", "commits, files and tags of repositories"),
            StoredKind::Uploads => ("Uploads", "files in issues, comments and releases"),
            StoredKind::Traces => ("Traces", "output of builds"),
            StoredKind::Artifacts => ("Artifacts", "files that builds keep"),
        };
        StoredRow {
            label,
            meaning,
            objects: words::number(i64::try_from(stored.objects).unwrap_or(i64::MAX)),
            size: words::size(stored.bytes),
            is_estimate: stored.is_estimate,
        }
    };
    let pack = |pack: &LargePack| LargePackRow {
        size: words::size(pack.bytes.unsigned_abs()),
        created: Time::ago(pack.created_at, now),
        path: pack.full_path.clone(),
        url: ProjectLinks::new(&pack.full_path).home().to_owned(),
        maintenance_action: links::admin_project_maintenance(pack.project_id),
    };
    let found = report.unreferenced;
    let unreferenced = (found.packs > 0).then(|| Unreferenced {
        packs: match found.packs {
            packs if packs >= MAX_COUNTED_UNREFERENCED => format!("at least {}", words::number(packs)),
            packs => words::number(packs),
        },
        size: words::size(found.bytes.unsigned_abs()),
        oldest: found.oldest.map(|at| Time::ago(at, now)),
    });
    StoragePage {
        layout: admin_frame(layout, "Storage"),
        stored: report.stored.iter().map(row).collect(),
        has_estimates: report.stored.iter().any(|stored| stored.is_estimate),
        database_size: words::size(report.database_bytes),
        unreferenced,
        retention_days: retention.num_days(),
        large_packs: report.large_packs.iter().map(pack).collect(),
    }
}
