"""Interoperability of repositories with the client python-gitlab 0.21.2.

What test_python_gitlab.py says of the client holds here too. These are its tests of
branches, tags and content, for a server that has no labels yet, and each of them
once more for the project's encoded path in the place of its number.
"""
import pytest

import test_python_gitlab as client
from suite.rows import covers

gitlab = pytest.importorskip("gitlab", reason="python-gitlab is not installed")

pytestmark = [pytest.mark.python_gitlab, pytest.mark.branches, pytest.mark.tags, pytest.mark.repository]

TREE = "GET /projects/:id/repository/tree"


class ByPath:
    """The client, which asks for projects by their paths."""

    def __init__(self, gl, path):
        self.gl, self.path = gl, path
        self.projects = self

    def get(self, _id):
        """The project; what is asked of it goes to its encoded path."""
        found = self.gl.projects.get(self.path)
        found.id = self.path.replace("/", "%2F")
        return found


@pytest.fixture(params=["number", "path"])
def gl(request, owner, repo):
    """The client as the owner."""
    connected = client.connect(owner)
    path = repo.project["path_with_namespace"]
    return connected if request.param == "number" else ByPath(connected, path)


@covers("GET /projects/:id/repository/branches", "POST /projects/:id/repository/branches")
def test_branches(gl, repo, name):
    """Branches: list, create, get, protect, unprotect, delete."""
    client.test_branches(gl, None, repo, name)


@covers("GET /projects/:id/repository/tags", "POST /projects/:id/repository/tags")
def test_tags(gl, repo, name):
    """Tags: list, create, set_release_description (new and changed), delete."""
    client.test_tags(gl, None, repo, name)


@covers(TREE, "GET /projects/:id/repository/compare")
def test_repository(gl, repo):
    """Repository: tree, blob, raw blob, compare, contributors, archive."""
    client.test_repository(gl, repo)
