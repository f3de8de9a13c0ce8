//! The search.

use holdfast_tests::{Browser, Client, PageResponse, Server};

use super::fixtures::PageFixture;
use crate::projects::add_member;

/// Returns the addresses of what was found.
fn found(page: &PageResponse) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.text);
    page.attributes("main .title", "href")
}

async fn create_issue(client: &Client, project: i64, title: &str, is_confidential: bool) {
    let form = [("title", title), ("confidential", if is_confidential { "true" } else { "false" })];
    let created = client.post(&format!("/projects/{project}/issues"), &form).await;
    assert_eq!(created.status, 201, "{}", created.text);
}

#[tokio::test]
async fn the_search_finds_the_projects_and_groups_that_the_viewer_may_see() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    server.project(&ada, "tide", 20).await;
    server.project(&ada, "tide-secret", 0).await;
    server.group(&ada, "tide-team", 0).await;
    server.group(&ada, "tide-public", 20).await;
    let (owner, eve) = (server.sign_in("ada").await, server.sign_in("eve").await);
    let page = owner.get("/projects").await;
    let page = owner.submit(&page.form("header form").set("q", "tide")).await;
    assert_eq!(found(&page), ["/ada/tide-secret", "/ada/tide"]);
    let tabs = ["Projects", "Issues", "Merge requests", "Users", "Groups"];
    assert_eq!(page.texts("nav[aria-label='What is searched'] a"), tabs);
    let groups = owner.get("/search?q=tide&in=groups").await;
    assert_eq!(found(&groups), ["/groups/tide-public", "/groups/tide-team"]);
    for browser in [&eve, &server.browser()] {
        assert_eq!(found(&browser.get("/search?q=tide").await), ["/ada/tide"]);
        assert_eq!(found(&browser.get("/search?q=tide&in=groups").await), ["/groups/tide-public"]);
        // The path of a hidden project is a search like any other.
        let hidden = browser.get("/search?q=ada/tide-secret").await;
        assert_eq!((hidden.status, hidden.texts(".empty h2")), (200, vec!["No results".to_owned()]));
        let exact = browser.get("/search?q=Ada/Tide").await;
        assert_eq!((exact.status, exact.location()), (303, Some("/ada/tide")));
    }
    let exact = owner.get("/search?q=ada/tide-secret").await;
    assert_eq!((exact.status, exact.location()), (303, Some("/ada/tide-secret")));
    assert_eq!(owner.get("/search").await.texts(".empty h2"), ["Search this instance"]);
    // What an anonymous viewer cannot search is not offered, and its address shows projects.
    let page = server.browser().get("/search?q=tide&in=users").await;
    assert_eq!(page.texts("nav[aria-label='What is searched'] a"), ["Projects", "Groups"]);
    assert_eq!(found(&page), ["/ada/tide"]);
}

#[tokio::test]
async fn the_search_finds_users_and_leads_to_one_by_name() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("eve").await;
    let browser = server.sign_in("eve").await;
    for text in ["ada", "@ada", "ADA"] {
        assert_eq!(found(&browser.get(&format!("/search?q={text}&in=users")).await), ["/ada"], "{text}");
    }
    let exact = browser.get("/search?q=@Ada").await;
    assert_eq!((exact.status, exact.location()), (303, Some("/ada")));
    let missing = browser.get("/search?q=@nobody").await;
    assert_eq!((missing.status, missing.texts(".empty h2")), (200, vec!["No results".to_owned()]));
    // An anonymous viewer does not learn who has an account.
    let anonymous = server.browser().get("/search?q=@ada").await;
    assert_eq!((anonymous.status, anonymous.texts(".empty h2")), (200, vec!["No results".to_owned()]));
}

#[tokio::test]
async fn issues_are_found_by_all_words_of_their_titles() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (guest_id, guest) = server.user("guest").await;
    server.user("eve").await;
    let public = server.project(&ada, "open", 20).await;
    let private = server.project(&ada, "closed", 0).await;
    add_member(&ada, &format!("/projects/{private}"), guest_id.get(), 10).await;
    create_issue(&ada, public, "The PUMP leaks 100%", false).await;
    create_issue(&ada, public, "The pump is secret", true).await;
    create_issue(&guest, public, "My pump is secret", true).await;
    create_issue(&ada, private, "Another pump leaks", false).await;
    let search =
        async |browser: &Browser, text: &str| found(&browser.get(&format!("/search?in=issues&q={text}")).await);
    let (owner, guest, eve) = (server.sign_in("ada").await, server.sign_in("guest").await, server.sign_in("eve").await);
    let all = ["/ada/closed/issues/1", "/ada/open/issues/3", "/ada/open/issues/2", "/ada/open/issues/1"];
    assert_eq!(search(&owner, "pump").await, all);
    assert_eq!(search(&owner, "leaks+pump").await, [all[0], all[3]]);
    assert_eq!(search(&guest, "pump").await, [all[0], all[1], all[3]]);
    assert_eq!(search(&eve, "Pump").await, [all[3]]);
    // Wildcards are ordinary characters.
    assert_eq!(search(&owner, "100%25").await, [all[3]]);
    assert_eq!(search(&owner, "p_mp").await, [""; 0]);
    let short = owner.get("/search?in=issues&q=a+bc").await;
    assert_eq!(short.texts(".empty h2"), ["The words are too short"]);
    // Anonymous viewers read no issues.
    let anonymous = server.browser().get("/search?in=issues&q=pump").await;
    assert_eq!(anonymous.texts(".empty h2"), ["No results"]);
}

#[tokio::test]
async fn merge_requests_are_found_by_those_who_may_read_the_code() {
    let fixture = PageFixture::new().await;
    let request = |group: &str| format!("/{group}/tide/merge_requests/1");
    let [private, internal, public] = ["private-team", "internal-team", "public-team"].map(request);
    for (role, expected) in [
        ("reporter", vec![&public, &internal, &private]),
        ("guest", vec![&public, &internal]),
        ("stranger", vec![&public, &internal]),
        ("external", vec![&public]),
        ("administrator", vec![&public, &internal, &private]),
    ] {
        let page = fixture.browser(role).await.get("/search?q=let+RISE&in=merge_requests").await;
        assert_eq!(found(&page).iter().collect::<Vec<_>>(), expected, "{role}");
    }
}
