//! Cheap pushes without git: ref updates among the first commits of a project, which are always reachable from its
//! default branch.

use std::sync::Arc;

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;

use crate::client::Client;
use crate::history::UpdateOutcome;
use crate::push::RefUpdate;
use crate::rest::Project;
use crate::wire::PlannedUpdate;

/// Number of initial commits of each project that is not a fork.
pub const FIRST_COMMITS: usize = 8;
const MAX_REFS: usize = 3;
const REF_NAMES: u32 = 6;

impl Client {
    pub async fn update_refs(&mut self, project: &Project) -> anyhow::Result<()> {
        let Some(commits) = self.harness.first_commits().get(&project.id).cloned() else { return Ok(()) };
        let mut updates: Vec<PlannedUpdate> = Vec::new();
        for _ in 0..self.random.random_range(1..=MAX_REFS) {
            let name = format!("refs/heads/{}/m{}", self.name, self.random.random_range(0..REF_NAMES));
            if updates.iter().all(|it| it.update.name != name) {
                updates.push(self.choose_update(project, &commits, name));
            }
        }
        let node = self.pick_node().await;
        let outcomes = self.wire.push(&self.harness, project, &node, &updates).await;
        for (planned, outcome) in updates.iter().zip(&outcomes) {
            self.known_refs.record(project.id, &planned.update, outcome);
        }
        if outcomes.iter().any(|fate| !matches!(fate, UpdateOutcome::Updated { .. })) {
            // The next update must contain the current value of the ref.
            self.list_refs(project).await?;
        }
        Ok(())
    }

    /// Plans to set a ref to another commit, or to delete it.
    fn choose_update(&mut self, project: &Project, commits: &Arc<Vec<String>>, name: String) -> PlannedUpdate {
        let old = self.known_refs.last(project.id, &name).map(str::to_owned);
        let expected = self.known_refs.expected(project.id, &name, project.is_fork());
        let others: Vec<&String> = commits.iter().filter(|id| Some(*id) != old.as_ref()).collect();
        let is_removed = old.is_some() && self.random.random_bool(0.2);
        let new = others.choose(&mut self.random).copied().cloned().filter(|_| !is_removed);
        PlannedUpdate { update: RefUpdate { name, new, is_forced: true, expected }, old }
    }
}
