//! Contributor statistics, which are counted incrementally.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

async fn contributors(client: &Client, project: i64) -> Value {
    let answer = client.get(&format!("/projects/{project}/repository/contributors")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body
}

fn contributor(name: &str, email: &str, commits: i64, additions: i64, deletions: i64) -> Value {
    json!({ "name": name, "email": email, "commits": commits, "additions": additions, "deletions": deletions })
}

async fn commit(tree: &WorkTree, name: &str, email: &str, at: i64, content: &str) {
    std::fs::write(tree.path().join("f"), content).unwrap();
    tree.git(["add", "f"]).await.ok();
    let date = format!("@{at} +0000");
    let who = [("GIT_AUTHOR_NAME", name), ("GIT_AUTHOR_EMAIL", email), ("GIT_COMMITTER_DATE", &date)];
    tree.git_with(["commit", "-q", "--allow-empty", "-m", "m"], &who).await.ok();
}

#[tokio::test]
async fn added_and_removed_commits_update_the_counts() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    commit(&tree, "Ada", "ada@x", 1_000_000_000, "1\n2\n3\n").await;
    commit(&tree, "Bob", "bob@x", 1_000_000_100, "1\n3\n").await;
    tree.push(&url, &["main"]).await.ok();
    let first = [contributor("Bob", "bob@x", 1, 0, 1), contributor("Ada", "ada@x", 1, 3, 0)];
    assert_eq!(contributors(&ada, project).await, json!(first));
    // Ada has a new name. Addresses are compared with case, so `ADA@x` is another contributor.
    commit(&tree, "Ada L.", "ada@x", 1_000_000_200, "1\n3\n4\n").await;
    commit(&tree, "Ada", "ADA@x", 1_000_000_300, "4\n").await;
    tree.push(&url, &["main"]).await.ok();
    let second = [
        contributor("Ada", "ADA@x", 1, 0, 2),
        contributor("Ada L.", "ada@x", 2, 4, 0),
        contributor("Bob", "bob@x", 1, 0, 1),
    ];
    assert_eq!(contributors(&ada, project).await, json!(second));
    assert_eq!(contributors(&ada, project).await, json!(second), "again, without counting");
    // Reset by two commits and continue differently.
    ada.put(&format!("/projects/{project}/repository/branches/main/unprotect"), &[]).await;
    tree.git(["reset", "-q", "--hard", "HEAD~2"]).await.ok();
    tree.push(&url, &["+main"]).await.ok();
    assert_eq!(contributors(&ada, project).await, json!(first));
    commit(&tree, "Cleo", "cleo@x", 1_000_000_050, "a\nb\n").await;
    tree.push(&url, &["main"]).await.ok();
    let third = [
        contributor("Bob", "bob@x", 1, 0, 1),
        contributor("Cleo", "cleo@x", 1, 2, 2),
        contributor("Ada", "ada@x", 1, 3, 0),
    ];
    assert_eq!(contributors(&ada, project).await, json!(third));
    let page = ada.get(&format!("/projects/{project}/repository/contributors?per_page=2&page=2")).await;
    assert_eq!(page.body, json!(third[2..]));
    assert_eq!(page.header("x-total"), Some("3"));
    // An unrelated history.
    let other = WorkTree::new().await;
    commit(&other, "Zoe", "zoe@x", 1, "z\n").await;
    other.push(&url, &["+main"]).await.ok();
    assert_eq!(contributors(&ada, project).await, json!([contributor("Zoe", "zoe@x", 1, 1, 0)]));
}

/// A long history is counted by a job on any node; requests wait for it meanwhile.
#[tokio::test]
async fn long_histories_are_counted_by_a_job() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    let long = format!("{}@x", "e".repeat(5000));
    let mut stream = String::new();
    for n in 0..1500 {
        let email = if n % 2 == 0 { "ada@x" } else { &long };
        stream += &format!(
            "commit refs/heads/main\nauthor N <{email}> {n} +0000\ncommitter N <{email}> {n} +0000\ndata 1\nm\n"
        );
        stream += &format!("M 100644 inline f\ndata {}\n{n}\n\n", n.to_string().len() + 1);
    }
    tree.fast_import(stream.into_bytes()).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    // A late request may enqueue another job that has nothing to do, so jobs run until all requests have responses.
    let work = async || -> () {
        loop {
            server.run_jobs().await;
            tokio::task::yield_now().await;
        }
    };
    let cut = &long[..320];
    // Two concurrent requests, one count.
    let (found, again) = tokio::select! {
        found = async { tokio::join!(contributors(&ada, project), contributors(&ada, project)) } => found,
        () = work() => unreachable!("works for ever"),
    };
    assert_eq!(found, json!([contributor("N", cut, 750, 750, 750), contributor("N", "ada@x", 750, 750, 749)]));
    assert_eq!(again, found);
    // Counting backwards over many commits is a job as well.
    ada.put(&format!("/projects/{project}/repository/branches/main/unprotect"), &[]).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["+main~1490:main"]).await.ok();
    let found = tokio::select! {
        found = contributors(&ada, project) => found,
        () = work() => unreachable!("works for ever"),
    };
    assert_eq!(found, json!([contributor("N", cut, 5, 5, 5), contributor("N", "ada@x", 5, 5, 4)]));
}

/// Concurrent requests do not count commits twice.
#[tokio::test]
async fn concurrent_requests_count_once() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    for round in 1..=4 {
        for n in 0..3 {
            commit(&tree, "Ada", "ada@x", 1_000_000_000 + round * 10 + n, &format!("{round} {n}\n")).await;
        }
        tree.push(&url, &["main"]).await.ok();
        let ask = || contributors(&ada, project);
        let found: [Value; 4] = tokio::join!(ask(), ask(), ask(), ask()).into();
        let commits = round * 3;
        for found in found {
            assert_eq!(found, json!([contributor("Ada", "ada@x", commits, commits, commits - 1)]));
        }
        if round == 2 {
            // Without the row that says which commits were counted, all are counted again, and none twice.
            let mut database = server.database().await;
            sqlx::query("delete from contributions").execute(&mut database).await.unwrap();
        }
    }
}

/// The rows are deleted together with the project.
#[tokio::test]
async fn contributor_rows_are_deleted_with_the_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    server.push_first(&ada, "ada/p").await;
    assert_eq!(contributors(&ada, project).await.as_array().unwrap().len(), 1);
    ada.delete(&format!("/projects/{project}")).await;
    server.run_jobs().await;
    let contents = server.dump_database().await;
    assert_eq!((&contents["contributors"], &contents["contributions"]), (&json!([]), &json!([])));
}
