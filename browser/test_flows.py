"""What people do in a browser, with scripts on and off."""
import re
import tempfile
import time

from playwright.sync_api import expect

import content
from content import unique
from conftest import sign_in, submit_sign_in
from suite.client import CREATED, PUBLIC, Client, data
from suite.gitrepo import LocalRepo, repo_url


def open_menu(page):
    page.get_by_role("button", name="User menu").click()


def test_sign_in_and_out(visit, base_url):
    visit.goto(base_url + "/")
    visit.get_by_role("link", name="Sign in").click()
    submit_sign_in(visit, password="wrong")
    expect(visit.get_by_role("alert")).to_be_visible()
    # A refused form is answered 422, which Chromium reports on the console.
    visit.problems.clear()
    sign_in(visit, base_url)
    open_menu(visit)
    expect(visit.get_by_text("@ada")).to_be_visible()
    visit.get_by_role("button", name="Sign out").click()
    visit.goto(base_url + "/")
    expect(visit.get_by_role("link", name="Sign in")).to_be_visible()


def test_signing_in_leads_back(visit, base_url):
    visit.goto(base_url + "/profile")
    expect(visit).to_have_url(re.compile("/sign_in"))
    submit_sign_in(visit)
    expect(visit).to_have_url(base_url + "/profile")


def test_browse_code(visit, base_url, world):
    visit.goto(base_url + "/projects")
    visit.get_by_role("link", name=re.compile("tide", re.I)).first.click()
    expect(visit.get_by_text("Measures the tide").first).to_be_visible()
    visit.get_by_role("link", name="src", exact=True).first.click()
    visit.get_by_role("link", name="main.rs", exact=True).first.click()
    expect(visit.get_by_role("main")).to_contain_text("println!")
    expect(visit).to_have_url(re.compile("/blob/main/src/main.rs$"))


def test_sessions(signed_in, base_url):
    open_menu(signed_in)
    signed_in.get_by_role("link", name="Sessions").click()
    expect(signed_in.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(signed_in.get_by_text("this session")).to_be_visible()
    others = signed_in.get_by_role("button", name="Sign out all others")
    if others.count():
        others.click()
        expect(signed_in.get_by_role("status").first).to_be_visible()
    expect(signed_in.get_by_role("main").get_by_role("row")).to_have_count(2)


def test_profile(signed_in, base_url):
    signed_in.goto(base_url + "/profile")
    signed_in.get_by_label("Location").fill("Woods Hole")
    signed_in.get_by_role("button", name="Save").first.click()
    expect(signed_in.get_by_role("status").first).to_be_visible()
    expect(signed_in.get_by_label("Location")).to_have_value("Woods Hole")


def choose_theme(page, base_url, label):
    page.goto(base_url + "/profile/preferences")
    page.get_by_label(label).check()
    page.get_by_role("button", name="Save").click()
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


def test_theme(signed_in, base_url):
    dark = choose_theme(signed_in, base_url, re.compile("dark", re.I))
    light = choose_theme(signed_in, base_url, re.compile("light", re.I))
    assert (dark, light) == ("rgb(14, 20, 22)", "rgb(255, 255, 255)")


def test_issue(signed_in, base_url, world):
    """Create, edit, comment, close and reopen."""
    page = signed_in
    page.goto("%s/%s/issues" % (base_url, world.project["path_with_namespace"]))
    page.get_by_role("link", name="New issue").first.click()
    page.get_by_role("button", name="Create", exact=True).click()
    # Without a title the form is rejected with 422, which Chromium reports on the console.
    expect(page.locator("#errors")).to_be_focused()
    page.problems.clear()
    page.get_by_label("Title").fill("A pump is dry")
    page.get_by_label("Description").fill("It was **wet**.")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("A pump is dry")
    expect(page.locator("strong", has_text="wet")).to_be_visible()

    page.get_by_role("link", name="Edit", exact=True).first.click()
    page.get_by_label("Title").fill("A pump is empty")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("A pump is empty")

    comment = page.locator("form", has=page.get_by_role("button", name="Comment and close"))
    comment.get_by_role("textbox").fill("It rained.")
    comment.get_by_role("button", name="Comment and close").click()
    expect(page.get_by_text("It rained.")).to_be_visible()
    expect(page.locator(".state", has_text="closed")).to_be_visible()
    page.get_by_role("button", name="Reopen", exact=True).click()
    expect(page.locator(".state", has_text="open")).to_be_visible()


def test_merge_request(signed_in, base_url, world):
    """Propose a branch, discuss it, and merge it."""
    page, ada = signed_in, world.owner
    project = data(ada.post("/projects", name="Merge " + unique(), visibility_level=PUBLIC), *CREATED)
    with tempfile.TemporaryDirectory() as directory:
        local, url = LocalRepo(directory, "main"), repo_url(project, ada.username, ada.token)
        local.commit({"a.txt": b"one\n"}, "First")
        local.push(url, "main")
        local.checkout("topic", create=True)
        local.commit({"b.txt": b"two\n"}, "Add two")
        local.push(url, "topic")

    page.goto("%s/%s/merge_requests" % (base_url, project["path_with_namespace"]))
    page.get_by_role("link", name="New merge request").click()
    page.get_by_label("From branch").fill("topic")
    page.get_by_role("button", name="Compare").click()
    page.get_by_label("Description").fill("It was **one**.")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Add two")
    expect(page.locator("strong", has_text="one")).to_be_visible()

    page.get_by_role("textbox", name="Comment").fill("Why two?")
    page.get_by_role("button", name="Start a discussion").click()
    discussion = page.get_by_role("article", name="Discussion")
    discussion.get_by_label("Reply").fill("Because.")
    discussion.get_by_role("button", name="Reply").click()
    expect(discussion.get_by_text("Because.")).to_be_visible()
    discussion.get_by_role("button", name="Resolve").click()
    expect(discussion.get_by_text("resolved by")).to_be_visible()

    page.get_by_role("link", name="Changes").click()
    expect(page.get_by_text("two", exact=True)).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.locator(".head .state", has_text="merged")).to_be_visible()


def test_board_move(signed_in, base_url, world):
    """Moves a card there and back with the form of the card, which needs no dragging."""
    page = signed_in
    page.goto("%s/%s/board" % (base_url, world.project["path_with_namespace"]))
    names = ("bug", content.RTL)
    heading = page.get_by_role("heading", name=re.compile("^(%s)$" % "|".join(map(re.escape, names))))
    title = page.locator("section.column", has=heading).locator(".card .title").first.inner_text()
    for _ in range(2):
        card = page.locator("section.column").locator(".card", has_text=title).first
        # The last move may still be updating the page: then the card changes its column and closes its form.
        deadline = time.monotonic() + 20
        while True:
            if not card.get_by_role("combobox").is_visible():
                card.locator("summary").click()
            column = page.locator("section.column", has=page.locator(".card", has_text=title)).first
            before = column.get_by_role("heading").first.inner_text()
            options = [option.strip() for option in card.get_by_role("combobox").locator("option").all_inner_texts()]
            wanted = next((name for name in names if name in options and name != before), None)
            if wanted:
                break
            assert time.monotonic() < deadline, "from %r no move to %r, only to %r" % (before, names, options)
            page.wait_for_timeout(100)
        card.get_by_role("combobox").select_option(label=wanted)
        card.get_by_role("button", name="Move", exact=True).click()
        moved = page.locator("section.column", has=page.get_by_role("heading", name=wanted, exact=True))
        expect(moved.locator(".card", has_text=title)).to_be_visible()


def test_pipeline_retry(signed_in, base_url, world):
    """Retries a failed pipeline and cancels it again, so that it can be retried once more."""
    page = signed_in
    page.goto("%s/%s/pipelines" % (base_url, world.project["path_with_namespace"]))
    page.get_by_role("link", name=re.compile(r"^#\d+$")).last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Pipeline #")
    page.get_by_role("button", name=re.compile("^Retry")).click()
    expect(page.get_by_role("status").first).to_be_visible()
    expect(page.locator(".state", has_text=re.compile("pending|running")).first).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(".state", has_text="canceled").first).to_be_visible()


def test_token(signed_in, base_url):
    """Creates a token, uses it, and revokes it."""
    page = signed_in
    page.goto(base_url + "/profile/tokens")
    page.get_by_label("Name").fill("Flow")
    page.get_by_role("checkbox", name=re.compile("^api")).check()
    page.get_by_role("button", name="Create token").click()
    secret = page.locator("#token").inner_text()
    assert Client(base_url, secret).get("/user").status_code == 200
    page.goto(base_url + "/profile/tokens")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke Flow").first.click()
    expect(page.get_by_role("status").first).to_be_visible()
    assert Client(base_url, secret).get("/user").status_code == 401


def test_branch_restore(signed_in, base_url, world):
    """Restores a deleted branch from the ref log."""
    page, path = signed_in, world.project["path_with_namespace"]
    branch = world.api + "/repository/branches/short-lived"
    assert world.owner.get(branch).status_code == 404
    page.goto("%s/%s/refs" % (base_url, path))
    deleted = page.locator("li", has_text=re.compile("short-lived.*deleted")).first
    deleted.get_by_role("button", name=re.compile("^Restore")).click()
    expect(page.get_by_role("status").first).to_be_visible()
    assert world.owner.get(branch).status_code == 200
    world.owner.delete(branch)


def test_new_project(signed_in, base_url, request):
    name = "flow-" + re.sub(r"\W+", "-", request.node.name).strip("-").lower()
    signed_in.goto(base_url + "/new")
    signed_in.get_by_label("Name", exact=True).fill(name)
    signed_in.get_by_role("button", name="Create project").click()
    expect(signed_in.get_by_role("heading", name="The repository is empty")).to_be_visible()


def test_search(signed_in, base_url, world):
    """Search in titles, and follow the path of a project."""
    page, search = signed_in, base_url + "/search"
    project = data(world.owner.post("/projects", name="Search " + unique(), visibility_level=PUBLIC), *CREATED)
    title = "Barnacles %s" % unique()
    data(world.owner.post("/projects/%s/issues" % project["id"], title=title), *CREATED)
    page.goto(search)
    main = page.get_by_role("main")
    main.get_by_role("link", name="Issues").click()
    main.get_by_role("searchbox").fill(title.upper())
    main.get_by_role("button", name="Search").click()
    expect(main.get_by_role("link", name=title)).to_be_visible()
    main.get_by_role("link", name="Projects").click()
    expect(main.get_by_role("heading", name="No results")).to_be_visible()
    main.get_by_role("searchbox").fill(project["path_with_namespace"])
    main.get_by_role("button", name="Search").click()
    expect(page).to_have_url("%s/%s" % (base_url, project["path_with_namespace"]))


def test_todo(signed_in, base_url, world):
    """Complete a todo from the start page."""
    page, ada = signed_in, world.owner
    project = data(ada.post("/projects", name="Todo " + unique(), visibility_level=PUBLIC), *CREATED)
    title = "Scrape the hull %s" % unique()
    issue = data(ada.post("/projects/%s/issues" % project["id"], title=title), *CREATED)
    data(ada.post("/projects/%s/issues/%s/todo" % (project["id"], issue["id"])), *CREATED)
    page.goto(base_url + "/")
    row = page.locator("#todos li", has_text=title)
    row.get_by_role("button", name="Done").click()
    expect(page.get_by_role("status").first).to_have_text("The todo is done.")
    expect(page.locator("#todos li", has_text=title)).to_have_count(0)
    page.goto(base_url + "/dashboard/todos?state=done")
    expect(page.get_by_role("main").get_by_role("link", name=title)).to_be_visible()


def new_project(world, name):
    """A project with a branch `topic` that is one commit ahead of `main`."""
    ada = world.owner
    project = data(ada.post("/projects", name="%s %s" % (name, unique()), visibility_level=PUBLIC), *CREATED)
    with tempfile.TemporaryDirectory() as directory:
        local, url = LocalRepo(directory, "main"), repo_url(project, ada.username, ada.token)
        local.commit({"a.txt": b"one\n"}, "First")
        local.push(url, "main")
        local.checkout("topic", create=True)
        local.commit({"a.txt": b"one\ntwo\n"}, "Add two")
        local.push(url, "topic")
    return project


def test_review(signed_in, base_url, world):
    """Comment on a line, add to a review, and submit it."""
    page = signed_in
    project = new_project(world, "Review")
    form = dict(source_branch="topic", target_branch="main", title="Add two")
    data(world.owner.post("/projects/%s/merge_requests" % project["id"], **form), *CREATED)
    changes = "%s/%s/merge_requests/1/changes" % (base_url, project["path_with_namespace"])
    page.goto(changes)
    page.get_by_role("link", name="Comment on line 2").focus()
    page.keyboard.press("Enter")
    page.locator("#comment").get_by_role("textbox").fill("Why *two*?")
    page.locator("#comment").get_by_role("button", name="Preview").click()
    expect(page.locator("em", has_text="two")).to_be_visible()
    page.locator("#comment").get_by_role("button", name="Add to review").click()
    review = page.get_by_role("region", name="Your review")
    expect(review).to_contain_text("1 comment, not submitted")
    review.get_by_label("Summary (optional)").fill("Nearly.")
    review.get_by_role("button", name="Submit the review").click()
    expect(page.get_by_text("Nearly.")).to_be_visible()
    page.get_by_role("link", name="a.txt:2").click()
    discussion = page.get_by_role("article", name="Discussion")
    expect(discussion).to_contain_text("Why two?")
    discussion.get_by_label("Reply").fill("Because.")
    discussion.get_by_role("button", name="Reply").click()
    expect(page).to_have_url(re.compile("/changes"))
    discussion.get_by_role("button", name="Resolve").click()
    expect(discussion.get_by_text("resolved by")).to_be_visible()


def test_edit_file(signed_in, base_url, world):
    """Edit a file, look at the difference, and propose it on a new branch."""
    page = signed_in
    project = new_project(world, "Edit")
    page.goto("%s/%s/blob/main/a.txt" % (base_url, project["path_with_namespace"]))
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_role("textbox", name="Text").fill("one\nthree\n")
    page.get_by_role("button", name="Preview changes").click()
    expect(page.locator("tr.add")).to_contain_text("three")
    page.get_by_role("textbox", name="Branch").fill("three")
    page.get_by_label("Start a merge request").check()
    page.get_by_role("button", name="Commit", exact=True).click()
    expect(page.get_by_role("heading", name="New merge request")).to_be_visible()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator(".head .state", has_text="open")).to_be_visible()


def test_settings(signed_in, base_url, world):
    """Add a member, a hook and a variable, and delete the project."""
    page = signed_in
    project = new_project(world, "Settings")
    settings = "%s/%s/settings" % (base_url, project["path_with_namespace"])
    page.goto(settings + "/members")
    page.get_by_label("Username").fill("bea")
    page.get_by_role("button", name="Add member").click()
    expect(page.get_by_role("status").first).to_be_visible()
    page.get_by_role("link", name="Webhooks").click()
    page.get_by_role("link", name="New hook").first.click()
    page.get_by_label("URL").first.fill("http://receiver.invalid/flow")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("status").first).to_be_visible()
    page.get_by_role("link", name="Variables").click()
    page.get_by_label("Key").fill("DEPTH")
    page.get_by_label("Value").fill("3")
    page.get_by_role("button", name="Create variable").click()
    expect(page.get_by_role("cell", name="DEPTH", exact=True)).to_be_visible()
    page.goto(settings + "/delete_project")
    page.get_by_role("textbox").last.fill(project["path_with_namespace"])
    page.get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.get_by_role("status").first).to_be_visible()
    assert world.owner.get("/projects/%s" % project["id"]).status_code == 404
