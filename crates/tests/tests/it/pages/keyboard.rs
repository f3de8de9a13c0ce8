//! The keys that pages carry to their script, the list of keys, the preference that switches them off, and the suggestions
//! of the command palette.

use holdfast_tests::{PageResponse, Server};

fn keys(page: &PageResponse) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.text);
    page.attributes("[data-keys]", "data-keys")
}

#[tokio::test]
async fn pages_name_the_keys_of_their_elements() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tide", 20).await;
    let browser = server.sign_in("ada").await;
    let page = browser.get("/ada/tide/issues").await;
    let found = keys(&page);
    for key in ["g h", "g p", "/", "?", "g c", "g i", "g m", "g b", "g r", "c"] {
        assert_eq!(found.iter().filter(|it| *it == key).count(), 1, "{key}: {found:?}");
    }
    let target = |key: &str| page.attributes(&format!("a[data-keys='{key}']"), "href");
    assert_eq!((target("g b"), target("c")), (vec!["/ada/tide/board".into()], vec!["/ada/tide/issues/new".into()]));
    assert!(page.attributes("body", "data-actions")[0].contains("j=next"), "{}", page.text);
    // A viewer who may not create anything is offered no key for it.
    let anonymous = server.browser().get("/ada/tide").await;
    assert!(!keys(&anonymous).contains(&"c".to_owned()));
}

#[tokio::test]
async fn the_list_of_keys_is_a_page() {
    let server = Server::start().await;
    let page = server.browser().get("/help/keyboard").await;
    assert_eq!((page.status, page.texts("h1")), (200, vec!["Keyboard shortcuts".to_owned()]));
    let rows = page.texts("#keyboard li");
    assert!(rows.iter().any(|row| row.contains("Merge requests")) && rows.len() > 10, "{rows:?}");
    assert!(page.attributes(".foot a", "href").contains(&"/help/keyboard".to_owned()));
}

#[tokio::test]
async fn the_preferences_switch_the_keys_off_and_on() {
    let server = Server::start().await;
    let browser = server.browser();
    let has_keys = |page: &PageResponse| !page.attributes("body[data-actions]", "data-actions").is_empty();
    let page = browser.get("/profile/preferences").await;
    assert!(has_keys(&page));
    let form = page.form("form.form");
    assert_eq!(form.value("keys"), "on");
    // A box that is not checked is not sent.
    let saved = browser.post("/profile/preferences", &[("theme", "dark")]).await;
    assert_eq!((saved.status, saved.location()), (303, Some("/profile/preferences")), "{}", saved.text);
    assert!(!has_keys(&browser.get("/profile/preferences").await));
    assert!(browser.get("/help/keyboard").await.text.contains("They are off in this browser."));
    // The switch of colors at the end of every page leaves them as they are.
    browser.post("/profile/preferences", &[("theme", "light"), ("to", "/projects")]).await;
    assert!(!has_keys(&browser.get("/projects").await));
    browser.post("/profile/preferences", &[("theme", "light"), ("keys", "on")]).await;
    assert!(has_keys(&browser.get("/projects").await));
}

#[tokio::test]
async fn the_palette_suggests_own_projects_and_users() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    server.project(&ada, "tide", 20).await;
    server.project(&eve, "tidal", 20).await;
    let suggested = |page: &PageResponse| page.attributes("a", "href");
    let browser = server.sign_in("ada").await;
    let page = browser.get("/search/jump?q=tid").await;
    assert_eq!((page.status, suggested(&page)), (200, vec!["/ada/tide".to_owned(), "/search?q=tid".to_owned()]));
    assert_eq!(suggested(&browser.get("/search/jump").await), ["/ada/tide"]);
    assert_eq!(suggested(&browser.get("/search/jump?q=@ev").await), ["/eve", "/search?q=%40ev"]);
    let anonymous = server.browser().get("/search/jump?q=@ev").await;
    assert_eq!(suggested(&anonymous), ["/search?q=%40ev"]);
    let many = server.browser().get("/search/jump?q=tid").await;
    assert_eq!(suggested(&many).len(), 3);
}
