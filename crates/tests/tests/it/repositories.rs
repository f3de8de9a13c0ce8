//! Packs, copies and what keeps them in order.

use chrono::TimeDelta;
use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, Extent, Maintained};
use holdfast_tests::{Server, Setup, WorkTree};

async fn compact(server: &Server, project: i64) -> holdfast_app::Result<Maintained> {
    maintenance::maintain(&server.app, &Actor::Operator, &ProjectRef::Id(project.into()), Extent::Whole).await
}

async fn packs(server: &Server) -> Vec<(String, i64)> {
    sqlx::query_as("select state, count(*) from packs group by state order by state")
        .fetch_all(&mut server.database().await)
        .await
        .unwrap()
}

#[tokio::test]
async fn many_packs_become_one_and_nothing_is_lost() {
    let mut setup = Setup::default();
    setup.settings.git.compact_at = 5;
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    for n in 0..4 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
    }
    // What no ref leads to any more is kept all the same.
    tree.git(["checkout", "-q", "-b", "gone"]).await.ok();
    let lost = tree.commit("g", b"gone\n", "gone").await;
    tree.push(&url, &["gone"]).await.ok();
    tree.push(&url, &[":gone"]).await.ok();
    server.work().await;
    // One for what refs lead to, and one for what they do not.
    assert_eq!(packs(&server).await, [("condemned".into(), 5), ("live".into(), 2)]);
    let log: Vec<Vec<u8>> = sqlx::query_scalar("select old from ref_log where new is null")
        .fetch_all(&mut server.database().await)
        .await
        .unwrap();
    assert_eq!(log.len(), 1);
    let other = server.another_node().await;
    let (cloned, clone) = WorkTree::clone(&url.replace(&server.address(), &other), &["--mirror"]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    // The way back: the commit is in the pack, so a branch can be made of it again.
    let found = std::process::Command::new("git")
        .args(["--git-dir", &repository(&server), "cat-file", "-t", &lost])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout).trim(), "commit");
    assert_eq!(compact(&server, project).await.unwrap(), Maintained { before: 2, after: 2 });
    // Replaced packs are removed, but not before the last reader and the last backup are done with them.
    server.advance(TimeDelta::days(13));
    crate::jobs::sweep(&server).await;
    assert_eq!(packs(&server).await, [("condemned".into(), 5), ("live".into(), 2)]);
    server.advance(TimeDelta::days(2));
    crate::jobs::sweep(&server).await;
    // What could still be brought back was packed anew.
    assert_eq!(packs(&server).await, [("condemned".into(), 1), ("live".into(), 2)]);
}

fn repository(server: &Server) -> String {
    server.cache.path().join("0/repositories/1.git").to_str().unwrap().to_owned()
}

#[tokio::test]
async fn packs_that_forks_share_stay_shared() {
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
    assert_eq!(compact(&server, project).await.unwrap(), Maintained { before: 6, after: 2 });
    assert_eq!(packs(&server).await, [("condemned".into(), 6), ("live".into(), 2)]);
    assert_eq!(compact(&server, fork_id).await.unwrap(), Maintained { before: 1, after: 1 });
    let other = server.another_node().await;
    for path in ["ada/p", "team/p"] {
        let url = server.git_url(&ada, path).replace(&server.address(), &other);
        let (cloned, clone) = WorkTree::clone(&url, &["--mirror"]).await;
        cloned.ok();
        clone.git(["fsck", "--full", "--strict"]).await.ok();
    }
    // When both are gone, so is everything.
    for id in [project, fork_id] {
        assert_eq!(ada.delete(&format!("/projects/{id}")).await.status, 200);
    }
    server.work().await;
    assert_eq!(packs(&server).await, [("condemned".into(), 8)]);
    let left: i64 =
        sqlx::query_scalar("select count(*) from repositories").fetch_one(&mut server.database().await).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn the_disk_is_a_cache_with_a_budget() {
    let mut setup = Setup::default();
    setup.settings.git.cache_max_bytes = 100_000;
    let server = Server::with(setup).await;
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
    let bytes = server.app.engine.cache().unwrap().bytes();
    let kept = std::fs::read_dir(server.cache.path().join("0/repositories")).unwrap().count();
    assert!(bytes < 150_000 && kept < 6, "{bytes} bytes of {kept} repositories are kept");
    // What was evicted, and what somebody deleted, comes back.
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

/// What a crash leaves before the push counts is known, and goes.
#[tokio::test]
async fn an_upload_that_never_counted_is_swept() {
    let server = Server::start().await;
    let mut database = server.database().await;
    server.app.objects.put("packs/left", "bytes".into()).await.unwrap();
    sqlx::query("insert into packs (state, object_key, created_at) values ('intent', 'packs/left', '2026-01-01')")
        .execute(&mut database)
        .await
        .unwrap();
    crate::jobs::sweep(&server).await;
    assert_eq!(packs(&server).await, [("condemned".into(), 1)], "its push may not count any more");
    server.advance(TimeDelta::days(15));
    crate::jobs::sweep(&server).await;
    assert_eq!(packs(&server).await, []);
    assert!(server.app.objects.get("packs/left").await.unwrap().is_none());
}

/// What is on the disk may be deleted under a running node, too.
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

/// In a database that was set back in time, ids are given out a second time; what the cache has under them is not taken
/// for what is meant.
#[tokio::test]
async fn an_id_that_comes_a_second_time_is_something_else() {
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
    server.app.engine.forget().await;
    let tree = WorkTree::new().await;
    let other = tree.commit("other", b"other\n", "other").await;
    tree.push(&url, &["main"]).await.ok();
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, other);
    tree.commit("more", b"more\n", "more").await;
    tree.push(&url, &["main"]).await.ok();
}

/// A page far behind is the page that it should be, whatever place the list is entered at.
#[tokio::test]
async fn long_lists_of_branches_and_tags() {
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
    server.app.engine.forget().await;
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
