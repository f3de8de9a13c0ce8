//! Compares the size of pages, of the style sheet and of the scripts with their budgets.

use holdfast_tests::Browser;
use holdfast_web::pages;
use scraper::{Html, Selector};

use super::fixtures::PageFixture;

/// Budgets in bytes after compression with gzip.
const MAX_HTML: usize = 40_000;
/// Pages that show contents of files, differences of files or the output of a build.
const MAX_CONTENT_HTML: usize = 80_000;
const MAX_STYLE: usize = 12_000;
const MAX_SCRIPTS: usize = 15_000;
const MAX_FIRST_VIEW: usize = 60_000;
/// The page, the style sheet, one script and the icon.
const MAX_FIRST_REQUESTS: usize = 4;
const MAX_ELEMENTS: usize = 3_000;
const MAX_CONTENT_ELEMENTS: usize = 30_000;

/// Opens an address, and returns its content as it was sent, and what the content is.
async fn load(browser: &Browser, path: &str) -> (Vec<u8>, String) {
    let request = browser.request("GET", path).header("accept-encoding", "gzip").header("accept", "text/html,*/*");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let kind = response.headers().get("content-type").map(|it| it.to_str().unwrap().to_owned());
    (response.bytes().await.unwrap().to_vec(), kind.unwrap_or_default())
}

fn is_content_page(path: &str) -> bool {
    ["/blob/", "/blame/", "/commit/", "/compare/", "/range_diff", "/changes", "/builds/"]
        .iter()
        .any(|part| path.contains(part))
}

/// Returns the addresses that a browser loads with a page.
fn resources(html: &Html) -> Vec<String> {
    let mut found = Vec::new();
    for (selector, attribute) in
        [("link[rel='stylesheet'], link[rel='icon']", "href"), ("script[src], img[src]", "src")]
    {
        let selector = Selector::parse(selector).unwrap();
        found.extend(html.select(&selector).filter_map(|element| element.attr(attribute)).map(str::to_owned));
    }
    found.sort();
    found.dedup();
    found
}

#[tokio::test]
async fn pages_stay_within_their_budgets() {
    let fixture = PageFixture::new().await;
    fixture.add_rows().await;
    let owner = fixture.browser("owner").await;
    let administrator = fixture.browser("administrator").await;
    let project = fixture.projects.last().unwrap();
    let all = pages::all();
    let mut wrong = Vec::new();
    for page in all.list().iter().filter(|page| page.method == "GET") {
        let path = project.address(page.path);
        let browser = if path.starts_with("/admin") { &administrator } else { &owner };
        let response = browser.get(&path).await;
        if response.status == 200 {
            // Files are sent compressed, too.
            load(browser, &path).await;
        }
        if response.status != 200 || !response.header("content-type").is_some_and(|it| it.starts_with("text/html")) {
            continue;
        }
        let is_compressed = response.header("cache-control") != Some("no-store");
        let html = response.html();
        let elements = html.select(&Selector::parse("*").unwrap()).count();
        let size = load(browser, &path).await.0.len();
        let (max_size, max_elements) = match is_content_page(&path) {
            true => (MAX_CONTENT_HTML, MAX_CONTENT_ELEMENTS),
            false => (MAX_HTML, MAX_ELEMENTS),
        };
        if is_compressed && size > max_size {
            wrong.push(format!("{path}: {size} bytes of HTML"));
        }
        if elements > max_elements {
            wrong.push(format!("{path}: {elements} elements"));
        }
        let resources = resources(&html);
        let mut total = size;
        for resource in &resources {
            total += load(browser, resource).await.0.len();
        }
        if !is_content_page(&path) && (total > MAX_FIRST_VIEW || resources.len() + 1 > MAX_FIRST_REQUESTS) {
            wrong.push(format!("{path}: {total} bytes in {} requests: {resources:?}", resources.len() + 1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_style_sheet_and_scripts_stay_within_their_budgets() {
    let server = holdfast_tests::Server::start().await;
    let browser = server.browser();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/assets");
    let (mut style, mut scripts) = (0, 0);
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (content, kind) = load(&browser, &format!("{}/{name}", holdfast_web::assets::prefix())).await;
        match kind.split(';').next() {
            Some("text/css") => style += content.len(),
            Some("text/javascript") => scripts += content.len(),
            _ => {}
        }
    }
    assert!(style > 0 && style <= MAX_STYLE, "the style sheet has {style} bytes");
    assert!(scripts > 0 && scripts <= MAX_SCRIPTS, "the scripts have {scripts} bytes");
}
