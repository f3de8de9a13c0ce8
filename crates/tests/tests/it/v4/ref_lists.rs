//! Lists of branches and tags that are searched and sorted.

use holdfast_tests::{Client, Server, WorkTree};

/// Returns the names on all pages of this size.
async fn read_names(client: &Client, path: &str, size: usize) -> Vec<String> {
    let mut names = Vec::new();
    for number in 1.. {
        let page = client.get(&format!("{path}&per_page={size}&page={number}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let rows = page.body.as_array().unwrap();
        names.extend(rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()));
        if rows.len() < size {
            assert_eq!(page.header("x-total"), Some(&*names.len().to_string()), "{path}");
            break;
        }
    }
    names
}

#[tokio::test]
async fn refs_are_searched_and_sorted_on_every_page() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    // From the oldest to the newest.
    for (day, name) in ["v2", "w1", "v1.9", "v1.10"].into_iter().enumerate() {
        let date = format!("2026-01-0{}T00:00:00Z", day + 1);
        let commit = ["commit", "-q", "--allow-empty", "-m", name];
        tree.git_with(commit, &[("GIT_COMMITTER_DATE", &date)]).await.ok();
        tree.git(["tag", name]).await.ok();
        tree.git(["branch", &format!("b-{name}")]).await.ok();
    }
    tree.push(&server.git_url(&ada, "ada/p"), &["--all"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &["--tags"]).await.ok();

    let cases: &[(&str, &[&str])] = &[
        ("tags?order_by=name&sort=asc", &["v1.10", "v1.9", "v2", "w1"]),
        ("tags?order_by=name", &["w1", "v2", "v1.9", "v1.10"]),
        ("tags?order_by=version&sort=asc", &["v1.9", "v1.10", "v2", "w1"]),
        ("tags?order_by=version", &["w1", "v2", "v1.10", "v1.9"]),
        ("tags?sort=asc", &["v2", "w1", "v1.9", "v1.10"]),
        ("tags?sort=desc", &["v1.10", "v1.9", "w1", "v2"]),
        ("tags?order_by=name&sort=asc&search=V1", &["v1.10", "v1.9"]),
        ("tags?order_by=version&search=^v", &["v2", "v1.10", "v1.9"]),
        ("tags?search=^v", &["v1.10", "v1.9", "v2"]),
        ("tags?order_by=name&search=nothing", &[]),
        ("tags?search=nothing", &[]),
        ("branches?search=^b-", &["b-v1.10", "b-v1.9", "b-v2", "b-w1"]),
        ("branches?search=^b-&sort=updated_asc", &["b-v2", "b-w1", "b-v1.9", "b-v1.10"]),
        ("branches?search=1$&sort=updated_desc", &["b-w1"]),
    ];
    for (query, expected) in cases {
        let path = format!("/api/v4/projects/{project}/repository/{query}");
        for size in [1, 3, 20] {
            assert_eq!(read_names(&ada, &path, size).await, *expected, "{query} {size}");
        }
    }
}
