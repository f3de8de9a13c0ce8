//! Redirects: after signing in, and to the address that a page has now.

use holdfast_tests::{PASSWORD, Server};

/// Open redirect: a link to the sign-in form of this site leads to a site of the attacker after the sign-in.
#[tokio::test]
async fn signing_in_never_leads_to_another_site() {
    let server = Server::start().await;
    server.user("ada").await;
    let signed_in = server.sign_in("ada").await;
    for to in [
        "//evil.example",
        "//evil.example/projects",
        "///evil.example",
        "https://evil.example",
        "http://holdfast.test/projects",
        "https:evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\\/evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "evil.example",
        "@evil.example",
        "?to=//evil.example",
        "",
        // Paths of this site that are no pages.
        "/api/v3/user",
        "/assets/x/y/z",
        "/nobody/nothing/at/all",
    ] {
        // By the form with the field that the page has, and with a field that was put into it.
        let browser = server.browser();
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
        let form = browser.sign_in_form(&format!("/sign_in?{query}")).await;
        assert_eq!(form.value("to"), "/", "{to:?}");
        let response = browser.submit(&form.set("login", "ada").set("password", PASSWORD).set("to", to)).await;
        assert_eq!((response.status, response.location()), (303, Some("/")), "{to:?}");
        // A user who is signed in already is redirected at once.
        let response = signed_in.get(&format!("/sign_in?{query}")).await;
        assert_eq!((response.status, response.location()), (303, Some("/")), "{to:?}");
        let form = [("password", PASSWORD), ("to", to)];
        let response = signed_in.post("/sign_in/confirm", &form).await;
        assert_eq!((response.status, response.location()), (303, Some("/")), "{to:?}");
    }
}

#[tokio::test]
async fn signing_in_leads_to_the_page_that_asked_for_it() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 0).await;
    for path in ["/profile", "/profile/sessions", "/dashboard/projects?order=name&page=2", "/ada"] {
        let browser = server.browser();
        let redirect = browser.get(path).await;
        assert_eq!(redirect.status, 303, "{path}");
        let location = redirect.location().unwrap();
        assert!(location.starts_with("/sign_in?to="), "{path}: {location}");
        let form = browser.sign_in_form(location).await;
        assert_eq!(form.value("to"), path);
        // A wrong password keeps the destination.
        let form = form.set("login", "ada");
        let page = browser.submit(&form.clone().set("password", "wrong password")).await;
        assert_eq!(page.form("form[action='/sign_in']").value("to"), path);
        let response = browser.submit(&form.set("password", PASSWORD)).await;
        assert_eq!((response.status, response.location()), (303, Some(path)));
        assert_eq!(browser.get(path).await.status, 200, "{path}");
    }
    // A page that is not found offers the same.
    let page = server.browser().get("/ada/p").await;
    assert_eq!(page.status, 404);
    assert!(page.attributes("main a", "href").contains(&"/sign_in?to=%2Fada%2Fp".to_owned()), "{}", page.text);
    // An action cannot be repeated, so the start page follows.
    let response = server.browser().post("/profile", &[("name", "x")]).await;
    assert_eq!((response.status, response.location()), (303, Some("/sign_in")));
}

#[tokio::test]
async fn pages_redirect_to_the_spelling_of_their_address() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tide", 20).await;
    server.project(&ada, "secret", 0).await;
    server.group(&ada, "team", 20).await;
    let browser = server.sign_in("ada").await;
    for (path, expected) in [
        ("/Ada/tide", "/ada/tide"),
        ("/ada/TIDE", "/ada/tide"),
        ("/ada/tide.git", "/ada/tide"),
        ("/ADA/Tide.git?a=b&c=%2F", "/ada/tide?a=b&c=%2F"),
        ("/ada/secret.git", "/ada/secret"),
        ("/ADA", "/ada"),
        ("/groups/TEAM", "/groups/team"),
    ] {
        let response = browser.get(path).await;
        assert_eq!((response.status, response.location()), (308, Some(expected)), "{path}");
        assert_eq!(browser.get(expected).await.status, 200, "{expected}");
    }
    // A group is found by its name alone, too.
    for browser in [&browser, &server.browser()] {
        let response = browser.get("/team").await;
        assert_eq!((response.status, response.location()), (303, Some("/groups/team")));
    }
    assert_eq!(server.browser().get("/ada/tide.git").await.location(), Some("/ada/tide"));
    assert_eq!(server.browser().get("/ada/SECRET.git").await.status, 404);
}

#[tokio::test]
async fn former_addresses_of_projects_lead_to_the_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("eve").await;
    let group = server.group(&ada, "team", 20).await;
    let project = server.project_in(&ada, "old", 20, Some(group)).await;
    let renamed = ada.put(&format!("/projects/{project}"), &[("name", "new"), ("path", "new")]).await;
    assert_eq!(renamed.status, 200, "{}", renamed.text);
    let browser = server.browser();
    for path in ["/team/old", "/TEAM/Old.git"] {
        let response = browser.get(path).await;
        assert_eq!((response.status, response.location()), (308, Some("/team/new")), "{path}");
    }
    let renamed = ada.put(&format!("/groups/{group}"), &[("path", "crew")]).await;
    assert_eq!(renamed.status, 200, "{}", renamed.text);
    for path in ["/team/new", "/team/new?page=2"] {
        let response = browser.get(path).await;
        assert_eq!((response.status, response.location()), (308, Some(path.replace("team", "crew").as_str())));
    }
    assert_eq!(browser.get("/crew/new").await.status, 200);
    // Who may not see the project does not learn its new address.
    let hidden = ada.put(&format!("/projects/{project}"), &[("visibility_level", "0")]).await;
    assert_eq!(hidden.status, 200, "{}", hidden.text);
    for browser in [&browser, &server.sign_in("eve").await] {
        let response = browser.get("/team/new").await;
        assert_eq!((response.status, response.location()), (404, None));
        assert!(!response.text.contains("crew"));
    }
}

/// Links of newer instances have a segment `-`.
#[tokio::test]
async fn addresses_of_newer_instances_are_redirected() {
    let server = Server::start().await;
    let browser = server.browser();
    for (path, expected) in [
        ("/ada/p/-/issues", "/ada/p/issues"),
        ("/ada/p/-/tree/main/a%20b?ref_type=heads", "/ada/p/tree/main/a%20b?ref_type=heads"),
    ] {
        let response = browser.get(path).await;
        assert_eq!((response.status, response.location()), (308, Some(expected)), "{path}");
    }
}

/// Open redirect: a path that the server decodes becomes the address of another site.
#[tokio::test]
async fn encoded_slashes_do_not_redirect_to_another_site() {
    let server = Server::start().await;
    server.user("ada").await;
    for browser in [server.browser(), server.sign_in("ada").await] {
        for path in [
            "//evil.example",
            "//evil.example/p",
            "//evil.example/p/-/issues",
            "/%2Fevil.example",
            "/%2Fevil.example/p",
            "/%2Fevil.example/p/-/issues",
            "/%5Cevil.example/p/-/issues",
            "/%09/%2Fevil.example/-/issues",
            "/%2F%2Fevil.example/p.git",
            "/groups/%2F%2Fevil.example",
            "/ada/%2F..%2F..%2F%2Fevil.example/-/issues",
            "/ada/p/-/%2F%2Fevil.example",
        ] {
            let response = browser.get(path).await;
            let Some(location) = response.location() else {
                assert!(matches!(response.status, 400 | 404), "{path}: {}", response.status);
                continue;
            };
            let base: url::Url = "http://holdfast.test/a".parse().unwrap();
            let target = base.join(location).unwrap();
            assert_eq!(target.origin(), base.origin(), "{path} leads to {location}");
        }
    }
}

/// A header holds only ASCII. A destination with other characters must not fail.
#[tokio::test]
async fn destinations_with_any_characters_do_not_fail() {
    let server = Server::start().await;
    server.user("ada").await;
    let browser = server.sign_in("ada").await;
    for to in ["/%C3%A4", "/ada/%E2%80%AE", "/%F0%9F%90%99?a=%C3%A4", "/a%20b", "/%00", "/%FF"] {
        let response = browser.get(&format!("/sign_in?to={to}")).await;
        assert!(matches!(response.status, 303 | 400 | 404), "{to}: {}", response.status);
        assert!(response.location().is_none_or(|location| location.starts_with('/')), "{to}");
    }
}
