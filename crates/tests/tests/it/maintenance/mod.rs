//! What keeps repositories quick and small in the long run.

mod leases;
mod networks;
mod pruning;

use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, Extent, Maintained};
use holdfast_tests::{Client, Server, WorkTree};

async fn repack(server: &Server, project: i64) -> holdfast_app::Result<Maintained> {
    maintenance::maintain(&server.app, &Actor::Operator, &ProjectRef::Id(project.into()), Extent::Whole).await
}

/// Live packs by repository: whether there is a bitmap, and whether no ref leads to what is in it.
async fn packs(server: &Server, repository: i64) -> Vec<(bool, bool)> {
    sqlx::query_as(
        "select bitmap_bytes > 0, cruft_since is not null from packs p join repository_packs l on l.pack_id = p.id
         where l.repository_id = $1 order by p.id",
    )
    .bind(repository)
    .fetch_all(&mut server.database().await)
    .await
    .unwrap()
}

/// All that are not to be removed, with those that no repository shares counted once.
async fn live(server: &Server) -> i64 {
    sqlx::query_scalar("select count(*) from packs where state = 'live'")
        .fetch_one(&mut server.database().await)
        .await
        .unwrap()
}

/// From a node that has never seen it, and whole.
async fn clone(server: &Server, client: &Client, path: &str) -> WorkTree {
    let other = server.another_node().await;
    let url = server.git_url(client, path).replace(&server.address(), &other);
    let (cloned, clone) = WorkTree::clone(&url, &["--mirror"]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    clone
}

/// Whether this node's copy has an object.
fn has(server: &Server, repository: i64, id: &str) -> bool {
    let directory = server.cache.path().join(format!("0/repositories/{repository}.git"));
    let found = std::process::Command::new("git").arg("--git-dir").arg(directory).args(["cat-file", "-e", id]).output();
    found.unwrap().status.success()
}
