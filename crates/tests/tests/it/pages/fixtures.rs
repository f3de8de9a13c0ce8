//! The users of the tests of pages, and the groups and projects that they open.

use holdfast_app::Actor;
use holdfast_app::accounts::user::UserChanges;
use holdfast_app::ci::runner::{self, RunnerAttributes};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::InstanceRole;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_tests::{Browser, Client, Server, Setup, WorkTree, user_attributes};

use crate::deploy_keys::DEPLOY_KEY;
use crate::projects::add_member;

/// The viewers of pages. A stranger and an external user are members of no group, the other users of all.
pub const ROLES: [&str; 9] =
    ["anonymous", "external", "stranger", "guest", "reporter", "developer", "master", "owner", "administrator"];

const CI_FILE: &str = "first: {script: make}\n";

/// A server with one group of each visibility, `private-team`, `internal-team` and `public-team`. Each has a project
/// `tide` with the same visibility, with code, a tag, an issue, a label, a pipeline, and a merge request with two versions.
pub struct PageFixture {
    pub server: Server,
    pub owner: Client,
    pub projects: Vec<FixtureProject>,
}

/// What the pages of one project are about.
pub struct FixtureProject {
    pub visibility: Visibility,
    pub group: String,
    pub id: i64,
    /// The id of its issue, whose number is 1.
    pub issue: i64,
    /// The newest commit of `main`.
    commit: String,
    /// The secret in the address of its uploaded file.
    upload: String,
    /// The ids of what is in the project, by the segment of an address after which they stand.
    ids: Vec<(&'static str, i64)>,
}

impl PageFixture {
    pub async fn new() -> Self {
        let mut setup = Setup::default();
        setup.limits.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        let server = Server::start_with(setup).await;
        let (_, owner) = server.user("owner").await;
        let mut members = Vec::new();
        for role in ["guest", "reporter", "developer", "master"] {
            members.push((role, server.user(role).await.0.get()));
        }
        server.user("stranger").await;
        server.user_with(UserChanges { external: Some(true), ..user_attributes("external") }).await;
        // They have no role of their own: a direct member of everything, and a user who requests access.
        let (colleague, _) = server.user("colleague").await;
        let (_, applicant) = server.user("applicant").await;
        let mut projects = Vec::new();
        for (visibility, level) in [(Visibility::Private, 0), (Visibility::Internal, 10), (Visibility::Public, 20)] {
            let group = format!("{}-team", visibility.as_str());
            let group_id = server.group(&owner, &group, level).await;
            for (role, id) in &members {
                let level = access_level(role).expect("members have a level");
                add_member(&owner, &format!("/groups/{group_id}"), *id, level.as_i16().into()).await;
            }
            let project = server.project_in(&owner, "tide", level, Some(group_id)).await;
            let mut filled = FixtureProject::fill(&server, &owner, visibility, group, project).await;
            filled.add_people(&owner, group_id, colleague.get(), &applicant).await;
            projects.push(filled);
        }
        let system_hook = server.admin.post("/hooks", &[("url", "http://127.0.0.1:9/system")]).await;
        let system_hook = system_hook.body[0]["id"].as_i64().expect("the hook was created");
        server.admin.get(&format!("/hooks/{system_hook}")).await;
        for project in &mut projects {
            project.ids.push(("system hooks", system_hook));
        }
        // The first deliveries of the hooks fail. Their bodies are stored when they are sent.
        server.deliver_hooks().await;
        FixtureProject::allow_job_tokens(&mut projects, &owner).await;
        // A user whom administrators manage, and whom no test signs in.
        let managed = server.user("managed").await.0.get();
        for project in &mut projects {
            project.ids.push(("users", managed));
            project.ids.push(("projects", project.id));
        }
        Self { server, owner, projects }
    }

    /// Returns a browser in which the user of this role is signed in, unless it is anonymous.
    pub async fn browser(&self, role: &str) -> Browser {
        match role {
            "anonymous" => self.server.browser().with_many_addresses(),
            "administrator" => self.server.sign_in("root").await,
            role => self.server.sign_in(role).await,
        }
    }
}

/// Creates a runner of a project, or a shared one, and returns its id.
pub async fn create_runner(server: &Server, project: Option<i64>, description: &str) -> i64 {
    let attributes = RunnerAttributes {
        description: Some(description.to_owned()),
        active: true,
        locked: false,
        run_untagged: true,
        tags: vec!["linux".to_owned()],
        max_run_seconds: None,
    };
    let project = project.map(|id| ProjectRef::Id(id.into()));
    let created = runner::create(&server.app, &Actor::Operator, project.as_ref(), attributes).await;
    created.expect("a valid runner").id.get()
}

/// A branch that was deleted; the ref log can restore it.
const DELETED_BRANCH: &str = "short-lived";

impl FixtureProject {
    async fn fill(server: &Server, owner: &Client, visibility: Visibility, group: String, id: i64) -> Self {
        let tree = WorkTree::new().await;
        tree.commit("src/main.rs", b"fn main() {}\n", "Add the program").await;
        tree.commit("README.md", b"# Tide\n\nHello\n", "Add a README").await;
        let commit = tree.commit(".gitlab-ci.yml", CI_FILE.as_bytes(), "Add a pipeline").await;
        tree.git(["tag", "-m", "First", "v1"]).await.ok();
        let url = server.git_url(owner, &format!("{group}/tide"));
        tree.push(&url, &["main", "v1", "main:topic", &format!("main~1:refs/heads/{DELETED_BRANCH}")]).await.ok();
        tree.push(&url, &[&format!(":{DELETED_BRANCH}")]).await.ok();
        tree.git(["checkout", "-q", "-b", "proposal"]).await.ok();
        tree.commit("src/main.rs", b"fn main() { rise() }\n", "Rise").await;
        tree.push(&url, &["proposal"]).await.ok();
        tree.commit("src/tide.rs", b"fn rise() {}\n", "Add the tide").await;
        server.run_jobs().await;
        // The contributors are counted when they are listed for the first time.
        let counted = owner.get(&format!("/projects/{id}/repository/contributors")).await;
        assert_eq!(counted.status, 200, "{}", counted.text);
        let uploaded = crate::uploads::upload(owner, id, "a.txt", b"a").await;
        let upload = uploaded.body["url"].as_str().and_then(|url| url.split('/').nth(2)).unwrap_or_default().to_owned();
        let mut project = Self { visibility, group, id, issue: 0, commit, upload, ids: Vec::new() };
        let label = project.post(owner, "/labels", &[("name", "bug"), ("color", "#ff0000")]).await;
        project.post(owner, "/milestones", &[("title", "Before winter")]).await;
        let form = [("title", "It leaks"), ("description", "At high tide."), ("labels", "bug")];
        project.issue = project.post(owner, "/issues", &form).await;
        let note = format!("/issues/{}/notes", project.issue);
        let note = project.post(owner, &note, &[("body", "I see it.")]).await;
        let form =
            [("title", "Let it rise"), ("source_branch", "proposal"), ("target_branch", "main"), ("labels", "bug")];
        let request = project.post(owner, "/merge_requests", &form).await;
        let request = format!("/merge_requests/{request}");
        let form = [("body", "Why?"), ("path", "src/main.rs"), ("line", "1"), ("side", "new")];
        let discussion = project.post(owner, &format!("{request}/discussions"), &form).await;
        let request_note = project.post(owner, &format!("{request}/notes"), &[("body", "I agree.")]).await;
        // A second version.
        tree.push(&url, &["proposal"]).await.ok();
        server.run_jobs().await;
        // The files of versions are counted, and the lines of discussions found, when they are read for the first time.
        for list in ["versions", "discussions"] {
            let read = owner.get(&format!("/projects/{id}{request}/{list}")).await;
            assert_eq!(read.status, 200, "{list}: {}", read.text);
        }
        let board = project.first_id(owner, "/boards").await;
        let form = [("label_id", &*label.to_string())];
        let list = project.post(owner, &format!("/boards/{board}/lists"), &form).await;
        let hook = project.post(owner, "/hooks", &[("url", "http://127.0.0.1:9/hook"), ("push_events", "true")]).await;
        let tested = owner.post(&format!("/api/v4/projects/{id}/hooks/{hook}/test/push_events"), &[]).await;
        assert_eq!(tested.status, 201, "{}", tested.text);
        let deploy_key = project.post(owner, "/deploy_keys", &[("title", "server"), ("key", DEPLOY_KEY)]).await;
        project.post(owner, "/variables", &[("key", "DEPLOY_TARGET"), ("value", "harbor")]).await;
        let trigger = project.post(owner, "/triggers", &[("description", "Nightly")]).await;
        let runner = create_runner(server, Some(id), "Builder").await;
        let shared_runner = create_runner(server, None, "Shared builder").await;
        let (pipeline, build) = (project.first_id(owner, "/pipelines").await, project.first_id(owner, "/builds").await);
        project.ids = vec![
            ("labels", label),
            ("notes", note),
            ("discussions", discussion),
            ("request notes", request_note),
            ("lists", list),
            ("hooks", hook),
            ("deploy_keys", deploy_key),
            ("pipelines", pipeline),
            ("builds", build),
            ("triggers", trigger),
            ("runners", runner),
            ("shared runners", shared_runner),
        ];
        project
    }

    /// Puts the next project on the job token allow list of each project.
    async fn allow_job_tokens(projects: &mut [Self], owner: &Client) {
        let ids: Vec<i64> = projects.iter().map(|project| project.id).collect();
        for (project, other) in projects.iter_mut().zip(ids.into_iter().cycle().skip(1)) {
            let form = [("target_project_id", &*other.to_string())];
            project.post(owner, "/job_token_scope/allowlist", &form).await;
            project.ids.push(("job_token", other));
        }
    }

    /// Adds a direct member to the project and to its group, and accepts requests for access. The applicant requests it where
    /// they can see something.
    async fn add_people(&mut self, owner: &Client, group: i64, colleague: i64, applicant: &Client) {
        for path in [format!("/projects/{}", self.id), format!("/groups/{group}")] {
            add_member(owner, &path, colleague, AccessLevel::Developer.as_i16().into()).await;
            let updated = owner.put(&path, &[("request_access_enabled", "true")]).await;
            assert_eq!(updated.status, 200, "{path}: {}", updated.text);
            if self.visibility > Visibility::Private {
                let requested = applicant.post(&format!("{path}/access_requests"), &[]).await;
                assert_eq!(requested.status, 201, "{path}: {}", requested.text);
            }
        }
        self.ids.push(("members", colleague));
    }

    /// Creates something in this project through the API and returns its id.
    pub async fn post(&self, owner: &Client, path: &str, form: &[(&str, &str)]) -> i64 {
        let response = owner.post(&format!("/projects/{}{path}", self.id), form).await;
        assert!(matches!(response.status, 200 | 201), "{path}: {}", response.text);
        response.body["id"].as_i64().unwrap_or_default()
    }

    async fn first_id(&self, owner: &Client, path: &str) -> i64 {
        let listed = owner.get(&format!("/projects/{}{path}", self.id)).await;
        listed.body[0]["id"].as_i64().unwrap_or_else(|| panic!("{path}: {}", listed.text))
    }
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
                (":secret", "uploads") => self.upload.clone(),
                (":file", _) => "a.txt".into(),
                (_, "issues" | "milestones" | "merge_requests") => "1".into(),
                (_, "notes") if path.contains("/merge_requests/") => self.record("request notes"),
                (_, "hooks") if path.starts_with("/admin/") => self.record("system hooks"),
                (_, "deliveries") => "1".into(),
                (_, "runners") if path.starts_with("/admin/") => self.record("shared runners"),
                (_, "variables") => "DEPLOY_TARGET".into(),
                (_, segment) if self.ids.iter().any(|(name, _)| *name == segment) => self.record(segment),
                (_, "browse" | "file") => "out/a.txt".into(),
                (_, "commit") => self.commit.clone(),
                (_, "blob" | "raw" | "blame" | "edit" | "delete") => "main/README.md".into(),
                (_, "tree" | "new" | "upload") => "main/src".into(),
                (_, "commits" | "find" | "branches") => "main".into(),
                (_, "archive") => "main.tar.gz".into(),
                (_, "compare" | "range_diff") => "v1...main".into(),
                (_, "tags") => "v1".into(),
                // Nobody has a session, an address, a key, a token, a todo or a comment of a review with this id.
                (_, "sessions" | "emails" | "keys" | "tokens" | "todos" | "review" | "access_tokens" | "jobs") => {
                    "0".into()
                }
                // There is no request and no share with this id. The actions say so and lead back to the page.
                (_, "requests" | "shares") => "0".into(),
                (parameter, _) => panic!("add a value of {parameter} in {path} to FixtureProject::address"),
            };
            address = format!("{address}/{value}");
            previous = part;
        }
        address
    }
}

impl FixtureProject {
    /// Returns the id of a record in an address.
    fn record(&self, name: &str) -> String {
        self.ids.iter().find(|(known, _)| *known == name).expect("the fixture has this record").1.to_string()
    }
}

/// Returns the level of a role in the groups of the fixture.
pub fn access_level(role: &str) -> Option<AccessLevel> {
    AccessLevel::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(role))
}

pub fn instance_role(role: &str) -> InstanceRole {
    match role {
        "anonymous" => InstanceRole::Anonymous,
        "external" => InstanceRole::External,
        "administrator" => InstanceRole::Administrator,
        _ => InstanceRole::Regular,
    }
}
