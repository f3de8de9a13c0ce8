//! Webhook deliveries: payloads, retries, history and security.

mod contract;
mod credentials;
mod history;
mod payloads;
mod removals;
mod security;
mod service;
mod system;

use holdfast_tests::{Client, Receiver, Server};
use serde_json::Value;

/// A project with one commit, a hook that subscribes to all events, and its receiver.
struct DeliveryFixture {
    server: Server,
    ada: Client,
    project: i64,
    receiver: Receiver,
    /// The path of the hook, below `/projects/…`.
    hook: String,
}

const TOKEN: &str = "t0ken-of-the-hook";

impl DeliveryFixture {
    async fn new() -> Self {
        Self::on_server(Server::start().await).await
    }

    async fn on_server(server: Server) -> Self {
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "p", 20).await;
        server.push_first(&ada, "ada/p").await;
        let receiver = Receiver::start().await;
        server.deliver_hooks().await;
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

    /// Creates a branch, which is an event.
    async fn create_branch(&self, name: &str) {
        let form = [("branch_name", name), ("ref", "main")];
        let made = self.ada.post(&format!("/projects/{}/repository/branches", self.project), &form).await;
        assert_eq!(made.status, 200, "{}", made.text);
    }

    async fn create_branches(&self, names: &[&str]) {
        for name in names {
            self.create_branch(name).await;
        }
    }

    async fn deliveries(&self) -> Vec<Value> {
        let listed = self.ada.get(&format!("{}/deliveries?per_page=100", self.hook)).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        listed.body.as_array().unwrap().clone()
    }

    /// Returns the states of all deliveries, newest first.
    async fn states(&self) -> Vec<String> {
        self.deliveries().await.iter().map(|it| it["state"].as_str().unwrap().to_owned()).collect()
    }

    async fn hook(&self) -> Value {
        self.ada.get(&self.hook).await.body
    }
}
