//! Submits every form that a role is offered, with plausible values. What is offered is allowed, and leads to a page.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use holdfast_tests::{Browser, PASSWORD};
use scraper::{ElementRef, Html};

use super::crawl::{Found, declared_path, is_page, links, own_path, select};
use super::fixtures::PageFixture;

/// Words in the addresses of actions that take away what other forms need. These come last, in this order.
const DESTRUCTIVE: [&str; 16] = [
    "erase",
    "cancel",
    "unsubscribe",
    "decline",
    "revoke",
    "remove",
    "delete",
    "archive",
    "general",
    "transfer",
    "leave",
    "delete_project",
    "delete_group",
    "delete_others",
    "sign_out",
    "password",
];

const SSH_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHN0YXRpYyBrZXkgb2YgdGhlIGZvcm0gY3Jhd2w0 crawl";

/// Names of fields that are rejected if they are empty, although the browser would send them.
const NEEDED: [&str; 10] = ["key", "name", "title", "note", "color", "email", "username", "url", "ref", "assignee"];

/// A form and one of its buttons.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OfferedForm {
    /// The address of the page with the form.
    page: String,
    method: String,
    action: String,
    /// The button that sends the form, by its name and value.
    button: Option<(String, String)>,
}

impl OfferedForm {
    /// Returns what two forms have in common that are submitted once: the declared action and the button.
    fn key(&self) -> (String, Option<&'static str>, Option<(String, String)>) {
        let path = self.action.split('?').next().unwrap_or_default();
        (self.method.clone(), declared_path(&self.method.to_uppercase(), path), self.button.clone())
    }

    fn rank(&self) -> usize {
        let words: Vec<&str> = self.action.split(['/', '?']).collect();
        DESTRUCTIVE.iter().rposition(|word| words.contains(word)).map_or(0, |rank| rank + 1)
    }
}

/// Returns the forms of a page, one for each of their buttons.
fn forms(page: &str, html: &Html) -> Vec<(OfferedForm, Vec<(String, String)>)> {
    let mut found = Vec::new();
    for form in select(html, "form[action]") {
        let id = form.attr("id").unwrap_or_default().to_owned();
        let owned = |element: &ElementRef<'_>| element.attr("form").is_some_and(|it| it == id && !id.is_empty());
        let outside = select(html, "[form]").into_iter().filter(owned);
        let inside = select(html, "input, select, textarea, button").into_iter().filter(|element| {
            element.ancestors().any(|ancestor| ancestor.id() == form.id()) && element.attr("form").is_none()
        });
        let controls: Vec<ElementRef<'_>> = inside.chain(outside).collect();
        let fields = fields(form, &controls);
        let buttons = controls
            .iter()
            .filter(|element| element.value().name() == "button" && element.attr("type") != Some("button"));
        let mut sent = BTreeSet::new();
        for button in buttons {
            let pair = button.attr("name").map(|name| (name.to_owned(), button.attr("value").unwrap_or("").to_owned()));
            let action = button.attr("formaction").or(form.attr("action")).unwrap_or_default();
            let Some(action) = own_path(page, action) else { continue };
            let method = form.attr("method").unwrap_or("get").to_lowercase();
            let offered = OfferedForm { page: page.to_owned(), method, action, button: pair.clone() };
            if sent.insert(offered.clone()) {
                found.push((offered, fields.iter().cloned().chain(pair).collect()));
            }
        }
    }
    found
}

/// Returns the values of the controls of a form, with plausible ones where a value is missing.
fn fields(form: ElementRef<'_>, controls: &[ElementRef<'_>]) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut chosen = BTreeSet::new();
    for control in controls {
        let Some(name) = control.attr("name").filter(|_| control.attr("disabled").is_none()) else { continue };
        let value = match (control.value().name(), control.attr("type").unwrap_or("text")) {
            ("button", _) | (_, "submit" | "button" | "file" | "reset") => None,
            ("select", _) => selected(*control),
            ("textarea", _) => {
                let text: String = control.text().collect();
                Some(if text.trim().is_empty() { plausible(name, "textarea", *control) } else { text })
            }
            (_, "checkbox") => {
                // Of boxes for several values, one has to be checked.
                let is_one_of_several = name.ends_with("[]") && is_first_without_choice(form, *control);
                let is_sent = control.attr("checked").is_some() || control.attr("required").is_some();
                (is_sent || is_one_of_several).then(|| control.attr("value").unwrap_or("on").to_owned())
            }
            (_, "radio") => {
                let is_sent = control.attr("checked").is_some() || is_first_without_choice(form, *control);
                (is_sent && chosen.insert(name.to_owned())).then(|| control.attr("value").unwrap_or("on").to_owned())
            }
            (_, kind) => match control.attr("value").filter(|value| !value.is_empty() || kind == "hidden") {
                Some(value) => Some(value.to_owned()),
                None => Some(plausible(name, kind, *control)),
            },
        };
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    fields
}

/// Returns whether a box or radio button is the first of its name in the form, and none of them is checked.
fn is_first_without_choice(form: ElementRef<'_>, control: ElementRef<'_>) -> bool {
    let selector = scraper::Selector::parse("input[type='radio'], input[type='checkbox']").unwrap();
    let mut of_name = form.select(&selector).filter(|it| it.attr("name") == control.attr("name")).peekable();
    let is_first = of_name.peek().is_some_and(|first| first.id() == control.id());
    is_first && of_name.all(|it| it.attr("checked").is_none())
}

fn selected(select: ElementRef<'_>) -> Option<String> {
    let selector = scraper::Selector::parse("option").unwrap();
    let options: Vec<_> = select.select(&selector).filter(|option| option.attr("disabled").is_none()).collect();
    let chosen = options.iter().find(|option| option.attr("selected").is_some());
    let needs_value = select.attr("required").is_some();
    let with_value = options.iter().find(|option| !needs_value || option.attr("value").is_none_or(|it| !it.is_empty()));
    let option = chosen.or(with_value)?;
    Some(option.attr("value").map_or_else(|| option.text().collect(), str::to_owned))
}

/// Returns a value that the field may have. Fields that are not required stay empty, unless the form needs one of them.
fn plausible(name: &str, kind: &str, control: ElementRef<'_>) -> String {
    // A name that has to be repeated is shown in the field.
    if name.contains("confirm") && kind == "text" {
        let shown = control.attr("pattern").or(control.attr("placeholder")).or(control.attr("data-value"));
        return shown.unwrap_or_default().replace('\\', "");
    }
    let is_needed = control.attr("required").is_some() || NEEDED.contains(&name);
    match (name, kind) {
        ("password" | "current_password" | "current", "password") => PASSWORD,
        (_, "password") => "another long phrase 7",
        ("key", "textarea") => SSH_KEY,
        _ if !is_needed => "",
        ("color", _) | (_, "color") => "#112233",
        (_, "email") => "crawl@example.com",
        (_, "url") => "http://127.0.0.1:9/crawl",
        (_, "date") => "2026-02-03",
        (_, "number") => control.attr("min").unwrap_or("1"),
        ("username" | "user" | "login" | "assignee", _) => "stranger",
        ("ref" | "branch" | "source" | "target" | "from" | "to", _) => "main",
        ("path" | "name" | "title", _) => "crawled",
        ("key", _) => "CRAWLED",
        _ => "Text",
    }
    .to_owned()
}

/// Follows links, and returns the forms of the pages.
async fn collect(browser: &Browser) -> Vec<OfferedForm> {
    let mut queue = VecDeque::from(["/".to_owned()]);
    let (mut found, mut offered) = (Found::default(), BTreeMap::new());
    while let Some(path) = queue.pop_front() {
        let response = browser.get(&path).await;
        let links = match (response.status, response.location()) {
            (303 | 307 | 308, Some(location)) => own_path(&path, location).into_iter().collect(),
            (200, _) if is_page(&response) && !path.starts_with("/api/") => {
                let html = response.html();
                for (form, _) in forms(&path, &html) {
                    offered.entry(form.key()).or_insert(form);
                }
                links(&path, &html)
            }
            _ => Vec::new(),
        };
        queue.extend(links.into_iter().filter(|link| found.insert(link)));
    }
    let mut offered: Vec<OfferedForm> = offered.into_values().collect();
    offered.sort_by_key(|form| (form.rank(), form.method != "get"));
    offered
}

/// Submits a form of a page as it is now. Returns None if the page no longer has it.
async fn submit(browser: &Browser, offered: &OfferedForm) -> Option<Result<u16, String>> {
    let page = browser.get(&offered.page).await;
    let (_, fields) = forms(&offered.page, &page.html()).into_iter().find(|(form, _)| form == offered)?;
    let pairs: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let response = match offered.method.as_str() {
        "post" => browser.post(&offered.action, &pairs).await,
        _ => browser.send(browser.request("GET", &offered.action).query(&pairs)).await,
    };
    let shown = format!("{offered:?} with {pairs:?}");
    match (response.status, response.location()) {
        (303 | 308, Some(location)) => {
            let target = browser.open(location).await;
            let is_page = matches!(target.status, 200 | 303);
            Some(is_page.then_some(303).ok_or_else(|| format!("{shown} leads to {location}: {}", target.status)))
        }
        (200, _) => Some(Ok(200)),
        (422, _) => {
            let messages = response.texts(".wrong-why, .flash.bad");
            (!messages.is_empty()).then_some(Ok(422)).or(Some(Err(format!("{shown} is rejected without a message"))))
        }
        (status, _) => Some(Err(format!("{shown} is {status}: {:?}", response.texts("main")))),
    }
}

async fn submit_every_form(role: &str) {
    let fixture = PageFixture::new().await;
    let browser = fixture.browser(role).await;
    let (mut wrong, mut results) = (Vec::new(), Vec::new());
    for offered in collect(&browser).await {
        // The session that an earlier form has ended is replaced.
        let is_signed_out = role != "anonymous" && browser.get("/profile").await.status != 200;
        let browser = if is_signed_out { fixture.browser(role).await } else { browser.clone() };
        match submit(&browser, &offered).await {
            Some(Ok(status)) => results.push((offered, status)),
            Some(Err(text)) => wrong.push(text),
            None => {}
        }
    }
    assert!(!results.is_empty(), "{role} is offered no form");
    assert!(wrong.is_empty(), "{role}:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn every_form_that_an_anonymous_viewer_is_offered_works() {
    submit_every_form("anonymous").await;
}

#[tokio::test]
async fn every_form_that_a_stranger_is_offered_works() {
    submit_every_form("stranger").await;
}

#[tokio::test]
async fn every_form_that_a_guest_is_offered_works() {
    submit_every_form("guest").await;
}

#[tokio::test]
async fn every_form_that_a_developer_is_offered_works() {
    submit_every_form("developer").await;
}

#[tokio::test]
async fn every_form_that_an_owner_is_offered_works() {
    submit_every_form("owner").await;
}

#[tokio::test]
async fn every_form_that_an_administrator_is_offered_works() {
    submit_every_form("administrator").await;
}

#[tokio::test]
async fn every_form_that_a_reporter_is_offered_works() {
    submit_every_form("reporter").await;
}

#[tokio::test]
async fn every_form_that_a_master_is_offered_works() {
    submit_every_form("master").await;
}

#[tokio::test]
async fn every_form_that_an_external_user_is_offered_works() {
    submit_every_form("external").await;
}
