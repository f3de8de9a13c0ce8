//! Flows of the crate `gitlab`. The environment and the output are those of `../harness.py`.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gitlab::Gitlab;
use gitlab::api::common::{AccessLevel, SortOrder, VisibilityLevel};
use gitlab::api::issues::ProjectIssues;
use gitlab::api::personal_access_tokens::PersonalAccessTokenSelf;
use gitlab::api::projects::hooks::{CreateHook, DeleteHook, Hooks};
use gitlab::api::projects::issues::notes::{CreateIssueNote, IssueNotes};
use gitlab::api::projects::issues::{CreateIssue, EditIssue, IssueStateEvent};
use gitlab::api::projects::jobs::{JobTrace, Jobs};
use gitlab::api::projects::labels::{CreateLabel, DeleteLabel, EditLabel, Labels};
use gitlab::api::projects::members::{AddProjectMember, AllProjectMembers, RemoveProjectMember};
use gitlab::api::projects::merge_requests::discussions::{
    CreateMergeRequestDiscussion, MergeRequestDiscussions, Position, TextPosition,
};
use gitlab::api::projects::merge_requests::{
    CreateMergeRequest, MergeMergeRequest, MergeRequest, MergeRequestCommits, MergeRequestDiffs, MergeRequests,
};
use gitlab::api::projects::pipelines::{CreatePipeline, Pipeline, PipelineJobs, Pipelines};
use gitlab::api::projects::releases::{CreateRelease, ProjectReleases};
use gitlab::api::projects::repository::Tree;
use gitlab::api::projects::repository::branches::{Branches, CreateBranch, DeleteBranch};
use gitlab::api::projects::repository::commits::{
    CommitAction, CommitActionType, CommitStatusState, CommitStatuses, Commits, CompareCommits, CreateCommit,
    CreateCommitStatus,
};
use gitlab::api::projects::repository::files::{CreateFile, DeleteFile, FileRaw, UpdateFile};
use gitlab::api::projects::repository::tags::{CreateTag, Tags};
use gitlab::api::projects::variables::{CreateProjectVariable, DeleteProjectVariable, ProjectVariables};
use gitlab::api::projects::{CreateProject, DeleteProject, EditProject, Project, ProjectOrderBy, Projects};
use gitlab::api::users::{CreateUser, CurrentUser, NewUserPassword, Users};
use gitlab::api::{Endpoint, Pageable, Pagination, Query, ignore, paged, raw};
use serde_json::Value;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const DEMO: &str = "root/demo";
const MINE: &str = "root/crate";
const CI: &str = "root/crate-ci";

/// Fails unless both values are equal.
fn same<L: PartialEq<R> + std::fmt::Debug, R: std::fmt::Debug>(seen: L, expected: R) -> Outcome {
    if seen == expected { Ok(()) } else { Err(format!("expected {expected:?}, seen {seen:?}").into()) }
}

/// Fails unless the condition is true.
fn holds(what: &str, condition: bool) -> Outcome {
    if condition { Ok(()) } else { Err(what.into()) }
}

/// Calls the function until it returns something, for at most a minute.
fn eventually<T>(mut get: impl FnMut() -> Outcome<Option<T>>) -> Outcome<T> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if let Some(found) = get()? {
            return Ok(found);
        }
        sleep(Duration::from_millis(200));
    }
    Err("not within a minute".into())
}

/// The client, and the short form of its calls.
struct Client(Gitlab);

impl Client {
    /// Returns the body of the response.
    fn get(&self, endpoint: impl Endpoint) -> Outcome<Value> {
        Ok(endpoint.query(&self.0)?)
    }

    /// Sends a request whose response has no body, or an uninteresting one.
    fn run(&self, endpoint: impl Endpoint) -> Outcome {
        Ok(ignore(endpoint).query(&self.0)?)
    }

    /// Returns all pages of a list.
    fn all(&self, endpoint: impl Endpoint + Pageable + Sync + Send) -> Outcome<Vec<Value>> {
        Ok(paged(endpoint, Pagination::All).query(&self.0)?)
    }

    /// Returns one field of all elements of a list.
    fn texts(&self, endpoint: impl Endpoint + Pageable + Sync + Send, field: &str) -> Outcome<Vec<String>> {
        Ok(self.all(endpoint)?.iter().map(|item| item[field].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// Commits a file on a new branch of the demo project.
    fn change(&self, branch: &str, path: &str) -> Outcome {
        let action = CommitAction::builder()
            .action(CommitActionType::Create)
            .file_path(path)
            .content("first\nsecond\n".as_bytes())
            .build()?;
        let commit = CreateCommit::builder()
            .project(DEMO)
            .branch(branch)
            .start_branch("main")
            .commit_message("add a file")
            .action(action)
            .build()?;
        self.run(commit)
    }

    fn merge_request(&self, branch: &str) -> Outcome<u64> {
        self.change(branch, &format!("{branch}.txt"))?;
        let request = CreateMergeRequest::builder()
            .project(DEMO)
            .source_branch(branch)
            .target_branch("main")
            .title(branch)
            .build()?;
        self.get(request)?["iid"].as_u64().ok_or_else(|| "no iid".into())
    }
}

fn current_user(client: &Client) -> Outcome {
    same(&client.get(CurrentUser::builder().build()?)?["username"], "root")
}

fn oauth2(_: &Client) -> Outcome {
    let (host, token) = server();
    let client = Client(Gitlab::builder(host, token).insecure().oauth2_token().build()?);
    current_user(&client)
}

fn unknown_token(_: &Client) -> Outcome {
    holds("an unknown token is refused", Gitlab::builder(server().0, "unknown").insecure().build().is_err())
}

fn token_self(client: &Client) -> Outcome {
    same(&client.get(PersonalAccessTokenSelf::builder().build()?)?["name"], "dev")
}

fn projects(client: &Client) -> Outcome {
    let project = CreateProject::builder().name("crate").visibility(VisibilityLevel::Private).build()?;
    same(&client.get(project)?["path_with_namespace"], MINE)?;
    same(&client.get(EditProject::builder().project(MINE).description("x").build()?)?["description"], "x")?;
    same(&client.get(Project::builder().project(MINE).build()?)?["visibility"], "private")
}

/// The client asks for keyset pages of this list by itself.
fn projects_paged(client: &Client) -> Outcome {
    let list = || Projects::builder().order_by(ProjectOrderBy::Id).sort(SortOrder::Ascending).build();
    let all = client.all(list()?)?;
    let ids: Vec<_> = all.iter().map(|project| project["id"].as_u64()).collect();
    holds("there are several projects", ids.len() > 1)?;
    holds("they are sorted by id", ids.is_sorted())?;
    let first: Vec<Value> = paged(list()?, Pagination::AllPerPageLimit(1)).query(&client.0)?;
    same(first, all)
}

fn project_missing(client: &Client) -> Outcome {
    match client.get(Project::builder().project("root/nothing").build()?) {
        Err(error) => holds(&error.to_string(), error.to_string().contains("404 Project Not Found")),
        Ok(found) => Err(format!("found {found}").into()),
    }
}

fn labels(client: &Client) -> Outcome {
    let label = CreateLabel::builder().project(MINE).name("red").color((255, 0, 0)).build()?;
    same(&client.get(label)?["name"], "red")?;
    let label = EditLabel::builder().project(MINE).label("red").color((0, 255, 0)).description("words").build()?;
    same(&client.get(label)?["description"], "words")?;
    let list = || Labels::builder().project(MINE).build();
    holds("the label is listed", client.texts(list()?, "name")?.contains(&"red".to_owned()))?;
    client.run(DeleteLabel::builder().project(MINE).label("red").build()?)?;
    holds("the label is gone", !client.texts(list()?, "name")?.contains(&"red".to_owned()))
}

fn issues(client: &Client) -> Outcome {
    let issue = client.get(CreateIssue::builder().project(MINE).title("one").labels(["a", "b"]).build()?)?;
    let number = issue["iid"].as_u64().ok_or("no iid")?;
    client.run(CreateIssueNote::builder().project(MINE).issue(number).body("hello").build()?)?;
    let notes = client.texts(IssueNotes::builder().project(MINE).issue(number).build()?, "body")?;
    holds("the note is listed", notes.contains(&"hello".to_owned()))?;
    let edit = EditIssue::builder().project(MINE).issue(number).state_event(IssueStateEvent::Close).build()?;
    same(&client.get(edit)?["state"], "closed")?;
    let list = ProjectIssues::builder().project(MINE).labels(["a", "b"]).build()?;
    same(client.texts(list, "title")?, ["one"])
}

fn hooks(client: &Client) -> Outcome {
    let hook = CreateHook::builder().project(MINE).url("https://example.com/crate").job_events(true).build()?;
    let hook = client.get(hook)?;
    same(&hook["job_events"], true)?;
    let id = hook["id"].as_u64().ok_or("no id")?;
    client.run(DeleteHook::builder().project(MINE).hook_id(id).build()?)?;
    same(client.all(Hooks::builder().project(MINE).build()?)?.len(), 0)
}

fn variables(client: &Client) -> Outcome {
    client.run(CreateProjectVariable::builder().project(MINE).key("K").value("v").build()?)?;
    same(client.texts(ProjectVariables::builder().project(MINE).build()?, "value")?, ["v"])?;
    client.run(DeleteProjectVariable::builder().project(MINE).key("K").build()?)
}

fn members(client: &Client) -> Outcome {
    let user = CreateUser::builder()
        .username("crate-user")
        .email("crate@example.com")
        .name("C R")
        .password(NewUserPassword::Password("Very-secret-77".into()))
        .skip_confirmation(true)
        .build()?;
    let id = client.get(user)?["id"].as_u64().ok_or("no id")?;
    same(client.texts(Users::builder().username("crate-user").build()?, "name")?, ["C R"])?;
    client.run(AddProjectMember::builder().project(MINE).user(id).access_level(AccessLevel::Developer).build()?)?;
    let all = client.texts(AllProjectMembers::builder().project(MINE).build()?, "username")?;
    holds("the member is listed", all.contains(&"crate-user".to_owned()))?;
    client.run(RemoveProjectMember::builder().project(MINE).user(id).build()?)
}

fn branches(client: &Client) -> Outcome {
    client.run(CreateBranch::builder().project(DEMO).branch("crate-branch").ref_("main").build()?)?;
    let names = client.texts(Branches::builder().project(DEMO).build()?, "name")?;
    holds("the branch is listed", names.contains(&"crate-branch".to_owned()))?;
    client.run(DeleteBranch::builder().project(DEMO).branch("crate-branch").build()?)
}

fn content(client: &Client) -> Outcome {
    let paths = client.texts(Tree::builder().project(DEMO).ref_("main").recursive(true).build()?, "path")?;
    holds("the tree has the file", paths.contains(&"src/index.js".to_owned()))?;
    let file = FileRaw::builder().project(DEMO).file_path("package.json").ref_("main").build()?;
    let content = String::from_utf8(raw(file).query(&client.0)?)?;
    holds("the file has its content", content.contains("dependencies"))
}

fn files(client: &Client) -> Outcome {
    let (path, branch) = ("crate/a file.bin", "crate-files");
    let file = CreateFile::builder()
        .project(DEMO)
        .file_path(path)
        .branch(branch)
        .start_branch("main")
        .content(&b"one\n"[..])
        .commit_message("add")
        .build()?;
    client.run(file)?;
    // Bytes that are no text are sent in base64.
    let file = UpdateFile::builder()
        .project(DEMO)
        .file_path(path)
        .branch(branch)
        .content(&b"\xff\x00"[..])
        .commit_message("change")
        .build()?;
    client.run(file)?;
    let file = FileRaw::builder().project(DEMO).file_path(path).ref_(branch).build()?;
    same(raw(file).query(&client.0)?, b"\xff\x00")?;
    let file = DeleteFile::builder().project(DEMO).file_path(path).branch(branch).commit_message("remove").build()?;
    client.run(file)
}

fn commits(client: &Client) -> Outcome {
    let titles = client.texts(Commits::builder().project(DEMO).ref_name("main").build()?, "title")?;
    holds("the commit is listed", titles.contains(&"add the package".to_owned()))?;
    let compared = client.get(CompareCommits::builder().project(DEMO).from("main").to("feature").build()?)?;
    same(&compared["commits"][0]["title"], "add a feature")
}

fn statuses(client: &Client) -> Outcome {
    let head = client.all(Commits::builder().project(DEMO).ref_name("main").build()?)?;
    let id = head[0]["id"].as_str().ok_or("no id")?.to_owned();
    let status = CreateCommitStatus::builder()
        .project(DEMO)
        .commit(&id)
        .state(CommitStatusState::Success)
        .name("crate")
        .build()?;
    client.run(status)?;
    let names = client.texts(CommitStatuses::builder().project(DEMO).commit(&id).build()?, "name")?;
    holds("the status is listed", names.contains(&"crate".to_owned()))
}

fn tags_and_releases(client: &Client) -> Outcome {
    client.run(CreateTag::builder().project(DEMO).tag_name("crate-1").ref_("main").build()?)?;
    let names = client.texts(Tags::builder().project(DEMO).build()?, "name")?;
    holds("the tag is listed", names.contains(&"crate-1".to_owned()))?;
    let release = CreateRelease::builder().project(DEMO).tag_name("crate-1").description("notes").build()?;
    same(&client.get(release)?["tag_name"], "crate-1")?;
    let names = client.texts(ProjectReleases::builder().project(DEMO).build()?, "tag_name")?;
    holds("the release is listed", names.contains(&"crate-1".to_owned()))
}

fn merge_requests(client: &Client) -> Outcome {
    let number = client.merge_request("crate-open")?;
    let list = MergeRequests::builder().project(DEMO).source_branch("crate-open").build()?;
    same(client.texts(list, "title")?, ["crate-open"])?;
    let commits = MergeRequestCommits::builder().project(DEMO).merge_request(number).build()?;
    same(client.texts(commits, "title")?, ["add a file"])?;
    let diffs = MergeRequestDiffs::builder().project(DEMO).merge_request(number).build()?;
    same(client.texts(diffs, "new_path")?, ["crate-open.txt"])
}

fn discussions(client: &Client) -> Outcome {
    let number = client.merge_request("crate-discussed")?;
    let request = client.get(MergeRequest::builder().project(DEMO).merge_request(number).build()?)?;
    let sha = |name: &str| request["diff_refs"][name].as_str().unwrap_or_default().to_owned();
    let text =
        TextPosition::builder().new_path("crate-discussed.txt").old_path("crate-discussed.txt").new_line(2).build()?;
    let position = Position::builder()
        .base_sha(sha("base_sha"))
        .start_sha(sha("start_sha"))
        .head_sha(sha("head_sha"))
        .text_position(text)
        .build()?;
    let discussion = CreateMergeRequestDiscussion::builder()
        .project(DEMO)
        .merge_request(number)
        .body("why?")
        .position(position)
        .build()?;
    client.run(discussion)?;
    let list = client.all(MergeRequestDiscussions::builder().project(DEMO).merge_request(number).build()?)?;
    let notes: Vec<_> = list.iter().map(|discussion| &discussion["notes"][0]).collect();
    let note = notes.iter().find(|note| note["body"] == "why?").ok_or("the discussion is not listed")?;
    same(&note["position"]["new_line"], 2)
}

fn merge(client: &Client) -> Outcome {
    let number = client.merge_request("crate-accepted")?;
    let show = || MergeRequest::builder().project(DEMO).merge_request(number).build();
    eventually(|| Ok((client.get(show()?)?["detailed_merge_status"] == "mergeable").then_some(())))?;
    let merge =
        MergeMergeRequest::builder().project(DEMO).merge_request(number).should_remove_source_branch(true).build()?;
    same(&client.get(merge)?["state"], "merged")
}

fn pipelines(client: &Client) -> Outcome {
    client.run(CreateProject::builder().name("crate-ci").build()?)?;
    let file = CreateFile::builder()
        .project(CI)
        .file_path(".gitlab-ci.yml")
        .branch("main")
        .content("make:\n  script: [echo made]\n".as_bytes())
        .commit_message("add pipelines")
        .build()?;
    client.run(file)?;
    eventually(|| Ok(client.all(Pipelines::builder().project(CI).build()?)?.pop()))?;
    let pipeline = client.get(CreatePipeline::builder().project(CI).ref_("main").build()?)?;
    let id = pipeline["id"].as_u64().ok_or("no id")?;
    let show = || Pipeline::builder().project(CI).pipeline(id).build();
    eventually(|| Ok((client.get(show()?)?["status"] == "success").then_some(())))?;
    let jobs = client.all(PipelineJobs::builder().project(CI).pipeline(id).build()?)?;
    same(&jobs[0]["name"], "make")?;
    let job = jobs[0]["id"].as_u64().ok_or("no id")?;
    let trace = raw(JobTrace::builder().project(CI).job(job).build()?).query(&client.0)?;
    holds("the trace has the output", String::from_utf8_lossy(&trace).contains("made"))?;
    // The client asks for keyset pages of this list by itself.
    same(client.all(Jobs::builder().project(CI).build()?)?.len(), 2)
}

fn project_delete(client: &Client) -> Outcome {
    client.run(DeleteProject::builder().project(MINE).build()?)?;
    let show = || Project::builder().project(MINE).build();
    eventually(|| Ok(client.get(show()?).is_err().then_some(())))
}

const FLOWS: &[(&str, fn(&Client) -> Outcome)] = &[
    ("current user", current_user),
    ("oauth2", oauth2),
    ("unknown token", unknown_token),
    ("token self", token_self),
    ("projects", projects),
    ("projects paged", projects_paged),
    ("project missing", project_missing),
    ("labels", labels),
    ("issues", issues),
    ("hooks", hooks),
    ("variables", variables),
    ("members", members),
    ("branches", branches),
    ("tree and files", content),
    ("files create/update/delete", files),
    ("commits", commits),
    ("commit statuses", statuses),
    ("tags and releases", tags_and_releases),
    ("merge requests", merge_requests),
    ("merge request discussions", discussions),
    ("merge request accept", merge),
    ("pipelines and jobs", pipelines),
    ("project delete", project_delete),
];

/// Returns the host with its port, and the token.
fn server() -> (String, String) {
    let url = env::var("BASE_URL").unwrap_or_default();
    (url.trim_start_matches("http://").to_owned(), env::var("TOKEN").unwrap_or_default())
}

fn main() -> ExitCode {
    let wanted = env::var("FLOWS").unwrap_or_default();
    let (host, token) = server();
    // The client asks for the current user when it is made.
    let client = match Gitlab::builder(host, token).insecure().build() {
        Ok(client) => Client(client),
        Err(error) => {
            println!("FAILED  connect: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut status = ExitCode::SUCCESS;
    for (name, flow) in FLOWS.iter().filter(|(name, _)| name.contains(&wanted)) {
        match flow(&client) {
            Ok(()) => println!("passed  {name}"),
            Err(error) => {
                let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
                println!("FAILED  {name}: {text:.600}");
                status = ExitCode::FAILURE;
            }
        }
    }
    status
}
