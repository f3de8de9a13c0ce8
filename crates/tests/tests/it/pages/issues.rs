//! The forms and actions of issues and their comments.

use holdfast_tests::{Browser, Client, Server};
use serde_json::{Value, json};

use crate::projects::add_member;

/// A public project `ada/tide` with the reporter `bob`; `eve` is no member.
pub struct IssueFixture {
    pub server: Server,
    pub ada: Client,
    pub project: i64,
}

impl IssueFixture {
    pub async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (bob, _) = server.user("bob").await;
        server.user("eve").await;
        let project = server.project(&ada, "tide", 20).await;
        add_member(&ada, &format!("/projects/{project}"), bob.get(), 20).await;
        Self { server, ada, project }
    }

    /// Creates something through the API, as ada, and returns its body.
    pub async fn create(&self, path: &str, form: &[(&str, &str)]) -> Value {
        let created = self.ada.post(&format!("/projects/{}{path}", self.project), form).await;
        assert!(matches!(created.status, 200 | 201), "{path}: {}", created.text);
        created.body
    }

    /// Returns the issue with this number as the API shows it.
    pub async fn issue(&self, iid: i64) -> Value {
        let listed = self.ada.get(&format!("/projects/{}/issues?iid={iid}", self.project)).await;
        listed.body[0].clone()
    }

    /// Returns the bodies of the notes of an issue, without system notes.
    pub async fn notes(&self, iid: i64) -> Vec<String> {
        let id = self.issue(iid).await["id"].clone();
        let notes = self.ada.get(&format!("/projects/{}/issues/{id}/notes", self.project)).await;
        let written = notes.body.as_array().unwrap().iter().filter(|note| note["system"] == false);
        written.map(|note| note["body"].as_str().unwrap().to_owned()).collect()
    }
}

/// Returns the message that the page after an action shows.
pub async fn flash(browser: &Browser, path: &str) -> String {
    browser.open(path).await.texts(".flash p").join(" ")
}

#[tokio::test]
async fn a_manager_creates_an_issue_with_all_fields() {
    let fixture = IssueFixture::new().await;
    fixture.create("/labels", &[("name", "bug"), ("color", "#ff0000")]).await;
    fixture.create("/milestones", &[("title", "2.5")]).await;
    let bob = fixture.server.sign_in("bob").await;
    assert!(bob.get("/ada/tide/issues").await.attributes("a", "href").contains(&"/ada/tide/issues/new".to_owned()));
    let form = bob.get("/ada/tide/issues/new").await.form("form.form");
    let form = form.set("title", "It leaks").set("description", "At **high** tide.\r\nBadly.").check("labels[]");
    let form = form.set("other_labels", "urgent, hull").set("assignee", "@ada").set("milestone", "2.5");
    let created = bob.submit(&form.set("due_date", "2026-12-01").check("confidential")).await;
    assert_eq!((created.status, created.location()), (303, Some("/ada/tide/issues/1")), "{}", created.text);
    assert_eq!(flash(&bob, "/ada/tide/issues/1").await, "The issue was created.");
    let issue = fixture.issue(1).await;
    assert_eq!(issue["description"], "At **high** tide.\nBadly.");
    assert_eq!(issue["labels"], json!(["bug", "hull", "urgent"]));
    assert_eq!((&issue["assignee"]["username"], &issue["milestone"]["title"]), (&json!("ada"), &json!("2.5")));
    assert_eq!((&issue["due_date"], &issue["confidential"]), (&json!("2026-12-01"), &json!(true)));
    let page = bob.get("/ada/tide/issues/1").await;
    assert_eq!(page.texts(".said .md strong"), ["high"]);
}

#[tokio::test]
async fn a_rejected_issue_keeps_what_was_entered() {
    let fixture = IssueFixture::new().await;
    let ada = fixture.server.sign_in("ada").await;
    let before = fixture.server.dump_database().await;
    let form = ada.get("/ada/tide/issues/new").await.form("form.form");
    let form = form.set("description", "Text").set("other_labels", "new").set("assignee", "nobody-here");
    let rejected = ada.submit(&form.set("due_date", "soon").check("confidential")).await;
    assert_eq!(rejected.status, 422);
    assert_eq!(rejected.texts(".wrong-why"), ["Assignee is invalid", "Due date is invalid"]);
    let kept = rejected.form("form.form");
    assert_eq!((kept.value("description"), kept.value("other_labels")), ("Text", "new"));
    assert_eq!((kept.value("assignee"), kept.value("due_date")), ("nobody-here", "soon"));
    let rejected = ada.submit(&kept.set("assignee", "").set("due_date", "")).await;
    assert_eq!((rejected.status, rejected.texts(".wrong-why")), (422, vec!["Title can't be blank".to_owned()]));
    assert!(rejected.text.contains("value=\"true\" checked"));
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn a_form_offers_only_what_the_viewer_may_set() {
    let fixture = IssueFixture::new().await;
    fixture.create("/labels", &[("name", "bug"), ("color", "#ff0000")]).await;
    let eve = fixture.server.sign_in("eve").await;
    let page = eve.get("/ada/tide/issues/new").await;
    for name in ["labels[]", "other_labels", "assignee", "milestone"] {
        assert!(page.attributes(&format!("[name='{name}']"), "name").is_empty(), "{name}");
    }
    // The fields are ignored if they are sent nevertheless.
    let form = [("title", "By eve"), ("labels[]", "bug"), ("assignee", "eve"), ("confidential", "true")];
    assert_eq!(eve.post("/ada/tide/issues", &form).await.status, 303);
    let issue = fixture.issue(1).await;
    assert_eq!((&issue["labels"], &issue["assignee"]), (&json!([]), &Value::Null));
    // The author of a confidential issue may not publish it; the form keeps it confidential.
    let form = eve.get("/ada/tide/issues/1/edit").await.form("form.form");
    assert_eq!(eve.submit(&form.set("title", "Still by eve")).await.status, 303);
    assert_eq!(eve.post("/ada/tide/issues/1", &[("title", "Published")]).await.status, 403);
    let issue = fixture.issue(1).await;
    assert_eq!((&issue["title"], &issue["confidential"]), (&json!("Still by eve"), &json!(true)));
    let anonymous = fixture.server.browser();
    assert_eq!(
        anonymous.get("/ada/tide/issues/new").await.location(),
        Some("/sign_in?to=%2Fada%2Ftide%2Fissues%2Fnew")
    );
}

#[tokio::test]
async fn an_issue_is_edited_closed_and_reopened_by_those_who_may() {
    let fixture = IssueFixture::new().await;
    fixture.create("/issues", &[("title", "It leaks"), ("description", "a"), ("labels", "bug")]).await;
    let bob = fixture.server.sign_in("bob").await;
    let form = bob.get("/ada/tide/issues/1/edit").await.form("form.form");
    assert_eq!((form.value("title"), form.value("description")), ("It leaks", "a"));
    assert_eq!(bob.submit(&form.set("title", "It drips").set("description", "")).await.status, 303);
    let issue = fixture.issue(1).await;
    assert_eq!((&issue["title"], &issue["description"]), (&json!("It drips"), &Value::Null));
    assert_eq!(issue["labels"], json!(["bug"]));
    let close = bob.get("/ada/tide/issues/1").await.form("form[action$='/close']");
    assert_eq!(bob.submit(&close).await.status, 303);
    assert_eq!(fixture.issue(1).await["state"], "closed");
    let page = bob.open("/ada/tide/issues/1").await;
    assert!(page.texts(".did").iter().any(|text| text.contains("closed")), "{}", page.text);
    assert_eq!(bob.submit(&page.form("form[action$='/reopen']")).await.status, 303);
    assert_eq!(fixture.issue(1).await["state"], "reopened");
    // A stranger is offered nothing of this, and refused.
    let eve = fixture.server.sign_in("eve").await;
    let page = eve.get("/ada/tide/issues/1").await;
    assert!(page.attributes("a[href$='/edit'], form[action$='/close'], [value='close']", "class").is_empty());
    let before = fixture.server.dump_database().await;
    assert_eq!(eve.get("/ada/tide/issues/1/edit").await.status, 403);
    for (path, form) in [("", &[("title", "x")][..]), ("/close", &[]), ("/move", &[("target", "ada/tide")])] {
        assert_eq!(eve.post(&format!("/ada/tide/issues/1{path}"), form).await.status, 403, "{path}");
    }
    assert_eq!(eve.post("/ada/tide/issues/1/delete", &[("confirm", "true")]).await.status, 403);
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn system_notes_show_titles_and_labels_without_markup() {
    let fixture = IssueFixture::new().await;
    let milestone = fixture.create("/milestones", &[("title", "2.5")]).await;
    fixture.create("/issues", &[("title", "Lamp")]).await;
    let bob = fixture.server.sign_in("bob").await;
    let text = "/label ~\"in progress\" ~bug\n/milestone %2.5";
    assert_eq!(bob.post("/ada/tide/issues/1/notes", &[("note", text)]).await.status, 303);
    let form = bob.get("/ada/tide/issues/1/edit").await.form("form.form");
    assert_eq!(bob.submit(&form.set("title", "*Lamp* <b>2</b>")).await.status, 303);
    let page = bob.get("/ada/tide/issues/1").await;
    assert_eq!(page.texts(".did .chip"), ["bug", "in progress"]);
    assert_eq!(page.texts(".did strong"), ["2.5", "Lamp", "*Lamp* <b>2</b>"]);
    let notes = page.texts(".did").join("\n");
    assert!(!notes.contains("**") && !notes.contains('~') && !notes.contains('%'), "{notes}");
    // The milestone leads to its page.
    let address = format!("/ada/tide/milestones/{}", milestone["iid"]);
    assert!(page.attributes(".rail a", "href").contains(&address), "{}", page.text);
}

#[tokio::test]
async fn comments_are_written_edited_and_deleted_by_their_authors() {
    let fixture = IssueFixture::new().await;
    fixture.create("/issues", &[("title", "It leaks")]).await;
    let eve = fixture.server.sign_in("eve").await;
    let form = eve.get("/ada/tide/issues/1").await.form("form[action$='/notes']");
    let rejected = eve.submit(&form.clone().set("note", "  ")).await;
    assert_eq!((rejected.status, rejected.texts(".wrong-why")), (422, vec!["Comment can't be blank".to_owned()]));
    let created = eve.submit(&form.set("note", "I *see* it")).await;
    assert_eq!(created.status, 303);
    let location = created.location().unwrap().to_owned();
    let (page, anchor) = location.split_once('#').unwrap();
    let page = eve.get(page).await;
    assert_eq!(page.texts(&format!("#{anchor} em")), ["see"]);
    let edit = page.attributes(&format!("#{anchor} a.btn"), "href").remove(0);
    let form = eve.get(&edit).await.form("form.form");
    assert_eq!(form.value("note"), "I *see* it");
    assert_eq!(eve.submit(&form.clone().set("note", "")).await.status, 422);
    assert_eq!(eve.submit(&form.set("note", "I saw it")).await.status, 303);
    assert_eq!(fixture.notes(1).await, ["I saw it"]);
    // A reporter who is not the author is refused, and the page offers nothing.
    let bob = fixture.server.sign_in("bob").await;
    assert!(bob.get("/ada/tide/issues/1").await.attributes(&format!("#{anchor} a.btn"), "href").is_empty());
    assert_eq!(bob.get(&edit).await.status, 403);
    assert_eq!(bob.post(&edit, &[("note", "Mine")]).await.status, 403);
    assert_eq!(bob.post(&format!("{edit}/delete"), &[("confirm", "true")]).await.status, 403);
    assert_eq!(fixture.notes(1).await, ["I saw it"]);
    // Without the confirmation nothing is deleted.
    assert_eq!(eve.post(&format!("{edit}/delete"), &[]).await.status, 422);
    let delete = eve.get(&edit).await.form("form[action$='/delete']");
    assert_eq!(eve.submit(&delete).await.location(), Some("/ada/tide/issues/1"));
    assert_eq!(fixture.notes(1).await, Vec::<String>::new());
    let missing = "/ada/tide/issues/1/notes/999999";
    assert_eq!(eve.get(missing).await.status, 404);
}

#[tokio::test]
async fn a_comment_on_a_long_issue_leads_to_the_page_that_shows_it() {
    let fixture = IssueFixture::new().await;
    fixture.create("/issues", &[("title", "It leaks")]).await;
    let statement = "insert into notes (issue_id, author_id, body, system, created_at, updated_at)
        select id, author_id, 'again', false, now(), now() from issues, generate_series(1, 100)";
    sqlx::query(statement).execute(&mut fixture.server.database().await).await.unwrap();
    let bob = fixture.server.sign_in("bob").await;
    let created = bob.post("/ada/tide/issues/1/notes", &[("note", "The last one")]).await;
    let location = created.location().unwrap().to_owned();
    assert!(location.starts_with("/ada/tide/issues/1?page=2#note_"), "{location}");
    assert_eq!(bob.get(location.split('#').next().unwrap()).await.texts(".said .md"), ["The last one"]);
}

#[tokio::test]
async fn a_comment_can_close_the_issue() {
    let fixture = IssueFixture::new().await;
    fixture.create("/issues", &[("title", "It leaks")]).await;
    let bob = fixture.server.sign_in("bob").await;
    let closed = bob.post("/ada/tide/issues/1/notes", &[("note", "Repaired"), ("state", "close")]).await;
    assert_eq!(closed.status, 303);
    assert_eq!(
        (fixture.notes(1).await, &fixture.issue(1).await["state"]),
        (vec!["Repaired".to_owned()], &json!("closed"))
    );
    // Without a text, only the state changes.
    assert_eq!(bob.post("/ada/tide/issues/1/notes", &[("note", ""), ("state", "reopen")]).await.status, 303);
    assert_eq!((fixture.notes(1).await.len(), &fixture.issue(1).await["state"]), (1, &json!("reopened")));
    // A stranger may comment, and not close.
    let eve = fixture.server.sign_in("eve").await;
    assert_eq!(eve.post("/ada/tide/issues/1/notes", &[("note", "Done?"), ("state", "close")]).await.status, 303);
    assert!(flash(&eve, "/ada/tide/issues/1").await.contains("The issue was not closed or reopened"));
    assert_eq!((fixture.notes(1).await.len(), &fixture.issue(1).await["state"]), (2, &json!("reopened")));
}

#[tokio::test]
async fn issues_are_subscribed_to_moved_and_deleted() {
    let fixture = IssueFixture::new().await;
    let other = fixture.server.project(&fixture.ada, "harbour", 0).await;
    fixture.create("/issues", &[("title", "It leaks")]).await;
    let bob = fixture.server.sign_in("bob").await;
    for (action, after) in [("subscribe", "unsubscribe"), ("unsubscribe", "subscribe")] {
        let form = bob.get("/ada/tide/issues/1").await.form(&format!("form[action$='/{action}']"));
        assert_eq!(bob.submit(&form).await.status, 303);
        let page = bob.get("/ada/tide/issues/1").await;
        assert_eq!(page.attributes(&format!("form[action$='/{after}']"), "method"), ["post"], "{action}");
    }
    // The private project of ada looks like a missing one to bob.
    for target in ["ada/harbour", "ada/absent", "nothing"] {
        let rejected = bob.post("/ada/tide/issues/1/move", &[("target", target)]).await;
        assert_eq!((rejected.status, rejected.texts(".wrong-why")), (422, vec!["Project was not found".to_owned()]));
    }
    let ada = fixture.server.sign_in("ada").await;
    let form = ada.get("/ada/tide/issues/1/move").await.form("form.form");
    let moved = ada.submit(&form.set("target", "ada/harbour")).await;
    assert_eq!(moved.location(), Some("/ada/harbour/issues/1"), "{}", moved.text);
    assert_eq!(fixture.issue(1).await["state"], "closed");
    assert_eq!(ada.post("/ada/tide/issues/1/move", &[("target", "ada/harbour")]).await.status, 422);
    // Deleting asks first.
    assert_eq!(ada.post("/ada/harbour/issues/1/delete", &[]).await.status, 422);
    let form = ada.get("/ada/harbour/issues/1/delete").await.form("form[action$='/delete']");
    assert_eq!(ada.submit(&form).await.location(), Some("/ada/harbour/issues"));
    assert_eq!(fixture.ada.get(&format!("/projects/{other}/issues")).await.body, json!([]));
    assert_eq!(bob.get("/ada/tide/issues/1/delete").await.status, 403);
}
