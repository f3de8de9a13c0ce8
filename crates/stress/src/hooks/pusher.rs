//! A client that updates refs as fast as the nodes allow.

use std::sync::Arc;

use rand::RngExt as _;
use rand::seq::IndexedRandom as _;

use super::HookScenario;
use crate::client::Client;
use crate::history::UpdateOutcome;
use crate::push::RefUpdate;
use crate::rest::Project;
use crate::wire::{PlannedUpdate, Wire};

/// Share of pushes that are made with git and contain new commits.
const GIT_PUSH_SHARE: f64 = 0.03;
const MAX_REFS: usize = 3;

pub async fn run(scenario: Arc<HookScenario>, number: u16) -> anyhow::Result<()> {
    let mut client = Client::new(scenario.harness.clone(), number).await?;
    let wire = Wire::new()?;
    while !scenario.harness.finished.is_cancelled() && scenario.claim_push() {
        let project = {
            let projects = scenario.harness.projects();
            projects.choose(&mut client.random).cloned()
        };
        let Some(project) = project else { return Ok(()) };
        if client.random.random_bool(GIT_PUSH_SHARE) {
            client.push_one(&project, false).await?;
        } else {
            push(&scenario, &mut client, &wire, &project).await?;
        }
    }
    Ok(())
}

async fn push(scenario: &HookScenario, client: &mut Client, wire: &Wire, project: &Project) -> anyhow::Result<()> {
    let mut updates: Vec<PlannedUpdate> = Vec::new();
    for _ in 0..client.random.random_range(1..=MAX_REFS) {
        let name = if client.random.random_bool(0.2) { client.random_tag() } else { client.random_branch() };
        if updates.iter().all(|it| it.update.name != name) {
            updates.push(choose_update(scenario, client, project, name));
        }
    }
    let node = client.pick_node().await;
    let outcomes = wire.push(&scenario.harness, project, &node, &updates).await;
    for (planned, outcome) in updates.iter().zip(&outcomes) {
        client.known_refs.record(project.id, &planned.update, outcome);
    }
    if outcomes.iter().any(|fate| !matches!(fate, UpdateOutcome::Updated { .. })) {
        // The next update must contain the current value of the ref.
        client.list_refs(project).await?;
    }
    Ok(())
}

/// Plans to set a ref to another commit, or to delete it.
fn choose_update(scenario: &HookScenario, client: &mut Client, project: &Project, name: String) -> PlannedUpdate {
    let old = client.known_refs.last(project.id, &name).map(str::to_owned);
    let expected = client.known_refs.expected(project.id, &name, false);
    let commits = scenario.commits.get(&project.id).map(Vec::as_slice).unwrap_or_default();
    let others: Vec<&String> = commits.iter().filter(|id| Some(*id) != old.as_ref()).collect();
    let is_removed = old.is_some() && client.random.random_bool(0.2);
    let new = others.choose(&mut client.random).copied().cloned().filter(|_| !is_removed);
    PlannedUpdate { update: RefUpdate { name, new, is_forced: true, expected }, old }
}
