//! Clones a repository from a node with an empty cache, and compares the clone with the database.

use std::collections::BTreeMap;

use holdfast_app::App;
use holdfast_store::repository::audit::{self, AuditedRepository};

use super::git::read_refs;
use super::node::Node;
use super::{Harness, unreachable};

pub async fn check(harness: &Harness, app: &App, fresh: &Node, repository: &AuditedRepository) -> anyhow::Result<()> {
    let violate = |text: String| {
        let (seed, project, path) = (harness.seed, repository.project, &repository.path);
        harness.history.report_violation(format!(
            "seed {seed}: project {project} ({path}), repository {}: {text}",
            repository.repository
        ));
    };
    let directory = tempfile::Builder::new().prefix("mirror-").tempdir_in(&harness.directory)?;
    let (url, path) = (format!("http://{}/{}.git", fresh.address, repository.path), directory.path().to_string_lossy());
    let cloned = harness.git.run(&harness.directory, &["clone", "--quiet", "--mirror", &url, &path], b"").await?;
    if !cloned.is_success {
        violate(format!("cloning from a new node failed: {}", cloned.stderr.trim()));
        return Ok(());
    }
    let checked = harness.git.run(directory.path(), &["fsck", "--full", "--strict"], b"").await?;
    let complaints = checked.stderr.lines().chain(checked.stdout.lines()).any(|line| !line.starts_with("notice: "));
    if !checked.is_success || complaints {
        violate(format!("git fsck says: {} {}", checked.stdout.trim(), checked.stderr.trim()));
    }
    let format = "--format=%(objectname) %(refname)";
    let cloned = harness.git.run_local(directory.path(), &["for-each-ref", format], b"").await?;
    let cloned: BTreeMap<&str, &str> = read_refs(&cloned).collect();
    let stored = audit::list_refs(&mut *app.database.connection().await?, repository.repository).await?;
    let stored: BTreeMap<&str, &str> = stored.iter().map(|(name, id)| (name.as_str(), id.as_str())).collect();
    for name in cloned.keys().chain(stored.keys()).collect::<std::collections::BTreeSet<_>>() {
        let (cloned_id, stored_id) = (cloned.get(name), stored.get(name));
        if cloned_id != stored_id {
            violate(format!("{name} was cloned as {cloned_id:?} but is {stored_id:?}"));
        }
    }
    if harness.faults.is_store_failing {
        unreachable::check(harness, fresh, repository, directory.path()).await?;
    }
    let head = harness.git.run_local(directory.path(), &["symbolic-ref", "HEAD"], b"").await?;
    if repository.head.as_ref().is_some_and(|is| *is != head) {
        violate(format!("HEAD was cloned as {head} but is {:?}", repository.head));
    }
    Ok(())
}
