//! Adds contents to the fixture of the tests of pages: many rows for every list, and names and files that are awkward to
//! show.

use std::fmt::Write as _;

use holdfast_tests::WorkTree;

use super::fixtures::{FixtureProject, PageFixture, create_runner};
use crate::projects::add_member;

/// How many rows are added to every list.
const ROWS: usize = 30;

const RTL: &str = "מדידת הגאות בנמל";
const EMOJI: &str = "🌊🦀 waves";

impl PageFixture {
    /// Adds rows to every list about the public project, its group and the user `owner`.
    pub async fn add_rows(&self) {
        let project = self.public_project();
        for number in 0..ROWS {
            let name = format!("row-{number}");
            let label = self.post(project, "/labels", &[("name", &name), ("color", "#00ff00")]).await;
            self.post(project, "/milestones", &[("title", &name)]).await;
            let form = [("title", &*name), ("description", "See #1 and @guest."), ("labels", &*name)];
            let form = [form[0], form[1], form[2], ("assignee_id", "1")];
            self.post(project, "/issues", &form).await;
            self.post(project, &format!("/issues/{}/notes", project.issue), &[("body", &name)]).await;
            self.post(project, "/hooks", &[("url", &format!("http://127.0.0.1:9/{name}"))]).await;
            self.post(project, "/variables", &[("key", &format!("ROW_{number}")), ("value", "x")]).await;
            self.post(project, "/triggers", &[("description", &name)]).await;
            create_runner(&self.server, Some(project.id), &name).await;
            create_runner(&self.server, None, &name).await;
            if number < 5 {
                let board = self.board(project).await;
                let form = [("label_id", &*label.to_string())];
                self.post(project, &format!("/boards/{board}/lists"), &form).await;
            }
            let group = self.group(project).await;
            let (member, _) = self.server.user(&format!("member-{number}")).await;
            add_member(&self.owner, &format!("/groups/{group}"), member.get(), 30).await;
            add_member(&self.owner, &format!("/projects/{}", project.id), member.get(), 20).await;
            self.server.project_in(&self.owner, &name, 20, Some(group)).await;
            self.server.project(&self.owner, &name, 20).await;
        }
        let (_, tree) = WorkTree::clone(&self.git_url(project), &[]).await;
        for number in 0..ROWS {
            let (file, content) = (format!("rows/{number}.txt"), format!("{number}\n"));
            tree.commit(&file, content.as_bytes(), &format!("Add row {number}")).await;
            tree.git(["tag", &format!("row-{number}")]).await.ok();
            tree.git(["branch", &format!("row-{number}")]).await.ok();
        }
        tree.push(&self.git_url(project), &["--all"]).await.ok();
        tree.push(&self.git_url(project), &["--tags"]).await.ok();
        self.server.run_jobs().await;
    }

    /// Adds a project whose names are awkward and whose repository has every kind of entry, an empty project, and an
    /// issue whose author is deleted.
    pub async fn add_awkward_content(&self) {
        let long = "Supercalifragilisticexpialidocious".repeat(8)[..255].to_owned();
        self.server.project(&self.owner, "empty", 20).await;
        let id = self.server.project(&self.owner, "awkward", 20).await;
        let form = [("name", &*long), ("description", &format!("{RTL} {EMOJI} {long}"))];
        let renamed = self.owner.put(&format!("/projects/{id}"), &form).await;
        assert_eq!(renamed.status, 200, "{}", renamed.text);
        let post = async |path: &str, form: &[(&str, &str)]| {
            let response = self.owner.post(&format!("/projects/{id}{path}"), form).await;
            assert!(matches!(response.status, 200 | 201), "{path}: {}", response.text);
        };
        for (name, color) in [(RTL, "#000000"), (EMOJI, "#ffffff"), ("a/b#c%25 \"d'", "#777777")] {
            post("/labels", &[("name", name), ("color", color)]).await;
        }
        for title in [RTL, EMOJI, &long] {
            post("/milestones", &[("title", title), ("description", title)]).await;
            post("/issues", &[("title", title), ("description", &long), ("labels", EMOJI)]).await;
        }
        let (leaving, client) = self.server.user("leaving").await;
        let issue = client.post(&format!("/projects/{id}/issues"), &[("title", "By somebody who left")]).await;
        assert_eq!(issue.status, 201, "{}", issue.text);
        let note = format!("/projects/{id}/issues/{}/notes", issue.body["id"]);
        assert_eq!(client.post(&note, &[("body", RTL)]).await.status, 201);
        let deleted = self.server.admin.delete(&format!("/users/{}", leaving.get())).await;
        assert_eq!(deleted.status, 200, "{}", deleted.text);
        push_awkward_files(&self.server.git_url(&self.owner, "owner/awkward")).await;
        self.server.run_jobs().await;
    }

    /// Adds 10,000 issues and 50,000 branches to the project with awkward content, and a commit that changes 2,000 files.
    pub async fn add_large_lists(&self) {
        let url = self.server.git_url(&self.owner, "owner/awkward");
        let (_, tree) = WorkTree::clone(&url, &[]).await;
        std::fs::create_dir(tree.path().join("many")).expect("a directory");
        for number in 0..2000 {
            let content = format!("{number}\nThe second line of file {number}.\n");
            std::fs::write(tree.path().join(format!("many/{number}.txt")), content).expect("a file");
        }
        tree.git(["add", "many"]).await.ok();
        tree.git(["commit", "-q", "-m", "Add 2,000 files"]).await.ok();
        tree.push(&url, &["main"]).await.ok();
        self.server.run_jobs().await;
        sqlx::raw_sql(
            "insert into issues (project_id, iid, author_id, title, state, confidential, created_at, updated_at)
               select i.project_id, 1000 + n, i.author_id, 'Number ' || n, 1 + n % 2, n % 10 = 0, i.created_at, i.updated_at
               from issues i join projects p on p.id = i.project_id, generate_series(1, 10000) n
               where p.path = 'awkward' and i.iid = 1;
             update projects set last_issue_iid = 11000, open_issues = open_issues + 5000,
               open_confidential_issues = open_confidential_issues + 1000 where path = 'awkward';
             insert into refs (repository_id, name, target)
               select r.id, 'refs/heads/branch-' || n, f.target
               from projects p join repositories r on r.project_id = p.id
               join refs f on f.repository_id = r.id and f.name = 'refs/heads/main', generate_series(1, 50000) n
               where p.path = 'awkward';
             update repositories set generation = generation + 1",
        )
        .execute(&mut self.server.database().await)
        .await
        .expect("the rows are added");
        self.server.app.git_runtime.invalidate_caches().await;
    }

    fn public_project(&self) -> &FixtureProject {
        self.projects.last().expect("the fixture has projects")
    }

    fn git_url(&self, project: &FixtureProject) -> String {
        self.server.git_url(&self.owner, &format!("{}/tide", project.group))
    }

    async fn post(&self, project: &FixtureProject, path: &str, form: &[(&str, &str)]) -> i64 {
        project.post(&self.owner, path, form).await
    }

    async fn board(&self, project: &FixtureProject) -> i64 {
        let boards = self.owner.get(&format!("/projects/{}/boards", project.id)).await;
        boards.body[0]["id"].as_i64().expect("a project has a board")
    }

    async fn group(&self, project: &FixtureProject) -> i64 {
        let group = self.owner.get(&format!("/groups/{}", project.group)).await;
        group.body["id"].as_i64().expect("the group exists")
    }
}

async fn push_awkward_files(url: &str) {
    let tree = WorkTree::new().await;
    let mut large = String::new();
    while large.len() < 5 << 20 {
        writeln!(large, "{} a line of a large file", large.len()).expect("writing to a string does not fail");
    }
    let long_line = "x".repeat(300_000);
    let name_of_200 = format!("{}.txt", "n".repeat(200));
    let files: [(&str, &[u8]); 9] = [
        ("large.txt", large.as_bytes()),
        ("one-line.txt", long_line.as_bytes()),
        ("data.bin", &[0, 159, 146, 150, 0, 1, 2]),
        ("empty", b""),
        ("latin1.txt", b"caf\xe9\n"),
        ("a b#c?d%25&e+\"f'.txt", b"quoted\n"),
        ("names/מדידה.txt", "\u{202e}reversed\u{2066}\n".as_bytes()),
        ("names/🌊.md", "# 🌊\n\n[link](<../a b#c?d%25&e+\"f'.txt>) <script>alert(1)</script>\n".as_bytes()),
        (&name_of_200, b"long name\n"),
    ];
    for (file, content) in files {
        tree.commit(file, content, &format!("Add {file}\n\n{RTL}")).await;
    }
    std::os::unix::fs::symlink("data.bin", tree.path().join("link")).expect("a link");
    tree.git(["add", "link"]).await.ok();
    let submodule = format!("160000,{},vendor/pump", "1".repeat(40));
    tree.git(["update-index", "--add", "--cacheinfo", &submodule]).await.ok();
    tree.git(["commit", "-q", "-m", &format!("{EMOJI} {}", "word ".repeat(100))]).await.ok();
    tree.git(["branch", "topic/#1&x"]).await.ok();
    tree.git(["branch", "נמל/🌊"]).await.ok();
    tree.git(["tag", "v1.0+build%25"]).await.ok();
    tree.push(url, &["--all"]).await.ok();
    tree.push(url, &["--tags"]).await.ok();
}
