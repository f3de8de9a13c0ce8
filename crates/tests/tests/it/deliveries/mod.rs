//! What hooks are told, and what becomes of it.

mod contract;
mod credentials;
mod history;
mod payloads;
mod security;
mod service;
mod system;

use holdfast_tests::{Client, Receiver, Server};
use serde_json::Value;

/// A project with a first commit, a hook that hears of all that there is, and who is told by it.
struct World {
    server: Server,
    ada: Client,
    project: i64,
    receiver: Receiver,
    /// Below `/projects/…`.
    hook: String,
}

const TOKEN: &str = "t0ken-of-the-hook";

impl World {
    async fn new() -> Self {
        Self::on(Server::start().await).await
    }

    async fn on(server: Server) -> Self {
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "p", 20).await;
        server.push_first(&ada, "ada/p").await;
        let receiver = Receiver::start().await;
        server.deliver().await;
        let form = [
            ("url", &*receiver.url("/hook")),
            ("token", TOKEN),
            ("tag_push_events", "true"),
            ("issues_events", "true"),
            ("note_events", "true"),
        ];
        let made = ada.post(&format!("/projects/{project}/hooks"), &form).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let hook = format!("/projects/{project}/hooks/{}", made.body["id"]);
        Self { server, ada, project, receiver, hook }
    }

    /// Something to tell: a branch of that name.
    async fn branch(&self, name: &str) {
        let form = [("branch_name", name), ("ref", "main")];
        let made = self.ada.post(&format!("/projects/{}/repository/branches", self.project), &form).await;
        assert_eq!(made.status, 200, "{}", made.text);
    }

    async fn branches(&self, names: &[&str]) {
        for name in names {
            self.branch(name).await;
        }
    }

    async fn deliveries(&self) -> Vec<Value> {
        let listed = self.ada.get(&format!("{}/deliveries?per_page=100", self.hook)).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        listed.body.as_array().unwrap().clone()
    }

    /// The last first.
    async fn states(&self) -> Vec<String> {
        self.deliveries().await.iter().map(|it| it["state"].as_str().unwrap().to_owned()).collect()
    }

    async fn hook(&self) -> Value {
        self.ada.get(&self.hook).await.body
    }
}
