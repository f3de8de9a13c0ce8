//! Code pages: archives, the search for files, last commits, commits of lines, branches, tags, contributors, activity,
//! forks and stars.

mod files;
mod people;
mod refs;

use holdfast_tests::{Browser, Client, Server, WorkTree};

use crate::projects::add_member;

/// A public project `ada/tide` with three commits by Ada. Eve is a developer, Bo is no member.
struct Fixture {
    server: Server,
    ada: Client,
    project: i64,
    tree: WorkTree,
    first: String,
    second: String,
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (eve, _) = server.user("eve").await;
        server.user("bo").await;
        let project = server.project(&ada, "tide", 20).await;
        add_member(&ada, &format!("/projects/{project}"), eve.get(), 30).await;
        let tree = WorkTree::new().await;
        let first = tree.commit("src/main.rs", b"fn main() {\n    one();\n}\n", "Add the program").await;
        let second = tree.commit("README.md", b"# Tide\n", "Add a README").await;
        tree.commit("src/main.rs", b"fn main() {\n    two();\n}\n", "Change the program").await;
        tree.push(&server.git_url(&ada, "ada/tide"), &["main", "main:topic/a"]).await.ok();
        server.run_jobs().await;
        Self { server, ada, project, tree, first, second }
    }

    async fn api(&self, path: &str) -> serde_json::Value {
        self.ada.get(&format!("/projects/{}{path}", self.project)).await.body
    }

    async fn branch_names(&self) -> Vec<String> {
        names(&self.api("/repository/branches").await)
    }

    async fn tag_names(&self) -> Vec<String> {
        names(&self.api("/repository/tags").await)
    }
}

fn names(list: &serde_json::Value) -> Vec<String> {
    let list = list.as_array().unwrap();
    list.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that posting a form is refused with this status, and that nothing changed.
async fn assert_refused(server: &Server, browser: &Browser, path: &str, form: &[(&str, &str)], status: u16) {
    let before = server.dump_database().await;
    let response = browser.post(path, form).await;
    assert_eq!(response.status, status, "{path}: {}", response.text);
    assert_eq!(server.dump_database().await, before, "{path}");
}
