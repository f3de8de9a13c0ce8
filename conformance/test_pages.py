"""Pages for people: what must hold whatever the markup is.

Written from the design's principles alone: every address that the interface gives out can be opened,
nothing hidden can be told from nothing, nothing runs that the service did not ship, and the interface
never takes a browser's cookie for a token.
"""
import html.parser
import itertools
import re
import urllib.parse

import pytest
import requests

from suite.client import HTTP_TIMEOUT, PUBLIC
from suite.review import new_issue, new_milestone

pytestmark = pytest.mark.pages

BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5",
           "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document"}


class Browser:
    """Opens addresses without a script engine: a cookie jar, links and forms."""

    def __init__(self, base_url):
        self.base_url = base_url.rstrip("/")
        self.session = requests.Session()
        self.session.trust_env = False

    def open(self, address, **headers):
        return self.session.get(urllib.parse.urljoin(self.base_url + "/", address),
                                headers={**BROWSER, **headers}, timeout=HTTP_TIMEOUT)

    def submit(self, page, form, fields, **headers):
        values = {**form.values, **fields}
        return self.session.post(urllib.parse.urljoin(page.url, form.action or page.url), data=values,
                                 headers={**BROWSER, "Sec-Fetch-Site": "same-origin", "Origin": self.base_url,
                                          **headers}, timeout=HTTP_TIMEOUT)


class Markup(html.parser.HTMLParser):
    """What a page holds: text, links, resources, forms, inline scripts and styles."""

    class Form:
        def __init__(self, attributes):
            self.action = attributes.get("action") or ""
            self.method = (attributes.get("method") or "get").lower()
            self.values, self.names, self.kinds = {}, set(), {}

    def __init__(self, page):
        super().__init__()
        self.texts, self.links, self.resources, self.forms, self.inline = [], [], [], [], []
        self.language = self.title = None
        self.within, self.form = [], None
        self.feed(page.text)

    VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in self.VOID:
            self.within.append(tag)
        if tag == "html":
            self.language = attributes.get("lang")
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag == "script" and not attributes.get("src") and attributes.get("type") not in ("application/json",):
            self.inline.append(tag)
        if tag == "style" or "style" in attributes or any(name.startswith("on") for name in attributes):
            self.inline.append("%s %s" % (tag, sorted(attributes)))
        for name in ("src", "data", "poster"):
            if attributes.get(name):
                self.resources.append(attributes[name])
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "modulepreload", "preload"):
            self.resources.append(attributes.get("href") or "")
        if tag == "form":
            self.form = self.Form(attributes)
            self.forms.append(self.form)
        if self.form is not None and attributes.get("name"):
            self.form.names.add(attributes["name"])
            self.form.kinds[attributes["name"]] = attributes.get("type")
            if tag == "input" and attributes.get("type") == "hidden":
                self.form.values[attributes["name"]] = attributes.get("value") or ""

    def handle_endtag(self, tag):
        if tag == "form":
            self.form = None
        while tag in self.within and self.within.pop() != tag:
            pass

    def handle_data(self, text):
        if self.within[-1:] == ["title"]:
            self.title = (self.title or "") + text
        if self.within[-1:] not in (["script"], ["style"]):
            self.texts.append(text)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def page_of(resp):
    assert resp.status_code == 200, "%s gave %d: %s" % (resp.url, resp.status_code, resp.text[:300])
    assert resp.headers["Content-Type"].startswith("text/html"), resp.headers["Content-Type"]
    return Markup(resp)


@pytest.fixture(scope="session")
def visitor(base_url):
    return Browser(base_url)


PASSWORD = "correct horse battery staple 9"


@pytest.fixture(scope="session")
def signed_in(base_url, make_account):
    """Somebody who signed in through the form, whatever its fields are called."""
    account = make_account(password=PASSWORD)
    browser = Browser(base_url)
    resp = browser.open("/")
    markup = Markup(resp)
    entry = next((link for link in markup.links if re.search(r"sign|login|session", link, re.I)), None)
    if not any("password" in form.kinds.values() for form in markup.forms):
        assert entry, "no link to sign in on the first page"
        resp = browser.open(entry)
        markup = page_of(resp)
    form = next(form for form in markup.forms if "password" in form.kinds.values())
    secret = next(name for name, kind in form.kinds.items() if kind == "password")
    login = next(name for name, kind in form.kinds.items() if kind in ("text", "email", None) and name != secret)
    done = browser.submit(resp, form, {login: account.username, secret: PASSWORD})
    assert done.status_code == 200, done.status_code
    browser.account = account
    assert account.username in Markup(browser.open("/")).text + browser.open("/").text
    return browser


@pytest.fixture(scope="session")
def things(open_crew):
    """A public project with code, an issue, a milestone, and what the interface says of their addresses."""
    client = open_crew.owner
    issue = new_issue(client, open_crew, title="A tide gauge drifts")
    milestone = new_milestone(client, open_crew, title="Before winter")
    return {"project": client.read("/projects/%s" % open_crew.id), "issue": issue, "milestone": milestone,
            "commit": open_crew.first, "client": client}


# ---------------------------------------------------------------- every address opens

def test_first_page(visitor):
    markup = page_of(visitor.open("/"))
    assert markup.title and markup.language


def test_web_urls_open(visitor, things):
    page_of(visitor.open(things["project"]["web_url"]))
    page_of(visitor.open(things["issue"]["web_url"]))


def test_project_page_tells_what_it_is(visitor, things):
    text = page_of(visitor.open(things["project"]["web_url"])).text
    assert things["project"]["name"] in text
    assert things["project"]["http_url_to_repo"] in visitor.open(things["project"]["web_url"]).text


def test_user_and_group_pages_open(signed_in, things, admin, make_group):
    page_of(signed_in.open("/" + signed_in.account.username))
    group = make_group(admin, visibility_level=PUBLIC)
    page_of(signed_in.open(group.get("web_url") or "/" + group["path"]))


def test_links_within_a_project_lead_somewhere(visitor, things):
    """Every link that a visitor is shown on the project's pages, two steps deep, answers."""
    root = things["project"]["web_url"]
    seen, ahead = set(), [root]
    for depth in range(2):
        found = []
        for address in ahead:
            resp = visitor.open(address)
            assert resp.status_code < 400, "%s gave %d" % (address, resp.status_code)
            if resp.headers.get("Content-Type", "").startswith("text/html"):
                found += [urllib.parse.urldefrag(urllib.parse.urljoin(resp.url, link))[0] for link in Markup(resp).links]
        ahead = [link for link in dict.fromkeys(found)
                 if link.startswith(visitor.base_url + "/") and link not in seen][:120]
        seen.update(ahead)
    for address in ahead:
        resp = visitor.session.get(address, headers=BROWSER, timeout=HTTP_TIMEOUT, stream=True)
        assert resp.status_code < 400, "%s gave %d" % (address, resp.status_code)
        resp.close()


def test_content_can_be_read(visitor, things):
    """Somewhere below the project there is each file's name, and the first commit's message."""
    first = page_of(visitor.open(things["project"]["web_url"]))
    assert "run.sh" in first.text or "bin" in first.text
    assert any(things["commit"][:7] in link or "commit" in link for link in first.links)


# ---------------------------------------------------------------- hidden is not there

def skeleton(resp, *words):
    text = resp.text
    for word in words:
        text = text.replace(word, "X").replace(urllib.parse.quote(word, safe=""), "X")
    return re.sub(r"[0-9a-f-]{16,}", "ID", text)


def test_hidden_and_missing_are_the_same_page(visitor, signed_in, crew):
    path = crew.project["path_with_namespace"]
    name = path.split("/")[1]
    missing = path.split("/")[0] + "/" + "z" * len(name)
    for browser, below in itertools.product((visitor, signed_in), ("", "/issues", "/tree/master", "/commits/master")):
        hidden, none = browser.open("/" + path + below), browser.open("/" + missing + below)
        assert hidden.status_code == none.status_code, below
        assert hidden.status_code in (401, 404) or "sign" in hidden.url, below
        assert skeleton(hidden, name, path) == skeleton(none, "z" * len(name), missing), below


# ---------------------------------------------------------------- nothing foreign runs

def test_policy_and_resources(visitor, things):
    for address in ("/", things["project"]["web_url"], things["issue"]["web_url"]):
        resp = visitor.open(address)
        policy = resp.headers.get("Content-Security-Policy", "")
        assert "default-src" in policy or "script-src" in policy, address
        assert "unsafe-inline" not in policy and "unsafe-eval" not in policy, policy
        assert "frame-ancestors" in policy or resp.headers.get("X-Frame-Options"), address
        assert resp.headers["X-Content-Type-Options"] == "nosniff"
        markup = page_of(resp)
        assert not markup.inline, markup.inline
        for resource in markup.resources:
            where = urllib.parse.urljoin(resp.url, resource)
            assert where.startswith((visitor.base_url + "/", "data:image/")), "foreign resource %s" % where


EVIL = ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
        "![x](https://tracker.example/pixel.png)", "<a href=\"javascript:alert(1)\">x</a>",
        "<svg onload=alert(1)>", "<iframe src=//evil.example></iframe>", "</title><script>alert(1)</script>",
        "<style>body{display:none}</style>", "\" autofocus onfocus=\"alert(1)")


@pytest.mark.parametrize("evil", EVIL)
def test_what_people_write_is_text(visitor, open_crew, things, evil):
    issue = new_issue(things["client"], open_crew, title="About " + evil, description="Text\n\n%s\n" % evil)
    resp = visitor.open(issue["web_url"])
    markup = page_of(resp)
    assert not markup.inline, markup.inline
    assert not [link for link in markup.links if link.strip().lower().startswith(("javascript:", "data:", "vbscript:"))]
    assert not [r for r in markup.resources if "example" in r], markup.resources


# ---------------------------------------------------------------- cookies and forms

def test_cookies_are_careful(signed_in):
    jar = list(signed_in.session.cookies)
    assert jar
    sessions = [cookie for cookie in jar if cookie.has_nonstandard_attr("HttpOnly") or "HttpOnly" in cookie._rest]
    assert sessions, "no cookie is HttpOnly"
    assert all(cookie._rest.get("SameSite", "").lower() in ("lax", "strict") for cookie in sessions)


def test_the_interface_takes_no_cookie(signed_in):
    resp = signed_in.session.get(signed_in.base_url + "/api/v3/user", timeout=HTTP_TIMEOUT)
    assert resp.status_code == 401


@pytest.mark.parametrize("headers", ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
                                     {"Sec-Fetch-Site": "same-site", "Origin": "https://other.example"},
                                     {"Sec-Fetch-Site": None, "Origin": "https://evil.example"},
                                     {"Sec-Fetch-Site": None, "Origin": "null"},
                                     {"Sec-Fetch-Site": None, "Origin": None}))
def test_forms_from_elsewhere_do_nothing(signed_in, headers):
    """The one form that every signed-in page has: signing out."""
    page = signed_in.open("/")
    form = next((form for form in Markup(page).forms
                 if form.method == "post" and re.search(r"out|session", form.action, re.I)), None)
    assert form is not None, "no form to sign out on the first page"
    resp = signed_in.submit(page, form, {}, **headers)
    assert resp.status_code in (400, 403), resp.status_code
    assert signed_in.account.username in signed_in.open("/").text


def test_a_token_is_no_session(base_url, things):
    """An address with a token in it opens no page as its owner: such addresses end up in logs."""
    browser = Browser(base_url)
    private = things["client"].token
    markup = page_of(browser.open("/?private_token=" + private))
    # The names of users are on the page anyway: it lists public projects with their owners.
    assert not [form for form in markup.forms if re.search(r"out|session", form.action, re.I) and form.method == "post"]
    assert markup.text == page_of(Browser(base_url).open("/")).text


def test_after_signing_in_one_stays_here(base_url, visitor):
    page = visitor.open("/")
    entry = next((link for link in Markup(page).links if re.search(r"sign|login", link, re.I)), "/")
    for away in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"):
        for name in ("to", "return_to", "next", "redirect_to", "redirect", "continue"):
            resp = visitor.open("%s%s%s=%s" % (entry, "&" if "?" in entry else "?", name, urllib.parse.quote(away, safe="")))
            # The address that was opened contains the name, so only the host of the last one is compared.
            assert urllib.parse.urlsplit(resp.url).netloc == urllib.parse.urlsplit(base_url).netloc
            assert not [form for form in Markup(resp).forms if "evil.example" in form.action]
            kept = [value for form in Markup(resp).forms for value in form.values.values()]
            assert not [value for value in kept if "evil.example" in value or value.startswith("javascript:")]


# ---------------------------------------------------------------- weight

def test_first_view_is_light(visitor, things):
    """HTML, styles and scripts of a first view, compressed, in bytes: the design's budget."""
    for address in ("/", things["project"]["web_url"], things["issue"]["web_url"]):
        resp = visitor.session.get(urllib.parse.urljoin(visitor.base_url + "/", address), stream=True, timeout=HTTP_TIMEOUT,
                                   headers={**BROWSER, "Accept-Encoding": "gzip"})
        raw = resp.raw.read(10 << 20, decode_content=False)
        total, requests_made = len(raw), 1
        page = visitor.open(address)
        for resource in dict.fromkeys(Markup(page).resources):
            if resource.startswith("data:") or re.search(r"avatar", resource):
                continue
            part = visitor.session.get(urllib.parse.urljoin(page.url, resource), stream=True, timeout=HTTP_TIMEOUT,
                                       headers={"Accept-Encoding": "gzip"})
            assert part.status_code == 200, resource
            total += len(part.raw.read(10 << 20, decode_content=False))
            requests_made += 1
        assert total <= 60_000, "%s: %d bytes" % (address, total)


def test_pages_can_be_asked_again_cheaply(visitor, things):
    address = things["project"]["web_url"]
    tag = visitor.open(address).headers.get("ETag")
    assert tag
    assert visitor.open(address, **{"If-None-Match": tag}).status_code == 304
