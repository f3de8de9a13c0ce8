//! Repository maintenance: repacking, pruning and leases.

mod leases;
mod networks;
mod pruning;

use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, MaintenanceReport, RepackScope};
use holdfast_tests::{Client, Server, WorkTree};

async fn repack(server: &Server, project: i64) -> holdfast_app::Result<MaintenanceReport> {
    maintenance::maintain(&server.app, &Actor::Operator, &ProjectRef::Id(project.into()), RepackScope::Full).await
}

/// Returns for each pack of a repository whether it has a bitmap, and whether it is a cruft pack.
async fn list_packs(server: &Server, repository: i64) -> Vec<(bool, bool)> {
    sqlx::query_as(
        "select bitmap_bytes > 0, cruft_since is not null from packs p join repository_packs l on l.pack_id = p.id
         where l.repository_id = $1 order by p.id",
    )
    .bind(repository)
    .fetch_all(&mut server.database().await)
    .await
    .unwrap()
}

/// Returns the number of live packs; a pack that several repositories list counts once.
async fn count_live_packs(server: &Server) -> i64 {
    sqlx::query_scalar("select count(*) from packs where state = 'live'")
        .fetch_one(&mut server.database().await)
        .await
        .unwrap()
}

/// Clones a repository from a node with an empty cache, and checks the clone.
async fn clone_fresh(server: &Server, client: &Client, path: &str) -> WorkTree {
    let other = server.another_node().await;
    let url = server.git_url(client, path).replace(&server.address(), &other);
    let (cloned, clone) = WorkTree::clone(&url, &["--mirror"]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    clone
}

/// Returns whether the cached repository of this node has an object.
fn cache_has_object(server: &Server, repository: i64, id: &str) -> bool {
    let directory = server.cache.path().join(format!("0/repositories/{repository}.git"));
    let found = std::process::Command::new("git").arg("--git-dir").arg(directory).args(["cat-file", "-e", id]).output();
    found.unwrap().status.success()
}
