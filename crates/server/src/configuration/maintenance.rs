//! The section `[maintenance]`.

use chrono::TimeDelta;
use holdfast_app::repository::maintenance::MaintenanceSettings;
use serde::Deserialize;

use super::InvalidSetting;

/// Settings of repository maintenance. Periods can be fractions of a day, which tests use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maintenance {
    pub(super) repack_threshold_packs: u32,
    ref_restore_days: f64,
    prune_after_days: f64,
    unreferenced_pack_retention_days: f64,
}

impl Maintenance {
    pub fn settings(&self) -> MaintenanceSettings {
        MaintenanceSettings {
            repack_threshold_packs: self.repack_threshold_packs.into(),
            ref_restore_period: to_time_delta(self.ref_restore_days),
            prune_after: to_time_delta(self.prune_after_days),
            unreferenced_pack_retention: to_time_delta(self.unreferenced_pack_retention_days),
        }
    }

    pub fn check(&self) -> Result<(), InvalidSetting> {
        let ranges = [
            ("maintenance.ref_restore_days", self.ref_restore_days),
            ("maintenance.prune_after_days", self.prune_after_days),
            ("maintenance.unreferenced_pack_retention_days", self.unreferenced_pack_retention_days),
        ];
        for (key, days) in ranges {
            if !(0.0..=36_500.0).contains(&days) {
                return Err(InvalidSetting::out_of_range(key, days, 0.0, 36_500.0));
            }
        }
        Ok(())
    }
}

fn to_time_delta(days: f64) -> TimeDelta {
    TimeDelta::milliseconds((days * 86_400_000.0) as i64)
}
