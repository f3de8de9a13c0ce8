//! Who contributed how much, counted once and then only what has changed.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

async fn contributors(client: &Client, project: i64) -> Value {
    let answer = client.get(&format!("/projects/{project}/repository/contributors")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body
}

fn one(name: &str, email: &str, commits: i64, additions: i64, deletions: i64) -> Value {
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
async fn what_has_come_and_what_has_gone_is_counted() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    commit(&tree, "Ada", "ada@x", 1_000_000_000, "1\n2\n3\n").await;
    commit(&tree, "Bob", "bob@x", 1_000_000_100, "1\n3\n").await;
    tree.push(&url, &["main"]).await.ok();
    let first = [one("Bob", "bob@x", 1, 0, 1), one("Ada", "ada@x", 1, 3, 0)];
    assert_eq!(contributors(&ada, project).await, json!(first));
    // Ada under a new name, and with capital letters she is somebody else.
    commit(&tree, "Ada L.", "ada@x", 1_000_000_200, "1\n3\n4\n").await;
    commit(&tree, "Ada", "ADA@x", 1_000_000_300, "4\n").await;
    tree.push(&url, &["main"]).await.ok();
    let second = [one("Ada", "ADA@x", 1, 0, 2), one("Ada L.", "ada@x", 2, 4, 0), one("Bob", "bob@x", 1, 0, 1)];
    assert_eq!(contributors(&ada, project).await, json!(second));
    assert_eq!(contributors(&ada, project).await, json!(second), "again, without counting");
    // Back to before that, and on in another way.
    ada.put(&format!("/projects/{project}/repository/branches/main/unprotect"), &[]).await;
    tree.git(["reset", "-q", "--hard", "HEAD~2"]).await.ok();
    tree.push(&url, &["+main"]).await.ok();
    assert_eq!(contributors(&ada, project).await, json!(first));
    commit(&tree, "Cleo", "cleo@x", 1_000_000_050, "a\nb\n").await;
    tree.push(&url, &["main"]).await.ok();
    let third = [one("Bob", "bob@x", 1, 0, 1), one("Cleo", "cleo@x", 1, 2, 2), one("Ada", "ada@x", 1, 3, 0)];
    assert_eq!(contributors(&ada, project).await, json!(third));
    let page = ada.get(&format!("/projects/{project}/repository/contributors?per_page=2&page=2")).await;
    assert_eq!(page.body, json!(third[2..]));
    assert_eq!(page.header("x-total"), Some("3"));
    // A history that has nothing to do with the one before.
    let other = WorkTree::new().await;
    commit(&other, "Zoe", "zoe@x", 1, "z\n").await;
    other.push(&url, &["+main"]).await.ok();
    assert_eq!(contributors(&ada, project).await, json!([one("Zoe", "zoe@x", 1, 1, 0)]));
}

/// A long history is counted by a job, on any node; who asks meanwhile waits for it.
#[tokio::test]
async fn a_long_history_is_a_job() {
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
    tree.import(stream.into_bytes()).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    // One who asks late may leave a job that has nothing left to do: work until all are answered.
    let work = async || -> () {
        loop {
            server.work().await;
            tokio::task::yield_now().await;
        }
    };
    let cut = &long[..320];
    // Several ask, and it is counted once.
    let (found, again) = tokio::select! {
        found = async { tokio::join!(contributors(&ada, project), contributors(&ada, project)) } => found,
        () = work() => unreachable!("works for ever"),
    };
    assert_eq!(found, json!([one("N", cut, 750, 750, 750), one("N", "ada@x", 750, 750, 749)]));
    assert_eq!(again, found);
    // A long way back is a job as well.
    ada.put(&format!("/projects/{project}/repository/branches/main/unprotect"), &[]).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["+main~1490:main"]).await.ok();
    let found = tokio::select! {
        found = contributors(&ada, project) => found,
        () = work() => unreachable!("works for ever"),
    };
    assert_eq!(found, json!([one("N", cut, 5, 5, 5), one("N", "ada@x", 5, 5, 4)]));
}

/// Those who count at once count once.
#[tokio::test]
async fn many_who_ask_at_once() {
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
            assert_eq!(found, json!([one("Ada", "ada@x", commits, commits, commits - 1)]));
        }
        if round == 2 {
            // The mark alone is lost: all is counted anew, and nothing twice.
            let mut database = server.database().await;
            sqlx::query("delete from contributions").execute(&mut database).await.unwrap();
        }
    }
}

/// Rows of a project that is removed go with it.
#[tokio::test]
async fn nothing_is_left_of_a_removed_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    server.push_first(&ada, "ada/p").await;
    assert_eq!(contributors(&ada, project).await.as_array().unwrap().len(), 1);
    ada.delete(&format!("/projects/{project}")).await;
    server.work().await;
    let contents = server.contents().await;
    assert_eq!((&contents["contributors"], &contents["contributions"]), (&json!([]), &json!([])));
}
