use holdfast_tests::{Server, WorkTree};

use super::{clone_fresh, count_live_packs, list_packs, repack};

async fn pack_bytes(server: &Server) -> i64 {
    let sum = "select sum(pack_bytes + idx_bytes + rev_bytes + bitmap_bytes + graph_bytes)::bigint from packs
       where state = 'live'";
    sqlx::query_scalar(sum).fetch_one(&mut server.database().await).await.unwrap()
}

#[tokio::test]
async fn forks_share_one_pack_after_a_repack() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    let mut heads = Vec::new();
    let mut forks = Vec::new();
    // Push and fork alternately: each fork has one pack less than the next one.
    for n in 0..4 {
        heads.push(tree.commit("f", format!("{n}\n").repeat(3000).as_bytes(), "more").await);
        tree.push(&url, &["main"]).await.ok();
        let group = server.group(&ada, &format!("team{n}"), 20).await;
        let fork = ada.post("/projects/fork/ada%2Fp", &[("namespace", &group.to_string())]).await;
        forks.push(fork.body["id"].as_i64().unwrap());
    }
    // A commit that only this fork has.
    let (cloned, own) = WorkTree::clone(&server.git_url(&ada, "team0/p"), &[]).await;
    cloned.ok();
    let secret = own.commit("secret", b"of the fork alone\n", "secret").await;
    own.push(&server.git_url(&ada, "team0/p"), &["main"]).await.ok();
    assert_eq!(count_live_packs(&server).await, 5);
    let before = pack_bytes(&server).await;

    repack(&server, project).await.unwrap();
    assert_eq!(count_live_packs(&server).await, 2);
    assert!(pack_bytes(&server).await <= before + 4000, "{} bytes before, {} now", before, pack_bytes(&server).await);
    assert_eq!(list_packs(&server, 1).await, [(true, false)]);
    assert_eq!(list_packs(&server, 2).await, [(false, false), (true, false)]);
    for (n, head) in heads.iter().enumerate() {
        let clone = clone_fresh(&server, &ada, &format!("team{n}/p")).await;
        let head = if n == 0 { &secret } else { head };
        assert_eq!(clone.git(["rev-parse", "main"]).await.ok().line(), head);
        // Each fork repacks its own packs and leaves the shared one.
        repack(&server, forks[n]).await.unwrap();
    }
    assert_eq!(count_live_packs(&server).await, 2);
    // Commits that were pushed after a fork are now in its packs, but are still unreachable there.
    let (_, stranger) = WorkTree::clone(&server.git_url(&ada, "team1/p"), &[]).await;
    for hidden in [&heads[3], &secret] {
        stranger.git(["fetch", "-q", &server.git_url(&ada, "team1/p"), hidden.as_str()]).await.expect_failure();
        let asked = ada.get(&format!("/projects/team1%2Fp/repository/raw_blobs/{hidden}?filepath=f")).await;
        assert_eq!(asked.status, 404);
    }
    stranger.git(["fetch", "-q", &server.git_url(&ada, "team3/p"), heads[3].as_str()]).await.ok();
    // The source is deleted, and a fork takes over the maintenance of the shared pack.
    assert_eq!(ada.delete(&format!("/projects/{project}")).await.status, 200);
    server.run_jobs().await;
    assert_eq!(count_live_packs(&server).await, 2);
    for n in 0..4 {
        clone_fresh(&server, &ada, &format!("team{n}/p")).await;
    }
    for fork in &forks[1..] {
        assert_eq!(ada.delete(&format!("/projects/{fork}")).await.status, 200);
    }
    server.run_jobs().await;
    // The pack is not shared any more, so objects that only the other repositories reached become cruft.
    repack(&server, forks[0]).await.unwrap();
    assert_eq!(list_packs(&server, 2).await, [(true, false), (false, true)]);
    assert_eq!(clone_fresh(&server, &ada, "team0/p").await.git(["rev-parse", "main"]).await.ok().line(), secret);
}

#[tokio::test]
async fn forks_do_not_get_unreachable_objects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    let first = tree.head().await;
    tree.commit("f", b"leaked\n", "leaked").await;
    tree.push(&url, &["main:other"]).await.ok();
    tree.push(&url, &[":other"]).await.ok();
    repack(&server, project).await.unwrap();
    let group = server.group(&ada, "team", 20).await;
    let fork = ada.post("/projects/fork/ada%2Fp", &[("namespace", &group.to_string())]).await;
    assert_eq!(fork.status, 201);
    assert_eq!(list_packs(&server, 2).await, [(true, false)]);
    assert_eq!(clone_fresh(&server, &ada, "team/p").await.git(["rev-parse", "main"]).await.ok().line(), first);
    // The source still repacks its own packs, beside the shared one.
    tree.push(&url, &["main"]).await.ok();
    repack(&server, project).await.unwrap();
    assert_eq!(list_packs(&server, 1).await.iter().filter(|(bitmap, _)| *bitmap).count(), 1);
    clone_fresh(&server, &ada, "ada/p").await;
}
