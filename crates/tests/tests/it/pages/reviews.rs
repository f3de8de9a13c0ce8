//! Comments about lines of a merge request, and reviews.

use holdfast_tests::{Browser, PageResponse};
use serde_json::{Value, json};

use super::issues::flash;
use super::merge_requests::{Fixture, PAGE};

const CHANGES: &str = "/ada/tide/merge_requests/1/changes";

/// A merge request that changes the only line of `a.txt` and adds `b.txt`.
async fn fixture() -> Fixture {
    let fixture = Fixture::with_request().await;
    fixture.commit("a.txt", "uno\n", "Say it in Italian").await;
    fixture
}

/// Opens the form of a line through the link beside it.
async fn line_form(browser: &Browser, label: &str, file: &str) -> PageResponse {
    let page = browser.get(CHANGES).await;
    let urls = page.attributes(&format!(".file[aria-label='{file}'] a.write[aria-label='{label}']"), "href");
    assert_eq!(urls.len(), 1, "{label} of {file}: {}", page.text);
    browser.open(&urls[0]).await
}

/// Returns the texts of all notes in the discussions of the merge request, as the API lists them.
async fn published(fixture: &Fixture) -> Vec<Value> {
    let discussions = fixture.get("/discussions?per_page=100").await;
    let notes = |discussion: &Value| discussion["notes"].as_array().cloned().unwrap_or_default();
    discussions.as_array().unwrap().iter().flat_map(notes).map(|note| note["body"].clone()).collect()
}

#[tokio::test]
async fn a_line_is_commented_on_and_the_discussion_stands_below_it() {
    let fixture = fixture().await;
    let (ada, eve) = (fixture.server.sign_in("ada").await, fixture.server.sign_in("eve").await);
    let page = line_form(&eve, "Comment on line 1", "b.txt").await;
    // Only the file of the line is shown, with the form below the line.
    assert_eq!(page.texts(".file .path"), ["b.txt"]);
    assert_eq!(page.attributes("tr.add + tr.talk form#comment", "method"), ["post"]);
    let form = page.form("form#comment");
    let rejected = eve.submit(&form.clone().set("note", " ")).await;
    assert_eq!((rejected.status, rejected.texts(".wrong-why")), (422, vec!["Comment can't be blank".to_owned()]));
    let preview = eve.submit(&form.clone().set("note", "*Why?*").press("preview", "true")).await;
    assert_eq!((preview.status, preview.texts(".preview em")), (200, vec!["Why?".to_owned()]));
    assert_eq!(preview.form("form#comment").value("note").trim(), "*Why?*");
    assert!(published(&fixture).await.is_empty(), "a preview was published");
    let created = eve.submit(&form.set("note", "*Why?*")).await;
    let location = created.location().unwrap_or_default().to_owned();
    assert!(location.starts_with(&format!("{CHANGES}?version=2#note_")), "{location}: {}", created.text);
    let discussions = fixture.get("/discussions").await;
    let position = &discussions[0]["position"];
    assert_eq!((&position["path"], &position["line"]), (&json!("b.txt"), &json!(1)), "{discussions}");
    // All see it below its line, and a reply leads back to the changes.
    let page = ada.get(CHANGES).await;
    assert_eq!(page.texts("tr.add + tr.talk .thread .md"), ["Why?"]);
    let reply = page.form("form[action$='/notes']").set("note", "Because.");
    let replied = ada.submit(&reply).await;
    assert!(replied.location().unwrap_or_default().starts_with(&format!("{CHANGES}#note_")), "{}", replied.text);
    let blank = ada.submit(&reply.clone().set("note", " ")).await;
    assert_eq!((blank.status, blank.texts(".wrong-why")), (422, vec!["Comment can't be blank".to_owned()]));
    let resolved = ada.submit(&ada.get(CHANGES).await.form("form[action$='/resolve']")).await;
    assert!(resolved.location().unwrap_or_default().starts_with(&format!("{CHANGES}#discussion_")));
    assert_eq!(ada.get(CHANGES).await.texts("tr.talk .state.push"), ["resolved by User ada"]);
    // A form leads to no other page than one of this merge request.
    for to in ["https://evil.example/", "//evil.example", "/ada/tide", "/ada/tide/merge_requests/1/changesx"] {
        let back = ada.submit(&ada.get(CHANGES).await.form("form[action$='resolve']").set("to", to)).await;
        assert!(back.location().unwrap_or_default().starts_with(&format!("{PAGE}#discussion_")), "{to}");
    }
}

#[tokio::test]
async fn a_removed_line_is_discussed_on_its_version() {
    let fixture = fixture().await;
    let bob = fixture.server.sign_in("bob").await;
    let form = line_form(&bob, "Comment on old line 1", "a.txt").await.form("form#comment");
    let created = bob.submit(&form.set("note", "It was fine.")).await;
    assert_eq!(created.status, 303, "{}", created.text);
    assert_eq!(bob.get(CHANGES).await.texts("tr.del + tr.talk .md"), ["It was fine."]);
    let split = bob.get(&format!("{CHANGES}?view=split")).await;
    assert_eq!(split.texts("tr.talk td[colspan='4'] .md"), ["It was fine."]);
    // The first version does not have the line, and the third one no longer shows its change.
    assert!(bob.get(&format!("{CHANGES}?version=1")).await.texts("tr.talk").is_empty());
    fixture.commit("a.txt", "one\n", "Say it in English").await;
    let page = bob.get(CHANGES).await;
    assert_eq!(page.texts(".file .path"), ["b.txt"]);
    assert_eq!(bob.get(&format!("{CHANGES}?version=2")).await.texts("tr.talk .md"), ["It was fine."]);
    // A line that no version has is rejected, and so is a version that does not exist.
    let line = |file, line, version| {
        [("file", file), ("line_path", file), ("line", line), ("version", version), ("note", "x"), ("side", "new")]
    };
    for fields in [line("b.txt", "9", "1"), line("absent", "1", "1"), line("b.txt", "0", "1")] {
        let response = bob.post(&format!("{PAGE}/line_notes"), &fields).await;
        assert_eq!(response.status, 422, "{fields:?}: {}", response.text);
    }
    let response = bob.post(&format!("{PAGE}/line_notes"), &line("b.txt", "9", "1")).await;
    assert!(response.texts(".wrong-why")[0].contains("does not have the line"), "{}", response.text);
    // Between two versions, a removed line is none of the merge base.
    let compared = bob.get(&format!("{CHANGES}?version=3&since=2")).await;
    assert_eq!(compared.texts(".file .path"), ["a.txt"]);
    assert_eq!(compared.attributes("a.write", "aria-label"), ["Comment on line 1"]);
    assert_eq!(bob.post(&format!("{PAGE}/line_notes"), &line("b.txt", "1", "9")).await.status, 404);
    assert_eq!(published(&fixture).await, ["It was fine."]);
}

#[tokio::test]
async fn a_review_is_published_at_once_and_was_not_seen_before() {
    let fixture = fixture().await;
    let (ada, bob) = (fixture.server.sign_in("ada").await, fixture.server.sign_in("bob").await);
    let form = line_form(&ada, "Comment on line 1", "b.txt").await.form("form#comment");
    assert_eq!(ada.submit(&form.set("note", "Earlier.")).await.status, 303);
    // A comment about a line and a reply.
    let form = line_form(&bob, "Comment on line 1", "a.txt").await.form("form#comment");
    let added = bob.submit(&form.set("note", "Why *Italian*?").press("review", "true")).await;
    assert_eq!(added.location(), Some(&*format!("{CHANGES}?version=2#review")), "{}", added.text);
    let reply = bob.get(CHANGES).await.form("form[action$='/notes']");
    let added = bob.submit(&reply.set("note", "Later.").press("review", "true")).await;
    assert!(added.location().unwrap_or_default().starts_with(&format!("{CHANGES}#discussion_")), "{}", added.text);
    assert_eq!(published(&fixture).await, ["Earlier."]);
    let page = bob.get(CHANGES).await;
    assert_eq!(page.texts("#review header .faint"), ["2 comments, not submitted; only you see them"]);
    assert_eq!(page.texts("tr.talk article.panel .md"), ["Why Italian?"]);
    assert!(bob.get(PAGE).await.text.contains("Your review has 2 comments that only you see."));
    for path in [PAGE, CHANGES] {
        let seen = ada.get(path).await.text;
        assert!(!seen.contains("Italian?") && !seen.contains("Later.") && !seen.contains("Your review"), "{path}");
    }
    // The comments are edited by their author only.
    let actions = page.attributes("#review li form", "action");
    let before = fixture.server.dump_database().await;
    for (action, note) in [(&actions[0], "Mine."), (&format!("{}/delete", actions[0]), "")] {
        assert_eq!(ada.post(action, &[("note", note)]).await.status, 404, "{action}");
    }
    assert_eq!(fixture.server.dump_database().await, before);
    assert_eq!(bob.post(&actions[0], &[("note", " ")]).await.status, 303);
    assert!(flash(&bob, CHANGES).await.contains("was not saved"));
    assert_eq!(bob.post(&actions[0], &[("note", "Why not in Latin?")]).await.status, 303);
    let submitted = bob.submit(&bob.get(CHANGES).await.form("form[action$='/review']").set("note", "Nearly.")).await;
    assert_eq!(submitted.location(), Some(PAGE), "{}", submitted.text);
    assert_eq!(flash(&bob, PAGE).await, "Your review was submitted.");
    assert_eq!(published(&fixture).await, ["Earlier.", "Later.", "Why not in Latin?"]);
    let page = ada.get(PAGE).await;
    assert!(page.texts(".said .md").contains(&"Nearly.".to_owned()), "{}", page.text);
    assert!(bob.get(CHANGES).await.texts("#review").is_empty());
    // There is nothing to submit twice.
    assert_eq!(bob.post(&format!("{PAGE}/review"), &[]).await.status, 303);
    assert!(flash(&bob, CHANGES).await.starts_with("Nothing was submitted"));
    assert_eq!(published(&fixture).await.len(), 3);
}

#[tokio::test]
async fn a_review_is_discarded_and_has_a_limit() {
    let fixture = fixture().await;
    let bob = fixture.server.sign_in("bob").await;
    let form = line_form(&bob, "Comment on line 1", "b.txt").await.form("form#comment");
    let draft = form.set("note", "First").press("review", "true");
    assert_eq!(bob.submit(&draft).await.status, 303);
    let delete = bob.get(CHANGES).await.attributes("#review li button[formaction]", "formaction");
    assert_eq!(bob.post(&delete[0], &[]).await.status, 303);
    assert!(bob.get(CHANGES).await.texts("#review").is_empty());
    assert_eq!(bob.submit(&draft).await.status, 303);
    sqlx::query(
        "insert into draft_notes (merge_request_id, author_id, version_id, path, line, is_in_base, body, created_at)
         select d.merge_request_id, d.author_id, d.version_id, d.path, d.line, d.is_in_base, 'n' || n, d.created_at
         from draft_notes d, generate_series(2, 50) n",
    )
    .execute(&mut fixture.server.database().await)
    .await
    .unwrap();
    let rejected = bob.submit(&draft).await;
    assert_eq!(rejected.status, 422, "{}", rejected.text);
    assert!(rejected.texts(".wrong-why")[0].contains("the review has 50 comments"), "{}", rejected.text);
    // All of them are published together, each as a discussion.
    assert_eq!(bob.submit(&bob.get(CHANGES).await.form("form[action$='/review']")).await.location(), Some(PAGE));
    assert_eq!(published(&fixture).await.len(), 50);
    assert_eq!(bob.submit(&draft).await.status, 303);
    let discard = bob.get(CHANGES).await.attributes("#review button[formaction$='/discard']", "formaction");
    assert_eq!(bob.post(&discard[0], &[]).await.location(), Some(CHANGES));
    assert!(bob.get(CHANGES).await.texts("#review").is_empty());
    assert_eq!(published(&fixture).await.len(), 50);
}

/// Only the files of the newest version are those of the branch, and only members who may push edit them.
#[tokio::test]
async fn the_changes_of_an_open_request_lead_to_the_forms_that_edit_its_files() {
    let fixture = Fixture::with_request().await;
    fixture.commit("b.txt", "two\nthree\n", "Add three").await;
    let bob = fixture.server.sign_in("bob").await;
    let edit_links = async |browser: &Browser, query: &str| {
        browser.get(&format!("{PAGE}/changes{query}")).await.attributes("a[aria-label='Edit b.txt']", "href")
    };
    let links = edit_links(&bob, "").await;
    assert_eq!(links, ["/ada/tide/edit/topic/b.txt"]);
    assert_eq!(bob.get(&links[0]).await.form("form[enctype]").value("content"), "two\nthree\n");
    assert_eq!(edit_links(&bob, "?version=1").await, [""; 0], "the branch has another content");
    let rita = fixture.server.sign_in("rita").await;
    assert_eq!(edit_links(&rita, "").await, [""; 0], "a reporter cannot push");
    bob.post(&format!("{PAGE}/close"), &[]).await;
    assert_eq!(edit_links(&bob, "").await, [""; 0], "the request is closed");
}
