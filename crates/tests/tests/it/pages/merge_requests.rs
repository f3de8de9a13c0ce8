//! Pages of merge requests: list, discussions, versions, forms, and the merge.

use holdfast_tests::{Browser, Client, Server, WorkTree};
use serde_json::{Value, json};

use super::issues::flash;
use crate::projects::add_member;

/// A public project `ada/tide` with a branch `topic`, which is one commit ahead of `main`. Bob is a developer, Rita a
/// reporter, and Eve is no member.
pub struct Fixture {
    pub server: Server,
    pub ada: Client,
    api: String,
    tree: WorkTree,
}

const LIST: &str = "/ada/tide/merge_requests";
pub const PAGE: &str = "/ada/tide/merge_requests/1";

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let api = format!("/projects/{}", server.project(&ada, "tide", 20).await);
        for (name, level) in [("bob", 30), ("rita", 20)] {
            let (id, _) = server.user(name).await;
            add_member(&ada, &api, id.get(), level).await;
        }
        server.user("eve").await;
        let tree = WorkTree::new().await;
        tree.commit("a.txt", b"one\n", "first").await;
        let fixture = Self { server, ada, api, tree };
        fixture.push("main").await;
        fixture.tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
        fixture.commit("b.txt", "two\n", "Add two\n\nBecause one is not enough.").await;
        fixture
    }

    /// A fixture with a merge request of `topic` into `main` by Bob.
    pub async fn with_request() -> Self {
        let fixture = Self::new().await;
        let bob = fixture.server.sign_in("bob").await;
        let form = bob.get(&format!("{LIST}/new?source=topic&target=main")).await.form("form.form");
        assert_eq!(bob.submit(&form).await.location(), Some(PAGE));
        fixture
    }

    async fn push(&self, branch: &str) {
        self.tree.push(&self.server.git_url(&self.ada, "ada/tide"), &[&format!("+{branch}")]).await.ok();
        self.server.run_jobs().await;
    }

    pub async fn commit(&self, file: &str, content: &str, message: &str) -> String {
        let id = self.tree.commit(file, content.as_bytes(), message).await;
        self.push("topic").await;
        id
    }

    /// Returns the only merge request as the API shows it.
    async fn request(&self) -> Value {
        self.ada.get(&format!("{}/merge_requests", self.api)).await.body[0].clone()
    }

    pub async fn get(&self, path: &str) -> Value {
        let id = self.request().await["id"].clone();
        self.ada.get(&format!("{}/merge_requests/{id}{path}", self.api)).await.body
    }
}

/// Returns the reasons that the box of the merge lists.
async fn reasons(browser: &Browser) -> Vec<String> {
    browser.get(PAGE).await.texts(".checks > li > div > bdi")
}

#[tokio::test]
async fn a_merge_request_is_proposed_from_two_branches() {
    let fixture = Fixture::new().await;
    let bob = fixture.server.sign_in("bob").await;
    assert!(bob.get(LIST).await.attributes("a.btn.main", "href").contains(&format!("{LIST}/new")));
    // Without branches, the form asks for them.
    let page = bob.get(&format!("{LIST}/new")).await;
    assert_eq!((page.status, page.attributes("form.form", "action").len()), (200, 0));
    assert_eq!(page.attributes("#branches option", "value"), ["main", "topic"]);
    for (query, problem) in [
        ("source=absent&target=main", "The source branch does not exist."),
        ("source=topic&target=absent", "The target branch does not exist."),
        ("source=main&target=main", "A branch cannot be merged into itself."),
        (
            "source=topic&target=main&upstream=true",
            "This project is no fork of a project that takes merge requests from you.",
        ),
    ] {
        let page = bob.get(&format!("{LIST}/new?{query}")).await;
        assert_eq!((page.status, page.texts(".flash.bad p")), (200, vec![problem.to_owned()]), "{query}");
        assert!(page.attributes("form.form", "action").is_empty(), "{query}");
    }
    let page = bob.get(&format!("{LIST}/new?source=topic&target=main")).await;
    assert_eq!(page.texts(".compared-commits .title"), ["Add two"]);
    let form = page.form("form.form");
    assert_eq!(form.value("title"), "Add two");
    let rejected = bob.submit(&form.clone().set("title", " ")).await;
    assert_eq!((rejected.status, rejected.texts(".wrong-why")), (422, vec!["Title can't be blank".to_owned()]));
    assert_eq!(fixture.request().await, Value::Null);
    let preview = bob
        .post(
            LIST,
            &[("source", "topic"), ("target", "main"), ("title", "t"), ("description", "*d*"), ("preview", "true")],
        )
        .await;
    assert_eq!((preview.status, preview.texts(".preview em")), (200, vec!["d".to_owned()]));
    assert_eq!(fixture.request().await, Value::Null);
    assert_eq!(bob.submit(&form.set("other_labels", "tide")).await.location(), Some(PAGE));
    assert_eq!(flash(&bob, PAGE).await, "The merge request was created.");
    let request = fixture.request().await;
    assert_eq!((&request["title"], &request["labels"]), (&json!("Add two"), &json!(["tide"])));
    assert_eq!(request["description"], "Because one is not enough.");
    // The same branches are not proposed twice.
    let again = bob.get(&format!("{LIST}/new?source=topic&target=main")).await;
    assert_eq!(again.attributes(".flash.bad a", "href"), [PAGE]);
    let again = bob.post(LIST, &[("source", "topic"), ("target", "main"), ("title", "t")]).await;
    assert_eq!(again.status, 422, "{}", again.text);
    // A reporter is offered nothing and may not.
    let rita = fixture.server.sign_in("rita").await;
    assert!(!rita.get(LIST).await.text.contains("merge_requests/new"));
    assert_eq!(rita.get(&format!("{LIST}/new")).await.status, 403);
}

#[tokio::test]
async fn a_branch_of_a_fork_is_proposed_to_its_origin() {
    let fixture = Fixture::new().await;
    let eve = fixture.server.sign_in("eve").await;
    let form = eve.get("/ada/tide/fork").await.form("form.form");
    assert_eq!(eve.submit(&form).await.location(), Some("/eve/tide"));
    let page = eve.get("/eve/tide/merge_requests/new?source=topic&target=main&upstream=true").await;
    assert_eq!(page.texts("#upstream option"), ["eve/tide", "ada/tide"]);
    let created = eve.submit(&page.form("form.form")).await;
    assert_eq!(created.location(), Some(PAGE), "{}", created.text);
    fixture.server.run_jobs().await;
    let page = eve.get(PAGE).await;
    assert_eq!(page.texts(".head .chip.ref"), ["eve/tide:topic", "main"]);
    // Ada sees that and the changes, and Eve may not merge.
    let ada = fixture.server.sign_in("ada").await;
    assert_eq!(ada.get(&format!("{PAGE}/changes")).await.texts(".file .path"), ["b.txt"]);
    assert_eq!(reasons(&eve).await[0], "You may not merge into the target branch.");
    let merged = eve
        .post(
            &format!("{PAGE}/merge"),
            &[("sha", fixture.request().await["sha"].as_str().unwrap()), ("target", "main")],
        )
        .await;
    assert_eq!((merged.status, merged.location()), (303, Some(PAGE)));
    assert_eq!(flash(&eve, PAGE).await, "Nothing was changed. You may not merge into the target branch.");
    assert_eq!(fixture.request().await["state"], "opened");
}

#[tokio::test]
async fn what_was_seen_is_merged_and_nothing_else() {
    let fixture = Fixture::with_request().await;
    let ada = fixture.server.sign_in("ada").await;
    let form = ada.get(PAGE).await.form("form[action$='/merge']");
    // The page showed another target branch.
    let other = [("sha", form.value("sha")), ("target", "other")];
    assert_eq!(ada.post(&format!("{PAGE}/merge"), &other).await.location(), Some(PAGE));
    assert!(flash(&ada, PAGE).await.contains("another target branch"));
    assert_eq!(fixture.request().await["state"], "opened");
    // A push that the page does not show.
    fixture.commit("c.txt", "three\n", "Add three").await;
    let refused = ada.submit(&form).await;
    assert_eq!((refused.status, refused.location()), (303, Some(PAGE)));
    assert!(flash(&ada, PAGE).await.contains("There are new commits"));
    assert_eq!(ada.post(&format!("{PAGE}/merge"), &[]).await.location(), Some(PAGE));
    assert_eq!(fixture.request().await["state"], "opened");
    let form = ada.get(PAGE).await.form("form[action$='/merge']").check("remove_source_branch");
    assert_eq!(ada.submit(&form).await.location(), Some(PAGE));
    assert_eq!(flash(&ada, PAGE).await, "The merge request was merged.");
    assert_eq!(fixture.request().await["state"], "merged");
    let branches = fixture.ada.get(&format!("{}/repository/branches", fixture.api)).await.body;
    assert_eq!(branches.as_array().unwrap().len(), 1, "the source branch was not deleted");
    // The pages still show what was merged, and offer no second merge.
    let page = ada.get(PAGE).await;
    assert_eq!(page.texts(".head .state"), ["merged"]);
    assert!(page.attributes("form[action$='/merge'], form[action$='/close']", "action").is_empty());
    assert_eq!(ada.get(&format!("{PAGE}/changes")).await.texts(".file .path"), ["b.txt", "c.txt"]);
    assert_eq!(ada.get(&format!("{PAGE}/commits")).await.texts(".rows .title"), ["Add three", "Add two"]);
    assert_eq!(ada.get(&format!("{LIST}?q=is:merged")).await.texts(".rows .title"), ["Add two"]);
    assert!(ada.get(LIST).await.texts(".rows .title").is_empty());
}

#[tokio::test]
async fn the_page_lists_every_reason_that_keeps_it_from_being_merged() {
    let fixture = Fixture::with_request().await;
    let (ada, bob) = (fixture.server.sign_in("ada").await, fixture.server.sign_in("bob").await);
    assert_eq!(reasons(&ada).await, ["No conflicts with", "main"]);
    assert_eq!(ada.get(PAGE).await.texts("#merging"), ["Ready to merge"]);
    let started = bob.post(&format!("{PAGE}/notes"), &[("note", "Why two?"), ("discussion", "true")]).await;
    assert!(started.location().unwrap().starts_with(&format!("{PAGE}#note_")), "{}", started.text);
    // It does not prevent the merge unless the project says so in its settings.
    assert_eq!(reasons(&ada).await, ["No conflicts with", "main", "Some discussions are not resolved."]);
    assert_eq!(ada.get(PAGE).await.texts("#merging"), ["Can be merged"]);
    let settings = ada.get("/ada/tide/settings/general").await.form("form[action='/ada/tide/settings/general']");
    let saved = ada.submit(&settings.check("only_allow_merge_if_all_discussions_are_resolved")).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    // The target branch changes the same file.
    fixture.tree.git(["checkout", "-q", "main"]).await.ok();
    fixture.tree.commit("b.txt", b"2\n", "Add 2").await;
    fixture.push("main").await;
    let edit = bob.get(&format!("{PAGE}/edit")).await.form("form.form");
    assert_eq!(bob.submit(&edit.set("title", "Draft: two")).await.location(), Some(PAGE));
    let found = reasons(&ada).await;
    assert_eq!(found.len(), 3, "{found:?}");
    for (reason, part) in found.iter().zip(["work in progress", "Discussions", "Both branches changed"]) {
        assert!(reason.contains(part), "{found:?}");
    }
    let page = ada.get(PAGE).await;
    assert_eq!(page.texts(".checks ul li"), ["b.txt"]);
    assert_eq!(page.texts("#merging"), ["Cannot be merged yet: 3 reasons"]);
    assert!(page.attributes("form[action$='/merge']", "action").is_empty());
    let sha = fixture.request().await["sha"].as_str().unwrap().to_owned();
    assert_eq!(ada.post(&format!("{PAGE}/merge"), &[("sha", &sha), ("target", "main")]).await.location(), Some(PAGE));
    assert!(flash(&ada, PAGE).await.starts_with("Nothing was merged."));
    assert_eq!(fixture.request().await["state"], "opened");
    assert_eq!(ada.get(LIST).await.texts(".rows .state"), ["draft", "unresolved"]);
}

#[tokio::test]
async fn a_merge_waits_for_its_pipeline() {
    let fixture = Fixture::new().await;
    fixture.commit(".gitlab-ci.yml", "a: {script: make}\n", "Add a pipeline").await;
    let bob = fixture.server.sign_in("bob").await;
    let form = bob.get(&format!("{LIST}/new?source=topic&target=main")).await.form("form.form");
    assert_eq!(bob.submit(&form).await.location(), Some(PAGE));
    let ada = fixture.server.sign_in("ada").await;
    let page = ada.get(PAGE).await;
    assert_eq!(page.texts("form[action$='/merge'] button"), ["Merge when the pipeline succeeds", "Merge now"]);
    let sha = page.form("form[action$='/merge']").value("sha").to_owned();
    let waits = [("sha", &*sha), ("target", "main"), ("waits", "true")];
    assert_eq!(ada.post(&format!("{PAGE}/merge"), &waits).await.location(), Some(PAGE));
    assert_eq!(flash(&ada, PAGE).await, "The merge request will be merged when its pipeline succeeds.");
    assert_eq!(ada.get(PAGE).await.texts("#merging"), ["Merges when the pipeline succeeds"]);
    assert_eq!(ada.get(&format!("{PAGE}/pipelines")).await.texts("tbody .state"), ["pending"]);
    // The author may cancel it, others who cannot merge may not.
    let rita = fixture.server.sign_in("rita").await;
    assert!(rita.get(PAGE).await.attributes("form[action$='/cancel_merge']", "action").is_empty());
    assert_eq!(rita.post(&format!("{PAGE}/cancel_merge"), &[]).await.location(), Some(PAGE));
    assert_eq!(ada.get(PAGE).await.texts("#merging"), ["Merges when the pipeline succeeds"]);
    let form = bob.get(PAGE).await.form("form[action$='/cancel_merge']");
    assert_eq!(bob.submit(&form).await.location(), Some(PAGE));
    assert_eq!(fixture.request().await["merge_when_build_succeeds"], false);
}

#[tokio::test]
async fn discussions_are_replied_to_and_resolved() {
    let fixture = Fixture::with_request().await;
    let id = fixture.request().await["id"].clone();
    let form = [("body", "Why two?"), ("path", "b.txt"), ("line", "1"), ("side", "new")];
    let started = fixture.ada.post(&format!("{}/merge_requests/{id}/discussions", fixture.api), &form).await;
    assert_eq!(started.status, 201, "{}", started.text);
    let discussion = started.body["id"].to_string();
    let (bob, eve) = (fixture.server.sign_in("bob").await, fixture.server.sign_in("eve").await);
    let page = eve.get(PAGE).await;
    assert_eq!(page.texts(".said .panel > header .mono"), ["b.txt:1"]);
    assert_eq!(
        page.attributes(".said .panel > header .mono", "href"),
        [format!("{PAGE}/changes?version=1&file=b.txt#discussion_{discussion}")]
    );
    // Eve may reply, and not resolve.
    let reply = page.form(&format!("form[action$='/discussions/{discussion}/notes']"));
    let replied = eve.submit(&reply.set("note", "*Two* is enough.")).await;
    assert!(replied.location().unwrap().starts_with(&format!("{PAGE}#note_")), "{}", replied.text);
    let page = eve.get(PAGE).await;
    assert_eq!(page.texts(".thread .md"), ["Why two?", "Two is enough."]);
    assert!(page.attributes("form[action$='/resolve']", "action").is_empty());
    let resolve = format!("{PAGE}/discussions/{discussion}/resolve");
    assert_eq!(eve.post(&resolve, &[]).await.status, 403);
    assert_eq!(eve.post(&format!("{PAGE}/discussions/{discussion}/notes"), &[("note", " ")]).await.status, 422);
    assert_eq!(eve.post(&format!("{PAGE}/discussions/999999/notes"), &[("note", "x")]).await.status, 404);
    let form = bob.get(PAGE).await.form("form[action$='/resolve']");
    assert_eq!(bob.submit(&form).await.location(), Some(&*format!("{PAGE}#discussion_{discussion}")));
    assert_eq!(bob.get(PAGE).await.texts(".said .push.state"), ["resolved by User bob"]);
    let form = bob.get(PAGE).await.form("form[action$='/unresolve']");
    assert_eq!(bob.submit(&form).await.status, 303);
    assert_eq!(fixture.get(&format!("/discussions/{discussion}")).await["resolved"], false);
    // The line is removed: the discussion stays, and says so.
    fixture.tree.git(["rm", "-q", "b.txt"]).await.ok();
    fixture.commit("d.txt", "four\n", "Remove two").await;
    assert_eq!(bob.get(PAGE).await.texts(".said header .state.off"), ["outdated"]);
    // Notes are edited and deleted by their authors.
    let edit = eve.get(PAGE).await.attributes(".thread a.btn", "href");
    assert_eq!(edit.len(), 1, "{edit:?}");
    let form = eve.get(&edit[0]).await.form("form.form");
    assert_eq!(eve.submit(&form.set("note", "Three.")).await.status, 303);
    assert_eq!(bob.get(&edit[0]).await.status, 403);
    let form = eve.get(&edit[0]).await.form("form[action$='/delete']");
    assert_eq!(eve.submit(&form).await.location(), Some(PAGE));
    assert_eq!(eve.get(PAGE).await.texts(".thread .md"), ["Why two?"]);
}

#[tokio::test]
async fn a_force_push_adds_a_version_that_can_be_compared() {
    let fixture = Fixture::with_request().await;
    fixture.tree.git(["commit", "-q", "--amend", "-m", "Add two, again"]).await.ok();
    fixture.tree.commit("c.txt", b"three\n", "Add three").await;
    fixture.push("topic").await;
    let browser = fixture.server.sign_in("eve").await;
    let page = browser.get(&format!("{PAGE}/versions")).await;
    assert_eq!((page.status, page.location()), (200, None));
    assert_eq!(page.texts("tbody .strong"), ["Version 2", "Version 1"]);
    let links = page.attributes("tbody tr:first-child td:nth-child(4) a", "href");
    assert_eq!(browser.get(&links[0]).await.texts(".file .path"), ["c.txt"]);
    let pairs = browser.get(&links[1]).await;
    assert_eq!(pairs.texts("tbody .state"), ["changed", "new"], "{}", pairs.text);
    assert_eq!(browser.get(&format!("{PAGE}/changes?version=1")).await.texts(".file .path"), ["b.txt"]);
    for query in ["changes?version=3", "changes?version=1&since=9", "range_diff?version=1&since=0"] {
        assert_eq!(browser.get(&format!("{PAGE}/{query}")).await.status, 404, "{query}");
    }
    assert_eq!(browser.get(&format!("{LIST}/2/changes")).await.status, 404);
    assert_eq!(browser.get(&format!("{LIST}/x")).await.status, 404);
}

#[tokio::test]
async fn merge_requests_are_filtered_edited_closed_and_reopened() {
    let fixture = Fixture::with_request().await;
    let (bob, rita) = (fixture.server.sign_in("bob").await, fixture.server.sign_in("rita").await);
    let form = bob.get(&format!("{PAGE}/edit")).await.form("form.form");
    assert_eq!(form.value("target_branch"), "main");
    let form = form.set("other_labels", "tide, hull").set("assignee", "ada").check("remove_source_branch");
    assert_eq!(bob.submit(&form.clone().set("target_branch", "absent")).await.status, 422);
    assert_eq!(bob.submit(&form.clone().set("assignee", "nobody")).await.status, 422);
    assert_eq!(bob.submit(&form).await.location(), Some(PAGE));
    let request = fixture.request().await;
    assert_eq!((&request["labels"], &request["assignee"]["username"]), (&json!(["hull", "tide"]), &json!("ada")));
    assert_eq!(request["force_remove_source_branch"], true);
    for (query, count) in [
        ("label:tide label:hull", 1),
        ("label:tide -label:hull", 0),
        ("author:bob assignee:ada two", 1),
        ("author:@me", 0),
        ("no:milestone", 1),
        ("is:closed", 0),
    ] {
        let page = rita.send(rita.request("GET", LIST).query(&[("q", query)])).await;
        assert_eq!((page.status, page.texts(".rows .title").len()), (200, count), "{query}");
    }
    let page = rita.send(rita.request("GET", LIST).query(&[("q", "due:2026-01-01")])).await;
    assert!(page.texts(".flash.bad li")[0].contains("merge requests have no due date"), "{}", page.text);
    assert_eq!(rita.get(&format!("{PAGE}/edit")).await.status, 403);
    assert_eq!(rita.post(&format!("{PAGE}/close"), &[]).await.status, 403);
    let closed = rita.post(&format!("{PAGE}/notes"), &[("note", "No."), ("state", "close")]).await;
    assert_eq!(closed.status, 403);
    assert!(!bob.get(PAGE).await.text.contains("No."), "a refused comment was added");
    let form = bob.get(PAGE).await.form("form[action$='/close']");
    assert_eq!(bob.submit(&form).await.location(), Some(PAGE));
    assert_eq!(fixture.request().await["state"], "closed");
    let form = bob.get(PAGE).await.form("form[action$='/reopen']");
    assert_eq!(bob.submit(&form).await.location(), Some(PAGE));
    assert_eq!(flash(&bob, PAGE).await, "The merge request was reopened.");
    for (action, after) in [("subscribe", "unsubscribe"), ("unsubscribe", "subscribe")] {
        let form = rita.get(PAGE).await.form(&format!("form[action$='/{action}']"));
        assert_eq!(rita.submit(&form).await.status, 303);
        let page = rita.get(PAGE).await;
        assert_eq!(page.attributes(&format!("form[action$='/{after}']"), "method"), ["post"], "{action}");
    }
}
