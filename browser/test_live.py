"""What changes on a page while it is open, and what needs a script: dragging, keys, and live updates."""
import re
import tempfile

import pytest
from playwright.sync_api import expect

import content
from suite.client import CREATED, PUBLIC, data, eventually
from suite.gitrepo import LocalRepo, repo_url
from suite.runner import Runner


@pytest.fixture
def windows(open_context):
    """Two windows of the owner."""
    pages = [open_context("owner"), open_context("owner")]
    yield pages
    for page in pages:
        assert page.problems == []
        page.context.close()


@pytest.fixture
def board(world, base_url):
    """A new project whose board has two lists and an issue in the first; gives the address."""
    owner = world.owner
    project = data(owner.post("/projects", name="board-%s" % content.unique(), visibility_level=PUBLIC), *CREATED)
    api = "/projects/%s" % project["id"]
    labels = [data(owner.post(api + "/labels", name=name, color="#112233"), *CREATED) for name in ("doing", "done")]
    for label in labels:
        data(owner.post("%s/boards/%s/lists" % (api, owner.read(api + "/boards")[0]["id"]), label_id=label["id"]), *CREATED)
    data(owner.post(api + "/issues", title="Paint the hull", labels="doing"), *CREATED)
    return "%s/%s/board" % (base_url, project["path_with_namespace"])


def card_in(page, column):
    heading = page.get_by_role("heading", name=column, exact=True)
    return page.locator("section.column", has=heading).locator(".card", has_text="Paint the hull")


def test_board_by_keys_is_live(windows, board):
    acting, watching = windows
    for page in windows:
        page.goto(board)
        expect(card_in(page, "doing")).to_be_visible()
    card_in(acting, "doing").focus()
    acting.keyboard.press("Shift+ArrowRight")
    expect(acting.locator("#board-status")).to_have_text("#1 moved to done")
    expect(card_in(acting, "done")).to_be_focused()
    expect(card_in(watching, "done")).to_be_visible()
    expect(card_in(watching, "doing")).to_have_count(0)
    acting.keyboard.press("Shift+ArrowLeft")
    expect(card_in(watching, "doing")).to_be_visible()


def test_board_by_dragging_is_live(windows, board):
    acting, watching = windows
    for page in windows:
        page.goto(board)
        expect(card_in(page, "doing")).to_be_visible()
    target = acting.locator("section.column", has=acting.get_by_role("heading", name="done", exact=True))
    card_in(acting, "doing").drag_to(target, source_position={"x": 8, "y": 8})
    expect(card_in(acting, "done")).to_be_visible()
    expect(card_in(watching, "done")).to_be_visible()
    acting.reload()
    expect(card_in(acting, "done")).to_be_visible()


def test_trace_is_live(windows, world, base_url):
    """The output of a build, its end and the state of its pipeline appear in open windows."""
    owner = world.owner
    form = dict(name="live-%s" % content.unique(), visibility_level=PUBLIC, builds_enabled=True)
    project = data(owner.post("/projects", **form), *CREATED)
    api = "/projects/%s" % project["id"]
    with tempfile.TemporaryDirectory() as directory:
        local = LocalRepo(directory, "main")
        local.commit({".gitlab-ci.yml": b"compile: {tags: [live], script: make}\n"}, "Add a pipeline")
        local.push(repo_url(project, owner.username, owner.token), "main")
    eventually(lambda: owner.read(api + "/pipelines"), "the pipeline of the push")
    build, pipeline = windows
    address = "%s/%s" % (base_url, project["path_with_namespace"])
    build.goto("%s/builds/%s" % (address, owner.read(api + "/builds")[0]["id"]))
    # The page says that no runner has the tag.
    expect(build.locator(".why")).to_contain_text("live")
    pipeline.goto("%s/pipelines/%s" % (address, owner.read(api + "/pipelines")[0]["id"]))
    expect(pipeline.locator(".state", has_text="pending").first).to_be_visible()
    job = Runner(base_url, owner.read(api)["runners_token"], ["live"]).take("compile")
    expect(build.locator(".state", has_text="running").first).to_be_visible()
    expect(pipeline.locator(".state", has_text="running").first).to_be_visible()
    assert job.say("the first line\n\x1b[32mgreen\x1b[0m\n").status_code == 202
    expect(build.get_by_role("log")).to_contain_text("the first line")
    expect(build.get_by_role("log").locator(".g")).to_have_text("green")
    assert job.say("the second line\n").status_code == 202
    expect(build.get_by_role("log")).to_contain_text("the second line")
    job.end("success")
    for page in windows:
        expect(page.locator(".state", has_text=re.compile("success|passed")).first).to_be_visible()
