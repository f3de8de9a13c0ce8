//! Names, descriptions and other texts of users are shown as text. Each test describes an attack.

use holdfast_tests::{Browser, PageResponse, Server, WorkTree, has_attribute};
use scraper::{ElementRef, Html, Node, Selector};

/// Texts that would run a script if a page contained them unescaped in an element, an attribute, a title or a script.
const SCRIPTS: [&str; 4] = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</title></textarea></style></noscript><svg onload=alert(1)>",
    "' autofocus onfocus=alert(1) x='{{7*7}}${7*7}<!--",
];

/// A text with characters that reverse what follows, and others that are invisible.
const BIDI: &str = "safe\u{202e}gpj.exe\u{2066}\u{200f}";

/// Fails if a page contains an element or attribute that can run a script of a user.
fn assert_no_script(case: &str, response: &PageResponse) {
    let html = response.html();
    let select = |selector: &str| html.select(&Selector::parse(selector).unwrap()).collect::<Vec<_>>();
    for element in select("*") {
        let is_handler = has_attribute(element, |name| name.starts_with("on") || name == "style");
        assert!(!is_handler, "{case}: {}", element.html());
        for name in ["href", "src", "action", "formaction"] {
            let address = element.attr(name).unwrap_or_default().trim_start().to_lowercase();
            let is_script = ["javascript:", "data:", "vbscript:"].iter().any(|scheme| address.starts_with(scheme));
            assert!(!is_script, "{case}: {address}");
        }
    }
    assert!(select("script:not([src]), img[src='x'], style, iframe, object, embed").is_empty(), "{case}");
    for script in select("script") {
        let source = script.attr("src").unwrap_or_default();
        assert!(source.starts_with(holdfast_web::assets::prefix()), "{case}: {source}");
    }
    // The end of the page is where it belongs: no text has swallowed or closed it.
    assert_eq!(select("body > footer.foot").len(), 1, "{case}: {}", response.text);
}

/// Fails if a text with direction marks can change the order of the text around it: it must be in an element whose
/// direction is isolated, or in one that is not shown.
fn assert_isolated(case: &str, html: &Html) {
    for node in html.tree.nodes() {
        let Node::Text(text) = node.value() else { continue };
        let is_isolated = node.ancestors().filter_map(ElementRef::wrap).any(|element| {
            let is_auto = element.value().name() == "bdi" || element.attr("dir") == Some("auto");
            let is_hidden = element.attr("class").is_some_and(|names| names.split(' ').any(|name| name == "vh"));
            is_auto || is_hidden || matches!(element.value().name(), "title" | "option")
        });
        assert!(is_isolated || !text.contains('\u{202e}'), "{case}: {:?} is not isolated", &**text);
    }
}

/// Stores a text in every field that pages show. Some fields reject it, so it is written to the database.
async fn store_text(server: &Server, text: &str) {
    let statements = [
        "update users set name = $1, bio = $1, location = $1, organization = $1 where username = 'ada'",
        "update namespaces set name = $1, description = $1 where kind = 'group'",
        "update projects set description = $1",
    ];
    for statement in statements {
        sqlx::query(statement).bind(text).execute(&mut server.database().await).await.unwrap();
    }
}

/// Stores a text in the names of projects, which differ by their ids.
async fn store_project_names(server: &Server, text: &str) {
    let statement = "update projects set name = $1 || ' ' || id";
    sqlx::query(statement).bind(text).execute(&mut server.database().await).await.unwrap();
}

/// The pages that show these texts.
const PAGES: [&str; 9] =
    ["/", "/projects", "/groups", "/groups/team", "/ada", "/ada/p", "/ada/empty", "/team/p", "/profile"];

async fn create_content(server: &Server) {
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    server.project(&ada, "empty", 20).await;
    let group = server.group(&ada, "team", 20).await;
    server.project_in(&ada, "p", 20, Some(group)).await;
    server.push_first(&ada, "ada/p").await;
}

/// Stored XSS by profiles, groups and projects.
#[tokio::test]
async fn texts_of_users_are_escaped_on_every_page() {
    let server = Server::start().await;
    create_content(&server).await;
    server.user("bob").await;
    let browsers = [server.sign_in("ada").await, server.sign_in("bob").await, server.browser()];
    for text in SCRIPTS {
        store_text(&server, text).await;
        store_project_names(&server, text).await;
        for browser in &browsers {
            for path in PAGES {
                let page = browser.open(path).await;
                assert_eq!(page.status, 200, "{path}");
                let case = format!("{path}: {text}");
                assert_no_script(&case, &page);
                assert!(!page.text.contains(text), "{case}");
                // The text is shown as it is.
                if matches!(path, "/groups" | "/groups/team" | "/ada/p" | "/team/p") {
                    let shown: String = page.html().root_element().text().collect();
                    assert!(shown.contains(text), "{case}: {shown}");
                }
            }
        }
    }
}

/// A text with direction marks makes a page show something else than it contains (Trojan Source, CVE-2021-42574).
#[tokio::test]
async fn direction_marks_do_not_leave_their_element() {
    let server = Server::start().await;
    create_content(&server).await;
    let (_, bob) = server.user("bob").await;
    server.project(&bob, "files", 20).await;
    push_file(&server, &bob, "bob/files", BIDI, BIDI).await;
    store_text(&server, BIDI).await;
    let browsers = [server.sign_in("ada").await, server.sign_in("bob").await, server.browser()];
    for browser in &browsers {
        for path in PAGES.into_iter().chain(["/bob/files"]) {
            let page = browser.open(path).await;
            assert_eq!(page.status, 200, "{path}");
            assert_isolated(path, &page.html());
        }
    }
}

/// Pushes a commit with this file name and message by an author with the same name.
async fn push_file(server: &Server, client: &holdfast_tests::Client, project: &str, name: &str, message: &str) {
    let tree = WorkTree::new().await;
    std::fs::write(tree.path().join(name), name).unwrap();
    std::fs::write(tree.path().join("README.md"), name).unwrap();
    tree.git(["add", "."]).await.ok();
    let author = [("GIT_AUTHOR_NAME", message), ("GIT_COMMITTER_NAME", message)];
    tree.git_with(["commit", "-q", "-m", message], &author).await.ok();
    tree.push(&server.git_url(client, project), &["main"]).await.ok();
}

/// Stored XSS by repositories: names of files and refs, messages and authors of commits, and READMEs.
#[tokio::test]
async fn contents_of_repositories_are_escaped() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    for (number, text) in SCRIPTS.iter().enumerate() {
        let project = format!("p{number}");
        server.project(&ada, &project, 20).await;
        // A file name has no slash.
        let name = text.replace('/', "\u{2215}");
        push_file(&server, &ada, &format!("ada/{project}"), &name, text).await;
        let tree = WorkTree::new().await;
        tree.commit("f", b"f", "f").await;
        let refspec = "main:refs/tags/\"><svg/onload=alert(1)>";
        tree.push(&server.git_url(&ada, &format!("ada/{project}")), &[refspec]).await.ok();
        let browser = server.browser();
        let file: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let blob = format!("/blob/main/{}", file.replace('+', "%20"));
        for path in ["", "/tree/main", "/branches", "/tags", "/pipelines", &blob] {
            let page = browser.get(&format!("/ada/{project}{path}")).await;
            let case = format!("{path}: {text}");
            assert_eq!(page.status, 200, "{case}");
            assert_no_script(&case, &page);
            assert!(!page.text.contains(text) && !page.text.contains("<svg/onload"), "{case}: {}", page.text);
            if matches!(path, "" | "/tree/main") {
                let shown: String = page.html().root_element().text().collect();
                assert!(shown.contains(&name), "{case}: {shown}");
            }
        }
        // The bytes of the file are no page.
        let raw = browser.get(&format!("/ada/{project}{}", blob.replace("/blob/", "/raw/"))).await;
        assert_eq!((raw.status, raw.text.as_str()), (200, name.as_str()));
        assert_eq!(raw.header("content-security-policy"), Some("sandbox; default-src 'none'"));
        assert_eq!(raw.header("x-content-type-options"), Some("nosniff"));
        assert!(!raw.header("content-type").unwrap_or_default().contains("html"), "{:?}", raw.headers);
    }
}

/// Stored XSS by issues, their labels and their notes.
#[tokio::test]
async fn texts_of_issues_are_escaped() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let post = async |path: &str, form: &[(&str, &str)]| {
        let response = ada.post(&format!("/projects/{project}{path}"), form).await;
        assert!(matches!(response.status, 200 | 201), "{}", response.text);
        response.body["id"].as_i64().unwrap()
    };
    post("/labels", &[("name", "bug"), ("color", "#ff0000")]).await;
    let issue = post("/issues", &[("title", "t"), ("description", "d"), ("labels", "bug")]).await;
    post(&format!("/issues/{issue}/notes"), &[("body", "b")]).await;
    let browser = server.sign_in("ada").await;
    for text in SCRIPTS {
        let statements = [
            "update issues set title = $1, description = $1",
            "update notes set body = $1",
            "update labels set title = $1, description = $1",
        ];
        for statement in statements {
            sqlx::query(statement).bind(text).execute(&mut server.database().await).await.unwrap();
        }
        for path in ["/ada/p/issues", "/ada/p/issues/1"] {
            let page = browser.get(path).await;
            let case = format!("{path}: {text}");
            assert_eq!(page.status, 200, "{case}");
            assert_no_script(&case, &page);
            assert!(!page.text.contains(text), "{case}");
            let shown: String = page.html().root_element().text().collect();
            assert!(shown.contains(text), "{case}: {shown}");
        }
    }
}

/// Reflected XSS: a link contains a text that the page repeats.
#[tokio::test]
async fn texts_of_the_address_are_escaped() {
    let server = Server::start().await;
    server.user("ada").await;
    let browsers: [Browser; 2] = [server.browser(), server.sign_in("ada").await];
    for text in SCRIPTS.into_iter().chain(["javascript:alert(1)", "data:text/html,<script>alert(1)</script>"]) {
        let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        for browser in &browsers {
            for path in [
                format!("/projects?search={encoded}&visibility={encoded}&order={encoded}&page={encoded}"),
                format!("/groups?search={encoded}"),
                format!("/sign_in?to={encoded}"),
                format!("/sign_in?to=/{encoded}"),
                format!("/{encoded}/{encoded}"),
                format!("/{encoded}/{encoded}/{encoded}/{encoded}?{encoded}"),
                format!("/groups/{encoded}?{encoded}={encoded}"),
            ] {
                let page = browser.open(&path).await;
                assert!(matches!(page.status, 200 | 404), "{path}: {}", page.status);
                assert_no_script(&path, &page);
            }
            let page = browser.post("/sign_in", &[("login", text), ("password", "x"), ("to", text)]).await;
            assert_eq!(page.status, 422);
            assert_no_script(text, &page);
        }
    }
}

/// The browser of an attacker who knows the password shows a script in the victim's list of sessions.
#[tokio::test]
async fn names_of_browsers_are_escaped() {
    let server = Server::start().await;
    server.user("ada").await;
    let ada = server.sign_in("ada").await;
    for text in SCRIPTS {
        let attacker = server.browser().with_agent(text);
        assert_eq!(attacker.sign_in("ada", holdfast_tests::PASSWORD).await.status, 303);
        let page = ada.get("/profile/sessions").await;
        assert_no_script(text, &page);
        assert!(page.texts("table tbody tr").iter().any(|row| row.contains(text)), "{text}: {}", page.text);
    }
}

/// A website in a profile is a link only if it is one of the web.
#[tokio::test]
async fn websites_of_users_run_no_scripts() {
    let server = Server::start().await;
    let (id, _) = server.user("ada").await;
    let browser = server.sign_in("ada").await;
    for (website, is_link) in [
        ("https://ada.example/", true),
        ("http://ada.example", true),
        ("https://ada.example/\"onmouseover=alert(1)", true),
        ("javascript:alert(1)//https://x", false),
        ("JAVASCRIPT:alert(1)", false),
        ("data:text/html,<script>alert(1)</script>", false),
        ("//evil.example", false),
    ] {
        let statement = "update users set website_url = $1 where id = $2";
        sqlx::query(statement).bind(website).bind(id.get()).execute(&mut server.database().await).await.unwrap();
        let page = browser.get("/ada").await;
        assert_no_script(website, &page);
        let links = page.attributes("aside a[rel~=nofollow]", "href");
        let expected: Vec<String> = is_link.then(|| website.to_owned()).into_iter().collect();
        assert_eq!(links, expected, "{website}");
    }
}

/// Stored XSS by merge requests: titles, branches, files, labels, notes and commits.
#[tokio::test]
async fn texts_of_merge_requests_are_escaped() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let (_, tree) = WorkTree::clone(&server.git_url(&ada, "ada/p"), &[]).await;
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    tree.commit("\"><img src=x onerror=alert(1)>.txt", b"a\n", SCRIPTS[1]).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["topic"]).await.ok();
    server.run_jobs().await;
    let post = async |path: &str, form: &[(&str, &str)]| {
        let response = ada.post(&format!("/projects/{project}{path}"), form).await;
        assert!(matches!(response.status, 200 | 201), "{}", response.text);
        response.body["id"].as_i64().unwrap()
    };
    let form = [("title", "t"), ("source_branch", "topic"), ("target_branch", "main"), ("labels", "bug")];
    let request = post("/merge_requests", &form).await;
    post(&format!("/merge_requests/{request}/notes"), &[("body", "b")]).await;
    post(&format!("/merge_requests/{request}/discussions"), &[("body", "b")]).await;
    let browser = server.sign_in("ada").await;
    for text in SCRIPTS.into_iter().chain([BIDI]) {
        for statement in [
            "update merge_requests set title = $1, description = $1, source_branch = $1",
            "update notes set body = $1",
            "update labels set title = $1, description = $1",
            "update users set name = $1 where username = 'ada'",
        ] {
            sqlx::query(statement).bind(text).execute(&mut server.database().await).await.unwrap();
        }
        for path in ["", "/1", "/1/commits", "/1/changes", "/1/versions", "/1/edit", "/new?source=topic&target=main"] {
            let page = browser.get(&format!("/ada/p/merge_requests{path}")).await;
            let case = format!("{path}: {text}");
            assert_eq!(page.status, 200, "{case}");
            assert_no_script(&case, &page);
            assert_isolated(&case, &page.html());
            assert!(text == BIDI || !page.text.contains(text), "{case}");
        }
    }
}

/// Stored XSS against administrators, who see the names of all users, and what their browsers and programs say.
#[tokio::test]
async fn texts_in_the_administration_are_escaped() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    server.sign_in("ada").await;
    server.group(&ada, "harbour", 0).await;
    let project = server.project(&ada, "p", 0).await;
    let form = [("title", "t"), ("key", crate::ssh_keys::ED25519)];
    assert_eq!(ada.post("/user/keys", &form).await.status, 201);
    assert!(ada.delete(&format!("/projects/{project}")).await.status < 300);
    server.project(&ada, "q", 0).await;
    let root = server.sign_in("root").await;
    for text in SCRIPTS.into_iter().chain([BIDI]) {
        for statement in [
            "update users set name = $1 where username = 'ada'",
            "update namespaces set name = $1 where kind = 'group'",
            "update ssh_keys set title = $1",
            "update tokens set name = $1",
            "update browser_sessions set agent = $1",
            "update jobs set subject = $1",
            "update graphile_worker._private_jobs set attempts = max_attempts, last_error = $1",
        ] {
            sqlx::query(statement).bind(text).execute(&mut server.database().await).await.unwrap();
        }
        let user = format!("/admin/users/{id}");
        for path in ["/admin", "/admin/users", &user, "/admin/groups", "/admin/projects", "/admin/jobs"] {
            let page = root.get(path).await;
            let case = format!("{path}: {text}");
            assert_eq!(page.status, 200, "{case}");
            assert_no_script(&case, &page);
            assert_isolated(&case, &page.html());
            assert!(text == BIDI || !page.text.contains(text), "{case}");
        }
    }
}
