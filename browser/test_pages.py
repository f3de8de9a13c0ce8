"""What every page must be: accessible, of this host alone, without errors, and stable while it loads.

The addresses come from a crawl. Of each declared page, the largest one found is checked in both themes and two widths,
and the smallest one, which usually is the empty state, in one. No page may scroll sideways.
"""
import os
import re

import pytest

from crawl import declared_pages, new_address

VIEWERS = ("anonymous", "owner", "administrator")
PHONE, DESKTOP, NARROWEST = {"width": 390, "height": 844}, {"width": 1280, "height": 900}, {"width": 320, "height": 700}
MAX_SHIFT = 0.01
#: How many addresses of each declared page are opened to measure their width.
MAX_MEASURED = 4
#: Bytes of all scripts of one page, compressed.
MAX_SCRIPTS = 8_000

#: Line numbers are smaller than 24 px with a mouse; "go to line" is the equivalent control.
SMALL_TARGETS = ".code .l > a, .diff td.n a"

#: Pages that no link of a page leads to, with the reason.
UNLINKED = {
    "/sign_in/confirm": "pages that need a confirmation redirect to it",
    "/sign_in": "a viewer who is signed in is not offered it",
    "/search/jump": "the command palette fetches it",
    "/setup": "only a server without users has it",
}

#: Modules are loaded after the page. A page with live updates is never without a request, so that is no sign.
SETTLED = "new Promise((done) => requestIdleCallback(() => setTimeout(done, 150)))"

AXE = """async (options) => {
  const {rules, small} = options;
  const run = rules ? {runOnly: {type: 'rule', values: rules}} : {};
  const result = await axe.run(document, {resultTypes: ['violations'], ...run});
  return result.violations.flatMap((violation) => violation.nodes
    .filter((node) => !(violation.id === 'target-size' && document.querySelector(node.target[0])?.matches(small)))
    .map((node) => `${violation.id}: ${node.html.slice(0, 200)} (${node.failureSummary.slice(0, 300)})`));
}"""


@pytest.fixture(scope="session")
def axe():
    with open(os.environ["AXE"], encoding="utf-8") as handle:
        return handle.read()


def violations(page, rules=None):
    return page.evaluate(AXE, {"rules": rules, "small": SMALL_TARGETS})


def load(page, address):
    """Opens a page, waits until its scripts have run, and returns what went wrong."""
    page.problems.clear()
    page.set_extra_http_headers(new_address())
    page.goto(address)
    page.evaluate(SETTLED)
    recorded = page.evaluate("window.recorded")
    wrong = page.problems + ["policy: " + text for text in recorded["violations"]]
    scripts = page.evaluate("""() => performance.getEntriesByType('resource')
        .filter((entry) => new URL(entry.name).pathname.endsWith('.js'))
        .reduce((sum, entry) => sum + entry.encodedBodySize, 0)""")
    if scripts > MAX_SCRIPTS:
        wrong.append("%d bytes of scripts" % scripts)
    if recorded["shift"] > MAX_SHIFT:
        wrong.append("layout shift of %.3f: %s" % (recorded["shift"], recorded["shifted"]))
    return wrong


def check(page, address, axe, widths):
    wrong = []
    for size in widths:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme="light")
        wrong += ["%d px: %s" % (size["width"], text) for text in load(page, address)]
        page.evaluate(axe)
        wrong += ["%d px: %s" % (size["width"], text) for text in violations(page)]
        # Of all rules, only the contrast depends on the theme.
        page.emulate_media(color_scheme="dark")
        wrong += ["%d px, dark: %s" % (size["width"], text) for text in violations(page, ["color-contrast"])]
        page.emulate_media(color_scheme="light")
    return ["%s at %s" % (address, text) for text in wrong]


@pytest.mark.parametrize("viewer", VIEWERS)
def test_pages_are_accessible_and_quiet(viewer, crawled, open_context, axe):
    page = open_context(viewer)
    wrong = []
    for found in crawled[viewer][0].values():
        by_size = sorted(found, key=lambda entry: entry[1])
        wrong += check(page, by_size[-1][0], axe, (DESKTOP, PHONE))
        if len(by_size) > 1 and viewer != "anonymous":
            wrong += check(page, by_size[0][0], axe, (PHONE,))
    page.context.close()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("viewer", VIEWERS)
def test_pages_do_not_scroll_sideways(viewer, crawled, open_context):
    page = open_context(viewer, viewport=NARROWEST)
    wrong = []
    for address, _ in sum((found[:MAX_MEASURED] for found in crawled[viewer][0].values()), []):
        page.set_extra_http_headers(new_address())
        page.goto(address)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > NARROWEST["width"]:
            widest = page.evaluate("""() => [...document.querySelectorAll('body *')]
                .map((element) => [element.getBoundingClientRect().right, element])
                .filter(([right]) => right > innerWidth + 1).sort((a, b) => b[0] - a[0]).slice(0, 3)
                .map(([right, element]) => `${Math.round(right)} ${element.cloneNode().outerHTML}`)""")
            wrong.append("%s is %d px wide: %s" % (address, width, widest))
    page.context.close()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("viewer", VIEWERS)
def test_no_link_is_broken(viewer, crawled):
    assert not crawled[viewer][1]


def test_links_lead_to_every_page(crawled):
    """A page that no link leads to is found by nobody."""
    declared = {path for path, _ in declared_pages()}
    found = set(crawled["owner"][0]) | set(crawled["administrator"][0])
    without_links = sorted(declared - found - set(UNLINKED) - redirects_and_files())
    assert not without_links


def redirects_and_files():
    """The declared pages that are files, streams or redirects: the crawl finds no HTML of their own there."""
    endings = ("/:project/tree", "/raw/*rest", "/raw", "/archive/*rest", "/artifacts", "/artifacts/file/*rest", "/live",
               "/:secret/:file")
    return {path for path, _ in declared_pages() if path == "/" or path.endswith(endings)}


@pytest.mark.parametrize("size", (DESKTOP, PHONE), ids=("desktop", "phone"))
def test_focus_is_visible_on_every_stop(size, base_url, world, open_context):
    page = open_context("owner", viewport=size)
    page.goto("%s/%s" % (base_url, world.project["path_with_namespace"]))
    stops = 0
    while stops < 300:
        page.keyboard.press("Tab")
        focus = page.evaluate("""() => {
          const element = document.activeElement;
          if (!element || element === document.body) return null;
          const style = getComputedStyle(element), box = element.getBoundingClientRect();
          return {html: element.outerHTML.slice(0, 150), outline: style.outlineStyle !== 'none',
            width: parseFloat(style.outlineWidth), area: box.width * box.height, top: box.top, bottom: box.bottom,
            left: box.left, right: box.right, height: innerHeight, across: innerWidth};
        }""")
        if focus is None:
            break
        stops += 1
        assert focus["outline"] and focus["width"] >= 2, focus
        assert focus["area"] > 0, focus
        assert focus["bottom"] > 0 and focus["top"] < focus["height"], focus
        assert focus["right"] > 0 and focus["left"] < focus["across"], focus
    page.context.close()
    assert 10 < stops < 300


@pytest.mark.skipif(not os.environ.get("SCREENSHOTS"), reason="only if SCREENSHOTS names a directory")
def test_screenshots(crawled, open_context):
    """Stores pictures of the largest page of each kind, for people to look at."""
    directory = os.environ["SCREENSHOTS"]
    os.makedirs(directory, exist_ok=True)
    page = open_context("owner")
    for path, found in crawled["owner"][0].items():
        name = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "start"
        for size, scheme in ((DESKTOP, "light"), (PHONE, "light"), (DESKTOP, "dark")):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            page.goto(max(found, key=lambda entry: entry[1])[0])
            page.evaluate(SETTLED)
            dark = "-dark" if scheme == "dark" else ""
            page.screenshot(path="%s/%s-%d%s.png" % (directory, name, size["width"], dark))
    page.context.close()
