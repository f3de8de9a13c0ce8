"""Fixtures of the tests of pages: projects with code and one member for each role.

conftest.py imports the fixtures from here.
"""
import types

import pytest

from suite.client import PRIVATE, PUBLIC, data, enc, eventually
from suite.gitrepo import repo_url

GUEST, REPORTER, DEVELOPER, MASTER = 10, 20, 30, 40
ROLES = {"guest": GUEST, "reporter": REPORTER, "developer": DEVELOPER, "master": MASTER}

#: The files of the first commit of every project of make_code. None of them starts a pipeline.
CONTENT = {
    "README.md": b"# Demo\n\nFirst text.\n",
    "docs/guide.md": b"A guide.\n" * 12,
    "src/app.txt": b"".join(b"line %d\n" % number for number in range(1, 31)),
    "src/lib/util.py": b"VALUE = 1\n",
    "bin/run.sh": b"#!/bin/sh\necho run\n",
    "assets/data.bin": bytes(range(256)) * 3,
}


class Code:
    """A project with content, and its local repository."""

    def __init__(self, project, local, client):
        self.project, self.local, self.owner = project, local, client
        self.id, self.api, self.trunk = project["id"], "/projects/%s" % project["id"], local.trunk
        self.first = local.commit(CONTENT, "First commit\n\nWith a second paragraph.", executable=("bin/run.sh",))
        url = repo_url(project, client.username, client.token)
        local.push(url, "%s:refs/heads/%s" % (self.first, self.trunk))
        eventually(self.is_shown, "the branch %s is at %s" % (self.trunk, self.first))

    def branch_path(self):
        return "%s/repository/branches/%s" % (self.api, enc(self.trunk))

    def is_shown(self):
        """Whether the interface shows the pushed commit."""
        resp = self.owner.get(self.branch_path())
        return resp.status_code == 200 and resp.json()["commit"]["id"] == self.first


def new_issue(client, code, **extra):
    return data(client.post(code.api + "/issues", **dict({"title": "An issue"}, **extra)), 201)


def new_milestone(client, code, **extra):
    return data(client.post(code.api + "/milestones", **dict({"title": "First"}, **extra)), 201)


@pytest.fixture(scope="session")
def people(owner, make_account):
    """The owner, and one account for each role."""
    return types.SimpleNamespace(owner=owner, **{role: make_account() for role in ROLES})


@pytest.fixture(scope="session")
def make_crew(http_git, people, make_project, local_repo):
    """Factory: a project with one pushed commit and a member for each role; only masters push to its trunk."""
    def make(**extra):
        project = make_project(people.owner, builds_enabled=True, **extra)
        code = Code(project, local_repo(project.get("default_branch") or "master"), people.owner)
        for role, level in ROLES.items():
            form = dict(user_id=getattr(people, role).id, access_level=level)
            data(people.owner.post(code.api + "/members", **form), 201)
        protection = dict(developers_can_push=False, developers_can_merge=False)
        data(people.owner.put(code.branch_path() + "/protect", **protection), 200)
        return code
    return make


@pytest.fixture(scope="session")
def crew(make_crew):
    """A private project with members."""
    return make_crew(visibility_level=PRIVATE)


@pytest.fixture(scope="session")
def open_crew(make_crew):
    """A public project with members."""
    return make_crew(visibility_level=PUBLIC)
