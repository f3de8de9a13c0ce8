//! Packs, the repository cache, and their cleanup.

use chrono::TimeDelta;
use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, MaintenanceReport, RepackScope};
use holdfast_tests::{Server, Setup, WorkTree};

async fn repack(server: &Server, project: i64) -> holdfast_app::Result<MaintenanceReport> {
    maintenance::maintain(&server.app, &Actor::Operator, &ProjectRef::Id(project.into()), RepackScope::Full).await
}

async fn list_packs(server: &Server) -> Vec<(String, i64)> {
    sqlx::query_as("select state, count(*) from packs group by state order by state")
        .fetch_all(&mut server.database().await)
        .await
        .unwrap()
}

#[tokio::test]
async fn repacking_merges_packs_without_loss() {
    let mut setup = Setup::default();
    setup.settings.maintenance.repack_threshold_packs = 5;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    for n in 0..4 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
    }
    // Unreachable objects are kept for now.
    tree.git(["checkout", "-q", "-b", "gone"]).await.ok();
    let lost = tree.commit("g", b"gone\n", "gone").await;
    tree.push(&url, &["gone"]).await.ok();
    tree.push(&url, &[":gone"]).await.ok();
    server.run_jobs().await;
    // One pack of reachable objects, and one cruft pack.
    assert_eq!(list_packs(&server).await, [("condemned".into(), 5), ("live".into(), 2)]);
    let log: Vec<Vec<u8>> = sqlx::query_scalar("select old from ref_log where new is null")
        .fetch_all(&mut server.database().await)
        .await
        .unwrap();
    assert_eq!(log.len(), 1);
    let other = server.another_node().await;
    let (cloned, clone) = WorkTree::clone(&url.replace(&server.address(), &other), &["--mirror"]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    // The commit is in the cruft pack, so its branch can be restored.
    let found = std::process::Command::new("git")
        .args(["--git-dir", &repository_path(&server), "cat-file", "-t", &lost])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout).trim(), "commit");
    assert_eq!(repack(&server, project).await.unwrap(), MaintenanceReport { packs_before: 2, packs_after: 2 });
    // Replaced packs are deleted only after the time for which requests and backups may need them.
    server.advance(TimeDelta::days(13));
    crate::jobs::sweep(&server).await;
    assert_eq!(list_packs(&server).await, [("condemned".into(), 5), ("live".into(), 2)]);
    server.advance(TimeDelta::days(2));
    crate::jobs::sweep(&server).await;
    // The cruft pack was rewritten, since its objects can still be restored.
    assert_eq!(list_packs(&server).await, [("condemned".into(), 1), ("live".into(), 2)]);
}

fn repository_path(server: &Server) -> String {
    server.cache.path().join("0/repositories/1.git").to_str().unwrap().to_owned()
}

#[tokio::test]
async fn packs_shared_by_forks_stay_shared() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    for n in 0..3 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
    }
    let group = server.group(&ada, "team", 20).await;
    let fork = ada.post("/projects/fork/ada%2Fp", &[("namespace", &group.to_string())]).await;
    let fork_id = fork.body["id"].as_i64().unwrap();
    for n in 3..6 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
    }
    assert_eq!(repack(&server, project).await.unwrap(), MaintenanceReport { packs_before: 6, packs_after: 2 });
    assert_eq!(list_packs(&server).await, [("condemned".into(), 6), ("live".into(), 2)]);
    assert_eq!(repack(&server, fork_id).await.unwrap(), MaintenanceReport { packs_before: 1, packs_after: 1 });
    let other = server.another_node().await;
    for path in ["ada/p", "team/p"] {
        let url = server.git_url(&ada, path).replace(&server.address(), &other);
        let (cloned, clone) = WorkTree::clone(&url, &["--mirror"]).await;
        cloned.ok();
        clone.git(["fsck", "--full", "--strict"]).await.ok();
    }
    // When both projects are deleted, all packs are deleted.
    for id in [project, fork_id] {
        assert_eq!(ada.delete(&format!("/projects/{id}")).await.status, 200);
    }
    server.run_jobs().await;
    assert_eq!(list_packs(&server).await, [("condemned".into(), 8)]);
    let left: i64 =
        sqlx::query_scalar("select count(*) from repositories").fetch_one(&mut server.database().await).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn the_repository_cache_stays_within_its_budget() {
    let mut setup = Setup::default();
    setup.settings.git.cache_max_bytes = 100_000;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let mut heads = Vec::new();
    for n in 0..6 {
        server.project(&ada, &format!("p{n}"), 20).await;
        let tree = WorkTree::new().await;
        let noise: Vec<u8> = (0..30_000_u32)
            .map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(n) >> 11) as u8 ^ (i >> 3) as u8)
            .collect();
        heads.push(tree.commit("f", &noise, "noise").await);
        tree.push(&server.git_url(&ada, &format!("ada/p{n}")), &["main"]).await.ok();
    }
    let bytes = server.app.git_runtime.cache().unwrap().bytes();
    let kept = std::fs::read_dir(server.cache.path().join("0/repositories")).unwrap().count();
    assert!(bytes < 150_000 && kept < 6, "{bytes} bytes of {kept} repositories are kept");
    // Evicted and deleted files are downloaded again.
    std::fs::remove_dir_all(server.cache.path().join("0/packs")).unwrap();
    std::fs::create_dir(server.cache.path().join("0/packs")).unwrap();
    let other = server.another_node().await;
    for (n, head) in heads.iter().enumerate() {
        let url = server.git_url(&ada, &format!("ada/p{n}"));
        for url in [url.replace(&server.address(), &other), url] {
            let (cloned, clone) = WorkTree::clone(&url, &[]).await;
            cloned.ok();
            assert_eq!(clone.head().await, *head);
        }
    }
}

/// A crash before the commit of a push leaves an intent row, and the sweep deletes its pack.
#[tokio::test]
async fn uncommitted_packs_are_swept() {
    let server = Server::start().await;
    let mut database = server.database().await;
    server.app.objects.put("packs/left", "bytes".into()).await.unwrap();
    sqlx::query("insert into packs (state, object_key, created_at) values ('intent', 'packs/left', '2026-01-01')")
        .execute(&mut database)
        .await
        .unwrap();
    crate::jobs::sweep(&server).await;
    assert_eq!(list_packs(&server).await, [("condemned".into(), 1)], "its push may not count any more");
    server.advance(TimeDelta::days(15));
    crate::jobs::sweep(&server).await;
    assert_eq!(list_packs(&server).await, []);
    assert!(server.app.objects.get("packs/left").await.unwrap().is_none());
}

/// The cache may be deleted under a running node.
#[tokio::test]
async fn the_cache_may_be_deleted_at_any_time() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let first = server.push_first(&ada, "ada/p").await;
    let url = server.git_url(&ada, "ada/p");
    for part in ["repositories", "packs", "incoming"] {
        std::fs::remove_dir_all(server.cache.path().join("0").join(part)).unwrap();
        let (cloned, clone) = WorkTree::clone(&url, &[]).await;
        cloned.ok();
        assert_eq!(clone.head().await, first);
        clone.git(["commit", "-q", "--allow-empty", "-m", part]).await.ok();
        clone.push(&url, &[&format!("HEAD:{part}")]).await.ok();
    }
}

/// After a rollback of the database, ids are assigned again. Cached files of the old ids must not be used for the new
/// ones.
#[tokio::test]
async fn reused_ids_do_not_match_stale_cache_entries() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    server.push_first(&ada, "ada/p").await;
    let mut database = server.database().await;
    sqlx::raw_sql(
        "delete from refs; delete from ref_log; delete from repository_packs; delete from packs;
         update repositories set generation = 0, head = null; delete from protected_branches;
         select setval(pg_get_serial_sequence('packs', 'id'), 1, false);",
    )
    .execute(&mut database)
    .await
    .unwrap();
    server.app.git_runtime.invalidate_caches().await;
    let tree = WorkTree::new().await;
    let other = tree.commit("other", b"other\n", "other").await;
    tree.push(&url, &["main"]).await.ok();
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, other);
    tree.commit("more", b"more\n", "more").await;
    tree.push(&url, &["main"]).await.ok();
}

/// A page is correct however far back it is, whichever anchor the list is entered at.
#[tokio::test]
async fn long_branch_and_tag_lists_are_paged_correctly() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    sqlx::raw_sql(
        "insert into refs (repository_id, name, target) select repository_id, prefix || to_char(n, 'FM0000'), target
         from refs, generate_series(0, 1199) n, unnest(array['refs/heads/b', 'refs/tags/t', 'refs/tagt/t']) prefix;
         update repositories set generation = generation + 1",
    )
    .execute(&mut server.database().await)
    .await
    .unwrap();
    server.app.git_runtime.invalidate_caches().await;
    let names = async |what: &str, page: usize| {
        let list = ada.get(&format!("/projects/{project}/repository/{what}?per_page=100&page={page}")).await;
        let names = list.body.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), list.header("x-total").unwrap().to_owned())
    };
    let mut branches: Vec<String> = (0..1200).map(|n| format!("b{n:04}")).chain(["main".into()]).collect();
    branches.sort();
    let tags: Vec<String> = (0..1200).rev().map(|n| format!("t{n:04}")).collect();
    for (what, all) in [("branches", branches), ("tags", tags)] {
        let mut found = Vec::new();
        for page in 1..=all.len().div_ceil(100) + 1 {
            let (some, total) = names(what, page).await;
            assert_eq!(total, all.len().to_string());
            found.extend(some);
        }
        assert_eq!(found, all, "{what}");
    }
}
