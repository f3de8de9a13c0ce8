//! A client for the few endpoints of the API that the stress test needs.

use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::node::Node;

#[derive(Clone, Debug, Deserialize)]
pub struct Project {
    pub id: i64,
    #[serde(rename = "path_with_namespace")]
    pub path: String,
    /// Null or absent in projects that are not forks.
    pub forked_from_project: Option<serde_json::Value>,
}

impl Project {
    pub fn is_fork(&self) -> bool {
        self.forked_from_project.is_some()
    }

    pub fn url(&self, node: &Node) -> String {
        format!("http://{}/{}.git", node.address, self.path)
    }
}

#[derive(Deserialize)]
pub struct Group {
    pub id: i64,
}

#[derive(Deserialize)]
pub struct Hook {
    pub id: i64,
}

#[derive(Deserialize)]
pub struct Delivery {
    pub state: String,
}

/// Number of items of each page of a list.
const PAGE_SIZE: usize = 100;

/// Returns the path of the hooks of a project, or of the system hooks.
fn hooks_path(project: Option<i64>) -> String {
    project.map_or_else(|| "/hooks".into(), |project| format!("/projects/{project}/hooks"))
}

pub struct RestClient {
    client: reqwest::Client,
    token: String,
}

impl RestClient {
    pub fn new(token: String) -> anyhow::Result<Self> {
        Ok(Self { client: reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build()?, token })
    }

    async fn post<T: DeserializeOwned>(&self, node: &Node, path: &str, fields: &[(&str, &str)]) -> anyhow::Result<T> {
        let url = format!("http://{}/api/v3{path}", node.address);
        let response = self.client.post(&url).header("PRIVATE-TOKEN", &self.token).form(fields).send().await?;
        parse_response(response).await.with_context(|| format!("POST {path} failed"))
    }

    pub async fn get<T: DeserializeOwned>(&self, node: &Node, path: &str) -> anyhow::Result<T> {
        let url = format!("http://{}/api/v3{path}", node.address);
        let response = self.client.get(&url).header("PRIVATE-TOKEN", &self.token).send().await?;
        parse_response(response).await.with_context(|| format!("GET {path} failed"))
    }

    /// Returns the items of all pages of a list.
    pub async fn list<T: DeserializeOwned>(&self, node: &Node, path: &str) -> anyhow::Result<Vec<T>> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let mut items = Vec::new();
        for page in 1.. {
            let path = format!("{path}{sign}per_page={PAGE_SIZE}&page={page}");
            let found: Vec<T> = self.get(node, &path).await?;
            let is_last = found.len() < PAGE_SIZE;
            items.extend(found);
            if is_last {
                break;
            }
        }
        Ok(items)
    }

    /// Sends a request, and returns the status and the body of the response.
    pub async fn send(
        &self,
        method: reqwest::Method,
        node: &Node,
        path: &str,
        fields: &[(&str, &str)],
    ) -> anyhow::Result<(u16, String)> {
        let url = format!("http://{}/api/v3{path}", node.address);
        let request = self.client.request(method, &url).header("PRIVATE-TOKEN", &self.token).form(fields);
        let response = request.send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    pub async fn delete_project(&self, node: &Node, id: i64) -> anyhow::Result<()> {
        let url = format!("http://{}/api/v3/projects/{id}", node.address);
        self.client.delete(&url).header("PRIVATE-TOKEN", &self.token).send().await?.error_for_status()?;
        Ok(())
    }

    pub async fn rename(&self, node: &Node, id: i64, path: &str) -> anyhow::Result<Project> {
        let url = format!("http://{}/api/v3/projects/{id}", node.address);
        let request = self.client.put(&url).header("PRIVATE-TOKEN", &self.token).form(&[("path", path)]);
        parse_response(request.send().await?).await.with_context(|| format!("project {id} was not renamed"))
    }

    pub async fn get_project(&self, node: &Node, id: i64) -> anyhow::Result<Project> {
        self.get(node, &format!("/projects/{id}")).await
    }

    /// Sends a GET request and returns only the status of the response.
    pub async fn get_status(&self, node: &Node, path: &str) -> anyhow::Result<u16> {
        let url = format!("http://{}/api/v3{path}", node.address);
        let response = self.client.get(&url).header("PRIVATE-TOKEN", &self.token).send().await?;
        Ok(response.status().as_u16())
    }

    pub async fn create_group(&self, node: &Node, path: &str) -> anyhow::Result<Group> {
        self.post(node, "/groups", &[("name", path), ("path", path)]).await
    }

    pub async fn create_project(&self, node: &Node, group: &Group, path: &str) -> anyhow::Result<Project> {
        self.post(node, "/projects", &[("name", path), ("namespace_id", &group.id.to_string())]).await
    }

    pub async fn fork(&self, node: &Node, source: &Project, group: &str) -> anyhow::Result<Project> {
        self.post(node, &format!("/projects/fork/{}", source.id), &[("namespace", group)]).await
    }

    pub async fn create_hook(
        &self,
        node: &Node,
        project: Option<i64>,
        fields: &[(&str, &str)],
    ) -> anyhow::Result<Hook> {
        let path = hooks_path(project);
        match project {
            Some(_) => self.post(node, &path, fields).await,
            None => self.post::<[Hook; 1]>(node, &path, fields).await.map(|[hook]| hook),
        }
    }

    pub async fn newest_delivery(
        &self,
        node: &Node,
        project: Option<i64>,
        hook: i64,
    ) -> anyhow::Result<Option<Delivery>> {
        let path = format!("{}/{hook}/deliveries?per_page=1", hooks_path(project));
        Ok(self.get::<Vec<Delivery>>(node, &path).await?.into_iter().next())
    }
}

async fn parse_response<T: DeserializeOwned>(response: reqwest::Response) -> anyhow::Result<T> {
    let status = response.status();
    let text = response.text().await?;
    serde_json::from_str(&text).with_context(|| format!("malformed response, status {status}: {text}"))
}
