"""A day of a team of two on an instance that is new, while nodes are killed and started again.

Ada sets up the instance, and maintains the project at a desk. Bea works on a phone, without scripts.
"""
import os
import re
import subprocess
import tempfile

import pytest
from playwright.sync_api import expect

from conftest import BROWSERS, watch
from suite.client import eventually
from suite.gitrepo import LocalRepo
from suite.runner import Runner

ADA, BEA = "ada", "bea"
PASSWORD = "correct horse battery staple 9"
CI_FILE = "unit: {tags: [day], script: make test}\n"
TITLE = "The gauge reads too high"

#: What the browser writes to the console while the node of an open page is dead. The page connects again by itself.
CONNECTION_LOST = re.compile("^console: Failed to load resource: net::ERR_")


@pytest.fixture
def people(chromium, base_url, nodes):
    """The browsers of Ada and Bea."""
    with chromium.new_context(**BROWSERS["desktop"]) as desk, chromium.new_context(**BROWSERS["phone without scripts"]) as phone:
        pages = []
        for context in (desk, phone):
            context.set_default_timeout(20_000)
            page = context.new_page()
            watch(page, base_url)
            pages.append(page)
        yield pages
        problems = [text for page in pages for text in page.problems if not CONNECTION_LOST.search(text)]
        assert problems == []


def test_a_day_of_a_team(people, base_url, nodes):
    ada, bea = people
    set_up(ada, base_url)
    project = create_project(ada)
    token = create_token(ada, base_url)
    with tempfile.TemporaryDirectory() as directory:
        local = push_first_commit(directory, base_url, project, token)
        add_member(ada, base_url, project)
        open_issue(bea, base_url, project)
        # Nobody notices a node that dies between two requests: the sessions are in the database.
        nodes[0].kill()
        request = propose_edit(ada, base_url, project)
        discuss_line(bea, request)
        nodes[0].start()
        runner = Runner(base_url, registration_token(ada, base_url, project), ["day"])
        run_pipeline_through_failure(ada, request, runner, nodes)
        answer_and_merge(ada, bea, request, base_url, project)
        undo_merge(ada, base_url, project, local)


def set_up(ada, base_url):
    """Creates the first administrator, who is led to the first project."""
    command = [os.environ["HOLDFAST"], "admin", "setup-code"]
    code = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode().split()[-1]
    ada.goto(base_url)
    ada.get_by_label("Setup code").fill(code)
    ada.get_by_label("Username").fill(ADA)
    ada.get_by_label("Name", exact=True).fill("Ada Lovelace")
    ada.get_by_label("Email").fill("ada@example.com")
    ada.get_by_label("Password", exact=True).fill(PASSWORD)
    ada.get_by_label("Password again").fill(PASSWORD)
    ada.get_by_role("button", name="Create the administrator").click()
    expect(ada.get_by_role("heading", name="New project")).to_be_visible()


def create_project(ada):
    """Returns the path of the project."""
    ada.get_by_label("Name", exact=True).fill("Tide")
    ada.get_by_role("button", name="Create project").click()
    expect(ada.get_by_role("heading", name="The repository is empty")).to_be_visible()
    return ADA + "/tide"


def create_token(ada, base_url):
    ada.goto(base_url + "/profile/tokens")
    ada.get_by_label("Name").fill("git")
    ada.get_by_role("checkbox", name=re.compile("^api")).check()
    ada.get_by_role("button", name="Create token").click()
    return ada.locator("#token").inner_text()


def repository_address(base_url, project, token):
    return "%s/%s.git" % (base_url.replace("://", "://%s:%s@" % (ADA, token)), project)


def push_first_commit(directory, base_url, project, token):
    local = LocalRepo(directory, "main")
    local.git("remote", "add", "origin", repository_address(base_url, project, token))
    local.commit({"gauge.txt": b"zero = 0\nscale = 2\n", ".gitlab-ci.yml": CI_FILE.encode()}, "Measure the tide")
    local.git("push", "-q", "origin", "main")
    return local


def add_member(ada, base_url, project):
    """Creates Bea as an administrator does, and adds her to the project."""
    ada.goto(base_url + "/admin/users/new")
    ada.get_by_label("Username").fill(BEA)
    ada.get_by_label("Name", exact=True).fill("Bea Bennett")
    ada.get_by_label("Email").fill("bea@example.com")
    ada.get_by_label("Password").fill(PASSWORD)
    ada.get_by_role("button", name="Create", exact=True).click()
    expect(ada.get_by_role("status").first).to_be_visible()
    ada.goto("%s/%s/settings/members" % (base_url, project))
    ada.get_by_label("Username").fill(BEA)
    ada.get_by_label("Level").last.select_option("30")
    ada.get_by_role("button", name="Add member").click()
    expect(ada.get_by_role("cell", name="Bea Bennett")).to_be_visible()


def open_issue(bea, base_url, project):
    bea.goto("%s/%s/issues/new" % (base_url, project))
    # The page asks for a sign-in and leads back.
    bea.get_by_label("Username or email").fill(BEA)
    bea.get_by_label("Password").fill(PASSWORD)
    bea.get_by_role("button", name="Sign in").click()
    bea.get_by_label("Title").fill(TITLE)
    bea.get_by_label("Description").fill("It shows `4` at low tide.")
    bea.get_by_role("button", name="Create", exact=True).click()
    expect(bea.get_by_role("heading", level=1)).to_contain_text(TITLE)


def commit_edit(page, text, branch=None):
    """Replaces the text of the file whose form is open, and commits it, on a new branch with a merge request."""
    page.get_by_role("textbox", name="Text").fill(text)
    if branch:
        page.get_by_role("textbox", name="Branch").fill(branch)
        page.get_by_label("Start a merge request").check()
    page.get_by_role("button", name="Commit", exact=True).click()


def propose_edit(ada, base_url, project):
    """Edits the file in the browser, and opens a merge request that closes the issue. Returns its address."""
    ada.goto("%s/%s/blob/main/gauge.txt" % (base_url, project))
    ada.get_by_role("link", name="Edit", exact=True).click()
    commit_edit(ada, "zero = 0\nscale = 1\n", branch="scale")
    expect(ada.get_by_role("heading", name="New merge request")).to_be_visible()
    ada.get_by_label("Description").fill("Closes #1.")
    ada.get_by_role("button", name="Create", exact=True).click()
    expect(ada.locator(".head .state", has_text="open")).to_be_visible()
    return ada.url.partition("#")[0]


def discuss_line(bea, request):
    """Comments on the changed line in a review."""
    bea.goto(request + "/changes")
    bea.get_by_role("link", name="Comment on line 2").last.focus()
    bea.keyboard.press("Enter")
    bea.locator("#comment").get_by_role("textbox").fill("Is the zero right as well?")
    bea.locator("#comment").get_by_role("button", name="Add to review").click()
    bea.get_by_role("button", name="Submit the review").click()
    expect(bea.get_by_text("Is the zero right as well?")).to_be_visible()


def registration_token(ada, base_url, project):
    ada.goto("%s/%s/settings/runners" % (base_url, project))
    ada.get_by_role("link", name="Show the registration token").click()
    return ada.locator("main .copy code").inner_text()


def newest_build(ada, request):
    """Opens the newest build of the merge request."""
    pipelines = ada.get_by_role("main").get_by_role("link", name=re.compile(r"^#\d+"))

    def is_listed():
        ada.goto(request + "/pipelines")
        return pipelines.count() > 0
    eventually(is_listed, "the pipeline of the push")
    pipelines.first.click()
    ada.get_by_role("link", name="unit").first.click()


def run_pipeline_through_failure(ada, request, runner, nodes):
    """The pipeline fails; its trace is followed while the node that sends it is killed. A second commit mends it."""
    main = take_build(runner, "main")
    main.end("success")
    newest_build(ada, request)
    job = take_build(runner, "scale")
    expect(ada.locator(".state", has_text="running").first).to_be_visible()
    assert job.say("measuring\n").status_code == 202
    log = ada.get_by_role("log")
    expect(log).to_contain_text("measuring")
    for node in nodes:
        node.kill()
        # A runner sends it again if nginx takes no node for alive.
        eventually(lambda: job.say("without node %d\n" % node.number).status_code == 202, "the trace is accepted")
        expect(log).to_contain_text("without node %d" % node.number)
        node.start()
    eventually(lambda: job.say("error: the zero is wrong\n").status_code == 202, "the trace is accepted")
    eventually(lambda: job.put("failed").status_code == 200, "the end of the build is accepted")
    expect(ada.locator(".state", has_text="failed").first).to_be_visible()
    assert log.inner_text().count("without node") == len(nodes)

    ada.goto(request)
    expect(ada.get_by_role("region", name=re.compile("merge", re.I)).last).to_contain_text("failed")
    ada.get_by_role("link", name="Changes").click()
    ada.get_by_role("link", name="Edit gauge.txt").click()
    commit_edit(ada, "zero = 1\nscale = 1\n")
    expect(ada.get_by_role("status").first).to_be_visible()
    take_build(runner, "scale").end("success", "all is well\n")
    newest_build(ada, request)
    expect(ada.locator(".state", has_text=re.compile("success|passed")).first).to_be_visible()


def take_build(runner, ref):
    """Takes the next build, which must be one of this branch. A pipeline begins some moments after its push."""
    job = eventually(runner.ask, "a build of %s" % ref)
    assert job.body["git_info"]["ref"] == ref
    return job


def answer_and_merge(ada, bea, request, base_url, project):
    ada.goto(request)
    discussion = ada.get_by_role("article", name="Discussion")
    discussion.get_by_label("Reply").fill("It was not. Now it is.")
    discussion.get_by_role("button", name="Reply").click()
    bea.goto(request)
    discussion = bea.get_by_role("article", name="Discussion")
    expect(discussion).to_contain_text("Now it is.")
    discussion.get_by_role("button", name="Resolve").click()
    ada.goto(request)
    ada.get_by_role("button", name="Merge", exact=True).click()
    expect(ada.locator(".head .state", has_text="merged")).to_be_visible()
    # A job closes the issue after the merge.
    eventually(lambda: state_of_issue(bea, base_url, project) == "closed", "the issue is closed")


def state_of_issue(page, base_url, project):
    page.goto("%s/%s/issues/1" % (base_url, project))
    return page.locator(".head .state").first.inner_text()


def undo_merge(ada, base_url, project, local):
    """Restores the branch to the commit before the merge, in the ref log."""
    ada.goto("%s/%s/refs?ref=main" % (base_url, project))
    merge = ada.locator("ul.log li").first
    merge.get_by_role("button", name=re.compile("^Restore")).click()
    merge.get_by_role("button", name="Move back").click()
    expect(ada.get_by_role("status").first).to_be_visible()
    local.git("fetch", "-q", "origin", "main")
    assert local.rev("FETCH_HEAD") == local.rev("main")
