//! The pages of labels and milestones.

use holdfast_tests::{Browser, Client, Server};

use crate::projects::add_member;

/// A server with a public project `harbor/tide` of a group, and its members.
struct Planning {
    server: Server,
    owner: Client,
    project: i64,
}

impl Planning {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, owner) = server.user("owner").await;
        let group = server.group(&owner, "harbor", 20).await;
        for (name, level) in [("guest", 10), ("reporter", 20), ("master", 40)] {
            let (id, _) = server.user(name).await;
            add_member(&owner, &format!("/groups/{group}"), id.get(), level).await;
        }
        server.user("stranger").await;
        let project = server.project_in(&owner, "tide", 20, Some(group)).await;
        Self { server, owner, project }
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> i64 {
        let response = self.owner.post(&format!("/projects/{}{path}", self.project), form).await;
        assert!(matches!(response.status, 200 | 201), "{path}: {}", response.text);
        response.body["id"].as_i64().unwrap_or_default()
    }

    async fn browser(&self, name: &str) -> Browser {
        self.server.sign_in(name).await
    }
}

#[tokio::test]
async fn a_project_without_labels_offers_common_ones() {
    let planning = Planning::new().await;
    let (reporter, guest) = (planning.browser("reporter").await, planning.browser("guest").await);
    let page = guest.get("/harbor/tide/labels").await;
    assert_eq!((page.status, page.texts("main h2")), (200, vec!["No labels".to_owned()]));
    assert!(page.html().select(&scraper::Selector::parse("main form").unwrap()).next().is_none(), "{}", page.text);
    let form = reporter.get("/harbor/tide/labels").await.form("main form");
    assert_eq!(guest.submit(&form).await.status, 403);
    assert_eq!(reporter.submit(&form).await.location(), Some("/harbor/tide/labels"));
    let page = reporter.get("/harbor/tide/labels").await;
    let titles = page.texts("main table bdi");
    assert!(titles.contains(&"bug".to_owned()) && titles.contains(&"in progress".to_owned()), "{titles:?}");
    assert_eq!(page.texts(".flash"), ["The labels were created."]);
    // The form that is sent again does nothing, because there are labels now.
    let before = planning.server.dump_database().await;
    assert_eq!(reporter.submit(&form).await.status, 303);
    assert_eq!(planning.server.dump_database().await, before);
}

#[tokio::test]
async fn labels_are_created_edited_and_deleted() {
    let planning = Planning::new().await;
    let reporter = planning.browser("reporter").await;
    let form = reporter.get("/harbor/tide/labels/new").await.form("main form");
    let bug = form.set("title", "bug").set("color", "#d5483c").set("description", "It\r\nleaks").set("priority", "3");
    assert_eq!(reporter.submit(&bug).await.location(), Some("/harbor/tide/labels"));
    // A title is unique.
    let rejected = reporter.submit(&bug).await;
    assert_eq!(rejected.status, 422);
    assert_eq!(rejected.texts("#title-error"), ["Title has already been taken"]);
    assert_eq!(rejected.form("main form").value("color"), "#d5483c");
    let rejected = reporter.submit(&bug.clone().set("title", "a,b").set("priority", "high")).await;
    assert_eq!(
        (rejected.status, rejected.texts("#priority-error")),
        (422, vec!["Priority is not a number".to_owned()])
    );
    let rejected = reporter.submit(&bug.clone().set("title", " ").set("color", "red")).await;
    assert_eq!(rejected.texts(".wrong-why").len(), 2, "{}", rejected.text);
    planning.post("/issues", &[("title", "It leaks"), ("labels", "bug")]).await;
    planning.post("/issues", &[("title", "It sinks"), ("labels", "bug"), ("confidential", "true")]).await;
    let page = reporter.get("/harbor/tide/labels").await;
    assert_eq!(page.texts("main table .nums"), ["3", "2", "0"]);
    assert_eq!(page.attributes("main table circle", "fill"), ["#d5483c"]);
    // Those who do not see confidential issues do not count them.
    let stranger = planning.browser("stranger").await;
    assert_eq!(stranger.get("/harbor/tide/labels").await.texts("main table .nums"), ["3", "1", "0"]);
    // Anonymous viewers see labels, without links to issues and without controls.
    let anonymous = planning.server.browser().get("/harbor/tide/labels").await;
    assert_eq!((anonymous.status, anonymous.texts("main table bdi")), (200, vec!["bug".to_owned()]));
    assert_eq!(anonymous.attributes("main table a, main table form", "class").len(), 0, "{}", anonymous.text);

    let edit = page.attributes("main table a[aria-label='Edit bug']", "href").remove(0);
    let form = reporter.get(&edit).await.form("main form");
    assert_eq!((form.value("title"), form.value("priority")), ("bug", "3"));
    assert_eq!(form.value("description"), "It\nleaks");
    let response = reporter.submit(&form.clone().set("title", "defect").set("priority", "")).await;
    assert_eq!(response.location(), Some("/harbor/tide/labels"));
    assert_eq!(reporter.get("/harbor/tide/labels").await.texts("main table bdi"), ["defect"]);
    for name in ["guest", "stranger"] {
        let browser = planning.browser(name).await;
        let before = planning.server.dump_database().await;
        assert_eq!(browser.get(&edit).await.status, 403);
        for address in [form.action.clone(), format!("{}/delete", form.action), "/harbor/tide/labels".to_owned()] {
            let response = browser.post(&address, &[("title", "mine"), ("color", "#000000")]).await;
            assert_eq!(response.status, 403, "{address} as {name}");
        }
        assert_eq!(planning.server.dump_database().await, before);
    }
    let delete = reporter.get(&edit).await.form("form[action$='/delete']");
    assert_eq!(reporter.submit(&delete).await.location(), Some("/harbor/tide/labels"));
    assert_eq!(reporter.submit(&delete).await.status, 404);
    assert_eq!(reporter.get(&edit).await.status, 404);
    assert_eq!(reporter.get("/harbor/tide/labels").await.texts("main h2"), ["No labels"]);
}

/// A label of one project is not changed through another.
#[tokio::test]
async fn labels_of_another_project_are_not_found() {
    let planning = Planning::new().await;
    let label = planning.post("/labels", &[("name", "bug"), ("color", "#ff0000")]).await;
    let (_, eve) = planning.server.user("eve").await;
    planning.server.project(&eve, "own", 20).await;
    let browser = planning.browser("eve").await;
    let before = planning.server.dump_database().await;
    assert_eq!(browser.get(&format!("/eve/own/labels/{label}/edit")).await.status, 404);
    for action in ["", "/delete", "/subscribe", "/unsubscribe"] {
        let address = format!("/eve/own/labels/{label}{action}");
        let response = browser.post(&address, &[("title", "mine"), ("color", "#000000")]).await;
        assert_eq!(response.status, 404, "{address}");
    }
    assert_eq!(planning.server.dump_database().await, before);
}

#[tokio::test]
async fn users_subscribe_to_labels() {
    let planning = Planning::new().await;
    planning.post("/labels", &[("name", "bug"), ("color", "#ff0000")]).await;
    let stranger = planning.browser("stranger").await;
    for (button, next) in [("Subscribe", "Unsubscribe"), ("Unsubscribe", "Subscribe")] {
        let page = stranger.get("/harbor/tide/labels").await;
        assert_eq!(page.texts("main table button"), [button]);
        assert_eq!(stranger.submit(&page.form("main table form")).await.location(), Some("/harbor/tide/labels"));
        assert_eq!(stranger.get("/harbor/tide/labels").await.texts("main table button"), [next]);
    }
    // Another user is not subscribed.
    assert_eq!(
        planning.browser("guest").await.get("/harbor/tide/labels").await.texts("main table button"),
        ["Subscribe"]
    );
    let anonymous = planning.server.browser().post("/harbor/tide/labels/1/subscribe", &[]).await;
    assert_eq!(anonymous.location(), Some("/sign_in"));
}

#[tokio::test]
async fn milestones_are_created_edited_closed_and_reopened() {
    let planning = Planning::new().await;
    let master = planning.browser("master").await;
    let page = master.get("/harbor/tide/milestones").await;
    assert_eq!(page.texts("main h2"), ["No milestones"]);
    let form = master.get("/harbor/tide/milestones/new").await.form("main form");
    let winter = form.set("title", "Winter").set("description", "Before the **ice**").set("due_date", "2026-01-01");
    let rejected = master.submit(&winter.clone().set("start_date", "2026-02-01")).await;
    assert_eq!((rejected.status, rejected.texts("#due_date-error").len()), (422, 1), "{}", rejected.text);
    let rejected = master.submit(&winter.clone().set("due_date", "soon")).await;
    assert_eq!((rejected.status, rejected.form("main form").value("due_date")), (422, "soon"));
    let rejected = master.submit(&winter.clone().set("title", "")).await;
    assert_eq!(rejected.texts("#title-error"), ["Title can't be blank"]);
    assert_eq!(master.submit(&winter).await.location(), Some("/harbor/tide/milestones/1"));
    let rejected = master.submit(&winter).await;
    assert_eq!(rejected.texts("#title-error"), ["Title has already been taken"]);
    let page = master.get("/harbor/tide/milestones/1").await;
    assert_eq!((page.texts("h1"), page.texts(".md strong")), (vec!["Winter".to_owned()], vec!["ice".to_owned()]));
    // The clock of the server stands on 2 January 2026.
    assert!(page.texts(".head .bad").join(" ").contains("overdue since 1 Jan 2026"), "{}", page.text);

    let edit = master.get("/harbor/tide/milestones/1/edit").await.form("main form");
    assert_eq!((edit.value("title"), edit.value("due_date")), ("Winter", "2026-01-01"));
    let response = master.submit(&edit.clone().set("title", "Spring").set("due_date", "2026-04-01")).await;
    assert_eq!(response.location(), Some("/harbor/tide/milestones/1"));
    assert_eq!(master.get("/harbor/tide/milestones").await.texts("main .rows .title"), ["Spring"]);
    for (action, state, list) in [("close", "closed", "?state=closed"), ("reopen", "open", "")] {
        let form = master.get("/harbor/tide/milestones/1").await.form(&format!("form[action$='/{action}']"));
        assert_eq!(master.submit(&form).await.location(), Some("/harbor/tide/milestones/1"));
        assert_eq!(master.get("/harbor/tide/milestones/1").await.texts(".head .state"), [state]);
        let listed = master.get(&format!("/harbor/tide/milestones{list}")).await;
        assert_eq!(listed.texts("main .rows .title"), ["Spring"], "{action}");
    }
    let reporter = planning.browser("reporter").await;
    let before = planning.server.dump_database().await;
    let page = reporter.get("/harbor/tide/milestones/1").await;
    assert!(page.forms().iter().all(|form| !form.action.contains("/milestones/")), "{}", page.text);
    for address in ["", "/1", "/1/close", "/1/reopen"] {
        let response = reporter.post(&format!("/harbor/tide/milestones{address}"), &[("title", "Mine")]).await;
        assert_eq!(response.status, 403, "{address}");
    }
    assert_eq!(reporter.get("/harbor/tide/milestones/1/edit").await.status, 403);
    assert_eq!(planning.server.dump_database().await, before);
    assert_eq!(master.get("/harbor/tide/milestones/2").await.status, 404);
}

#[tokio::test]
async fn a_milestone_shows_its_issues_and_how_many_are_closed() {
    let planning = Planning::new().await;
    let milestone = planning.post("/milestones", &[("title", "Winter")]).await.to_string();
    for number in 1..=3 {
        let title = format!("Task {number}");
        planning.post("/issues", &[("title", &title), ("milestone_id", &milestone), ("labels", "bug")]).await;
    }
    let form = [("title", "Secret"), ("milestone_id", &*milestone), ("confidential", "true")];
    planning.post("/issues", &form).await;
    planning.post("/issues", &[("title", "Elsewhere")]).await;
    let first = planning.owner.get(&format!("/projects/{}/issues?iid=1", planning.project)).await;
    let close = format!("/projects/{}/issues/{}", planning.project, first.body[0]["id"]);
    assert_eq!(planning.owner.put(&close, &[("state_event", "close")]).await.status, 200);

    let (reporter, stranger) = (planning.browser("reporter").await, planning.browser("stranger").await);
    let page = stranger.get("/harbor/tide/milestones/1").await;
    assert_eq!(page.texts("main .rows .title"), ["Task 3", "Task 2"]);
    assert_eq!(page.texts(".milestone-progress span"), ["1 of 3 issues closed"]);
    assert_eq!(
        (page.attributes("progress", "value"), page.attributes("progress", "max")),
        (vec!["1".to_owned()], vec!["3".to_owned()])
    );
    assert_eq!(stranger.get("/harbor/tide/milestones/1?state=closed").await.texts("main .rows .title"), ["Task 1"]);
    let page = reporter.get("/harbor/tide/milestones/1").await;
    assert_eq!(page.texts("main .rows .title"), ["Secret", "Task 3", "Task 2"]);
    let list = reporter.get("/harbor/tide/milestones").await;
    assert_eq!(list.texts("main .rows .nums"), ["1 of 4 issues closed"]);
    // Anonymous viewers sign in first, as for issues.
    let anonymous = planning.server.browser().get("/harbor/tide/milestones").await;
    assert_eq!(anonymous.location(), Some("/sign_in?to=%2Fharbor%2Ftide%2Fmilestones"));
    // Without issues, a milestone has none.
    let disabled = [("issues_enabled", "false"), ("merge_requests_enabled", "true")];
    assert_eq!(planning.owner.put(&format!("/projects/{}", planning.project), &disabled).await.status, 200);
    let page = reporter.get("/harbor/tide/milestones/1").await;
    assert_eq!((page.status, page.texts("progress, main .rows .title").len()), (200, 0), "{}", page.text);
}
