"""Keys: they follow links, move through lists, and find pages by name. They need scripts."""
import re

import pytest
from playwright.sync_api import expect

import content
from suite.client import CREATED, PUBLIC, data


@pytest.fixture
def page(open_context):
    page = open_context("owner")
    yield page
    assert page.problems == []
    page.context.close()


@pytest.fixture
def project(world):
    """A new project with two issues."""
    created = data(world.owner.post("/projects", name="keys-%s" % content.unique(), visibility_level=PUBLIC), *CREATED)
    for title in ("First leak", "Second leak"):
        data(world.owner.post("/projects/%s/issues" % created["id"], title=title), *CREATED)
    return created


def open_page(page, address):
    """Opens a page and waits for its modules."""
    page.goto(address)
    page.wait_for_load_state("networkidle")


def expect_page(page, address):
    """Waits until a key has led to a page, with its modules and the transition to it."""
    page.wait_for_url(address)
    page.wait_for_load_state("networkidle")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_keys_follow_links(page, project, base_url):
    home = "%s/%s" % (base_url, project["path_with_namespace"])
    open_page(page, home)
    press(page, "g", "i")
    expect_page(page, home + "/issues")
    field = page.get_by_role("searchbox", name="Search", exact=True)
    press(page, "/")
    expect(field).to_be_focused()
    # A key that is typed is a letter.
    page.keyboard.type("g c")
    expect(field).to_have_value("g c")
    press(page, "Escape")
    expect(field).not_to_be_focused()
    press(page, "c")
    expect_page(page, home + "/issues/new")
    open_page(page, home + "/issues")
    press(page, "g", "h")
    expect_page(page, base_url + "/")


def test_keys_move_through_a_list(page, project, base_url):
    issues = "%s/%s/issues" % (base_url, project["path_with_namespace"])
    open_page(page, issues)
    first, second = page.get_by_role("link", name="Second leak"), page.get_by_role("link", name="First leak")
    press(page, "k")
    expect(first).to_be_focused()
    press(page, "j")
    expect(second).to_be_focused()
    expect(page.locator("li.on")).to_have_count(1)
    press(page, "x")
    expect(page.locator("li.on input[type=checkbox]")).to_be_checked()
    press(page, "j", "k")
    expect(first).to_be_focused()
    press(page, "Enter")
    expect_page(page, issues + "/2")


def test_the_list_of_keys(page, base_url):
    open_page(page, base_url + "/projects")
    press(page, "?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Next row")
    press(page, "Escape")
    expect(dialog).to_have_count(0)


def test_the_palette_leads_to_projects_and_actions(page, project, base_url):
    home = "%s/%s" % (base_url, project["path_with_namespace"])
    open_page(page, base_url + "/projects")
    press(page, "Control+k")
    field = page.get_by_role("searchbox", name="Go to")
    expect(field).to_be_focused()
    field.fill(project["name"])
    dialog = page.get_by_role("dialog", name="Go to")
    # The suggestions for an empty text are the projects of the last activity.
    expect(dialog.get_by_role("link", name="Search for")).to_be_visible()
    expect(dialog.get_by_role("link", name=project["path_with_namespace"])).to_be_visible()
    press(page, "ArrowDown")
    expect(dialog.get_by_role("link", name=project["path_with_namespace"])).to_be_focused()
    press(page, "ArrowUp", "Enter")
    expect_page(page, home)
    press(page, "Control+k")
    expect(field).to_be_focused()
    field.fill("> merge")
    expect(dialog.get_by_role("button", name="Merge requests")).to_be_visible()
    press(page, "Enter")
    expect_page(page, home + "/merge_requests")


def test_keys_can_be_switched_off(page, project, base_url):
    open_page(page, base_url + "/profile/preferences")
    page.get_by_label("Keyboard shortcuts").uncheck()
    page.get_by_role("main").get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_be_visible()
    open_page(page, "%s/%s" % (base_url, project["path_with_namespace"]))
    expect(page.locator("body[data-actions]")).to_have_count(0)
    press(page, "g", "i", "/")
    expect(page).to_have_url(re.compile(re.escape(project["path_with_namespace"]) + "$"))
    expect(page.get_by_role("searchbox", name="Search", exact=True)).not_to_be_focused()
