//! Renames projects and deletes forks while clients push to them.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use crate::Harness;
use crate::faults::{FaultKind, FaultTarget};
use crate::node::Node;
use crate::rest::Project;

const INTERVAL_MILLIS: std::ops::Range<u64> = 1500..4000;
/// Minimum number of forks that are kept, so that clients always have some to push to.
const MIN_FORKS: usize = 1;

pub async fn run(harness: Arc<Harness>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(harness.seed.wrapping_add(0x4ea2));
    while harness.pause(Duration::from_millis(random.random_range(INTERVAL_MILLIS))).await {
        let (forks, renamable): (Vec<Project>, Vec<Project>) = {
            let projects = harness.projects();
            let forks = projects.iter().filter(|it| it.is_fork()).cloned().collect();
            (forks, projects.iter().skip(super::HOOKED_PROJECTS).cloned().collect())
        };
        if forks.len() > MIN_FORKS && random.random_bool(0.5) {
            if let Some(fork) = forks.choose(&mut random) {
                delete(&harness, &mut random, fork).await;
            }
        } else if let Some(project) = renamable.choose(&mut random) {
            let path = format!("moved-{}", random.random::<u32>());
            rename(&harness, &mut random, project, &path).await;
        }
    }
    Ok(())
}

fn pick_node(harness: &Harness, random: &mut StdRng) -> Option<Arc<Node>> {
    let running: Vec<&Arc<Node>> = harness.nodes.iter().filter(|node| node.life().is_some()).collect();
    running.choose(random).map(|node| Arc::clone(node))
}

/// Requests the deletion of a fork. The response does not matter: the fork may disappear at any time from now on, and
/// is not checked any more.
async fn delete(harness: &Harness, random: &mut StdRng, fork: &Project) {
    let Some(node) = pick_node(harness, random) else { return };
    // The fault never ends: operations that have begun may fail because of it at any time.
    std::mem::forget(harness.faults.inject(FaultKind::DeletedProject, FaultTarget::Project(fork.id)));
    harness.deleted().insert(fork.id);
    harness.projects().retain(|it| it.id != fork.id);
    if harness.rest.delete_project(&node, fork.id).await.is_ok() {
        harness.history.count(|counts| counts.deletions += 1);
    }
}

/// Renames a project. The old path redirects, so only operations that are active during the rename may fail.
async fn rename(harness: &Harness, random: &mut StdRng, project: &Project, path: &str) {
    let Some(first) = pick_node(harness, random) else { return };
    let _fault = harness.faults.inject(FaultKind::RenamedProject, FaultTarget::Project(project.id));
    let mut renamed = harness.rest.rename(&first, project.id, path).await;
    if renamed.is_ok() {
        harness.history.count(|counts| counts.renames += 1);
    }
    while renamed.is_err() && harness.pause(Duration::from_millis(200)).await {
        if let Some(other) = pick_node(harness, random) {
            renamed = harness.rest.get_project(&other, project.id).await;
        }
    }
    if let (Ok(renamed), Some(project_entry)) = (renamed, harness.projects().iter_mut().find(|it| it.id == project.id))
    {
        project_entry.path = renamed.path;
    }
}
