//! Pushes without git, which cost so little that there can be many: refs are moved among the first commits of a project,
//! which its default branch always leads to.

use std::sync::Arc;

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;

use crate::command::torture::client::Client;
use crate::command::torture::ledger::Fate;
use crate::command::torture::push::Wish;
use crate::command::torture::rest::Project;
use crate::command::torture::wire::Move;

/// Of each project that is no fork.
pub const COMMITS: usize = 8;
const MOST_REFS: usize = 3;
const NAMES: u32 = 6;

impl Client {
    pub async fn move_refs(&mut self, project: &Project) -> anyhow::Result<()> {
        let Some(commits) = self.world.first_commits().get(&project.id).cloned() else { return Ok(()) };
        let mut moves: Vec<Move> = Vec::new();
        for _ in 0..self.random.random_range(1..=MOST_REFS) {
            let name = format!("refs/heads/{}/m{}", self.name, self.random.random_range(0..NAMES));
            if moves.iter().all(|it| it.wish.name != name) {
                moves.push(self.choose_move(project, &commits, name));
            }
        }
        let node = self.node().await;
        let fates = self.wire.push(&self.world, project, &node, &moves).await;
        for (it, fate) in moves.iter().zip(&fates) {
            self.branches.learn(project.id, &it.wish, fate);
        }
        if fates.iter().any(|fate| !matches!(fate, Fate::Moved { .. })) {
            // From where it goes on must be known.
            self.look(project).await?;
        }
        Ok(())
    }

    /// To another commit than it is at, or away.
    fn choose_move(&mut self, project: &Project, commits: &Arc<Vec<String>>, name: String) -> Move {
        let old = self.branches.last(project.id, &name).map(str::to_owned);
        let expected = self.branches.expected(project.id, &name, project.is_fork());
        let others: Vec<&String> = commits.iter().filter(|id| Some(*id) != old.as_ref()).collect();
        let is_removed = old.is_some() && self.random.random_bool(0.2);
        let new = others.choose(&mut self.random).copied().cloned().filter(|_| !is_removed);
        Move { wish: Wish { name, new, force: true, expected }, old }
    }
}
