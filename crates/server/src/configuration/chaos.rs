use std::time::Duration;

use holdfast_store::chaos::Settings;
use serde::Deserialize;

use super::Invalid;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chaos {
    fail_percent: f64,
    slow_percent: f64,
    slow_milliseconds: u64,
    tear_percent: f64,
    seed: u64,
}

impl Chaos {
    pub fn settings(&self) -> Settings {
        Settings {
            fail_percent: self.fail_percent,
            slow_percent: self.slow_percent,
            slow: Duration::from_millis(self.slow_milliseconds),
            tear_percent: self.tear_percent,
            seed: self.seed,
        }
    }

    pub fn check(&self) -> Result<(), Invalid> {
        let all = [
            ("chaos.fail_percent", self.fail_percent),
            ("chaos.slow_percent", self.slow_percent),
            ("chaos.tear_percent", self.tear_percent),
        ];
        for (key, percent) in all {
            if !(0.0..=100.0).contains(&percent) {
                let cure = "give a number from 0 to 100, or leave it out";
                return Err(Invalid::new(key, percent, "it is out of range", cure));
            }
        }
        Ok(())
    }
}
