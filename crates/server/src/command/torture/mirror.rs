//! What a client gets that has nothing, from a node that has nothing.

use std::collections::BTreeMap;

use holdfast_app::App;
use holdfast_store::repository::audit::{self, Audited};

use super::World;
use super::full::hidden;
use super::git::read_refs;
use super::node::Node;

pub async fn check(world: &World, app: &App, fresh: &Node, repository: &Audited) -> anyhow::Result<()> {
    let violate = |text: String| {
        let (seed, project, path) = (world.seed, repository.project, &repository.path);
        world
            .ledger
            .violate(format!("seed {seed}: project {project} ({path}), repository {}: {text}", repository.repository));
    };
    let place = tempfile::Builder::new().prefix("mirror-").tempdir_in(&world.directory)?;
    let (url, path) = (format!("http://{}/{}.git", fresh.address, repository.path), place.path().to_string_lossy());
    let cloned = world.git.run(&world.directory, &["clone", "--quiet", "--mirror", &url, &path], b"").await?;
    if !cloned.success {
        violate(format!("a fresh node cannot give a clone: {}", cloned.said.trim()));
        return Ok(());
    }
    let checked = world.git.run(place.path(), &["fsck", "--full", "--strict"], b"").await?;
    let complaints = checked.said.lines().chain(checked.output.lines()).any(|line| !line.starts_with("notice: "));
    if !checked.success || complaints {
        violate(format!("git fsck says: {} {}", checked.output.trim(), checked.said.trim()));
    }
    let format = "--format=%(objectname) %(refname)";
    let cloned = world.git.local(place.path(), &["for-each-ref", format], b"").await?;
    let cloned: BTreeMap<&str, &str> = read_refs(&cloned).collect();
    let kept = audit::refs(&mut *app.database.connection().await?, repository.repository).await?;
    let kept: BTreeMap<&str, &str> = kept.iter().map(|(name, id)| (name.as_str(), id.as_str())).collect();
    for name in cloned.keys().chain(kept.keys()).collect::<std::collections::BTreeSet<_>>() {
        let (got, is) = (cloned.get(name), kept.get(name));
        if got != is {
            violate(format!("{name} was cloned as {got:?} but is {is:?}"));
        }
    }
    if world.faults.store_fails {
        hidden::check(world, fresh, repository, place.path()).await?;
    }
    let head = world.git.local(place.path(), &["symbolic-ref", "HEAD"], b"").await?;
    if repository.head.as_ref().is_some_and(|is| *is != head) {
        violate(format!("HEAD was cloned as {head} but is {:?}", repository.head));
    }
    Ok(())
}
