//! Builds the body of a delivery from the payload of its event, in the format that existing clients expect. Bodies are
//! built once: see [`super::stored_body`].

mod issue;
mod merge_request;
mod pipeline;
mod push;

use holdfast_domain::InstanceUrls;
use holdfast_domain::hooks::EventKind;
use holdfast_domain::site::ProjectLinks;
use holdfast_store::hooks::stored_event::StoredEvent;
use serde_json::{Value, json};

use crate::{App, Result};

/// Builds the body for an event. Push events have fewer details for hooks of the instance than for hooks of a project.
pub(super) async fn build(app: &App, event: &StoredEvent, is_project_hook: bool) -> Result<Value> {
    let site = &app.settings.site;
    Ok(match EventKind::from_str_opt(&event.kind) {
        Some(EventKind::Push) => push::push(app, event, is_project_hook).await?,
        Some(EventKind::TagPush) => push::tag_push(app, event, is_project_hook).await?,
        Some(EventKind::Issue) => issue::issue(&event.payload, site),
        Some(EventKind::Note) => issue::note(app, event).await?,
        Some(EventKind::MergeRequest) => merge_request::merge_request(app, event).await?,
        Some(EventKind::Build) => pipeline::build(&event.payload, site),
        Some(EventKind::Pipeline) => pipeline::pipeline(&event.payload, site),
        Some(EventKind::Test) => event.payload.clone(),
        _ => {
            let mut body = event.payload.clone();
            body["event_name"] = event.kind.as_str().into();
            body
        }
    })
}

/// The URLs of a project.
struct ProjectUrls<'a> {
    site: &'a InstanceUrls,
    links: ProjectLinks,
    home: String,
    ssh: String,
    http: String,
}

impl<'a> ProjectUrls<'a> {
    fn new(project: &Value, site: &'a InstanceUrls) -> Self {
        let path = project["path_with_namespace"].as_str().unwrap_or_default();
        let links = ProjectLinks::new(path);
        Self { ssh: site.ssh_url(path), http: site.url(&links.git()), home: site.url(links.home()), site, links }
    }

    fn commit(&self, id: &Value) -> String {
        self.site.url(&self.links.commit(id.as_str().unwrap_or_default()))
    }

    fn issue(&self, iid: &Value) -> String {
        self.site.url(&self.links.issue(iid))
    }

    fn merge_request(&self, iid: &Value) -> String {
        self.site.url(&self.links.merge_request(iid))
    }

    fn issue_note(&self, iid: &Value, note: &Value) -> String {
        self.site.url(&self.links.issue_note(iid, note))
    }
}

fn project(project: &Value, urls: &ProjectUrls<'_>) -> Value {
    let mut body = base_project(project, urls);
    // Older names of the same URLs.
    for (name, value) in
        [("homepage", &urls.home), ("url", &urls.ssh), ("ssh_url", &urls.ssh), ("http_url", &urls.http)]
    {
        body[name] = value.as_str().into();
    }
    body
}

/// Like [`project`], but without the older names of URLs, as in pipeline events.
fn base_project(project: &Value, urls: &ProjectUrls<'_>) -> Value {
    json!({
        "name": project["name"],
        "description": project["description"],
        "web_url": urls.home,
        "avatar_url": null,
        "git_ssh_url": urls.ssh,
        "git_http_url": urls.http,
        "namespace": project["namespace"],
        "visibility_level": project["visibility_level"],
        "path_with_namespace": project["path_with_namespace"],
        "default_branch": project["default_branch"],
    })
}

fn repository(project: &Value, urls: &ProjectUrls<'_>) -> Value {
    json!({
        "name": project["name"],
        "url": urls.ssh,
        "description": project["description"],
        "homepage": urls.home,
    })
}

/// Like [`repository`], but with clone URLs and visibility, as in push and build events.
fn full_repository(project: &Value, urls: &ProjectUrls<'_>) -> Value {
    let mut body = repository(project, urls);
    body["git_http_url"] = urls.http.as_str().into();
    body["git_ssh_url"] = urls.ssh.as_str().into();
    body["visibility_level"] = project["visibility_level"].clone();
    body
}

fn user(user: &Value, site: &InstanceUrls) -> Value {
    json!({
        "name": user["name"],
        "username": user["username"],
        "avatar_url": site.avatar_url(user["email"].as_str().unwrap_or_default()),
    })
}
