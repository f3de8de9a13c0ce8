"""200 viewers of one page: what they cost the nodes, and that they miss nothing when nodes die."""
import asyncio
import os
import re
import subprocess
import tempfile
import urllib.parse

import pytest
import requests

from content import PASSWORD, unique
from suite.client import CREATED, PUBLIC, Client, data, eventually, status
from suite.gitrepo import LocalRepo, repo_url
from suite.runner import Runner
from cluster.viewers import Crowd, run

#: A user may follow this many pages at the same time.
PAGES_OF_A_USER = 8
VIEWERS = 200
#: How often the page changes while the cost is measured.
CHANGES = 10


@pytest.fixture(scope="module")
def owner(base_url, nodes):
    """A new administrator."""
    admin = [os.environ["HOLDFAST"], "admin"]
    create = ["user", "create", "--username", "observer", "--email", "observer@example.com", "--name", "Observer", "--admin"]
    subprocess.run(admin + create, stdout=subprocess.DEVNULL, check=True, timeout=60)
    token = subprocess.run(admin + ["token", "create", "--user", "observer"], stdout=subprocess.PIPE, check=True, timeout=60)
    return Client(base_url, token.stdout.decode().split()[-1])


@pytest.fixture(scope="module")
def cookies(owner, base_url):
    """The cookie of a session for each viewer."""
    sessions = []
    for number in range(VIEWERS // PAGES_OF_A_USER):
        name = "viewer%d" % number
        form = dict(username=name, name=name, email=name + "@example.com", password=PASSWORD, confirm=False)
        data(owner.post("/users", **form), *CREATED)
        response = requests.post(base_url + "/sign_in", data=dict(login=name, password=PASSWORD), allow_redirects=False,
                                 headers={"Sec-Fetch-Site": "same-origin"}, timeout=60)
        status(response, 303)
        sessions.append("; ".join("%s=%s" % pair for pair in response.cookies.items()))
    return sessions * PAGES_OF_A_USER


def new_project(owner, name):
    form = dict(name="%s %s" % (name, unique()), visibility_level=PUBLIC, builds_enabled=True, public_builds=True)
    return data(owner.post("/projects", **form), *CREATED)


@pytest.fixture
def job(owner, base_url):
    """A running build."""
    project = new_project(owner, "Observed build")
    with tempfile.TemporaryDirectory() as directory:
        local = LocalRepo(directory, "main")
        local.commit({".gitlab-ci.yml": b"watched: {tags: [viewers], script: make}\n"}, "Add a pipeline")
        local.push(repo_url(project, "observer", owner.token), "main")
    runner = Runner(base_url, owner.read("/projects/%s" % project["id"])["runners_token"], ["viewers"])
    job = eventually(runner.ask, "the build of the push")
    job.page = "/%s/builds/%d" % (project["path_with_namespace"], job.id)
    job.api = "/projects/%s/builds/%d/trace" % (project["id"], job.id)
    yield job
    job.end("success")


def send(job, text):
    """Sends a part of the trace again until it is accepted, as runners do: nginx answers 502 for a moment if it takes no
    node for alive."""
    eventually(lambda: job.say(text).status_code == 202, "the trace is accepted")


def port_of(base_url):
    return urllib.parse.urlsplit(base_url).port


def cpu_seconds(nodes):
    return sum(node.cpu_seconds() for node in nodes)


async def cost_of_changes(nodes, crowd, change):
    """The CPU seconds of the nodes for one change that all viewers get."""
    await change(0)
    before = cpu_seconds(nodes)
    for number in range(1, CHANGES + 1):
        await change(number)
    return (cpu_seconds(nodes) - before) / CHANGES


def cost_of_polls(nodes, poll):
    """The CPU seconds of the nodes for one request of each viewer."""
    poll()
    before = cpu_seconds(nodes)
    for _ in range(VIEWERS):
        poll()
    return cpu_seconds(nodes) - before


def report(what, live, polls):
    print("\n%s: %d viewers cost %.0f ms of CPU for each change, %d polls of the API %.0f ms: %.2f"
          % (what, VIEWERS, live * 1000, VIEWERS, polls * 1000, live / polls))
    assert live < polls


def test_a_trace_costs_less_than_polls(owner, cookies, base_url, nodes, job):
    async def follow():
        async with Crowd(port_of(base_url), job.page + "/live", cookies) as crowd:
            async def change(number):
                status(await asyncio.to_thread(job.say, "line %d of the trace\n" % number), 202)
                await crowd.wait_for("line %d of the trace" % number)
            return await cost_of_changes(nodes, crowd, change)
    live = run(follow())
    report("trace", live, cost_of_polls(nodes, lambda: status(owner.get(job.api), 200)))


def test_a_board_costs_less_than_polls(owner, cookies, base_url, nodes):
    project = new_project(owner, "Observed board")
    api = "/projects/%s" % project["id"]
    board = "%s/boards/%s" % (api, owner.read(api + "/boards")[0]["id"])
    label = data(owner.post(api + "/labels", name="doing", color="#112233"), *CREATED)
    column = data(owner.post(board + "/lists", label_id=label["id"]), *CREATED)
    create = lambda number: owner.post(api + "/issues", title="card %d of the board" % number, labels="doing")
    for number in range(100, 120):
        data(create(number), *CREATED)

    async def follow():
        path = "/%s/board/live" % project["path_with_namespace"]
        async with Crowd(port_of(base_url), path, cookies) as crowd:
            async def change(number):
                data(await asyncio.to_thread(create, number), *CREATED)
                await crowd.wait_for("card %d of the board" % number)
            return await cost_of_changes(nodes, crowd, change)
    live = run(follow())

    def poll():
        """Reads the lists and the cards of the only list, as a client of the API that shows the board."""
        data(owner.get(board + "/lists"), 200)
        data(owner.get("%s/lists/%s/issues" % (board, column["id"])), 200)
    report("board", live, cost_of_polls(nodes, poll))


def test_viewers_survive_the_restart_of_every_node(cookies, base_url, nodes, job):
    async def follow():
        async with Crowd(port_of(base_url), job.page + "/live", cookies) as crowd:
            number = 0

            async def say():
                nonlocal number
                number += 1
                await asyncio.to_thread(send, job, "line %d of the trace\n" % number)
                await crowd.wait_for("line %d of the trace" % number)
            await say()
            for node in nodes:
                node.kill()
                await say()
                await asyncio.to_thread(node.start)
                await say()
            return number, crowd.viewers
    lines, viewers = run(follow())
    for viewer in viewers:
        shown = [int(found) for found in re.findall(r"line (\d+) of the trace", viewer.text)]
        assert shown == list(range(1, lines + 1))
        assert viewer.refused == []
    reconnected = sum(viewer.connections - 1 for viewer in viewers)
    print("\n%d viewers connected %d times again, and got each of %d lines once" % (VIEWERS, reconnected, lines))
    assert reconnected >= VIEWERS
