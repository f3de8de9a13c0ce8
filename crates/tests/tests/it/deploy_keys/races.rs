//! Deploy keys under concurrent requests.

use std::collections::BTreeSet;

use holdfast_tests::{Client, SeededRng, Server, database};
use sqlx::Executor;

use super::{DEPLOY_KEY, OTHER_DEPLOY_KEY, add_key, added_key, count_rows, key_ids};

/// A user and two projects get the same key at once. A check before the insertion would let both have it.
#[tokio::test]
async fn concurrent_additions_of_a_key_leave_it_with_a_user_or_with_projects() {
    const ROUNDS: usize = 20;
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let (first, second) = (server.project(&ada, "one", 0).await, server.project(&ada, "two", 0).await);
    let foreign = server.project(&bob, "three", 0).await;
    let mut by_kind = [0; 2];
    for round in 0..ROUNDS {
        let as_user =
            async |client: &Client| client.post("/user/keys", &[("title", "t"), ("key", DEPLOY_KEY)]).await.status;
        let to_project = async |client: &Client, project| add_key(client, project, DEPLOY_KEY, false).await.status;
        let (mut user_statuses, mut project_statuses) = ([0; 2], [0; 3]);
        // The order in which the requests are sent changes, so that each of them is the first sometimes.
        if round % 2 == 0 {
            (user_statuses[0], project_statuses[0], project_statuses[1], project_statuses[2], user_statuses[1]) = tokio::join!(
                as_user(&ada),
                to_project(&ada, first),
                to_project(&ada, second),
                to_project(&bob, foreign),
                as_user(&bob)
            );
        } else {
            (project_statuses[2], project_statuses[1], project_statuses[0], user_statuses[1], user_statuses[0]) = tokio::join!(
                to_project(&bob, foreign),
                to_project(&ada, second),
                to_project(&ada, first),
                as_user(&bob),
                as_user(&ada)
            );
        }
        let statuses = [&user_statuses[..], &project_statuses].concat();
        assert!(statuses.iter().all(|status| [201, 400].contains(status)), "{statuses:?}");
        let [users, keys, links] = count_rows(&server).await;
        let is_added = |statuses: &[u16]| statuses.iter().filter(|status| **status == 201).count();
        assert_eq!(users + keys, 1, "the key has one owner: {statuses:?}");
        assert_eq!((users, links), (is_added(&user_statuses), is_added(&project_statuses)), "{statuses:?}");
        by_kind[keys] += 1;
        for client in [&ada, &bob] {
            for id in client.get("/user/keys").await.ids() {
                client.delete(&format!("/user/keys/{id}")).await;
            }
        }
        for (client, project) in [(&ada, first), (&ada, second), (&bob, foreign)] {
            for id in key_ids(client, project).await {
                assert_eq!(client.delete(&format!("/projects/{project}/deploy_keys/{id}")).await.status, 200);
            }
        }
        assert_eq!(count_rows(&server).await, [0, 0, 0]);
    }
    println!("{} rounds left the key with a user, {} with projects", by_kind[0], by_kind[1]);
}

/// Keys are linked to projects and removed from them at random. No key must remain without a project.
#[tokio::test]
async fn concurrent_changes_of_links_leave_no_key_without_a_project() {
    const CLIENTS: u64 = 8;
    const REQUESTS: usize = 40;
    let seed = std::env::var("HOLDFAST_SEED").map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("HOLDFAST_SEED={seed}");
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let mut projects = Vec::new();
    for number in 0..3 {
        projects.push(server.project(&ada, &format!("p{number}"), 0).await);
    }
    let work = async |number: u64| {
        let mut rng = SeededRng::new(seed, number);
        let mut counts = [0; 3];
        for _ in 0..REQUESTS {
            let project = *rng.pick(&projects);
            let key = *rng.pick(&[DEPLOY_KEY, OTHER_DEPLOY_KEY]);
            let keys = server.admin.get("/deploy_keys").await.ids();
            let id = keys.first().map_or(1, |_| *rng.pick(&keys));
            let one = format!("/projects/{project}/deploy_keys/{id}");
            let response = match rng.next_below(4) {
                0 => add_key(&ada, project, key, false).await,
                1 => ada.post(&format!("{one}/enable"), &[]).await,
                2 => ada.delete(&format!("{one}/disable")).await,
                _ => ada.delete(&one).await,
            };
            counts[match response.status {
                200 => 0,
                201 => 1,
                404 => 2,
                other => panic!("{other}: {}", response.text),
            }] += 1;
        }
        counts
    };
    let counts = futures_util::future::join_all((0..CLIENTS).map(work)).await;
    println!("removed, linked, not found: {counts:?}");
    let contents = server.dump_database().await;
    let column = |table: &str, name: &str| -> BTreeSet<i64> {
        contents[table].as_array().unwrap().iter().map(|row| row[name].as_i64().unwrap()).collect()
    };
    assert_eq!(column("ssh_keys", "id"), column("deploy_key_projects", "ssh_key_id"));
}

/// The last link of a key is removed, by a request or with its project, while a transaction that links the key to another
/// project has not committed. The removal waits, and then sees the new link.
#[tokio::test]
async fn a_link_that_is_added_during_a_removal_is_kept() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let kept = server.project(&ada, "kept", 0).await;
    for (number, is_deletion) in [(0, false), (1, true)] {
        let project = server.project(&ada, &format!("p{number}"), 0).await;
        let id = added_key(&ada, project, DEPLOY_KEY, false).await;
        let (mut linking, mut watching) = (server.database().await, server.database().await);
        let statements = format!(
            "begin; select id from ssh_keys where id = {id} for no key update;
             insert into deploy_key_projects (project_id, ssh_key_id, added_by, can_push, created_at)
             values ({kept}, {id}, 1, false, now())"
        );
        linking.execute(sqlx::QueryBuilder::<sqlx::Postgres>::new(statements).into_sql()).await.unwrap();
        let remove = async {
            if is_deletion {
                assert_eq!(ada.delete(&format!("/projects/{project}")).await.status, 200);
                server.run_jobs().await;
            } else {
                assert_eq!(ada.delete(&format!("/projects/{project}/deploy_keys/{id}")).await.status, 200);
            }
        };
        let commit = async {
            database::wait_for_blocked(&mut watching, 1).await;
            linking.execute("commit").await.unwrap();
        };
        tokio::join!(remove, commit);
        assert_eq!(key_ids(&ada, kept).await, [id], "deletion of the project: {is_deletion}");
        assert_eq!(count_rows(&server).await, [0, 1, 1]);
        assert_eq!(ada.delete(&format!("/projects/{kept}/deploy_keys/{id}")).await.status, 200);
    }
}
