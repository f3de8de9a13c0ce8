//! A client of pages that behaves like a browser without scripts: it keeps cookies, says which site a form comes from,
//! and sends forms with the fields that the page has.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use reqwest::header::{HeaderMap, SET_COOKIE};
use scraper::{ElementRef, Html, Selector};

/// The header `User-Agent` that a new [`Browser`] sends.
const USER_AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// A browser with its cookies. A clone shares them, as another tab does. It follows no redirects, so that tests see
/// them.
#[derive(Clone)]
pub struct Browser {
    http: reqwest::Client,
    base_url: String,
    /// The origin of the pages, as the browser knows it: that of the external URL.
    origin: String,
    agent: String,
    cookies: Arc<Mutex<BTreeMap<String, String>>>,
    /// The number of requests, if each comes from an address of its own.
    requests: Option<Arc<AtomicU32>>,
}

/// The response to a request of a [`Browser`].
#[derive(Debug)]
pub struct PageResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

/// A form of a page with the values that it has at first.
#[derive(Clone, Debug)]
pub struct PageForm {
    pub method: String,
    pub action: String,
    fields: Vec<FormField>,
}

#[derive(Clone, Debug)]
struct FormField {
    name: String,
    value: String,
    /// Whether the field is sent. A box that is not checked is not.
    is_sent: bool,
}

impl Browser {
    pub(crate) fn new(base_url: &str, origin: &str) -> Self {
        let builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
        let http = builder.redirect(reqwest::redirect::Policy::none()).build().expect("a client");
        let (base_url, origin, agent) = (base_url.to_owned(), origin.to_owned(), USER_AGENT.to_owned());
        Self { http, base_url, origin, agent, cookies: Arc::default(), requests: None }
    }

    /// Returns a browser with the same cookies that uses another node, given by host and port.
    pub fn for_node(&self, node: &str) -> Self {
        Self { base_url: format!("http://{node}"), ..self.clone() }
    }

    /// Returns a browser with the same cookies that sends another header `User-Agent`.
    pub fn with_agent(&self, agent: &str) -> Self {
        Self { agent: agent.to_owned(), ..self.clone() }
    }

    /// Returns a browser each of whose requests comes from another address, so that no limit for one address is reached.
    /// The server must trust the loopback interface as a proxy.
    pub fn with_many_addresses(&self) -> Self {
        Self { requests: Some(Arc::default()), ..self.clone() }
    }

    /// Returns a browser with a copy of the cookies, as after a theft of the cookies.
    pub fn copy(&self) -> Self {
        let cookies = self.cookies.lock().expect("no test panics while holding it").clone();
        Self { cookies: Arc::new(Mutex::new(cookies)), ..self.clone() }
    }

    /// Returns the value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().expect("no test panics while holding it").get(name).cloned()
    }

    pub fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.lock().expect("no test panics while holding it").insert(name.to_owned(), value.to_owned());
    }

    /// Returns a request with the cookies, and without the headers that say where it comes from. The test completes it.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        let mut request =
            self.http.request(method, format!("{}{path}", self.base_url)).header("user-agent", &self.agent);
        if let Some(requests) = &self.requests {
            let [_, a, b, c] = requests.fetch_add(1, Ordering::Relaxed).to_be_bytes();
            request = request.header("x-forwarded-for", format!("10.{a}.{b}.{c}"));
        }
        let cookies = self.cookies.lock().expect("no test panics while holding it");
        let pairs: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if pairs.is_empty() { request } else { request.header("cookie", pairs.join("; ")) }
    }

    /// Sends a request and keeps the cookies of the response.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> PageResponse {
        let request = request.header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        let response = request.send().await.expect("the server responds");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.expect("a readable body");
        let response = PageResponse { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() };
        self.keep_cookies(&response);
        response
    }

    fn keep_cookies(&self, response: &PageResponse) {
        let mut cookies = self.cookies.lock().expect("no test panics while holding it");
        for cookie in response.set_cookies() {
            let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').expect("a cookie has a name");
            match attributes.split(';').any(|attribute| attribute.trim() == "Max-Age=0") {
                true => cookies.remove(name),
                false => cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
    }

    /// Opens an address as if the user had typed it.
    pub async fn get(&self, path: &str) -> PageResponse {
        let request = self.request("GET", path);
        self.send(request.header("sec-fetch-site", "none").header("sec-fetch-mode", "navigate")).await
    }

    /// Opens an address and follows redirects.
    pub async fn open(&self, path: &str) -> PageResponse {
        let mut response = self.get(path).await;
        for _ in 0..5 {
            let Some(location) = response.location().map(str::to_owned) else { break };
            response = self.get(&location).await;
        }
        response
    }

    /// Sends a form of a page of this site.
    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> PageResponse {
        let request = self.request("POST", path).header("origin", &self.origin);
        self.send(request.header("sec-fetch-site", "same-origin").form(form)).await
    }

    /// Sends a form as it is.
    pub async fn submit(&self, form: &PageForm) -> PageResponse {
        let fields = form.fields.iter().filter(|field| field.is_sent);
        let pairs: Vec<(&str, &str)> = fields.map(|field| (field.name.as_str(), field.value.as_str())).collect();
        match form.method.as_str() {
            "post" => self.post(&form.action, &pairs).await,
            method => {
                let request = self.request(&method.to_ascii_uppercase(), &form.action).query(&pairs);
                self.send(request.header("sec-fetch-site", "same-origin")).await
            }
        }
    }

    /// Signs in with the form of the sign-in page.
    pub async fn sign_in(&self, login: &str, password: &str) -> PageResponse {
        let form = self.sign_in_form("/sign_in").await;
        self.submit(&form.set("login", login).set("password", password)).await
    }

    /// Returns the form of the sign-in page at `path`, which may have a query.
    pub async fn sign_in_form(&self, path: &str) -> PageForm {
        self.get(path).await.form("form[action='/sign_in']")
    }

    /// Returns the username that the header of a page shows, or `None` if the browser is not signed in.
    pub async fn viewer(&self) -> Option<String> {
        let page = self.get("/projects").await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.texts("#user-menu .faint").into_iter().next().map(|name| name.trim_start_matches('@').to_owned())
    }
}

impl PageResponse {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a readable header"))
    }

    /// Returns where a redirect leads.
    pub fn location(&self) -> Option<&str> {
        self.header("location")
    }

    pub fn set_cookies(&self) -> Vec<&str> {
        let values = self.headers.get_all(SET_COOKIE).iter();
        values.map(|value| value.to_str().expect("a readable header")).collect()
    }

    /// Returns the part of `Set-Cookie` about this cookie.
    pub fn set_cookie(&self, name: &str) -> Option<&str> {
        self.set_cookies().into_iter().find(|cookie| cookie.split('=').next() == Some(name))
    }

    pub fn html(&self) -> Html {
        Html::parse_document(&self.text)
    }

    /// Returns the texts of all elements that match a selector, with white space trimmed.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        let (html, selector) = (self.html(), parse_selector(selector));
        let texts = html.select(&selector).map(|element| element.text().collect::<String>());
        texts.map(|text| text.trim().to_owned()).collect()
    }

    /// Returns the values of an attribute of all elements that match a selector and have it.
    pub fn attributes(&self, selector: &str, attribute: &str) -> Vec<String> {
        let (html, selector) = (self.html(), parse_selector(selector));
        let values = html.select(&selector).filter_map(|element| element.attr(attribute));
        values.map(str::to_owned).collect()
    }

    /// Returns the first form that matches a selector.
    #[track_caller]
    pub fn form(&self, selector: &str) -> PageForm {
        let html = self.html();
        let form = html.select(&parse_selector(selector)).next();
        PageForm::read(form.unwrap_or_else(|| panic!("no form {selector}: {} {}", self.status, self.text)))
    }

    /// Returns all forms of the page.
    pub fn forms(&self) -> Vec<PageForm> {
        self.html().select(&parse_selector("form")).map(PageForm::read).collect()
    }
}

impl PageForm {
    fn read(form: ElementRef<'_>) -> Self {
        let field = |element: ElementRef<'_>| {
            let name = element.attr("name")?.to_owned();
            let attribute = |name: &str| element.attr(name).map(str::to_owned);
            let (value, is_sent) = match element.value().name() {
                "textarea" => (element.text().collect::<String>().trim_start_matches('\n').to_owned(), true),
                "select" => (selected_value(element), true),
                _ => {
                    let is_box = matches!(element.attr("type"), Some("checkbox" | "radio"));
                    let value = attribute("value").unwrap_or_else(|| if is_box { "on" } else { "" }.to_owned());
                    (value, !is_box || element.attr("checked").is_some())
                }
            };
            Some(FormField { name, value, is_sent })
        };
        Self {
            method: form.attr("method").unwrap_or("get").to_ascii_lowercase(),
            action: form.attr("action").expect("a form has an action").to_owned(),
            fields: form.select(&parse_selector("input, textarea, select")).filter_map(field).collect(),
        }
    }

    /// Returns the value of a field. Fails if the form has no such field.
    #[track_caller]
    pub fn value(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|field| field.name == name);
        &found.unwrap_or_else(|| panic!("no field {name} in {self:?}")).value
    }

    /// Returns the form with this value in a field. Fails if the form has no such field.
    #[track_caller]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        let field = self.find_mut(name);
        value.clone_into(&mut field.value);
        self
    }

    /// Returns the form with a box checked. Fails if the form has no such field.
    #[track_caller]
    pub fn check(mut self, name: &str) -> Self {
        self.find_mut(name).is_sent = true;
        self
    }

    /// Returns the form as a button with this name and value sends it.
    pub fn press(mut self, name: &str, value: &str) -> Self {
        self.fields.push(FormField { name: name.to_owned(), value: value.to_owned(), is_sent: true });
        self
    }

    #[track_caller]
    fn find_mut(&mut self, name: &str) -> &mut FormField {
        let found = self.fields.iter_mut().find(|field| field.name == name);
        found.unwrap_or_else(|| panic!("no field {name} in the form"))
    }
}

fn selected_value(select: ElementRef<'_>) -> String {
    let options = parse_selector("option");
    let selected = select.select(&options).find(|option| option.attr("selected").is_some());
    let option = selected.or_else(|| select.select(&options).next());
    option.and_then(|option| option.attr("value")).unwrap_or_default().to_owned()
}

#[track_caller]
fn parse_selector(selector: &str) -> Selector {
    Selector::parse(selector).unwrap_or_else(|error| panic!("{selector}: {error}"))
}

/// Returns whether an element has an attribute for which this function returns true.
pub fn has_attribute(element: ElementRef<'_>, is_wanted: impl Fn(&str) -> bool) -> bool {
    element.value().attrs().any(|(name, _)| is_wanted(name))
}
