//! Filters, quick actions, bulk changes and previews of issues.

use holdfast_tests::{Browser, Server};
use serde_json::json;

use super::issues::{IssueFixture, flash};

async fn titles(browser: &Browser, query: &str) -> Vec<String> {
    let response = browser.send(browser.request("GET", "/ada/tide/issues").query(&[("q", query)])).await;
    assert_eq!(response.status, 200, "{query}: {}", response.text);
    response.texts(".rows .title")
}

/// Creates the issues a to f, each a second after the other, with different attributes.
async fn fill(fixture: &IssueFixture) {
    let milestone = fixture.create("/milestones", &[("title", "2.5")]).await["id"].to_string();
    let ada = fixture.ada.get("/user").await.body["id"].to_string();
    let forms: [&[(&str, &str)]; 5] = [
        &[("title", "a Gauge"), ("labels", "bug,good first"), ("assignee_id", &ada), ("due_date", "2026-05-01")],
        &[("title", "b gauge 50%"), ("labels", "bug,docs"), ("milestone_id", &milestone)],
        &[("title", "c"), ("due_date", "2026-06-01")],
        &[("title", "d secret"), ("confidential", "true"), ("labels", "bug")],
        &[("title", "e closed"), ("labels", "bug")],
    ];
    for form in forms {
        fixture.create("/issues", form).await;
        fixture.server.advance(chrono::TimeDelta::seconds(1));
    }
    let bob = fixture.server.sign_in("bob").await;
    assert_eq!(bob.post("/ada/tide/issues", &[("title", "f by bob")]).await.status, 303);
    assert_eq!(bob.post("/ada/tide/issues/5/close", &[]).await.status, 303);
}

#[tokio::test]
async fn filters_select_the_issues_that_the_viewer_may_see() {
    let fixture = IssueFixture::new().await;
    fill(&fixture).await;
    let ada = fixture.server.sign_in("ada").await;
    for (query, found) in [
        ("", "fdcba"),
        ("is:closed", "e"),
        ("is:all", "fedcba"),
        ("label:bug", "dba"),
        ("label:bug -label:docs", "da"),
        ("label:bug label:\"good first\"", "a"),
        ("label:absent", ""),
        ("-label:absent sort:created-asc", "abcdf"),
        ("no:label", "fc"),
        ("milestone:2.5", "b"),
        ("milestone:absent", ""),
        ("no:milestone label:bug", "da"),
        ("assignee:@me", "a"),
        ("assignee:ADA", "a"),
        ("assignee:nobody-here", ""),
        ("no:assignee label:bug", "db"),
        ("author:bob", "f"),
        ("due:<2026-06-01", "a"),
        ("due:>2026-05-01", "c"),
        ("due:2026-06-01", "c"),
        ("no:due label:bug", "db"),
        ("gauge", "ba"),
        ("GAUGE 50%", "b"),
        ("gauge%", ""),
        ("\"label:bug\"", ""),
    ] {
        let shown: String = titles(&ada, query).await.iter().map(|title| title.chars().next().unwrap()).collect();
        assert_eq!(shown, found, "{query}");
    }
    // Neither the list nor its counts show a confidential issue to others.
    let eve = fixture.server.sign_in("eve").await;
    assert_eq!(titles(&eve, "label:bug").await, ["b gauge 50%", "a Gauge"]);
    assert_eq!(titles(&eve, "secret").await, Vec::<String>::new());
    assert_eq!(eve.get("/ada/tide/issues").await.texts(".seg .nums"), ["4"]);
    assert_eq!(ada.get("/ada/tide/issues").await.texts(".seg .nums"), ["5"]);
    assert_eq!(titles(&eve, "assignee:@me").await, Vec::<String>::new());
}

#[tokio::test]
async fn words_without_meaning_are_reported_and_the_rest_of_a_filter_applies() {
    let fixture = IssueFixture::new().await;
    fill(&fixture).await;
    let ada = fixture.server.sign_in("ada").await;
    let request = ada.request("GET", "/ada/tide/issues").query(&[("q", "gauge is:odd due:soon foo:bar")]);
    let page = ada.send(request).await;
    assert_eq!(page.texts(".rows .title"), ["b gauge 50%", "a Gauge"]);
    let messages = page.texts(".flash.bad li");
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages[2].starts_with("Unknown filter: foo."), "{messages:?}");
    assert_eq!(page.attributes("#q", "value"), ["is:open gauge"]);
    let page = ada.send(ada.request("GET", "/ada/tide/issues").query(&[("q", "label:absent")])).await;
    assert_eq!(page.texts(".flash.bad li"), ["There is no label “absent”."]);
    assert_eq!(page.texts(".empty h2"), ["No issues match"]);
}

#[tokio::test]
async fn pickers_change_the_words_of_the_filter() {
    let fixture = IssueFixture::new().await;
    fill(&fixture).await;
    let bob = fixture.server.sign_in("bob").await;
    let page = bob.get("/ada/tide/issues").await;
    for name in ["labels", "milestone", "assignee", "order"] {
        assert_eq!(page.attributes(&format!("form[role='search'] select[name='{name}']"), "id"), [name]);
    }
    let words = [("q", "gauge"), ("labels", "good first"), ("milestone", "none"), ("assignee", "ada")];
    let request = bob.request("GET", "/ada/tide/issues").query(&words);
    let chosen = bob.send(request.query(&[("order", "created")])).await;
    let expected = "is:open label:\"good first\" no:milestone assignee:ada sort:created gauge";
    let location = chosen.location().unwrap().to_owned();
    assert_eq!(chosen.status, 303);
    let page = bob.get(&location).await;
    assert_eq!(page.attributes("#q", "value"), [expected]);
    assert_eq!(page.texts(".rows .title"), ["a Gauge"]);
    // The choices show the filter. They change it where they were changed, and the line wins elsewhere.
    for (name, value) in [("labels", "good first"), ("milestone", "none"), ("assignee", "ada"), ("order", "created")] {
        assert_eq!(page.attributes(&format!("form[role='search'] #{name} [selected]"), "value"), [value], "{name}");
    }
    let form = page.form("form[role='search']");
    let kept = bob.submit(&form.clone().set("q", "is:closed")).await;
    assert_eq!((kept.status, kept.attributes("#q", "value")), (200, vec!["is:closed".to_owned()]));
    let cleared = bob.submit(&form.set("labels", "docs").set("milestone", "").set("order", "updated")).await;
    assert_eq!(
        cleared.location(),
        Some("/ada/tide/issues?q=is%3Aopen%20label%3Adocs%20assignee%3Aada%20gauge"),
        "{}",
        cleared.text
    );
    // The links of the states keep the other words, and old addresses lead to the filter.
    let closed = page.attributes(".seg a", "href")[1].clone();
    assert_eq!(bob.get(&closed).await.attributes("#q", "value"), [expected.replace("open", "closed")]);
    let old = bob.get("/ada/tide/issues?state=all&milestone=2.5").await;
    assert_eq!(old.location(), Some("/ada/tide/issues?q=is%3Aall%20milestone%3A2.5"));
}

#[tokio::test]
async fn quick_actions_run_after_the_text_was_saved() {
    let fixture = IssueFixture::new().await;
    fixture.create("/milestones", &[("title", "2.5")]).await;
    let bob = fixture.server.sign_in("bob").await;
    let description = "It leaks.\r\n/label ~bug ~\"good first\"\r\n/assign me\r\n/milestone %2.5\r\n/due 2026-12-01";
    assert_eq!(bob.post("/ada/tide/issues", &[("title", "Leak"), ("description", description)]).await.status, 303);
    assert_eq!(flash(&bob, "/ada/tide/issues/1").await, "The issue was created.");
    let issue = fixture.issue(1).await;
    assert_eq!((&issue["description"], &issue["labels"]), (&json!("It leaks."), &json!(["bug", "good first"])));
    assert_eq!((&issue["assignee"]["username"], &issue["milestone"]["title"]), (&json!("bob"), &json!("2.5")));
    assert_eq!(issue["due_date"], "2026-12-01");
    let text =
        "Done.\n/unlabel ~bug\n/unassign\n/milestone none\n/due none\n/confidential\n/close\n\n```\n/reopen\n```";
    assert_eq!(bob.post("/ada/tide/issues/1/notes", &[("note", text)]).await.status, 303);
    assert_eq!(fixture.notes(1).await, ["Done.\n\n```\n/reopen\n```"]);
    let issue = fixture.issue(1).await;
    assert_eq!((&issue["labels"], &issue["assignee"]), (&json!(["good first"]), &json!(null)));
    assert_eq!((&issue["milestone"], &issue["due_date"]), (&json!(null), &json!(null)));
    assert_eq!((&issue["confidential"], &issue["state"]), (&json!(true), &json!("closed")));
    // A text with quick actions alone is no note.
    assert_eq!(
        bob.post("/ada/tide/issues/1/notes", &[("note", "/reopen")]).await.location(),
        Some("/ada/tide/issues/1")
    );
    assert_eq!((fixture.notes(1).await.len(), &fixture.issue(1).await["state"]), (1, &json!("reopened")));
}

#[tokio::test]
async fn refused_quick_actions_are_reported_and_change_nothing() {
    let fixture = IssueFixture::new().await;
    fixture.create("/issues", &[("title", "It leaks")]).await;
    let (eve, bob) = (fixture.server.sign_in("eve").await, fixture.server.sign_in("bob").await);
    for (browser, text, message) in [
        (&eve, "x\n/label ~bug", "/label or /unlabel was refused"),
        (&eve, "x\n/close", "The issue was not closed"),
        (&eve, "x\n/label ~bug\n/assign @eve\n/confidential", "Several quick actions were refused"),
        (&bob, "x\n/assign @nobody-here", "/assign or /unassign was refused"),
        (&bob, "x\n/milestone %absent", "/milestone was refused"),
        (&bob, "x\n/due soon", "/due was refused"),
    ] {
        assert_eq!(browser.post("/ada/tide/issues/1/notes", &[("note", text)]).await.status, 303);
        let shown = flash(browser, "/ada/tide/issues/1").await;
        assert!(shown.contains(message), "{text}: {shown}");
    }
    assert_eq!(fixture.notes(1).await, ["x"; 6]);
    let issue = fixture.issue(1).await;
    assert_eq!((&issue["labels"], &issue["state"]), (&json!([]), &json!("opened")));
    assert_eq!((&issue["confidential"], &issue["assignee"]), (&json!(false), &json!(null)));
    // Without a text nothing was saved, and the message names the reason.
    for (browser, text, message) in [
        (&eve, "/close", "Nothing was changed. You may not make this change."),
        (&eve, "/assign @nobody-here", "Nothing was changed. You may not make this change."),
        (&bob, "/assign @nobody-here", "Nothing was changed. The user does not exist or cannot see the project."),
        (&bob, "/milestone %absent", "Nothing was changed. The milestone does not exist."),
        (&bob, "/due soon", "Nothing was changed. The date is invalid."),
        (&bob, "/due soon\n/milestone %absent", "Nothing was changed. The value of a quick action is invalid."),
        (&bob, "/due 2026-12-01\n/milestone %absent", "The issue was saved. Some quick actions were refused"),
    ] {
        assert_eq!(browser.post("/ada/tide/issues/1/notes", &[("note", text)]).await.status, 303);
        let shown = flash(browser, "/ada/tide/issues/1").await;
        assert!(shown.starts_with(message), "{text}: {shown}");
    }
    assert_eq!(fixture.notes(1).await.len(), 6);
    // The author of an issue may close it, and not label it.
    let text = "/label ~bug\n/due 2026-12-01";
    assert_eq!(eve.post("/ada/tide/issues", &[("title", "Own"), ("description", text)]).await.status, 303);
    let issue = fixture.issue(2).await;
    assert_eq!((&issue["labels"], &issue["due_date"]), (&json!([]), &json!("2026-12-01")));
}

#[tokio::test]
async fn several_issues_are_changed_at_once() {
    let fixture = IssueFixture::new().await;
    fill(&fixture).await;
    let bob = fixture.server.sign_in("bob").await;
    let page = bob.get("/ada/tide/issues?q=is%3Aall").await;
    assert_eq!(page.attributes("[name='issues[]']", "value").len(), 6);
    assert_eq!(page.form("form[action$='/bulk']").value("to"), "/ada/tide/issues?q=is%3Aall");
    let change = async |form: &[(&str, &str)]| {
        let selected = [("issues[]", "1"), ("issues[]", "2"), ("to", "/ada/tide/issues?q=is%3Aall")];
        let changed = bob.post("/ada/tide/issues/bulk", &[&selected, form].concat()).await;
        assert_eq!(changed.location(), Some("/ada/tide/issues?q=is%3Aall"), "{form:?}: {}", changed.text);
        flash(&bob, "/ada/tide/issues").await
    };
    let done = "The selected issues were changed.";
    assert_eq!(change(&[("change", "close")]).await, done);
    assert_eq!(change(&[("change", "label"), ("label", "docs")]).await, done);
    assert_eq!(change(&[("change", "unlabel"), ("label", "bug")]).await, done);
    assert_eq!(change(&[("change", "assign"), ("assignee", "bob")]).await, done);
    assert_eq!(change(&[("change", "milestone"), ("milestone", "2.5")]).await, done);
    let (first, second) = (fixture.issue(1).await, fixture.issue(2).await);
    assert_eq!((&first["labels"], &second["labels"]), (&json!(["docs", "good first"]), &json!(["docs"])));
    for issue in [&first, &second] {
        assert_eq!((&issue["state"], &issue["assignee"]["username"]), (&json!("closed"), &json!("bob")));
        assert_eq!(issue["milestone"]["title"], "2.5");
    }
    assert_eq!(change(&[("change", "reopen")]).await, done);
    assert_eq!(change(&[("change", "unassign")]).await, done);
    assert_eq!(change(&[("change", "no_milestone")]).await, done);
    let first = fixture.issue(1).await;
    assert_eq!(
        (&first["state"], &first["assignee"], &first["milestone"]),
        (&json!("reopened"), &json!(null), &json!(null))
    );
    // What is missing or invalid changes nothing.
    let before = fixture.server.dump_database().await;
    assert!(change(&[]).await.starts_with("Nothing was changed."));
    assert!(change(&[("change", "assign"), ("assignee", "nobody-here")]).await.contains("user does not exist"));
    assert!(change(&[("change", "milestone"), ("milestone", "absent")]).await.contains("milestone does not exist"));
    assert!(change(&[("change", "label"), ("label", "")]).await.contains("Choose a label"));
    let many: Vec<String> = (1..=101).map(|iid| iid.to_string()).collect();
    let mut form: Vec<(&str, &str)> = many.iter().map(|iid| ("issues[]", iid.as_str())).collect();
    form.push(("change", "close"));
    assert_eq!(bob.post("/ada/tide/issues/bulk", &form).await.status, 303);
    assert!(flash(&bob, "/ada/tide/issues").await.contains("At most 100"));
    assert_eq!(fixture.server.dump_database().await, before);
    let form = [("issues[]", "1"), ("issues[]", "77"), ("change", "close")];
    assert_eq!(bob.post("/ada/tide/issues/bulk", &form).await.status, 303);
    assert!(flash(&bob, "/ada/tide/issues").await.starts_with("Some of the selected issues were not changed"));
    // Strangers are refused, and not offered it.
    let eve = fixture.server.sign_in("eve").await;
    assert!(eve.get("/ada/tide/issues").await.attributes("[name='issues[]']", "value").is_empty());
    assert_eq!(eve.post("/ada/tide/issues/bulk", &[("issues[]", "2"), ("change", "close")]).await.status, 403);
    assert_eq!(fixture.issue(2).await["state"], "reopened");
}

#[tokio::test]
async fn texts_are_previewed_and_not_saved() {
    let fixture = IssueFixture::new().await;
    fixture.create("/issues", &[("title", "It leaks")]).await;
    let eve = fixture.server.sign_in("eve").await;
    let before = fixture.server.dump_database().await;
    let part = eve.post("/ada/tide/preview", &[("text", "**bold** <script>alert(1)</script>")]).await;
    assert_eq!((part.status, part.texts("strong")), (200, vec!["bold".to_owned()]));
    assert!(!part.text.contains("<script") && !part.text.contains("<html"), "{}", part.text);
    let page = eve.post("/ada/tide/issues", &[("title", "T"), ("description", "**d**"), ("preview", "true")]).await;
    assert_eq!((page.status, page.texts(".preview strong")), (200, vec!["d".to_owned()]));
    assert_eq!(page.form("form.form").value("title"), "T");
    let page = eve.post("/ada/tide/issues/1/notes", &[("note", "*n*"), ("preview", "true")]).await;
    assert_eq!((page.status, page.texts(".preview em")), (200, vec!["n".to_owned()]));
    assert_eq!(page.form("form[action$='/notes']").value("note"), "*n*");
    assert_eq!(fixture.server.dump_database().await, before);
    assert_eq!(fixture.server.browser().post("/ada/tide/preview", &[("text", "x")]).await.location(), Some("/sign_in"));
}

/// An attacker fills the filter with what other projects have, and learns from the list whether it exists there.
#[tokio::test]
async fn filters_do_not_reach_other_projects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let secret = server.project(&ada, "secret", 0).await;
    server.project(&ada, "tide", 20).await;
    let form = [("title", "hidden leak"), ("labels", "classified")];
    assert_eq!(ada.post(&format!("/projects/{secret}/issues"), &form).await.status, 201);
    let eve = server.sign_in("eve").await;
    for query in ["label:classified", "leak", "author:ada", "is:all"] {
        assert_eq!(titles(&eve, query).await, Vec::<String>::new(), "{query}");
    }
    let page = eve.get("/ada/tide/issues?q=label%3Aclassified").await;
    assert_eq!(page.texts(".flash.bad li"), ["There is no label “classified”."]);
    let page = eve.get("/ada/tide/issues?q=leak").await;
    assert!(page.attributes("option[value='classified']", "value").is_empty());
}
