//! Follows every link from the start page, as every role, and checks the markup of every page on the way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use axum::http::Method;
use holdfast_tests::{PageResponse, has_attribute};
use holdfast_web::pages;
use scraper::{ElementRef, Html, Selector};

use super::fixtures::{PageFixture, ROLES};

const SITE: &str = "http://holdfast.test";
/// How many addresses of one declared page are opened. Lists with filters have more addresses than can be opened.
const MAX_ADDRESSES: usize = 5;
/// How many addresses of one declared page about files are opened: at least one for each file of the fixture.
const MAX_FILE_ADDRESSES: usize = 20;

pub fn select<'a>(html: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    html.select(&Selector::parse(selector).unwrap()).collect()
}

/// Returns the path of a link to this site, without its fragment. Returns None for another site.
pub fn own_path(page: &str, link: &str) -> Option<String> {
    let base = url::Url::parse(&format!("{SITE}{page}")).unwrap();
    let mut url = base.join(link).unwrap_or_else(|error| panic!("{page}: {link}: {error}"));
    url.set_fragment(None);
    url.as_str().strip_prefix(SITE).filter(|path| path.starts_with('/')).map(str::to_owned)
}

/// What is wrong with the markup of a page.
fn markup_violations(path: &str, html: &Html) -> Vec<String> {
    let mut violations = Vec::new();
    let mut report = |text: String| violations.push(format!("{path}: {text}"));
    for element in select(html, "style, [style], script:not([src]), base, iframe, object, embed, font, center") {
        report(format!("forbidden element or style: {}", element.html()));
    }
    for element in select(html, "*") {
        if has_attribute(element, |name| name.starts_with("on")) {
            report(format!("inline handler: {}", element.html()));
        }
    }
    let mut ids = BTreeSet::new();
    for element in select(html, "[id]") {
        let id = element.attr("id").unwrap_or_default();
        if !ids.insert(id.to_owned()) || id.is_empty() || id.contains(char::is_whitespace) {
            report(format!("id {id:?} is repeated or invalid"));
        }
    }
    for element in select(html, "a[href^='#']") {
        let target = element.attr("href").unwrap_or_default().trim_start_matches('#');
        if !target.is_empty() && !ids.contains(target) {
            report(format!("no element has the id {target:?}"));
        }
    }
    for (selector, attribute) in [("[for]", "for"), ("[popovertarget]", "popovertarget")] {
        for element in select(html, selector) {
            let target = element.attr(attribute).unwrap_or_default();
            if !ids.contains(target) {
                report(format!("{attribute} names the missing id {target:?}"));
            }
        }
    }
    for element in select(html, "[aria-describedby], [aria-labelledby]") {
        let names = ["aria-describedby", "aria-labelledby"].into_iter().filter_map(|name| element.attr(name));
        for id in names.flat_map(str::split_whitespace).filter(|id| !ids.contains(*id)) {
            report(format!("an ARIA attribute names the missing id {id:?}"));
        }
    }
    for (selector, attribute) in
        [("[src]", "src"), ("link[href]", "href"), ("form[action]", "action"), ("use, image", "href")]
    {
        for element in select(html, selector) {
            let address = element.attr(attribute).unwrap_or_default();
            if own_path(path, address).is_none() {
                report(format!("resource of another site: {address}"));
            }
        }
    }
    for element in select(html, "a[href]") {
        let href = element.attr("href").unwrap_or_default();
        let is_external = own_path(path, href).is_none();
        if is_external && !(href.starts_with("https://") || href.starts_with("http://")) {
            report(format!("link with another scheme: {href}"));
        }
        if is_external && !element.attr("rel").unwrap_or_default().contains("nofollow") {
            report(format!("link to another site without rel=nofollow: {href}"));
        }
    }
    for selector in ["title", "main"] {
        let count = select(html, selector).iter().filter(|element| is_outside_svg(**element)).count();
        if count != 1 {
            report(format!("{count} elements {selector} instead of 1"));
        }
    }
    if select(html, "main h1").is_empty() {
        report("no heading".to_owned());
    }
    violations
}

fn is_outside_svg(element: ElementRef<'_>) -> bool {
    let mut ancestors = element.ancestors().filter_map(ElementRef::wrap);
    !ancestors.any(|ancestor| ancestor.value().name() == "svg")
}

/// Returns the addresses that a page leads to: links, forms that read, style sheets, scripts and images.
pub fn links(path: &str, html: &Html) -> Vec<String> {
    let mut found = Vec::new();
    for (selector, attribute) in
        [("a[href]", "href"), ("link[href]", "href"), ("[src]", "src"), ("form[method='get']", "action")]
    {
        let addresses = select(html, selector).into_iter().filter_map(|element| element.attr(attribute));
        found.extend(addresses.filter_map(|address| own_path(path, address)));
    }
    found
}

/// Returns the path of the declared page or action that serves an address. A page without parameters comes first.
pub fn declared_path(method: &str, address: &str) -> Option<&'static str> {
    let address: Vec<_> = address.split(['?', '#']).next()?.split('/').collect();
    let matches = |pattern: &str| {
        let parts: Vec<_> = pattern.split('/').collect();
        let has_rest = parts.last().is_some_and(|part| part.starts_with('*'));
        let has_length = parts.len() == address.len() || has_rest && parts.len() <= address.len();
        let is_equal = |(part, segment): (&&str, &&str)| part.starts_with([':', '*']) || part == segment;
        has_length && parts.iter().zip(&address).all(is_equal)
    };
    static DECLARED: LazyLock<Vec<(Method, &'static str)>> =
        LazyLock::new(|| pages::all().list().iter().map(|page| (page.method.clone(), page.path)).collect());
    let serving = DECLARED.iter().filter(|(of, path)| of == method && matches(path));
    serving.map(|(_, path)| *path).min_by_key(|path| path.matches([':', '*']).count())
}

/// The addresses that a crawl has found, and how many of each declared page it opens.
#[derive(Default)]
pub struct Found {
    pub seen: BTreeSet<String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Found {
    /// Returns whether a new address is to be opened.
    pub fn insert(&mut self, address: &str) -> bool {
        if !self.seen.insert(address.to_owned()) {
            return false;
        }
        let Some(path) = declared_path("GET", address) else { return true };
        let count = self.counts.entry(path).or_default();
        *count += 1;
        let max = match path {
            _ if path.ends_with("*rest") && !path.ends_with("/archive/*rest") => MAX_FILE_ADDRESSES,
            _ => MAX_ADDRESSES,
        };
        *count <= max
    }
}

pub fn is_page(response: &PageResponse) -> bool {
    response.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
}

#[tokio::test]
async fn every_link_leads_to_a_page_for_every_role() {
    let fixture = PageFixture::new().await;
    fixture.add_awkward_content().await;
    fixture.add_large_lists().await;
    let mut wrong = Vec::new();
    for role in ROLES {
        let browser = fixture.browser(role).await;
        let mut queue = VecDeque::from(["/".to_owned()]);
        let mut found = Found::default();
        while let Some(path) = queue.pop_front() {
            let response = browser.get(&path).await;
            let links = match (response.status, response.location()) {
                (303 | 307 | 308, Some(location)) => own_path(&path, location).into_iter().collect(),
                // The documentation of the API is a page of its own, with its own policy.
                (200, _) if is_page(&response) && !path.starts_with("/api/") => {
                    let html = response.html();
                    wrong.extend(markup_violations(&path, &html).into_iter().map(|text| format!("{role}: {text}")));
                    let actions = response.forms().into_iter().filter(|form| form.method == "post");
                    for form in actions.filter(|form| declared_path("POST", &form.action).is_none()) {
                        wrong.push(format!("{role}: {path}: no action has the address {}", form.action));
                    }
                    links(&path, &html)
                }
                (200, _) => Vec::new(),
                (status, _) => {
                    wrong.push(format!("{role}: {path} is {status}"));
                    Vec::new()
                }
            };
            queue.extend(links.into_iter().filter(|link| found.insert(link)));
        }
        let seen = found.seen;
        // The crawl has reached the pages that the role may see.
        assert!(seen.contains("/public-team/tide"), "{role}: {seen:?}");
        assert!(seen.contains("/owner/awkward"), "{role}: {seen:?}");
        if role != "administrator" {
            let is_member = !matches!(role, "anonymous" | "external" | "stranger");
            assert_eq!(seen.contains("/private-team/tide"), is_member, "{role}: {seen:?}");
        }
        assert_eq!(seen.contains("/profile/sessions"), role != "anonymous", "{role}: {seen:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pages of errors and rejected forms are not reached by links.
#[tokio::test]
async fn pages_of_errors_have_valid_markup() {
    let fixture = PageFixture::new().await;
    let mut wrong = Vec::new();
    for role in ["anonymous", "stranger"] {
        let browser = fixture.browser(role).await;
        let responses = [
            ("/nobody/nothing", browser.get("/nobody/nothing").await, 404),
            ("/groups/private-team", browser.get("/groups/private-team").await, 404),
            ("/sign_in", browser.post("/sign_in", &[("login", "\"<b>"), ("password", "x")]).await, 422),
            ("/projects", browser.post("/projects", &[]).await, 405),
            ("/profile", browser.send(browser.request("POST", "/profile").header("origin", "null")).await, 403),
        ];
        for (path, response, status) in responses {
            assert_eq!(response.status, status, "{path}");
            wrong.extend(markup_violations(path, &response.html()));
            // The link to the content of the page leads to the page itself.
            for link in links(path, &response.html()).into_iter().filter(|link| link.as_str() != path) {
                let status = browser.get(&link).await.status;
                if !matches!(status, 200 | 303) {
                    wrong.push(format!("{path}: the link {link} leads to {status}"));
                }
            }
        }
    }
    let browser = fixture.browser("stranger").await;
    let rejected = browser.post("/profile", &[("name", "")]).await;
    assert_eq!(rejected.status, 422);
    wrong.extend(markup_violations("/profile", &rejected.html()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
