"""Fixtures of the browser tests: a server with content, and Debian's Chromium. dev/browser sets the environment."""
import os
import urllib.parse

import pytest
from playwright.sync_api import expect, sync_playwright

import content
from crawl import crawl
from suite.client import Client

#: Records layout shifts and violations of the content policy, in every page, before its own scripts run.
RECORDER = """
window.recorded = {shift: 0, shifted: [], violations: []};
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.recorded.shift += entry.value;
    for (const {node, previousRect, currentRect} of entry.sources) {
      const name = node?.cloneNode?.().outerHTML ?? node?.nodeName;
      window.recorded.shifted.push(`${name} from ${JSON.stringify(previousRect)} to ${JSON.stringify(currentRect)}`);
    }
  }
}).observe({type: 'layout-shift', buffered: true});
document.addEventListener('securitypolicyviolation',
  (event) => window.recorded.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@pytest.fixture(scope="session")
def base_url():
    return os.environ["BASE_URL"].rstrip("/")


@pytest.fixture(scope="session")
def world(base_url):
    return content.create(base_url, Client(base_url, os.environ["ADMIN_TOKEN"]))


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=options)
        yield browser
        browser.close()


def submit_sign_in(page, username="ada", password=content.PASSWORD):
    """Fills in the form of the sign-in page. The page sets the focus itself; a test that does so before it would make
    Chromium complain on the console."""
    expect(page.get_by_label("Username or email")).to_be_focused()
    page.get_by_label("Username or email").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_in(page, base_url, username="ada"):
    page.goto(base_url + "/sign_in")
    submit_sign_in(page, username)
    page.wait_for_url(lambda url: "/sign_in" not in url)


@pytest.fixture(scope="session")
def cookies(chromium, base_url, world):
    """The cookies of each viewer."""
    found = {"anonymous": []}
    for viewer, username in (("owner", "ada"), ("administrator", "root2")):
        with chromium.new_context() as context:
            sign_in(context.new_page(), base_url, username)
            found[viewer] = context.cookies()
    return found


#: Where each viewer begins. Administrators see all other pages as owners do.
START = {"administrator": "/admin"}


@pytest.fixture(scope="session")
def crawled(base_url, cookies, world):
    """The addresses of pages that each viewer finds."""
    # The main project has content of every kind; those of flows have little. Its build with artifacts and its issue
    # with notes must not be lost among others of their kind.
    home = "/" + world.project["path_with_namespace"]
    first = (home, "%s/builds/%s" % (home, world.build_with_artifacts), "%s/issues/%s" % (home, world.issue["iid"]))

    def crawl_as(viewer, jar):
        secrets = {cookie["name"]: cookie["value"] for cookie in jar}
        start = START.get(viewer, "/")
        return crawl(base_url, secrets, start, () if viewer in START else first)
    return {viewer: crawl_as(viewer, jar) for viewer, jar in cookies.items()}


@pytest.fixture(scope="session")
def open_context(chromium, base_url, cookies):
    """Factory of pages that record everything that must not happen in `page.problems`."""
    def make(viewer, **options):
        context = chromium.new_context(**options)
        context.set_default_timeout(20_000)
        context.add_cookies(cookies[viewer])
        context.add_init_script(RECORDER)
        page = context.new_page()
        watch(page, base_url)
        return page
    return make


TYPED_BEFORE_AUTOFOCUS = "Autofocus processing was blocked because a document already has a focused element."


def watch(page, base_url):
    page.problems = []

    def check_message(message):
        # A flow that types before the browser moves the focus keeps its focus, as a person does.
        if message.text != TYPED_BEFORE_AUTOFOCUS:
            page.problems.append("console: " + message.text)
    page.on("console", check_message)
    page.on("pageerror", lambda error: page.problems.append("error: %s" % error))
    host = urllib.parse.urlsplit(base_url).netloc

    def check_host(request):
        if urllib.parse.urlsplit(request.url).netloc != host:
            page.problems.append("request to another host: " + request.url)
    page.on("request", check_host)


#: Whether scripts run, the size of the window and the theme of the system.
BROWSERS = {
    "desktop": dict(viewport={"width": 1280, "height": 900}, color_scheme="light"),
    "phone dark": dict(viewport={"width": 390, "height": 844}, color_scheme="dark"),
    "desktop dark without scripts": dict(viewport={"width": 1280, "height": 900}, color_scheme="dark",
                                         java_script_enabled=False),
    "phone without scripts": dict(viewport={"width": 390, "height": 844}, color_scheme="light",
                                  java_script_enabled=False),
}


@pytest.fixture(params=BROWSERS)
def visit(request, chromium, base_url, world):
    """A page in a new browser."""
    with chromium.new_context(**BROWSERS[request.param]) as context:
        context.set_default_timeout(20_000)
        page = context.new_page()
        watch(page, base_url)
        yield page
        assert page.problems == []


@pytest.fixture
def signed_in(visit, base_url):
    sign_in(visit, base_url)
    return visit
