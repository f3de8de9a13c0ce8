//! Texts and files of users as pages show them: Markdown, highlighted code, and uploaded images.

mod attacks;
mod random;
mod text;

use holdfast_tests::{Browser, Client, PageResponse, Server, WorkTree, has_attribute};
use scraper::{ElementRef, Selector};

use attacks::ATTACKS;

/// Pushes files to a new project of `ada` and returns a browser in which she is signed in.
async fn open_project(files: &[(&str, &[u8])], visibility: i64) -> (Server, Client, i64, Browser) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "tide", visibility).await;
    let tree = WorkTree::new().await;
    for (path, content) in files {
        tree.commit(path, content, "Add a file").await;
    }
    if !files.is_empty() {
        tree.push(&server.git_url(&ada, "ada/tide"), &["main"]).await.ok();
        server.run_jobs().await;
    }
    let browser = server.sign_in("ada").await;
    (server, ada, project, browser)
}

/// Fails if a text of a user contains something that runs, loads or looks like a part of the page.
fn assert_harmless(case: &str, response: &PageResponse) {
    let html = response.html();
    let texts: Vec<ElementRef<'_>> = html.select(&Selector::parse(".md").unwrap()).collect();
    assert!(!texts.is_empty(), "{case} shows no text: {}", response.text);
    for element in texts.iter().flat_map(|text| text.descendants().filter_map(ElementRef::wrap).skip(1)) {
        let name = element.value().name();
        let forbidden =
            ["script", "style", "iframe", "object", "embed", "form", "button", "svg", "math", "base", "meta"];
        assert!(!forbidden.contains(&name), "{case}: {}", element.html());
        let is_active = |name: &str| name.starts_with("on") || matches!(name, "style" | "srcset" | "name" | "target");
        assert!(!has_attribute(element, is_active), "{case}: {}", element.html());
        assert!(
            element.attr("src").is_none_or(|source| source.starts_with("/ada/tide/")),
            "{case}: {}",
            element.html()
        );
        assert!(element.attr("id").is_none_or(|id| id.starts_with("user-content-")), "{case}: {}", element.html());
    }
    // The end of the page is where it belongs: no text has swallowed or closed it.
    assert_eq!(html.select(&Selector::parse("body > footer.foot").unwrap()).count(), 1, "{case}");
    assert_eq!(html.select(&Selector::parse("h1").unwrap()).count(), 1, "{case}");
}

#[tokio::test]
async fn hostile_texts_are_harmless_on_every_page_that_shows_them() {
    let text = ATTACKS.join("\n\n");
    let files: [(&str, &[u8]); 2] = [("README.md", text.as_bytes()), ("docs/README.md", text.as_bytes())];
    let (_server, ada, project, browser) = open_project(&files, 20).await;
    let form = [("title", "Hostile"), ("description", &*text)];
    let issue = ada.post(&format!("/projects/{project}/issues"), &form).await.body["id"].as_i64().unwrap();
    for attack in ATTACKS.iter().step_by(5) {
        let note = ada.post(&format!("/projects/{project}/issues/{issue}/notes"), &[("body", attack)]).await;
        assert!(matches!(note.status, 201 | 400), "{}", note.text);
    }
    for path in [
        "/ada/tide",
        "/ada/tide/tree/main",
        "/ada/tide/tree/main/docs",
        "/ada/tide/blob/main/README.md",
        "/ada/tide/issues/1",
    ] {
        let page = browser.open(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert_harmless(path, &page);
    }
}

#[tokio::test]
async fn a_readme_is_rendered_below_the_files_of_its_directory() {
    let files: [(&str, &[u8]); 4] = [
        ("README.md", b"# Tide\n\nSee [the guide](docs/guide.md) and ![a map](docs/map.png).\n"),
        ("docs/readme.txt", b"# plain <b>text</b>\n"),
        ("docs/guide.md", b"## Guide\n\n[back](../README.md#tide)\n"),
        ("src/lib.rs", b"fn main() {}\n"),
    ];
    let (_server, _, _, browser) = open_project(&files, 20).await;
    for path in ["/ada/tide", "/ada/tide/tree/main"] {
        let page = browser.open(path).await;
        assert_eq!(page.texts(".md h3"), ["Tide"], "{path}");
        assert_eq!(page.attributes(".md a", "href"), ["/ada/tide/blob/main/docs/guide.md"], "{path}");
        assert_eq!(page.attributes(".md img", "src"), ["/ada/tide/raw/main/docs/map.png"], "{path}");
    }
    let docs = browser.open("/ada/tide/tree/main/docs").await;
    assert_eq!(docs.texts("pre.plain-text"), ["# plain <b>text</b>"]);
    let src = browser.open("/ada/tide/tree/main/src").await;
    assert!(src.texts(".md, pre.plain-text").is_empty(), "{}", src.text);
}

#[tokio::test]
async fn a_markdown_file_is_rendered_and_its_source_is_one_link_away() {
    let (_server, _, _, browser) = open_project(&[("docs/guide.md", b"# Guide\n\n[top](#guide)\n")], 20).await;
    let page = browser.open("/ada/tide/blob/main/docs/guide.md").await;
    assert_eq!(page.texts(".md h2"), ["Guide"]);
    assert_eq!(page.attributes(".md h2", "id"), ["user-content-guide"]);
    assert_eq!(page.attributes(".md a", "href"), ["#user-content-guide"]);
    assert!(page.texts("pre.code").is_empty());
    let source = page.attributes(".seg a", "href")[1].clone();
    assert_eq!(source, "/ada/tide/blob/main/docs/guide.md?plain=1");
    let page = browser.open(&source).await;
    assert!(page.texts(".md").is_empty());
    assert_eq!(page.attributes(".code .l", "id"), ["L1", "L2", "L3"]);
    assert!(page.texts("pre.code")[0].contains("# Guide"));
}

/// The first file of a language takes longer, because its patterns are compiled. The next request finds the result.
#[tokio::test]
async fn code_is_highlighted_with_its_lines() {
    let code = b"// A <comment>.\nfn main() { let x = \"a\"; }\n";
    let (_server, _, _, browser) = open_project(&[("src/main.rs", code), ("notes.txt", b"fn main() {}\n")], 20).await;
    let mut page = browser.open("/ada/tide/blob/main/src/main.rs").await;
    for _ in 0..200 {
        if !page.texts(".code .str").is_empty() {
            break;
        }
        page = browser.open("/ada/tide/blob/main/src/main.rs").await;
    }
    assert_eq!(page.texts(".code .com"), ["// A <comment>."]);
    assert_eq!(page.texts(".code .str"), ["\"a\""]);
    assert!(page.texts(".code .k").contains(&"fn".to_owned()));
    assert_eq!(page.attributes(".code .l", "id"), ["L1", "L2"]);
    let plain = browser.open("/ada/tide/blob/main/notes.txt").await;
    assert!(plain.texts(".code .k").is_empty() && plain.texts("pre.code")[0].contains("fn main() {}"));
}

/// Characters that are not seen make a reviewer read another program (Trojan Source, CVE-2021-42574).
#[tokio::test]
async fn characters_that_are_not_seen_are_shown_with_a_warning() {
    let code = "let level = \"user\u{202e} \u{2066}// admin\u{2069} \u{2066}\";\n";
    let files: [(&str, &[u8]); 2] = [("a.js", code.as_bytes()), ("b.js", b"let level = 1;\n")];
    let (_server, _, _, browser) = open_project(&files, 20).await;
    let page = browser.open("/ada/tide/blob/main/a.js").await;
    assert_eq!(page.texts(".code .unseen"), ["U+202E", "U+2066", "U+2069", "U+2066"]);
    assert!(page.text.contains("characters that are not seen"), "{}", page.text);
    let page = browser.open("/ada/tide/blob/main/b.js").await;
    assert!(!page.text.contains("characters that are not seen"), "{}", page.text);
}

/// An image in an issue of a private project is loaded by the browser with its session, which the API does not accept.
#[tokio::test]
async fn uploads_are_served_to_the_browser_of_a_member() {
    let (server, ada, project, browser) = open_project(&[], 0).await;
    server.user("eve").await;
    let mut urls = Vec::new();
    for (name, content) in [("map.png", &b"\x89PNG\r\n"[..]), ("page.html", b"<script>alert(1)</script>")] {
        let uploaded = crate::uploads::upload(&ada, project, name, content).await;
        urls.push(format!("/ada/tide{}", uploaded.body["url"].as_str().unwrap()));
    }
    let text = format!("![map]({})", urls[0].trim_start_matches("/ada/tide"));
    let created = ada.post(&format!("/projects/{project}/issues"), &[("title", "Map"), ("description", &text)]).await;
    assert_eq!(created.status, 201);
    let issue = browser.open("/ada/tide/issues/1").await;
    assert_eq!(issue.attributes(".md img", "src"), [urls[0].as_str()]);
    for (url, content_type, disposition) in [
        (&urls[0], "image/png", None),
        (&urls[1], "application/octet-stream", Some("attachment; filename=\"page.html\"")),
    ] {
        let file = browser.get(url).await;
        assert_eq!(file.status, 200, "{url}");
        assert_eq!(file.header("content-type"), Some(content_type));
        assert_eq!(file.header("content-disposition"), disposition);
        assert_eq!(file.header("content-security-policy"), Some("sandbox; default-src 'none'"));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        for other in [server.sign_in("eve").await, server.browser()] {
            assert_eq!(other.get(url).await.status, 404, "{url}");
        }
        let stale = browser.copy();
        stale.set_cookie("holdfast", "hfb_0000000000000000000000000000000000000000");
        assert_eq!(stale.get(url).await.status, 404, "{url}");
        // A token counts, whatever cookies the request has.
        let invalid = browser.send(browser.request("GET", url).header("private-token", "invalid")).await;
        assert_eq!(invalid.status, 401, "{url}: {}", invalid.text);
    }
    assert_eq!(browser.get(&format!("{}x", urls[0])).await.status, 404);
    let response = browser.get(&format!("/api/v3/projects/{project}")).await;
    assert!(matches!(response.status, 401 | 404), "{}", response.text);
}

/// A link from a mention would reveal which hidden issues and which users exist.
#[tokio::test]
async fn mentions_link_to_what_the_viewer_may_see() {
    let (server, ada, project, browser) = open_project(&[], 20).await;
    server.user("eve").await;
    let issues = format!("/projects/{project}/issues");
    let text = "See #2, #3, #4, `#1`, @ADA and @nobody.";
    let forms: [&[(&str, &str)]; 3] = [
        &[("title", "First"), ("description", text)],
        &[("title", "Second")],
        &[("title", "Hidden"), ("confidential", "true")],
    ];
    for form in forms {
        assert_eq!(ada.post(&issues, form).await.status, 201);
    }
    let (second, hidden, user) = ("/ada/tide/issues/2", "/ada/tide/issues/3", "/ada");
    for (viewer, expected) in [(browser, vec![second, hidden, user]), (server.sign_in("eve").await, vec![second, user])]
    {
        let page = viewer.open("/ada/tide/issues/1").await;
        assert_eq!(page.attributes(".md a", "href"), expected);
        assert_eq!(page.texts(".md p"), ["See #2, #3, #4, #1, @ADA and @nobody."]);
    }
}
