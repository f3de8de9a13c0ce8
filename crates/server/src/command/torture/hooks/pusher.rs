//! Somebody who moves refs about, as quickly as nodes let them.

use std::sync::Arc;

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;

use super::Scene;
use crate::command::torture::client::Client;
use crate::command::torture::ledger::Fate;
use crate::command::torture::push::Wish;
use crate::command::torture::rest::Project;
use crate::command::torture::wire::{Move, Wire};

/// Share of pushes that git itself makes, with new commits.
const BY_GIT: f64 = 0.03;
const MOST_REFS: usize = 3;

pub async fn run(scene: Arc<Scene>, number: u16) -> anyhow::Result<()> {
    let mut client = Client::new(scene.world.clone(), number).await?;
    let wire = Wire::new()?;
    while !scene.world.over.is_cancelled() && scene.take_push() {
        let project = {
            let projects = scene.world.projects();
            projects.choose(&mut client.random).cloned()
        };
        let Some(project) = project else { return Ok(()) };
        if client.random.random_bool(BY_GIT) {
            client.push_one(&project, false).await?;
        } else {
            push(&scene, &mut client, &wire, &project).await?;
        }
    }
    Ok(())
}

async fn push(scene: &Scene, client: &mut Client, wire: &Wire, project: &Project) -> anyhow::Result<()> {
    let mut moves: Vec<Move> = Vec::new();
    for _ in 0..client.random.random_range(1..=MOST_REFS) {
        let name = if client.random.random_bool(0.2) { client.tag() } else { client.branch() };
        if moves.iter().all(|it| it.wish.name != name) {
            moves.push(choose(scene, client, project, name));
        }
    }
    let node = client.node().await;
    let fates = wire.push(&scene.world, project, &node, &moves).await;
    for (it, fate) in moves.iter().zip(&fates) {
        client.branches.learn(project.id, &it.wish, fate);
    }
    if fates.iter().any(|fate| !matches!(fate, Fate::Moved { .. })) {
        // From where it goes on must be known.
        client.look(project).await?;
    }
    Ok(())
}

/// To another commit than it is at, or away.
fn choose(scene: &Scene, client: &mut Client, project: &Project, name: String) -> Move {
    let old = client.branches.last(project.id, &name).map(str::to_owned);
    let expected = client.branches.expected(project.id, &name, false);
    let commits = scene.commits.get(&project.id).map(Vec::as_slice).unwrap_or_default();
    let others: Vec<&String> = commits.iter().filter(|id| Some(*id) != old.as_ref()).collect();
    let is_removed = old.is_some() && client.random.random_bool(0.2);
    let new = others.choose(&mut client.random).copied().cloned().filter(|_| !is_removed);
    Move { wish: Wish { name, new, force: true, expected }, old }
}
