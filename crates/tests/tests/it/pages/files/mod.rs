//! Files that are edited, created, uploaded and deleted with the forms of pages.

mod offered;

use holdfast_tests::{Browser, Client, PageForm, PageResponse, Server, WorkTree};
use reqwest::multipart::{Form, Part};
use serde_json::json;

use crate::projects::add_member;

/// A public project `ada/tide` with a file, a tag and a second branch. `main` is protected. Eve is a developer, Rob a
/// reporter, and Bo no member.
struct Files {
    server: Server,
    ada: Client,
    project: i64,
    tree: WorkTree,
}

impl Files {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "tide", 20).await;
        for (name, level) in [("eve", 30), ("rob", 20)] {
            let (id, _) = server.user(name).await;
            add_member(&ada, &format!("/projects/{project}"), id.get(), level).await;
        }
        server.user("bo").await;
        let tree = WorkTree::new().await;
        tree.commit("README.md", b"# Tide\n", "Add a README").await;
        tree.commit("src/main.rs", b"fn main() {}\n", "Add the program").await;
        tree.git(["tag", "v1"]).await.ok();
        let files = Self { server, ada, project, tree };
        files.push(&["main", "main:topic", "v1"]).await;
        files
    }

    async fn push(&self, refs: &[&str]) {
        self.tree.push(&self.server.git_url(&self.ada, "ada/tide"), refs).await.ok();
    }

    /// Commits a file and pushes it to `main`.
    async fn add(&self, file: &str, content: &[u8]) {
        self.tree.commit(file, content, "Add a file").await;
        self.push(&["main"]).await;
    }

    async fn browser(&self, name: &str) -> Browser {
        self.server.sign_in(name).await
    }

    /// Returns the bytes of a file as text, or None if there is none.
    async fn read(&self, address: &str) -> Option<String> {
        let raw = self.server.browser().get(&format!("/ada/tide/raw/{address}")).await;
        (raw.status == 200).then_some(raw.text)
    }

    /// Changes a file of a branch through the API.
    async fn change(&self, branch: &str, action: &str, path: &str, content: &str) {
        let action = json!({"action": action, "file_path": path, "content": content});
        let body = json!({"branch_name": branch, "commit_message": "Change it", "actions": [action]});
        let path = format!("/projects/{}/repository/commits", self.project);
        let response = self.ada.send(self.ada.request("POST", &path).json(&body)).await;
        assert_eq!(response.status, 201, "{}", response.text);
    }

    async fn newest_message(&self, branch: &str) -> String {
        let path = format!("/projects/{}/repository/commits?ref_name={branch}", self.project);
        self.ada.get(&path).await.body[0]["title"].as_str().unwrap_or_default().to_owned()
    }

    async fn branches(&self) -> Vec<String> {
        let listed = self.ada.get(&format!("/projects/{}/repository/branches", self.project)).await;
        let branches = listed.body.as_array().unwrap().iter();
        branches.map(|branch| branch["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Sends a form that must be rejected with this status, and asserts that nothing changed.
    async fn assert_rejected(&self, browser: &Browser, form: &PageForm, status: u16) -> PageResponse {
        let before = self.server.dump_database().await;
        let response = browser.submit(form).await;
        assert_eq!(response.status, status, "{}", response.text);
        assert_eq!(self.server.dump_database().await, before);
        response
    }
}

async fn form(browser: &Browser, path: &str) -> PageForm {
    browser.get(path).await.form("main form")
}

/// Sends a form with a file, as a browser does.
async fn upload(browser: &Browser, form: &PageForm, fields: &[&str], name: &str, bytes: &[u8]) -> PageResponse {
    let mut multipart = Form::new().part("file", Part::bytes(bytes.to_vec()).file_name(name.to_owned()));
    for field in fields {
        multipart = multipart.text((*field).to_owned(), form.value(field).to_owned());
    }
    let request = browser.request("POST", &form.action).header("sec-fetch-site", "same-origin");
    browser.send(request.multipart(multipart)).await
}

/// Returns the lines of the diffs of a page with this class.
fn lines(page: &PageResponse, class: &str) -> Vec<String> {
    page.texts(&format!(".diff tr.{class} .x"))
}

#[tokio::test]
async fn a_text_is_edited_and_its_file_moved() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    let blob = ada.get("/ada/tide/blob/main/README.md").await;
    let edit = blob.attributes("main a[href*='/edit/']", "href");
    assert_eq!(edit, ["/ada/tide/edit/main/README.md"]);
    let edit = form(&ada, &edit[0]).await;
    assert_eq!((edit.value("path"), edit.value("branch")), ("README.md", "main"));
    assert_eq!((edit.value("content"), edit.value("commit_message")), ("# Tide\n", "Update README.md"));

    let unchanged = files.assert_rejected(&ada, &edit, 422).await;
    assert_eq!(unchanged.texts("#content-error"), ["Text has no changes"]);
    let edit = edit.set("content", "# Tide\r\n\r\nHello </textarea><b>\r\n");
    let rejected = files.assert_rejected(&ada, &edit.clone().set("commit_message", " \r\n"), 422).await;
    assert_eq!(rejected.texts("#commit_message-error"), ["Commit message can't be blank"]);
    assert_eq!(rejected.form("main form").value("content"), "# Tide\n\nHello </textarea><b>\n");
    let committed = ada.submit(&edit).await;
    assert_eq!(committed.location(), Some("/ada/tide/blob/main/README.md"));
    assert_eq!(files.read("main/README.md").await.as_deref(), Some("# Tide\n\nHello </textarea><b>\n"));
    assert_eq!(files.newest_message("main").await, "Update README.md");
    assert_eq!(ada.get("/ada/tide/blob/main/README.md").await.texts(".flash"), ["The change was committed."]);

    // The text stays as it is.
    let edit = form(&ada, "/ada/tide/edit/main/README.md").await.set("commit_message", "Move it\r\n\r\nBecause.");
    let committed = ada.submit(&edit.set("path", " docs/start here.md ")).await;
    assert_eq!(committed.location(), Some("/ada/tide/blob/main/docs/start%20here.md"));
    assert_eq!(files.read("main/docs/start%20here.md").await.as_deref(), Some("# Tide\n\nHello </textarea><b>\n"));
    assert_eq!(files.read("main/README.md").await, None);
    assert_eq!(files.newest_message("main").await, "Move it");
    assert_eq!(files.read("topic/README.md").await.as_deref(), Some("# Tide\n"));
}

#[tokio::test]
async fn line_breaks_and_the_end_of_a_file_are_kept() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    for (content, entered, expected) in [
        ("a\r\nb\r\n", "a\r\nx\r\nb\r\n", "a\r\nx\r\nb\r\n"),
        ("\u{feff}a\r\nb\nc", "\u{feff}a\r\nb\r\nd", "\u{feff}a\r\nb\nd"),
        ("a\nb", "a\r\nc", "a\nc"),
        ("\n\na\n", "\r\n\r\nb\r\n", "\n\nb\n"),
        ("", "a\r\n", "a\n"),
        ("b\n", "", ""),
    ] {
        files.add("text", content.as_bytes()).await;
        let edit = form(&ada, "/ada/tide/edit/main/text").await;
        let committed = ada.submit(&edit.set("content", entered)).await;
        assert_eq!(committed.status, 303, "{content:?}: {}", committed.text);
        assert_eq!(files.read("main/text").await.as_deref(), Some(expected), "{content:?}");
        files.tree.git(["pull", "-q", &files.server.git_url(&files.ada, "ada/tide"), "main"]).await.ok();
    }
    // A text area begins after its first line break, which is not part of the text.
    files.add("breaks", b"\n\nx\n").await;
    let page = ada.get("/ada/tide/edit/main/breaks").await;
    assert!(page.text.contains(">\n\n\nx\n</textarea>"), "{}", page.text);
}

#[tokio::test]
async fn a_preview_shows_the_changes_and_commits_nothing() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    let edit = form(&ada, "/ada/tide/edit/main/src/main.rs").await;
    let before = files.server.dump_database().await;
    let fields = [
        ("known_id", edit.value("known_id")),
        ("path", "src/lib.rs"),
        ("content", "fn main() {\r\n    <rise>()\r\n}\r\n"),
        ("commit_message", "Let it <rise>"),
        ("branch", "rising"),
        ("start_request", "true"),
        ("preview", "true"),
    ];
    let page = ada.post(&edit.action, &fields).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(lines(&page, "add"), ["fn main() {", "<rise>()", "}"]);
    let kept = page.form("main form");
    assert_eq!((kept.value("path"), kept.value("branch")), ("src/lib.rs", "rising"));
    assert_eq!(
        (kept.value("content"), kept.value("commit_message")),
        (&*fields[2].1.replace("\r\n", "\n"), fields[3].1)
    );
    assert_eq!(page.attributes("input[name='start_request']", "checked").len(), 1);
    assert_eq!(files.server.dump_database().await, before);
    assert_eq!(files.read("main/src/main.rs").await.as_deref(), Some("fn main() {}\n"));

    // A new file and a deletion are compared, too. What cannot be committed is rejected.
    let create = form(&ada, "/ada/tide/new/main/src").await;
    assert_eq!(create.value("path"), "src/");
    let fields = [("path", "src/tide.rs"), ("content", "one\r\ntwo"), ("branch", "main"), ("preview", "true")];
    let page = ada.post(&create.action, &fields).await;
    assert_eq!((page.status, lines(&page, "add")), (200, vec!["one".to_owned(), "two".to_owned()]));
    let delete = form(&ada, "/ada/tide/delete/main/README.md").await;
    let fields = ["known_id", "commit_message", "branch"].map(|name| (name, delete.value(name)));
    let page = ada.post(&delete.action, &[&fields[..], &[("preview", "true")]].concat()).await;
    assert_eq!((page.status, lines(&page, "del")), (200, vec!["# Tide".to_owned()]));
    let fields = [("path", "src/main.rs"), ("content", "x"), ("branch", "main"), ("preview", "true")];
    let page = ada.post(&create.action, &fields).await;
    assert_eq!(page.status, 422);
    assert_eq!(page.texts("#path-error"), ["Path is taken by another file or directory"]);
    assert_eq!(files.server.dump_database().await, before);
}

#[tokio::test]
async fn a_file_that_was_changed_meanwhile_is_not_overwritten() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    let edit = form(&ada, "/ada/tide/edit/main/src/main.rs").await.set("content", "fn mine() {}\r\n");
    let delete = form(&ada, "/ada/tide/delete/main/src/main.rs").await;
    let replace = form(&ada, "/ada/tide/upload/main/src/main.rs").await;
    files.change("main", "update", "src/main.rs", "fn theirs() {}\n").await;
    let before = files.server.dump_database().await;
    let conflict = ada.submit(&edit).await;
    assert_eq!(conflict.status, 409, "{}", conflict.text);
    assert!(conflict.texts(".flash.bad")[0].starts_with("src/main.rs was changed on main"), "{}", conflict.text);
    assert_eq!(
        (lines(&conflict, "del"), lines(&conflict, "add")),
        (vec!["fn theirs() {}".to_owned()], vec!["fn mine() {}".to_owned()])
    );
    let again = conflict.form("main form");
    assert_eq!(again.value("content"), "fn mine() {}\n");
    let refused = ada.submit(&delete).await;
    assert_eq!(refused.status, 409);
    let replaced = upload(&ada, &replace, &["known_id", "commit_message", "branch"], "x", b"x").await;
    assert_eq!(replaced.status, 409, "{}", replaced.text);
    assert_eq!(files.server.dump_database().await, before);
    // A change of another file is no conflict.
    files.change("main", "update", "README.md", "Another\n").await;
    assert_eq!(ada.submit(&again).await.status, 303);
    assert_eq!(files.read("main/src/main.rs").await.as_deref(), Some("fn mine() {}\n"));
    assert_eq!(files.read("main/README.md").await.as_deref(), Some("Another\n"));

    // Nobody can claim to have seen a file without its id.
    for id in ["", "0000000000000000000000000000000000000000", "x"] {
        let form = form(&ada, "/ada/tide/edit/main/README.md").await.set("content", "x").set("known_id", id);
        files.assert_rejected(&ada, &form, 409).await;
    }

    let edit = form(&ada, "/ada/tide/edit/main/src/main.rs").await.set("content", "fn again() {}\r\n");
    files.change("main", "delete", "src/main.rs", "").await;
    let conflict = files.assert_rejected(&ada, &edit, 409).await;
    let again = conflict.form("main form");
    assert_eq!((again.action.as_str(), again.value("path")), ("/ada/tide/new/main", "src/main.rs"));
    assert_eq!(ada.submit(&again).await.location(), Some("/ada/tide/blob/main/src/main.rs"));
    assert_eq!(files.read("main/src/main.rs").await.as_deref(), Some("fn again() {}\n"));
}

#[tokio::test]
async fn a_developer_proposes_a_change_of_a_protected_branch() {
    let files = Files::new().await;
    let eve = files.browser("eve").await;
    let page = eve.get("/ada/tide/edit/main/README.md").await;
    assert!(page.texts("#branch-help")[0].starts_with("You may not push to main."), "{}", page.text);
    assert_eq!(page.attributes("input[name='start_request']", "checked").len(), 1);
    let edit = page.form("main form").set("content", "# Ebb\n");
    assert_eq!(edit.value("branch"), "patch-1");
    let rejected = files.assert_rejected(&eve, &edit.clone().set("branch", "main"), 422).await;
    assert!(rejected.texts("#branch-error")[0].contains("is protected"), "{}", rejected.text);
    for (branch, text) in [("topic", "exists already"), ("a..b", "is not a valid name"), (" ", "can't be blank")] {
        let rejected = files.assert_rejected(&eve, &edit.clone().set("branch", branch), 422).await;
        assert!(rejected.texts("#branch-error")[0].contains(text), "{branch}: {}", rejected.text);
    }
    let committed = eve.submit(&edit).await;
    let location = "/ada/tide/merge_requests/new?source=patch-1&target=main";
    assert_eq!(committed.location(), Some(location));
    let request = eve.get(location).await;
    assert_eq!((request.status, request.texts(".flash.ok").len()), (200, 1), "{}", request.text);
    assert_eq!(files.read("patch-1/README.md").await.as_deref(), Some("# Ebb\n"));
    assert_eq!(files.read("main/README.md").await.as_deref(), Some("# Tide\n"));

    // The next name is free, and a branch without a merge request leads to its file.
    let create = form(&eve, "/ada/tide/new/main").await;
    assert_eq!((create.value("branch"), create.value("path")), ("patch-2", ""));
    let fields = [("path", "a/b.txt"), ("content", "b"), ("branch", "patch-2")];
    assert_eq!(eve.post(&create.action, &fields).await.location(), Some("/ada/tide/blob/patch-2/a/b.txt"));
    assert_eq!(files.newest_message("patch-2").await, "Add a/b.txt");
    // Eve may push to a branch that is not protected.
    assert_eq!(form(&eve, "/ada/tide/edit/topic/README.md").await.value("branch"), "topic");
    // Without the protection, she commits to the branch itself.
    let unprotect = format!("/projects/{}/repository/branches/main/unprotect", files.project);
    assert_eq!(files.ada.put(&unprotect, &[]).await.status, 200);
    assert_eq!(form(&eve, "/ada/tide/edit/main/README.md").await.value("branch"), "main");
}

#[tokio::test]
async fn files_are_deleted() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    let blob = ada.get("/ada/tide/blob/main/src/main.rs").await;
    assert_eq!(blob.attributes("#change a[href*='/delete/']", "href"), ["/ada/tide/delete/main/src/main.rs"]);
    let delete = form(&ada, "/ada/tide/delete/main/src/main.rs").await;
    assert_eq!(delete.value("commit_message"), "Delete src/main.rs");
    assert_eq!(ada.submit(&delete).await.location(), Some("/ada/tide/tree/main"));
    assert_eq!(files.read("main/src/main.rs").await, None);
    assert_eq!(files.read("topic/src/main.rs").await.as_deref(), Some("fn main() {}\n"));
    // The file is gone, and so is its form.
    assert_eq!(ada.submit(&delete).await.status, 404);
    assert_eq!(ada.get("/ada/tide/delete/main/src/main.rs").await.status, 404);
}

#[tokio::test]
async fn files_are_uploaded_and_replaced() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    let home = ada.get("/ada/tide").await;
    assert_eq!(home.attributes("#add a", "href"), ["/ada/tide/new/main", "/ada/tide/upload/main"]);
    let tree = ada.get("/ada/tide/tree/main/src").await;
    assert_eq!(tree.attributes("#add a", "href"), ["/ada/tide/new/main/src", "/ada/tide/upload/main/src"]);
    let bytes = [0, 159, 146, 150, b'\r', b'\n', 255];
    let fields = ["path", "commit_message", "branch"];
    let add = form(&ada, "/ada/tide/upload/main/src").await;
    assert_eq!(add.value("path"), "src/");
    let missing = files.assert_rejected(&ada, &add, 422).await;
    assert_eq!(missing.texts("#file-error"), ["File has to be chosen"]);
    let added = upload(&ada, &add, &fields, "wave.bin", &bytes).await;
    assert_eq!(added.location(), Some("/ada/tide/blob/main/src/wave.bin"), "{}", added.text);
    assert_eq!(files.read("main/src/wave.bin").await, Some(String::from_utf8_lossy(&bytes).into_owned()));
    let taken = upload(&ada, &add, &fields, "wave.bin", b"x").await;
    assert_eq!((taken.status, taken.texts("#path-error").len()), (422, 1), "{}", taken.text);
    for name in [".git", ".."] {
        let rejected = upload(&ada, &add, &fields, name, b"x").await;
        assert_eq!((rejected.status, rejected.texts("#path-error").len()), (422, 1), "{name}: {}", rejected.text);
    }
    let named = upload(&ada, &add.set("path", "src/other"), &fields, "x", b"x").await;
    assert_eq!(named.location(), Some("/ada/tide/blob/main/src/other"));

    let blob = ada.get("/ada/tide/blob/main/src/wave.bin").await;
    assert!(blob.attributes("a[href*='/edit/']", "href").is_empty(), "{}", blob.text);
    let replace = blob.attributes("#change a[href*='/upload/']", "href").remove(0);
    let replace = form(&ada, &replace).await;
    assert_eq!(replace.value("commit_message"), "Update src/wave.bin");
    let replaced = upload(&ada, &replace, &["known_id", "commit_message", "branch"], "flat.bin", b"flat").await;
    assert_eq!(replaced.location(), Some("/ada/tide/blob/main/src/wave.bin"));
    assert_eq!(files.read("main/src/wave.bin").await.as_deref(), Some("flat"));
    let too_large = upload(&ada, &replace, &["known_id", "commit_message", "branch"], "x", &vec![b'x'; 1 << 20]).await;
    assert_eq!(too_large.status, 413);
}

/// A user enters a path that would be a part of the administration of git, or outside of the repository.
#[tokio::test]
async fn paths_that_git_does_not_accept_are_rejected() {
    let files = Files::new().await;
    let ada = files.browser("ada").await;
    let edit = form(&ada, "/ada/tide/edit/main/README.md").await.set("content", "x");
    let paths = [".git/config", "a/.GIT/x", "../x", "a/../b", "a/./b", "a//b", "", "/", "src/", "git~1"];
    for path in paths {
        let rejected = files.assert_rejected(&ada, &edit.clone().set("path", path), 422).await;
        assert_eq!(rejected.texts("#path-error").len(), 1, "{path}: {}", rejected.text);
        assert_eq!(rejected.form("main form").value("path"), path);
    }
    for path in ["src", "src/main.rs", "src/main.rs/x"] {
        let rejected = files.assert_rejected(&ada, &edit.clone().set("path", path), 422).await;
        assert_eq!(rejected.texts("#path-error"), ["Path is taken by another file or directory"], "{path}");
    }
    for address in ["edit/main/missing", "edit/main/src", "edit/v1/README.md", "new/main/missing", "new/main/README.md"]
    {
        assert_eq!(ada.get(&format!("/ada/tide/{address}")).await.status, 404, "{address}");
    }
}
