//! Requests that pages of other sites make a browser send. Each test describes an attack.

use holdfast_tests::{Browser, PASSWORD, PageResponse, Server};

use super::sessions::count_sessions;

const OWN: &str = "http://holdfast.test";
const EVIL: &str = "http://evil.example";

/// Values of `Origin` and `Sec-Fetch-Site`, and whether a form with them and with the session cookie is accepted.
const FORMS: &[(Option<&str>, Option<&str>, bool)] = &[
    // Browsers of today send both for forms of this site.
    (Some(OWN), Some("same-origin"), true),
    // Browsers that send only one of them.
    (Some(OWN), None, true),
    (None, Some("same-origin"), true),
    // The user repeats the request, and not a page.
    (None, Some("none"), true),
    // Forms of other sites are refused.
    (Some(EVIL), Some("cross-site"), false),
    (Some(EVIL), Some("same-site"), false),
    (Some(EVIL), None, false),
    (None, Some("cross-site"), false),
    (None, Some("same-site"), false),
    // Sandboxed frames, and pages from files.
    (Some("null"), Some("cross-site"), false),
    (Some("null"), None, false),
    // Other hosts of the same domain, other ports, other schemes and similar names.
    (Some("http://evil.holdfast.test"), Some("same-site"), false),
    (Some("http://evil.holdfast.test"), None, false),
    (Some("http://holdfast.test:8080"), None, false),
    (Some("https://holdfast.test"), None, false),
    (Some("http://holdfast.test.evil.example"), None, false),
    (Some("http://evil.example/http://holdfast.test"), None, false),
    // Browsers of today always send one of them.
    (None, None, false),
];

/// Sends a request that a browser was made to send, with the session cookie if the browser has one.
async fn send(
    browser: &Browser,
    method: &str,
    path: &str,
    (origin, site): (Option<&str>, Option<&str>),
    form: &[(&str, &str)],
) -> PageResponse {
    let mut request = browser.request(method, path);
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    if let Some(site) = site {
        request = request.header("sec-fetch-site", site);
    }
    browser.send(if form.is_empty() { request } else { request.form(form) }).await
}

/// Cross-site request forgery: a page of another site contains a form that the browser of the victim sends with the
/// cookie of the session.
#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let server = Server::start().await;
    server.user("ada").await;
    let ada = server.sign_in("ada").await;
    let before = server.dump_database().await;
    let form = [("name", "Changed"), ("bio", ""), ("location", ""), ("website_url", ""), ("organization", "")];
    for (origin, site, is_accepted) in FORMS {
        let case = format!("{origin:?} {site:?}");
        let response = send(&ada, "POST", "/profile", (*origin, *site), &form).await;
        if *is_accepted {
            assert_eq!((response.status, response.location()), (303, Some("/profile")), "{case}");
            let page = ada.get("/profile").await;
            assert_eq!(page.form("form[action='/profile']").value("name"), "Changed", "{case}");
            let response = ada.post("/profile", &[("name", "User ada")]).await;
            assert_eq!(response.status, 303, "{case}: {}", response.text);
        } else {
            assert_eq!(response.status, 403, "{case}");
            assert!(response.text.contains("The form was not sent by a page of this site."), "{}", response.text);
            let page = ada.get("/profile").await;
            assert_eq!(page.form("form[action='/profile']").value("name"), "User ada", "{case}");
        }
    }
    // Nothing but the profile was written.
    let after = server.dump_database().await;
    for table in ["browser_sessions", "tokens", "emails", "ssh_keys"] {
        assert_eq!(after[table], before[table], "{table}");
    }
    assert_eq!(ada.viewer().await.as_deref(), Some("ada"));
}

/// Every action is protected, not only some of them.
#[tokio::test]
async fn every_action_refuses_forms_of_other_sites() {
    let server = Server::start().await;
    server.user("ada").await;
    let ada = server.sign_in("ada").await;
    let before = server.dump_database().await;
    for page in holdfast_web::pages::all().list().iter().filter(|page| page.method == "POST") {
        let path = page.path.replace([':', '*'], "");
        for browser in [&ada, &server.browser()] {
            let response = send(browser, "POST", &path, (Some(EVIL), Some("cross-site")), &[("a", "b")]).await;
            assert_eq!(response.status, 403, "{path}");
        }
        let response = send(&ada, "POST", &path, (None, None), &[("a", "b")]).await;
        assert_eq!(response.status, 403, "{path}");
    }
    assert_eq!(server.dump_database().await, before);
}

/// Links from other sites work, because reading changes nothing. No other site can read the response.
#[tokio::test]
async fn links_from_other_sites_lead_to_pages() {
    let server = Server::start().await;
    server.user("ada").await;
    let ada = server.sign_in("ada").await;
    let before = server.dump_database().await;
    for (origin, site, _) in FORMS {
        for method in ["GET", "HEAD"] {
            let response = send(&ada, method, "/profile", (*origin, *site), &[]).await;
            assert_eq!(response.status, 200, "{method} {origin:?} {site:?}");
            let mut names = response.headers.keys().map(|name| name.as_str());
            assert!(!names.any(|name| name.starts_with("access-control-")), "{:?}", response.headers);
        }
    }
    assert_eq!(server.dump_database().await, before);
}

/// Other methods than those of forms change nothing, wherever they come from.
#[tokio::test]
async fn pages_have_no_other_methods() {
    let server = Server::start().await;
    server.user("ada").await;
    let ada = server.sign_in("ada").await;
    let before = server.dump_database().await;
    for method in ["PUT", "PATCH", "DELETE"] {
        for path in ["/profile", "/profile/sessions", "/projects", "/sign_out"] {
            let own = send(&ada, method, path, (Some(OWN), Some("same-origin")), &[("name", "x")]).await;
            assert_eq!(own.status, 405, "{method} {path}");
            let foreign = send(&ada, method, path, (Some(EVIL), Some("cross-site")), &[("name", "x")]).await;
            assert_eq!(foreign.status, 403, "{method} {path}");
        }
    }
    for method in ["GET", "HEAD", "OPTIONS"] {
        let response = send(&ada, method, "/sign_out", (None, None), &[]).await;
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.header("access-control-allow-origin"), None, "{method}");
    }
    // An action at the address of a page without one.
    assert_eq!(send(&ada, "POST", "/projects", (Some(OWN), None), &[("name", "x")]).await.status, 405);
    assert_eq!(server.dump_database().await, before);
}

/// Login CSRF: a page of another site signs the victim in as the attacker, who then reads what the victim stores.
#[tokio::test]
async fn other_sites_cannot_sign_a_browser_in() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("eve").await;
    let ada = server.sign_in("ada").await;
    let form = [("login", "eve"), ("password", PASSWORD)];
    for (origin, site, is_accepted) in FORMS {
        let case = format!("{origin:?} {site:?}");
        let fresh = server.browser();
        for browser in [&fresh, &ada] {
            if *is_accepted {
                continue;
            }
            // A client that is no browser sends neither header, and has no cookie that somebody else could use.
            if (origin, site) == (&None, &None) && browser.cookie("holdfast").is_none() {
                continue;
            }
            let response = send(browser, "POST", "/sign_in", (*origin, *site), &form).await;
            assert_eq!((response.status, response.set_cookies().len()), (403, 0), "{case}");
        }
        assert_eq!(fresh.viewer().await, None, "{case}");
    }
    assert_eq!((ada.viewer().await.as_deref(), count_sessions(&server).await), (Some("ada"), 1));
    let client = server.browser();
    assert_eq!(send(&client, "POST", "/sign_in", (None, None), &form).await.status, 303);
}

/// Logout CSRF: a page of another site signs the victim out, to make the victim enter the password elsewhere.
#[tokio::test]
async fn other_sites_cannot_sign_a_browser_out() {
    let server = Server::start().await;
    server.user("ada").await;
    let ada = server.sign_in("ada").await;
    for (origin, site, is_accepted) in FORMS {
        if *is_accepted {
            continue;
        }
        let response = send(&ada, "POST", "/sign_out", (*origin, *site), &[]).await;
        assert_eq!((response.status, response.set_cookies().len()), (403, 0), "{origin:?} {site:?}");
        assert_eq!(ada.viewer().await.as_deref(), Some("ada"));
    }
}
