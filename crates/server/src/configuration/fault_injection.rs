//! The section `[fault_injection]`, which is for tests.

use std::time::Duration;

use holdfast_store::fault_injection::FaultSettings;
use serde::Deserialize;

use super::InvalidSetting;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultInjection {
    fail_percent: f64,
    slow_percent: f64,
    slow_milliseconds: u64,
    truncate_percent: f64,
    seed: u64,
}

impl FaultInjection {
    pub fn settings(&self) -> FaultSettings {
        FaultSettings {
            fail_percent: self.fail_percent,
            slow_percent: self.slow_percent,
            delay: Duration::from_millis(self.slow_milliseconds),
            truncate_percent: self.truncate_percent,
            seed: self.seed,
        }
    }

    pub fn check(&self) -> Result<(), InvalidSetting> {
        let ranges = [
            ("fault_injection.fail_percent", self.fail_percent),
            ("fault_injection.slow_percent", self.slow_percent),
            ("fault_injection.truncate_percent", self.truncate_percent),
        ];
        for (key, percent) in ranges {
            if !(0.0..=100.0).contains(&percent) {
                return Err(InvalidSetting::out_of_range(key, percent, 0.0, 100.0));
            }
        }
        Ok(())
    }
}
