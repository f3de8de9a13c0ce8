//! What needs the attention of the viewer on the start page, and the lists that belong to it.

use holdfast_tests::{PageResponse, Receiver, Server};

use super::fixtures::PageFixture;
use crate::projects::add_member;

fn titles(page: &PageResponse, section: &str) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.text);
    page.texts(&format!("{section} .title"))
}

#[tokio::test]
async fn assigned_merge_requests_are_listed_while_they_are_open_and_readable() {
    let fixture = PageFixture::new().await;
    let (owner, private) = (&fixture.owner, &fixture.projects[0]);
    let developer = owner.get("/users?username=developer").await.ids()[0];
    let request = owner.get(&format!("/projects/{}/merge_requests", private.id)).await.ids()[0];
    let request = format!("/projects/{}/merge_requests/{request}", private.id);
    let browser = fixture.browser("developer").await;
    assert_eq!(titles(&browser.get("/").await, "#merge-requests"), [""; 0]);
    let assigned = owner.put(&request, &[("assignee_id", &developer.to_string())]).await;
    assert_eq!(assigned.status, 200, "{}", assigned.text);
    let page = browser.get("/").await;
    assert_eq!(titles(&page, "#merge-requests"), ["Let it rise"]);
    assert_eq!(page.attributes("#merge-requests .title", "href"), ["/private-team/tide/merge_requests/1"]);
    // The todo about the assignment is not shown a second time.
    assert_eq!(titles(&page, "#todos"), [""; 0]);
    assert_eq!(titles(&browser.get("/dashboard/todos").await, "main"), ["Let it rise"]);
    assert_eq!(titles(&browser.get("/dashboard/merge_requests").await, "main"), ["Let it rise"]);
    assert_eq!(titles(&browser.get("/dashboard/merge_requests?scope=created").await, "main"), [""; 0]);
    assert_eq!(titles(&browser.get("/dashboard/merge_requests?state=merged").await, "main"), [""; 0]);
    // The author sees what they created.
    let author = fixture.browser("owner").await;
    assert_eq!(titles(&author.get("/dashboard/merge_requests").await, "main"), [""; 0]);
    assert_eq!(titles(&author.get("/dashboard/merge_requests?scope=created").await, "main").len(), 3);
    let closed = owner.put(&request, &[("state_event", "close")]).await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    assert_eq!(titles(&browser.get("/").await, "#merge-requests"), [""; 0]);
    assert_eq!(titles(&browser.get("/dashboard/merge_requests?state=closed").await, "main"), ["Let it rise"]);
    assert_eq!(titles(&author.get("/dashboard/merge_requests?scope=created&state=closed").await, "main").len(), 1);
    // A guest of a private project reads no merge requests.
    let group = owner.get(&format!("/groups/{}", private.group)).await.body["id"].as_i64().unwrap();
    let lowered = owner.put(&format!("/groups/{group}/members/{developer}"), &[("access_level", "10")]).await;
    assert_eq!(lowered.status, 200, "{}", lowered.text);
    for path in ["/dashboard/merge_requests?state=all", "/dashboard/todos"] {
        assert_eq!(titles(&browser.get(path).await, "main"), [""; 0], "{path}");
    }
}

#[tokio::test]
async fn todos_are_shown_until_they_are_done() {
    let server = Server::start().await;
    let (ada_id, _) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let project = server.project(&bob, "tide", 20).await;
    for (title, description, assignee) in
        [("It leaks", "@ada, look.", ""), ("It creaks", "@ada, listen.", ""), ("Yours", "", &*ada_id.to_string())]
    {
        let form = [("title", title), ("description", description), ("assignee_id", assignee)];
        let created = bob.post(&format!("/projects/{project}/issues"), &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }
    let browser = server.sign_in("ada").await;
    let page = browser.get("/").await;
    assert_eq!(titles(&page, "#todos"), ["It leaks", "It creaks"]);
    assert_eq!(titles(&page, "#issues"), ["Yours"]);
    let list = browser.get("/dashboard/todos").await;
    assert_eq!(titles(&list, "main"), ["Yours", "It creaks", "It leaks"]);
    assert!(list.text.contains("mentioned you") && list.text.contains("assigned it to you"), "{}", list.text);
    // Another user cannot complete it, and learns nothing about it.
    let action = page.attributes("#todos form", "action").remove(0);
    let other = server.sign_in("bob").await;
    let before = server.dump_database().await;
    assert_eq!(other.post(&action, &[]).await.status, 404);
    assert_eq!(server.dump_database().await, before);
    // From the start page, the form leads back to it.
    let done = browser.submit(&page.form(&format!("form[action='{action}']"))).await;
    assert_eq!((done.status, done.location()), (303, Some("/")), "{}", done.text);
    let page = browser.get("/").await;
    assert_eq!(page.texts("[role=status]"), ["The todo is done."]);
    assert_eq!(titles(&page, "#todos"), ["It creaks"]);
    assert_eq!(titles(&browser.get("/dashboard/todos?state=done").await, "main"), ["It leaks"]);
    let list = browser.get("/dashboard/todos").await;
    let done = browser.submit(&list.form("form[action='/dashboard/todos/done']")).await;
    assert_eq!((done.status, done.location()), (303, Some("/dashboard/todos")), "{}", done.text);
    let list = browser.get("/dashboard/todos").await;
    assert_eq!(list.texts("[role=status]"), ["All todos are done."]);
    assert_eq!(list.texts(".empty h2"), ["No todos"]);
    assert_eq!(titles(&browser.get("/dashboard/todos?state=done").await, "main").len(), 3);
}

#[tokio::test]
async fn failing_hooks_are_shown_to_those_who_manage_their_projects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (master_id, _) = server.user("master").await;
    let (developer_id, _) = server.user("developer").await;
    let project = server.project(&ada, "tide", 20).await;
    server.push_first(&ada, "ada/tide").await;
    server.deliver_hooks().await;
    add_member(&ada, &format!("/projects/{project}"), master_id.get(), 40).await;
    add_member(&ada, &format!("/projects/{project}"), developer_id.get(), 30).await;
    let receiver = Receiver::start().await;
    let created = ada.post(&format!("/projects/{project}/hooks"), &[("url", &receiver.url("/secret-path"))]).await;
    assert_eq!(created.status, 201, "{}", created.text);
    receiver.fail(1);
    let branches = format!("/projects/{project}/repository/branches");
    let branch = ada.post(&branches, &[("branch_name", "a"), ("ref", "main")]).await;
    assert_eq!(branch.status, 200, "{}", branch.text);
    server.deliver_hooks().await;
    let address = receiver.url("");
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    for role in ["ada", "master"] {
        let page = server.sign_in(role).await.get("/").await;
        assert_eq!(titles(&page, "#hooks"), [host], "{role}");
        // The path of the address can be a secret.
        assert!(!page.text.contains("secret-path"), "{}", page.text);
    }
    for role in ["developer", "root"] {
        assert_eq!(titles(&server.sign_in(role).await.get("/").await, "#hooks"), [""; 0], "{role}");
    }
    server.advance(chrono::TimeDelta::seconds(60));
    server.deliver_hooks().await;
    assert_eq!(titles(&server.sign_in("ada").await.get("/").await, "#hooks"), [""; 0]);
}
