//! The headers of pages and of assets.

use holdfast_tests::{Browser, PageResponse, Server, Setup};

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types part";

fn assert_page_headers(request: &str, response: &PageResponse) {
    let expected = [
        ("content-security-policy", CONTENT_SECURITY_POLICY),
        ("referrer-policy", "same-origin"),
        ("permissions-policy", "interest-cohort=(), camera=(), microphone=(), geolocation=()"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "private, no-cache"),
    ];
    for (name, value) in expected {
        assert_eq!(response.header(name), Some(value), "{request}: {name}");
    }
    let vary = response.headers.get_all("vary").iter().map(|value| value.to_str().unwrap().to_lowercase());
    let vary = vary.collect::<Vec<_>>().join(", ");
    assert!(vary.contains("cookie") && vary.contains("accept-encoding"), "{request}: {vary}");
    let rules = format!("\"{}/speculation.json\"", holdfast_web::assets::prefix());
    assert_eq!(response.header("speculation-rules"), Some(rules.as_str()), "{request}");
    assert!(response.header("x-request-id").is_some_and(|id| !id.is_empty()), "{request}");
    let kind = response.header("content-type").unwrap_or("text/html; charset=utf-8");
    assert_eq!(kind, "text/html; charset=utf-8", "{request}");
}

/// Sends requests whose responses have all kinds of statuses.
async fn check_responses(browser: &Browser, is_https: bool) {
    for (method, path, expected) in [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/projects", 200),
        ("GET", "/projects?order=nothing&page=x", 200),
        ("GET", "/groups", 200),
        ("GET", "/groups/team", 200),
        ("GET", "/ada", 200),
        ("GET", "/ada/p", 200),
        ("GET", "/profile", 200),
        ("GET", "/profile/sessions", 200),
        ("GET", "/sign_in", 303),
        ("GET", "/ADA/p", 308),
        ("GET", "/ada/nothing", 404),
        ("GET", "/groups/nothing", 404),
        ("GET", "/ada/p/nothing/at/all", 404),
        ("GET", "/%ff", 404),
        ("DELETE", "/profile", 405),
        ("POST", "/sign_in", 422),
        ("POST", "/profile", 422),
    ] {
        let response = match method {
            "GET" => browser.get(path).await,
            "POST" => browser.post(path, &[("login", "ada"), ("password", "wrong password"), ("name", "")]).await,
            method => browser.send(browser.request(method, path).header("sec-fetch-site", "same-origin")).await,
        };
        let request = format!("{method} {path}");
        assert_eq!(response.status, expected, "{request}: {}", response.text);
        assert_page_headers(&request, &response);
        let transport = response.header("strict-transport-security").is_some();
        assert_eq!(transport, is_https, "{request}");
    }
    let refused = browser.send(browser.request("POST", "/profile").header("origin", "http://evil.example")).await;
    assert_eq!(refused.status, 403);
    assert_page_headers("POST /profile from another site", &refused);
}

/// An attacker shows a page in a frame, makes it load foreign scripts, or finds it in the cache of a proxy.
#[tokio::test]
async fn every_page_has_the_headers_that_protect_it() {
    for url in ["http://holdfast.test", "https://holdfast.test"] {
        let mut setup = Setup::default();
        setup.settings.site = holdfast_http::InstanceUrls::new(&url.parse().unwrap(), 22);
        let server = Server::start_with(setup).await;
        let (_, ada) = server.user("ada").await;
        server.project(&ada, "p", 0).await;
        server.group(&ada, "team", 0).await;
        check_responses(&server.sign_in("ada").await, url.starts_with("https")).await;
        let anonymous = server.browser();
        for (path, expected) in [("/", 303), ("/projects", 200), ("/sign_in", 200), ("/ada/p", 404), ("/profile", 303)]
        {
            let response = anonymous.get(path).await;
            assert_eq!(response.status, expected, "{path}");
            assert_page_headers(path, &response);
        }
    }
}

/// A page is sent again only if it has changed. Its tag depends on the viewer, so that a cache never shows the page of
/// another viewer.
#[tokio::test]
async fn unchanged_pages_are_not_sent_again() {
    let server = Server::start().await;
    let (_, ada_client) = server.user("ada").await;
    server.user("bob").await;
    server.project(&ada_client, "p", 20).await;
    let (ada, bob) = (server.sign_in("ada").await, server.sign_in("bob").await);
    let get = async |browser: &Browser, path: &str, tag: &str| {
        browser.send(browser.request("GET", path).header("if-none-match", tag)).await
    };
    for path in ["/projects", "/ada/p", "/groups"] {
        let mut tags: Vec<String> = Vec::new();
        for browser in [&ada, &bob, &server.browser()] {
            let page = browser.get(path).await;
            assert_eq!(page.status, 200, "{path}");
            let tag = page.header("etag").unwrap().to_owned();
            let unchanged = get(browser, path, &tag).await;
            assert_eq!((unchanged.status, unchanged.text.as_str()), (304, ""), "{path}");
            assert_eq!(unchanged.header("etag"), Some(tag.as_str()), "{path}");
            assert_page_headers(path, &unchanged);
            assert_eq!(get(browser, path, &format!("\"other\", {tag}")).await.status, 304, "{path}");
            assert_eq!(get(browser, path, "W/\"other\"").await.status, 200, "{path}");
            for other in &tags {
                assert_ne!(&tag, other, "{path}");
                assert_eq!(get(browser, path, other).await.status, 200, "{path}");
            }
            tags.push(tag);
        }
    }
    // A change of the content changes the tag.
    let tag = ada.get("/ada/p").await.header("etag").unwrap().to_owned();
    let form = [("description", "changed")];
    let id = ada_client.get("/projects/ada%2Fp").await.body["id"].clone();
    assert_eq!(ada_client.put(&format!("/projects/{id}"), &form).await.status, 200);
    assert_eq!(get(&ada, "/ada/p", &tag).await.status, 200);
    // A tag does not show what is hidden, and errors have none.
    let hidden = server.project(&ada_client, "hidden", 0).await;
    let tag = ada.get("/ada/hidden").await.header("etag").unwrap().to_owned();
    for tag in [tag.as_str(), "*"] {
        let response = get(&bob, "/ada/hidden", tag).await;
        assert_eq!((response.status, response.header("etag")), (404, None), "{hidden}");
    }
    // After signing out, the tag of the signed-in page matches nothing.
    let tag = ada.get("/projects").await.header("etag").unwrap().to_owned();
    assert_eq!(ada.post("/sign_out", &[]).await.status, 303);
    assert_eq!(get(&ada, "/projects", &tag).await.status, 200);
}

#[tokio::test]
async fn assets_are_immutable_and_have_their_types() {
    let server = Server::start().await;
    let browser = server.browser();
    let prefix = holdfast_web::assets::prefix();
    let assets = [
        ("style.css", "text/css; charset=utf-8"),
        ("main.js", "text/javascript; charset=utf-8"),
        ("time.js", "text/javascript; charset=utf-8"),
        ("board.js", "text/javascript; charset=utf-8"),
        ("copy.js", "text/javascript; charset=utf-8"),
        ("lines.js", "text/javascript; charset=utf-8"),
        ("favicon.svg", "image/svg+xml"),
        ("mark.svg", "image/svg+xml"),
        ("speculation.json", "application/speculationrules+json"),
    ];
    for (name, kind) in assets {
        let response = browser.get(&format!("{prefix}/{name}")).await;
        assert_eq!((response.status, response.header("content-type")), (200, Some(kind)), "{name}");
        assert_eq!(response.header("cache-control"), Some("public, max-age=31536000, immutable"), "{name}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{name}");
        assert_eq!((response.header("vary"), response.header("content-encoding")), (Some("Accept-Encoding"), None));
        assert!(response.set_cookies().is_empty() && !response.text.is_empty(), "{name}");
        let request = browser.request("GET", &format!("{prefix}/{name}")).header("accept-encoding", "br, gzip");
        let compressed = browser.send(request).await;
        assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{name}");
        // During a rolling upgrade a page refers to the assets of another version, which must not be stored.
        let other = browser.get(&format!("/assets/0123456789abcdef/{name}")).await;
        assert_eq!((other.status, other.header("cache-control")), (200, Some("no-store")), "{name}");
        assert_eq!(other.text, response.text, "{name}");
    }
    for path in ["nothing.js", "..%2f..%2fCargo.toml", "style.css%00", ""] {
        assert_eq!(browser.get(&format!("{prefix}/{path}")).await.status, 404, "{path}");
    }
    let icon = browser.get("/favicon.ico").await;
    assert_eq!((icon.status, icon.header("content-type")), (200, Some("image/svg+xml")));
    let robots = browser.get("/robots.txt").await;
    assert_eq!((robots.status, robots.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert!(robots.text.starts_with("User-agent: *\n"), "{}", robots.text);
}

#[tokio::test]
async fn pages_are_compressed_for_browsers_that_accept_it() {
    let server = Server::start().await;
    let browser = server.browser();
    for path in ["/projects", "/nobody/nothing/at/all"] {
        let request = browser.request("GET", path).header("accept-encoding", "gzip, br");
        let response = browser.send(request).await;
        assert_eq!(response.header("content-encoding"), Some("gzip"), "{path}");
        assert_page_headers(path, &response);
        assert_eq!(browser.get(path).await.header("content-encoding"), None, "{path}");
    }
}
