//! How far an import is, and what it has imported and left out.

use std::collections::BTreeMap;

use holdfast_domain::text::cut;
use holdfast_domain::violations::is_control;
use serde::{Deserialize, Serialize};

/// Records that were not imported, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub relation: String,
    pub reason: String,
    pub count: u64,
    /// The numbers or names of the first of them, if they have any.
    pub examples: Vec<String>,
}

/// Maximum number of examples of one reason. Arbitrary.
const MAX_EXAMPLES: usize = 20;
/// Maximum size of an example. Arbitrary.
const MAX_EXAMPLE_BYTES: usize = 100;

/// The state of an import, which every transaction of the import updates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of finished steps: the repository is the first one, and each relation is one more.
    pub step: usize,
    /// The number of finished lines of the current relation.
    pub line: u64,
    /// The number of records in the export, by relation.
    pub fetched: BTreeMap<String, u64>,
    /// The number of imported records, by relation.
    pub imported: BTreeMap<String, u64>,
    pub left_out: Vec<LeftOut>,
}

impl Progress {
    pub(super) fn add_imported(&mut self, relation: &str, count: u64) {
        *self.imported.entry(relation.to_owned()).or_default() += count;
    }

    /// Records that something was not imported. There are few reasons for each relation, so that the list stays short.
    pub(super) fn leave_out(&mut self, relation: &str, reason: &str, count: u64, example: Option<&str>) {
        if count == 0 {
            return;
        }
        let found = self.left_out.iter().position(|it| it.relation == relation && it.reason == reason);
        let index = found.unwrap_or_else(|| {
            let (relation, reason) = (relation.to_owned(), reason.to_owned());
            self.left_out.push(LeftOut { relation, reason, count: 0, examples: Vec::new() });
            self.left_out.len() - 1
        });
        let entry = &mut self.left_out[index];
        entry.count += count;
        if let Some(example) = example.filter(|_| entry.examples.len() < MAX_EXAMPLES) {
            let example = cut(example, MAX_EXAMPLE_BYTES);
            entry.examples.push(example.chars().filter(|char| !is_control(*char)).collect());
        }
    }
}
