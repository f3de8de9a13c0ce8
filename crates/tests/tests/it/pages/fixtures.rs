//! The users of the tests of pages, and the groups and projects that they open.

use holdfast_domain::policy::InstanceRole;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_tests::{Browser, Client, Server, WorkTree};

use crate::projects::add_member;

/// The viewers of pages. A guest, a developer and an owner are members of all groups; a stranger is of none.
pub const ROLES: [&str; 6] = ["anonymous", "stranger", "guest", "developer", "owner", "administrator"];

const CI_FILE: &str = "first: {script: make}\n";

/// A server with one group of each visibility, `private-team`, `internal-team` and `public-team`. Each has a project
/// `tide` with the same visibility, with code, a tag, an issue, a label and a pipeline.
pub struct PageFixture {
    pub server: Server,
    pub owner: Client,
    pub projects: Vec<FixtureProject>,
}

/// What the pages of one project are about.
pub struct FixtureProject {
    pub visibility: Visibility,
    pub group: String,
    /// The newest commit of `main`.
    commit: String,
    pipeline: i64,
    build: i64,
}

impl PageFixture {
    pub async fn new() -> Self {
        let server = Server::start().await;
        let (_, owner) = server.user("owner").await;
        let mut members = Vec::new();
        for role in ["guest", "developer"] {
            members.push((role, server.user(role).await.0.get()));
        }
        server.user("stranger").await;
        let mut projects = Vec::new();
        for (visibility, level) in [(Visibility::Private, 0), (Visibility::Internal, 10), (Visibility::Public, 20)] {
            let group = format!("{}-team", visibility.as_str());
            let group_id = server.group(&owner, &group, level).await;
            for (role, id) in &members {
                let level = access_level(role).expect("members have a level");
                add_member(&owner, &format!("/groups/{group_id}"), *id, level.as_i16().into()).await;
            }
            let project = server.project_in(&owner, "tide", level, Some(group_id)).await;
            projects.push(fill_project(&server, &owner, visibility, group, project).await);
        }
        Self { server, owner, projects }
    }

    /// Returns a browser in which the user of this role is signed in, unless it is anonymous.
    pub async fn browser(&self, role: &str) -> Browser {
        match role {
            "anonymous" => self.server.browser(),
            "administrator" => self.server.sign_in("root").await,
            role => self.server.sign_in(role).await,
        }
    }
}

async fn fill_project(
    server: &Server,
    owner: &Client,
    visibility: Visibility,
    group: String,
    project: i64,
) -> FixtureProject {
    let tree = WorkTree::new().await;
    tree.commit("src/main.rs", b"fn main() {}\n", "Add the program").await;
    tree.commit("README.md", b"# Tide\n\nHello\n", "Add a README").await;
    let commit = tree.commit(".gitlab-ci.yml", CI_FILE.as_bytes(), "Add a pipeline").await;
    tree.git(["tag", "-m", "First", "v1"]).await.ok();
    tree.push(&server.git_url(owner, &format!("{group}/tide")), &["main", "v1"]).await.ok();
    server.run_jobs().await;
    let post = async |path: &str, form: &[(&str, &str)]| {
        let response = owner.post(&format!("/projects/{project}{path}"), form).await;
        assert!(matches!(response.status, 200 | 201), "{}", response.text);
    };
    post("/labels", &[("name", "bug"), ("color", "#ff0000")]).await;
    post("/issues", &[("title", "It leaks"), ("description", "At high tide."), ("labels", "bug")]).await;
    let find_id = async |path: &str| {
        let listed = owner.get(&format!("/projects/{project}{path}")).await;
        listed.body[0]["id"].as_i64().unwrap_or_else(|| panic!("{path}: {}", listed.text))
    };
    FixtureProject { visibility, group, commit, pipeline: find_id("/pipelines").await, build: find_id("/builds").await }
}

impl FixtureProject {
    /// Returns the address of a declared page about this project, its group or the user `owner`. Fails for a parameter
    /// whose value is not known here; add it.
    pub fn address(&self, path: &str) -> String {
        let mut previous = "";
        let mut address = String::new();
        for part in path.split('/').skip(1) {
            let is_parameter = part.starts_with([':', '*']);
            let value = match (part, previous) {
                (part, _) if !is_parameter => part.to_owned(),
                (":namespace", _) if path == "/:namespace" => "owner".into(),
                (":namespace" | ":group", _) => self.group.clone(),
                (":project", _) => "tide".into(),
                (_, "issues") => "1".into(),
                (_, "pipelines") => self.pipeline.to_string(),
                (_, "builds") => self.build.to_string(),
                (_, "commit") => self.commit.clone(),
                (_, "blob" | "raw" | "blame") => "main/README.md".into(),
                (_, "tree") => "main/src".into(),
                (_, "commits") => "main".into(),
                (_, "archive") => "main.tar.gz".into(),
                (_, "compare") => "v1...main".into(),
                (_, "tags") => "v1".into(),
                // Nobody has a session, an address, a key or a token with this id.
                (_, "sessions" | "emails" | "keys" | "tokens") => "0".into(),
                (parameter, _) => panic!("add a value of {parameter} in {path} to FixtureProject::address"),
            };
            address = format!("{address}/{value}");
            previous = part;
        }
        address
    }
}

/// Returns the level of a role in the groups of the fixture.
pub fn access_level(role: &str) -> Option<AccessLevel> {
    AccessLevel::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(role))
}

pub fn instance_role(role: &str) -> InstanceRole {
    match role {
        "anonymous" => InstanceRole::Anonymous,
        "administrator" => InstanceRole::Administrator,
        _ => InstanceRole::Regular,
    }
}
