//! The form of a runner, which the settings of a project and the administration share.

use holdfast_app::ci::runner::RunnerChanges;
use holdfast_http_core::params;

use crate::views::ci::runner::RunnerValues;

params! {
    /// The fields of the form. A box that is not checked is not sent.
    pub struct RunnerFields {
        optional description: String,
        /// Tags, separated by commas.
        optional tags_list: String,
        optional active: bool,
        optional run_untagged: bool,
        optional locked: bool,
    }
}

impl RunnerFields {
    pub fn into_values(self) -> RunnerValues {
        RunnerValues {
            description: self.description.unwrap_or_default().trim().to_owned(),
            tags: self.tags_list.unwrap_or_default(),
            active: self.active.unwrap_or_default(),
            run_untagged: self.run_untagged.unwrap_or_default(),
            locked: self.locked.unwrap_or_default(),
        }
    }
}

/// Returns the changes that a form asks for.
pub fn changes(values: &RunnerValues) -> RunnerChanges {
    RunnerChanges {
        description: Some(values.description.clone()),
        active: Some(values.active),
        tags: Some(values.tags.split(',').map(str::to_owned).collect()),
        run_untagged: Some(values.run_untagged),
        locked: Some(values.locked),
    }
}

/// Returns the changes that pause or resume a runner.
pub fn activation(is_active: bool) -> RunnerChanges {
    RunnerChanges { active: Some(is_active), ..RunnerChanges::default() }
}
