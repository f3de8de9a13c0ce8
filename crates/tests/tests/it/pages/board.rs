//! The board of a project: its lists, moving cards, and live updates.

use std::time::Duration;

use holdfast_tests::{Browser, Client, PageResponse, Server};
use scraper::Selector;

use crate::projects::add_member;

/// A server with a public project `harbor/tide` of a group, with the labels `ready` and `review`.
struct BoardFixture {
    server: Server,
    owner: Client,
    project: i64,
}

impl BoardFixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, owner) = server.user("owner").await;
        let group = server.group(&owner, "harbor", 20).await;
        for (name, level) in [("guest", 10), ("reporter", 20)] {
            let (id, _) = server.user(name).await;
            add_member(&owner, &format!("/groups/{group}"), id.get(), level).await;
        }
        let project = server.project_in(&owner, "tide", 20, Some(group)).await;
        let fixture = Self { server, owner, project };
        for title in ["ready", "review"] {
            fixture.post("/labels", &[("name", title), ("color", "#2f9e57")]).await;
        }
        fixture
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> i64 {
        let response = self.owner.post(&format!("/projects/{}{path}", self.project), form).await;
        assert!(matches!(response.status, 200 | 201), "{path}: {}", response.text);
        response.body["id"].as_i64().unwrap_or_default()
    }

    /// Creates the lists `ready` and `review` with the form of the empty board.
    async fn add_lists(&self) {
        let owner = self.server.sign_in("owner").await;
        let page = owner.get("/harbor/tide/board").await;
        let labels = page.attributes("form[action$='/board/lists'] input[type=checkbox]", "value");
        let fields: Vec<(&str, &str)> = labels.iter().map(|label| ("labels[]", label.as_str())).collect();
        assert_eq!(fields.len(), 2, "{}", page.text);
        assert_eq!(owner.post("/harbor/tide/board/lists", &fields).await.location(), Some("/harbor/tide/board"));
    }
}

/// Returns the columns of a board: the title, the count, and the titles of the cards.
fn columns(page: &PageResponse) -> Vec<(String, String, Vec<String>)> {
    assert_eq!(page.status, 200, "{}", page.text);
    let html = page.html();
    let select = |selector: &str| Selector::parse(selector).unwrap();
    let text = |element: scraper::ElementRef<'_>| element.text().collect::<String>().trim().to_owned();
    let column = |column: scraper::ElementRef<'_>| {
        let first = |selector: &str| column.select(&select(selector)).next().map(text).unwrap_or_default();
        (first("h2"), first(".count"), column.select(&select(".card a.title")).map(text).collect())
    };
    html.select(&select(".board > .column")).map(column).collect()
}

fn column(title: &str, count: &str, cards: &[&str]) -> (String, String, Vec<String>) {
    (title.to_owned(), count.to_owned(), cards.iter().map(|&card| card.to_owned()).collect())
}

async fn open_board(browser: &Browser) -> Vec<(String, String, Vec<String>)> {
    columns(&browser.get("/harbor/tide/board").await)
}

#[tokio::test]
async fn an_empty_board_is_created_from_labels() {
    let fixture = BoardFixture::new().await;
    fixture.post("/issues", &[("title", "It leaks"), ("labels", "ready")]).await;
    let guest = fixture.server.sign_in("guest").await;
    let page = guest.get("/harbor/tide/board").await;
    assert_eq!(columns(&page), [column("Backlog", "1", &["It leaks"])]);
    assert!(page.forms().iter().all(|form| !form.action.contains("/board")), "{}", page.text);
    fixture.add_lists().await;
    let expected = [column("Backlog", "0", &[]), column("ready", "1", &["It leaks"]), column("review", "0", &[])];
    assert_eq!(open_board(&guest).await, expected);
    let reporter = fixture.server.sign_in("reporter").await;
    let before = fixture.server.dump_database().await;
    // A label has one list.
    let label = fixture.owner.get(&format!("/projects/{}/labels", fixture.project)).await.body[0]["id"].to_string();
    assert_eq!(reporter.post("/harbor/tide/board/lists", &[("labels", &label)]).await.status, 422);
    assert_eq!(reporter.post("/harbor/tide/board/lists", &[("labels", "0")]).await.status, 422);
    assert_eq!(reporter.post("/harbor/tide/board/lists", &[]).await.status, 422);
    assert_eq!(guest.post("/harbor/tide/board/lists", &[("labels", &label)]).await.status, 403);
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn cards_are_moved_by_their_form() {
    let fixture = BoardFixture::new().await;
    fixture.add_lists().await;
    fixture.post("/issues", &[("title", "It leaks"), ("labels", "bug,ready")]).await;
    fixture.post("/issues", &[("title", "It sinks")]).await;
    let reporter = fixture.server.sign_in("reporter").await;
    let page = reporter.get("/harbor/tide/board").await;
    assert_eq!(
        columns(&page),
        [column("Backlog", "1", &["It sinks"]), column("ready", "1", &["It leaks"]), column("review", "0", &[])]
    );
    // The targets are the other columns. The label of the list is not repeated on the card.
    let ready = page.attributes(".column", "data-list")[1].clone();
    let card = format!("#card-{ready}-1");
    assert_eq!(page.texts(&format!("{card} option")), ["Backlog", "review"]);
    assert_eq!(page.texts(&format!("{card} .labels bdi")), ["bug"]);
    let review = page.attributes(".column", "data-list")[2].clone();
    let form = page.form(&format!("{card} form"));
    assert_eq!(reporter.submit(&form.clone().set("to", &review)).await.location(), Some("/harbor/tide/board"));
    let page = reporter.get("/harbor/tide/board").await;
    assert_eq!(page.texts(".flash"), ["The issue was moved."]);
    assert_eq!(columns(&page)[2], column("review", "1", &["It leaks"]));
    // Labels that belong to no list are kept.
    let issue = fixture.owner.get(&format!("/projects/{}/issues?iid=1", fixture.project)).await;
    assert_eq!(issue.body[0]["labels"], serde_json::json!(["bug", "review"]));
    // To the backlog, and from it.
    let form = page.form(&format!("#card-{review}-1 form"));
    assert_eq!(reporter.submit(&form.set("to", "")).await.status, 303);
    assert_eq!(open_board(&reporter).await[0], column("Backlog", "2", &["It sinks", "It leaks"]));
    let form = reporter.get("/harbor/tide/board").await.form("#card--2 form");
    assert_eq!(reporter.submit(&form.clone().set("to", &ready)).await.status, 303);
    assert_eq!(open_board(&reporter).await[1], column("ready", "1", &["It sinks"]));

    // Those who may not edit issues see no form, and may not send it.
    let guest = fixture.server.sign_in("guest").await;
    let before = fixture.server.dump_database().await;
    assert!(guest.get("/harbor/tide/board").await.forms().iter().all(|form| !form.action.contains("/board")));
    assert_eq!(guest.submit(&form.clone().set("to", &review)).await.status, 403);
    let anonymous = fixture.server.browser().post("/harbor/tide/board/move", &[("issue", "1")]).await;
    assert_eq!(anonymous.location(), Some("/sign_in"));
    for fields in [[("issue", "9"), ("to", &*review)], [("issue", "1"), ("to", "0")], [("issue", "x"), ("to", "")]] {
        let status = reporter.post("/harbor/tide/board/move", &fields).await.status;
        assert!(matches!(status, 404 | 422), "{fields:?}: {status}");
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn lists_are_moved_and_deleted_by_those_who_may() {
    let fixture = BoardFixture::new().await;
    fixture.add_lists().await;
    fixture.post("/issues", &[("title", "It leaks"), ("labels", "ready")]).await;
    let titles = |columns: Vec<(String, String, Vec<String>)>| -> Vec<String> {
        columns.into_iter().map(|(title, ..)| title).collect()
    };
    let (reporter, owner) = (fixture.server.sign_in("reporter").await, fixture.server.sign_in("owner").await);
    let page = reporter.get("/harbor/tide/board").await;
    assert_eq!(page.texts(".column-forms button"), ["Move right", "Move left"]);
    let right = page.form(".column-forms form");
    assert_eq!(reporter.submit(&right).await.location(), Some("/harbor/tide/board"));
    assert_eq!(titles(open_board(&reporter).await), ["Backlog", "review", "ready"]);
    assert_eq!(reporter.submit(&right.clone().set("position", "7")).await.status, 422);
    // Only owners delete lists.
    let delete = owner.get("/harbor/tide/board").await.form(".column details.ask form[action$='/delete']");
    let before = fixture.server.dump_database().await;
    assert_eq!(reporter.submit(&delete).await.status, 403);
    assert_eq!(fixture.server.dump_database().await, before);
    assert_eq!(owner.submit(&delete).await.location(), Some("/harbor/tide/board"));
    assert_eq!(titles(open_board(&owner).await), ["Backlog", "ready"]);
    assert_eq!(owner.submit(&delete).await.status, 404);
    // A deleted list can be added again.
    let add = owner.get("/harbor/tide/board").await.form("form[action$='/board/lists']");
    assert_eq!(owner.submit(&add).await.status, 303);
    assert_eq!(titles(open_board(&owner).await), ["Backlog", "ready", "review"]);
}

/// A confidential issue is on the board of those alone who may see it.
#[tokio::test]
async fn confidential_issues_are_hidden_on_the_board() {
    let fixture = BoardFixture::new().await;
    fixture.add_lists().await;
    let (_, stranger) = fixture.server.user("stranger").await;
    for (title, labels) in [("Hole", "ready"), ("Leak", "")] {
        fixture.post("/issues", &[("title", title), ("labels", labels), ("confidential", "true")]).await;
    }
    let own = [("title", "Mine"), ("confidential", "true")];
    assert_eq!(stranger.post(&format!("/projects/{}/issues", fixture.project), &own).await.status, 201);
    let reporter = open_board(&fixture.server.sign_in("reporter").await).await;
    assert_eq!(reporter[..2], [column("Backlog", "2", &["Mine", "Leak"]), column("ready", "1", &["Hole"])]);
    let stranger = open_board(&fixture.server.sign_in("stranger").await).await;
    assert_eq!(stranger[..2], [column("Backlog", "1", &["Mine"]), column("ready", "0", &[])]);
    // Closed issues are not on the board.
    let closed = fixture.owner.get(&format!("/projects/{}/issues?iid=1", fixture.project)).await;
    let close = format!("/projects/{}/issues/{}", fixture.project, closed.body[0]["id"]);
    assert_eq!(fixture.owner.put(&close, &[("state_event", "close")]).await.status, 200);
    let reporter = open_board(&fixture.server.sign_in("reporter").await).await;
    assert_eq!(reporter[1], column("ready", "0", &[]));
}

#[tokio::test]
async fn a_long_list_shows_its_newest_issues() {
    let fixture = BoardFixture::new().await;
    fixture.add_lists().await;
    for number in 1..=32 {
        fixture.post("/issues", &[("title", &format!("Task {number}")), ("labels", "ready")]).await;
        fixture.post("/issues", &[("title", &format!("Idea {number}"))]).await;
    }
    let page = fixture.server.sign_in("reporter").await.get("/harbor/tide/board").await;
    let shown = columns(&page);
    assert_eq!((shown[0].1.as_str(), shown[0].2.len(), shown[0].2[0].as_str()), ("30+", 30, "Idea 32"));
    assert_eq!((shown[1].1.as_str(), shown[1].2.len(), shown[1].2[0].as_str()), ("32", 30, "Task 32"));
    assert_eq!(page.texts(".column-empty a"), ["All 32 issues"]);
}

/// Opens the stream of the board as a browser with scripts does.
async fn open_stream(browser: &Browser, from: &str) -> reqwest::Response {
    let request = browser.request("GET", &format!("/harbor/tide/board/live?from={from}"));
    let response = request.header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response
}

/// Reads a stream until it has sent a text.
async fn read_until(stream: &mut reqwest::Response, text: &str) -> String {
    let mut received = String::new();
    while !received.contains(text) {
        let chunk = tokio::time::timeout(Duration::from_secs(30), stream.chunk()).await;
        let chunk = chunk.unwrap_or_else(|_| panic!("{text} did not arrive: {received}")).unwrap();
        let chunk = chunk.unwrap_or_else(|| panic!("the stream ended before {text}: {received}"));
        received.push_str(&String::from_utf8_lossy(&chunk));
    }
    received
}

#[tokio::test]
async fn two_browsers_see_the_moves_of_each_other() {
    let fixture = BoardFixture::new().await;
    fixture.add_lists().await;
    fixture.post("/issues", &[("title", "It leaks"), ("labels", "ready")]).await;
    let (reporter, guest) = (fixture.server.sign_in("reporter").await, fixture.server.sign_in("guest").await);
    let page = guest.get("/harbor/tide/board").await;
    let from = page.attributes("[data-board]", "data-from").remove(0);
    assert_eq!(page.attributes("[data-board]", "data-live"), ["/harbor/tide/board/live"]);
    // The other viewer is connected to another node.
    let node = fixture.server.another_node().await;
    let mut stream = open_stream(&guest.for_node(&node), &from).await;
    let page = reporter.get("/harbor/tide/board").await;
    let lists = page.attributes(".column", "data-list");
    let form = page.form(&format!("#card-{}-1 form", lists[1])).set("to", &lists[2]);
    assert_eq!(reporter.submit(&form).await.status, 303);
    let received = read_until(&mut stream, &format!("card-{}-1", lists[2])).await;
    assert!(received.contains("event: part\n"), "{received}");
    // The part is what this viewer may see: a guest gets no form.
    assert!(!received.contains("<form"), "{received}");
    // Only what has changed is sent: the backlog is the same.
    fixture.post("/issues", &[("title", "It sinks"), ("labels", "ready")]).await;
    let received = read_until(&mut stream, "It sinks").await;
    assert!(!received.contains("Backlog"), "{received}");
    // A browser that has the current board gets nothing at first, and one with an old board gets it at once.
    let mut behind = open_stream(&guest, &from).await;
    read_until(&mut behind, "It sinks").await;
    // A browser that opens the address as a page gets the board.
    assert_eq!(guest.get("/harbor/tide/board/live").await.location(), Some("/harbor/tide/board"));
}
