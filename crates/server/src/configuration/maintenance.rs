use chrono::TimeDelta;
use holdfast_app::repository::maintenance::MaintenanceSettings;
use serde::Deserialize;

use super::Invalid;

/// Parts of a day are for trials.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maintenance {
    undo_days: f64,
    prune_after_days: f64,
    backup_window_days: f64,
}

impl Maintenance {
    pub fn settings(&self) -> MaintenanceSettings {
        MaintenanceSettings {
            undo: days(self.undo_days),
            prune_after: days(self.prune_after_days),
            backup_window: days(self.backup_window_days),
        }
    }

    pub fn check(&self) -> Result<(), Invalid> {
        let all = [
            ("maintenance.undo_days", self.undo_days),
            ("maintenance.prune_after_days", self.prune_after_days),
            ("maintenance.backup_window_days", self.backup_window_days),
        ];
        for (key, days) in all {
            if !(0.0..=36_500.0).contains(&days) {
                let cure = "give a number of days from 0 to 36500, or leave it out";
                return Err(Invalid::new(key, days, "it is out of range", cure));
            }
        }
        Ok(())
    }
}

fn days(days: f64) -> TimeDelta {
    TimeDelta::milliseconds((days * 86_400_000.0) as i64)
}
