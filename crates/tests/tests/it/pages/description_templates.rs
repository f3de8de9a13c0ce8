//! The files with which the forms of issues and merge requests begin.

use holdfast_tests::{Browser, Server, WorkTree};

use crate::projects::add_member;

const ISSUE: &str = ".gitlab/issue_templates/Default.md";
const MERGE_REQUEST: &str = ".gitlab/merge_request_templates/Default.md";

/// Starts a server with the private project `ada/tide`, whose guest is `gus`. Its branch `topic` has a commit with a body.
async fn start(files: &[(&str, &[u8])]) -> Server {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (gus, _) = server.user("gus").await;
    let project = server.project(&ada, "tide", 0).await;
    add_member(&ada, &format!("/projects/{project}"), gus.get(), 10).await;
    let tree = WorkTree::new().await;
    tree.commit("a.txt", b"one\n", "first").await;
    for (path, content) in files {
        tree.commit(path, content, "Add a template").await;
    }
    let url = server.git_url(&ada, "ada/tide");
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    tree.commit("a.txt", b"two\n", "Change a\n\nBecause of b.").await;
    tree.push(&url, &["topic"]).await.ok();
    server
}

async fn description(browser: &Browser, path: &str) -> String {
    browser.get(path).await.form("form.form").value("description").to_owned()
}

const NEW_ISSUE: &str = "/ada/tide/issues/new";
const NEW_MERGE_REQUEST: &str = "/ada/tide/merge_requests/new?source=topic&target=main";

#[tokio::test]
async fn new_forms_begin_with_the_templates_of_the_default_branch() {
    let server = start(&[(ISSUE, b"What happened?\n"), (MERGE_REQUEST, b"Why?\n\nHow tested?\n")]).await;
    let ada = server.sign_in("ada").await;
    assert_eq!(description(&ada, NEW_ISSUE).await, "What happened?\n");
    assert_eq!(description(&ada, NEW_MERGE_REQUEST).await, "Why?\n\nHow tested?\n");
    // What was entered is not replaced when the form is shown again.
    let rejected = ada.submit(&ada.get(NEW_ISSUE).await.form("form.form").set("description", "Mine.")).await;
    assert_eq!((rejected.status, rejected.form("form.form").value("description")), (422, "Mine."));
    // A guest may create issues, but not read the code.
    assert_eq!(description(&server.sign_in("gus").await, NEW_ISSUE).await, "");
}

#[tokio::test]
async fn a_file_that_is_no_short_text_is_no_template() {
    let long = vec![b'a'; (64 << 10) + 1];
    let server = start(&[(ISSUE, b"\xff\xfe"), (MERGE_REQUEST, &long)]).await;
    let ada = server.sign_in("ada").await;
    assert_eq!(description(&ada, NEW_ISSUE).await, "");
    assert_eq!(description(&ada, NEW_MERGE_REQUEST).await, "Because of b.");
}
