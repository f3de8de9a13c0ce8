//! Stored content can neither attack the browsers of its viewers nor be read without permission. Each test describes an
//! attack.

use holdfast_tests::{Server, WorkTree};
use reqwest::header::HeaderMap;

use crate::pipelines::CiFixture;

/// HTML pages, images with scripts, and files that are valid in two formats.
const CORPUS: &[(&str, &[u8])] = &[
    ("page.html", b"<!doctype html><script>alert(document.domain)</script>"),
    ("page.htm", b"\xef\xbb\xbf<html><body onload=alert(1)>"),
    ("picture.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>"),
    (
        "page.xml",
        b"<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><script>alert(1)</script></html>",
    ),
    ("page.xhtml", b"<html xmlns=\"http://www.w3.org/1999/xhtml\"><script>alert(1)</script></html>"),
    ("style.xsl", b"<xsl:stylesheet xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\"/>"),
    ("script.js", b"alert(1)"),
    ("script.mjs", b"export default alert(1)"),
    ("style.css", b"body{background:url(javascript:alert(1))}"),
    ("paper.pdf", b"%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj"),
    ("movie.swf", b"CWS\x0a\x00\x00\x00\x00"),
    ("both.gif", b"GIF89a/*<script>alert(1)</script>*/=1;alert(1)"),
    ("both.jpg", b"\xff\xd8\xff\xe0<html><script>alert(1)</script>"),
    ("both.pdf.html", b"%PDF-1.4 <script>alert(1)</script>"),
    ("book.ipynb", b"{\"cells\":[{\"cell_type\":\"markdown\",\"source\":[\"<img src=x onerror=alert(1)>\"]}]}"),
    ("old.txt", b"+ADw-script+AD4-alert(1)+ADw-/script+AD4-"),
    ("word.mht", b"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>"),
    ("none", b""),
];

/// Stored XSS: a browser that follows a link to a stored file must not run it as a page of this host (Gogs
/// GHSA-xh32-cx6c-cp4v, Gitea #37354).
#[tokio::test]
async fn stored_files_are_never_served_as_web_pages() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    for (name, content) in CORPUS {
        std::fs::write(tree.path().join(name), content).unwrap();
    }
    tree.git(["add", "."]).await.ok();
    tree.git(["commit", "-q", "-m", "corpus"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let api = format!("http://{}/api/v3/projects/{project}/repository", server.address());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut files = Vec::new();
    for (name, content) in CORPUS {
        let blob = tree.git(["rev-parse", &format!("main:{name}")]).await.ok().line().to_owned();
        files.push((format!("{api}/blobs/main?filepath={name}"), Some(*content)));
        files.push((format!("{api}/raw_blobs/{blob}"), Some(*content)));
        let uploaded = crate::uploads::upload(&ada, project, name, content).await;
        let url = uploaded.body["url"].as_str().unwrap();
        files.push((format!("http://{}/ada/p{url}", server.address()), Some(*content)));
    }
    for suffix in ["", ".tar", ".tar.gz", ".tar.bz2", ".zip"] {
        files.push((format!("{api}/archive{suffix}"), None));
    }
    assert_eq!(files.len(), CORPUS.len() * 3 + 5);
    for (url, content) in files {
        let answer = http.get(&url).header("accept", "text/html,application/xhtml+xml,*/*;q=0.8").send().await.unwrap();
        assert_eq!(answer.status(), 200, "{url}");
        let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{url}");
        assert_eq!(header("content-security-policy").as_deref(), Some("sandbox; default-src 'none'"), "{url}");
        let kind = header("content-type").unwrap();
        let is_text = url.contains("blobs");
        let harmless: &[&str] =
            if is_text { &["text/plain"] } else { &["application/octet-stream", "application/zip"] };
        assert!(harmless.contains(&kind.as_str()), "{url}: {kind}");
        let is_saved = header("content-disposition").is_some_and(|it| it.starts_with("attachment; filename=\""));
        assert_eq!(is_saved, !is_text, "{url}");
        assert!(header("cache-control").unwrap().starts_with("private"), "{url}");
        if let Some(content) = content {
            assert_eq!(answer.bytes().await.unwrap(), content, "{url}");
        }
    }
}

/// Sends the headers of a browser that follows a link.
async fn open_in_browser(request: reqwest::RequestBuilder) -> (u16, HeaderMap, Vec<u8>) {
    let answer = request.header("accept", "text/html,application/xhtml+xml,*/*;q=0.8").send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    (status, headers, answer.bytes().await.unwrap().to_vec())
}

/// Stored XSS by a build: users who may push choose its trace and its artifacts. A project with public builds shows
/// both to everybody.
#[tokio::test]
async fn traces_and_artifacts_are_never_served_as_web_pages() {
    let file: String = (0..CORPUS.len()).map(|n| format!("build_{n}: {{script: x}}\n")).collect();
    let fixture = CiFixture::with_file(&file).await;
    fixture.update_setting("visibility_level", "20").await;
    let runner = fixture.runner().await;
    let (http, base) = (reqwest::Client::builder().no_proxy().build().unwrap(), &fixture.server.base_url);
    let check = |url: &str, (status, headers, body): (u16, HeaderMap, Vec<u8>), content: &[u8]| {
        assert_eq!(status, 200, "{url}");
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default();
        assert_eq!(header("x-content-type-options"), "nosniff", "{url}");
        assert_eq!(header("content-security-policy"), "sandbox; default-src 'none'", "{url}");
        let is_trace = url.ends_with("/trace");
        let kind = if is_trace { "text/plain" } else { "application/octet-stream" };
        assert_eq!(header("content-type"), kind, "{url}");
        // v3 clients expect `infile` for traces; browsers treat an unknown disposition type as `attachment`.
        let disposition = header("content-disposition");
        let begin = if is_trace { "infile; filename=\"" } else { "attachment; filename=\"" };
        assert!(disposition.starts_with(begin) && disposition.matches('"').count() == 2, "{url}: {disposition}");
        assert!(header("cache-control").starts_with("private"), "{url}");
        assert!(headers.get("content-encoding").is_none(), "{url}");
        assert_eq!(body, content, "{url}");
    };
    let mut builds = Vec::new();
    for (name, content) in CORPUS {
        let job = runner.claim().await;
        let api = format!("{base}/api/v3/projects/{}/builds/{}", fixture.project, job.id);
        assert_eq!(runner.patch(&job, 0, content).await.status, 202, "{name}");
        let response = runner.upload_artifacts(&job, name, content).await;
        assert_eq!(response.status, 201, "{name}: {}", response.body);
        // While the build runs, its trace is stored elsewhere than afterwards.
        let trace = format!("{api}/trace");
        check(&trace, open_in_browser(http.get(&trace)).await, content);
        for url in [
            format!("{base}/api/v4/jobs/{}/artifacts", job.id),
            format!("{base}/ci/api/v1/builds/{}/artifacts", job.id),
        ] {
            let request = http.get(&url).header("JOB-TOKEN", &job.token).header("BUILD-TOKEN", &job.token);
            check(&url, open_in_browser(request).await, content);
        }
        runner.finish(&job, "success").await;
        builds.push((api, *content));
    }
    for (api, content) in builds {
        for url in [format!("{api}/trace"), format!("{api}/artifacts")] {
            check(&url, open_in_browser(http.get(&url)).await, content);
        }
    }
}

/// The API documentation is the only HTML page. It runs no script but its own, shows no document but the server's own
/// (swagger-ui GHSA-qrmm-w75w-3wpx: a document that the URL names), and repeats nothing of its URL.
#[tokio::test]
async fn the_api_docs_page_runs_no_foreign_scripts() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let document = br#"{"openapi":"3.0.0","info":{"title":"<img src=x onerror=alert(1)>","version":"1"},"paths":{}}"#;
    let url = crate::uploads::upload(&ada, project, "a.json", document).await.body["url"].as_str().unwrap().to_owned();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let get = async |path: &str| open_in_browser(http.get(format!("{}{path}", server.base_url))).await;
    let (status, _, page) = get("/api/docs/").await;
    assert_eq!(status, 200);
    let text = String::from_utf8(page.clone()).unwrap();
    // All scripts are loaded from paths below the page.
    let scripts: Vec<&str> = text.split("<script").skip(1).map(|rest| rest.split('>').next().unwrap()).collect();
    assert!(!scripts.is_empty(), "{text}");
    for script in &scripts {
        assert!(script.contains("src=\"./") && !script.contains("//"), "{script}");
    }
    let policy = [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ];
    for query in [
        String::new(),
        format!("?url=/ada/p{url}"),
        format!("?configUrl=/ada/p{url}&urls.primaryName=x"),
        "?url=javascript:alert(1)#<script>alert(1)</script>".into(),
        "?\"><script>alert(1)</script>".into(),
    ] {
        let (status, headers, body) = get(&format!("/api/docs/{query}")).await;
        assert_eq!((status, &body), (200, &page), "{query}");
        assert!(headers["content-type"].to_str().unwrap().starts_with("text/html"), "{headers:?}");
        assert_eq!(headers["content-security-policy"], policy.join("; "), "{query}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{query}");
    }
    let (status, headers, script) = get("/api/docs/swagger-initializer.js").await;
    assert_eq!(status, 200);
    assert!(headers["content-type"].to_str().unwrap().contains("javascript"), "{headers:?}");
    let script = String::from_utf8(script).unwrap();
    assert!(script.contains("/api/v3/openapi.json"), "{script}");
    assert!(!script.contains("queryConfigEnabled\": true") && !script.contains("queryConfigEnabled: true"), "{script}");
    // An unknown path is not repeated in the response, and nothing but the files of the page is served.
    for path in ["<script>alert(1)</script>", "%3Cscript%3Ealert(1)%3C/script%3E", "..%2f..%2fetc%2fpasswd"] {
        let (status, headers, body) = get(&format!("/api/docs/{path}")).await;
        let text = String::from_utf8_lossy(&body);
        assert!(status == 404 && !text.contains("script>") && !text.contains("root:"), "{path}: {status} {text}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
    }
}

/// Knowing an object id does not grant access to an unreachable object, whether its branch was deleted or forced, nor
/// in a fork that shares its packs (storage risk F3). Earlier responses are not cached.
#[tokio::test]
async fn unreachable_objects_are_not_found_by_the_api() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"f\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "secret"]).await.ok();
    let commit = tree.commit("d/secret", b"the secret\n", "secret").await;
    tree.push(&url, &["secret"]).await.ok();
    let id = async |of: &str| tree.git(["rev-parse", of]).await.ok().line().to_owned();
    let (blob, directory) = (id("secret:d/secret").await, id("secret:d").await);
    let asks = |project: i64| {
        let api = format!("/projects/{project}/repository");
        let short = &commit[..10];
        vec![
            format!("{api}/raw_blobs/{blob}"),
            format!("{api}/raw_blobs/{}", &blob[..10]),
            format!("{api}/blobs/{commit}?filepath=d/secret"),
            format!("{api}/blobs/{short}?filepath=d/secret"),
            format!("{api}/blobs/{commit}~0?filepath=d/secret"),
            format!("{api}/tree?ref_name={commit}"),
            format!("{api}/tree?ref_name={commit}&recursive=true"),
            format!("{api}/archive?sha={commit}"),
            format!("{api}/archive.zip?sha={short}"),
            format!("{api}/compare?from=main&to={commit}"),
            format!("{api}/compare?from={commit}&to=main"),
        ]
    };
    let statuses = async |project: i64, client: &holdfast_tests::Client| {
        let mut statuses = Vec::new();
        for ask in asks(project) {
            let answer = client.request("GET", &ask).send().await.unwrap();
            statuses.push(answer.status().as_u16());
            let text = answer.bytes().await.unwrap();
            let contains_secret = text.windows(10).any(|some| some == b"the secret");
            assert!(!contains_secret || statuses.last() == Some(&200), "{ask}");
        }
        statuses
    };
    let count = asks(0).len();
    assert_eq!(statuses(project, &ada).await, vec![200; count]);
    tree.push(&url, &[":secret"]).await.ok();
    assert_eq!(statuses(project, &ada).await, vec![404; count], "even to its author");
    let fork =
        bob.post(&format!("/projects/fork/{project}"), &[("namespace", "bob")]).await.body["id"].as_i64().unwrap();
    assert_eq!(statuses(fork, &bob).await, vec![404; count]);
    // Neither a tree nor a blob is a revision.
    for id in [&directory, &blob] {
        let refused = bob.get(&format!("/projects/{fork}/repository/tree?ref_name={id}")).await;
        assert_eq!(refused.status, 404);
    }
    // No ref can be created from its id.
    let form = [("branch_name", "stolen"), ("ref", commit.as_str())];
    assert_eq!(bob.post(&format!("/projects/{fork}/repository/branches"), &form).await.status, 400);
    let form = [("tag_name", "stolen"), ("ref", commit.as_str())];
    assert_eq!(bob.post(&format!("/projects/{fork}/repository/tags"), &form).await.status, 405);
    // When it is pushed again, it is reachable again.
    tree.push(&url, &["secret"]).await.ok();
    assert_eq!(statuses(project, &ada).await, vec![200; count]);
    assert_eq!(statuses(fork, &bob).await, vec![404; count]);
}
