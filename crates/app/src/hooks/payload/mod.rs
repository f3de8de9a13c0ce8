//! What stands in a delivery: what happened, in the words that receivers know.

mod issue;
mod pipeline;
mod push;

use holdfast_domain::Site;
use holdfast_domain::hooks::Kind;
use holdfast_store::hooks::stored_event::StoredEvent;
use serde_json::{Value, json};

use crate::{App, Result};

/// The instance's own hooks are told less of a push than a project's.
pub(super) async fn body(app: &App, event: &StoredEvent, is_of_project: bool) -> Result<Value> {
    let site = &app.settings.site;
    Ok(match Kind::from_word(&event.kind) {
        Some(Kind::Push) => push::push(app, event, is_of_project).await?,
        Some(Kind::TagPush) => push::tag_push(app, event, is_of_project).await?,
        Some(Kind::Issue) => issue::issue(&event.payload, site),
        Some(Kind::Note) => issue::note(&event.payload, site),
        Some(Kind::Build) => pipeline::build(&event.payload, site),
        Some(Kind::Pipeline) => pipeline::pipeline(&event.payload, site),
        Some(Kind::Test) => event.payload.clone(),
        _ => {
            let mut body = event.payload.clone();
            body["event_name"] = event.kind.as_str().into();
            body
        }
    })
}

/// Where a project is.
struct Addresses {
    home: String,
    ssh: String,
    http: String,
}

impl Addresses {
    fn of(project: &Value, site: &Site) -> Self {
        let path = project["path_with_namespace"].as_str().unwrap_or_default();
        let home = site.url(&format!("/{path}"));
        Self { ssh: site.ssh_url(path), http: format!("{home}.git"), home }
    }
}

fn project(facts: &Value, at: &Addresses) -> Value {
    let mut body = new_project(facts, at);
    // The old names of the same.
    for (name, value) in [("homepage", &at.home), ("url", &at.ssh), ("ssh_url", &at.ssh), ("http_url", &at.http)] {
        body[name] = value.as_str().into();
    }
    body
}

/// Without the old names, as pipelines tell it.
fn new_project(facts: &Value, at: &Addresses) -> Value {
    json!({
        "name": facts["name"],
        "description": facts["description"],
        "web_url": at.home,
        "avatar_url": null,
        "git_ssh_url": at.ssh,
        "git_http_url": at.http,
        "namespace": facts["namespace"],
        "visibility_level": facts["visibility_level"],
        "path_with_namespace": facts["path_with_namespace"],
        "default_branch": facts["default_branch"],
    })
}

fn repository(facts: &Value, at: &Addresses) -> Value {
    json!({
        "name": facts["name"],
        "url": at.ssh,
        "description": facts["description"],
        "homepage": at.home,
    })
}

/// With where it is fetched from, as pushes and builds tell it.
fn whole_repository(facts: &Value, at: &Addresses) -> Value {
    let mut body = repository(facts, at);
    body["git_http_url"] = at.http.as_str().into();
    body["git_ssh_url"] = at.ssh.as_str().into();
    body["visibility_level"] = facts["visibility_level"].clone();
    body
}

fn user(facts: &Value, site: &Site) -> Value {
    json!({
        "name": facts["name"],
        "username": facts["username"],
        "avatar_url": site.avatar(facts["email"].as_str().unwrap_or_default()),
    })
}
