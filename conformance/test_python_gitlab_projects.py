"""Interoperability of projects with the client python-gitlab 0.21.2.

What test_python_gitlab.py says of the client holds here too. These tests need
neither git nor labels: a server that has only users, groups and projects passes them.
"""
import pytest

from suite.client import PRIVATE, PUBLIC
from suite.rows import covers
from test_python_gitlab import connect

gitlab = pytest.importorskip("gitlab", reason="python-gitlab is not installed")

pytestmark = [pytest.mark.python_gitlab, pytest.mark.projects]


@pytest.fixture(scope="module")
def root(admin):
    """The client as the administrator."""
    return connect(admin)


@pytest.fixture(scope="module")
def gl(owner):
    """The client as a normal user."""
    return connect(owner)


@covers("POST /projects", "GET /projects", "GET /projects/:id", "PUT /projects/:id",
        "DELETE /projects/:id", "GET /projects/owned", "GET /projects/all")
def test_projects(gl, root, name):
    """Projects: create, list, owned, all, search, get by ID and path, save, delete."""
    word = name("prj")
    project = gl.projects.create({"name": word, "path": word, "description": "Words",
                                  "visibility_level": PUBLIC})
    for found in (gl.projects.list(search=word), gl.projects.owned(search=word),
                  root.projects.all(search=word), gl.projects.search(word)):
        assert [p.id for p in found] == [project.id]
    again = gl.projects.get(project.path_with_namespace)
    assert (again.id, again.description, again.public) == (project.id, "Words", True)
    again.description = "Changed"
    again.issues_enabled = False
    again.save()
    again = gl.projects.get(project.id)
    assert (again.description, again.issues_enabled) == ("Changed", False)
    again.delete()
    assert gl.projects.owned(search=word) == []
    with pytest.raises(gitlab.GitlabGetError):
        gl.projects.get(project.id)


@covers("POST /projects/user/:user_id", "POST /groups/:id/projects/:project_id", "GET /groups/:id/projects")
def test_for_a_user_and_into_a_group(gl, root, make_user, make_group, owner, name, trash):
    """projects.create of a user; transfer_project and projects.list of a group."""
    made = root.users.get(make_user()["id"]).projects.create({"name": name("prj")})
    trash["projects"].append("/projects/%s" % made.id)
    assert root.projects.get(made.id).name == made.name
    group = make_group(owner)
    root.groups.get(group["id"]).transfer_project(made.id)
    assert [p.id for p in gl.groups.get(group["id"]).projects.list()] == [made.id]
    assert root.projects.get(made.id).namespace.id == group["id"]


@covers("POST /projects/:id/star", "DELETE /projects/:id/star", "GET /projects/starred",
        "POST /projects/:id/archive", "POST /projects/:id/unarchive")
def test_star_and_archive(gl, owner, fresh_project):
    """star and unstar (also when nothing changes), starred, archive."""
    project = gl.projects.get(fresh_project["id"])
    assert project.star().star_count == 1
    project.star()
    assert project.id in [p.id for p in gl.projects.starred(search=fresh_project["path"])]
    assert project.unstar().star_count == 0
    project.unstar()
    assert project.archive().archived is True


@covers("POST /projects/:id/share")
def test_members_and_share(gl, make_user, make_group, owner, fresh_project):
    """Members: create, list, get, save, delete. share."""
    project, user = gl.projects.get(fresh_project["id"]), make_user()
    member = project.members.create({"user_id": user["id"], "access_level": gitlab.DEVELOPER_ACCESS})
    assert user["id"] in [m.id for m in project.members.list()]
    member = project.members.get(user["id"])
    member.access_level = gitlab.MASTER_ACCESS
    member.save()
    assert project.members.get(user["id"]).access_level == gitlab.MASTER_ACCESS
    member.delete()
    assert user["id"] not in [m.id for m in project.members.list()]
    project.share(make_group(owner)["id"], gitlab.DEVELOPER_ACCESS)
    assert len(gl.projects.get(project.id).shared_with_groups) == 1


@covers("POST /projects/:id/hooks", "GET /projects/:id/hooks", "GET /projects/:id/hooks/:hook_id",
        "PUT /projects/:id/hooks/:hook_id", "DELETE /projects/:id/hooks/:hook_id")
def test_project_hooks(gl, project, hook_url):
    """Project hooks: create, list, get, save, delete."""
    hooks = gl.projects.get(project["id"]).hooks
    hook = hooks.create({"url": hook_url(), "push_events": True, "token": "secret"})
    assert hook.id in [h.id for h in hooks.list(per_page=100)]
    hook = hooks.get(hook.id)
    hook.push_events = False
    hook.save()
    assert hooks.get(hook.id).push_events is False
    hook.delete()
    assert hook.id not in [h.id for h in hooks.list(per_page=100)]


@covers("GET /projects/:id/events")
def test_events(gl, make_user, owner, make_project):
    """Events of a project, newest first, in pages."""
    made = gl.projects.get(make_project(owner)["id"])
    made.members.create({"user_id": make_user()["id"], "access_level": gitlab.REPORTER_ACCESS})
    assert [e.action_name for e in made.events.list()] == ["joined", "created"]
    assert [e.action_name for e in made.events.list(page=2, per_page=1)] == ["created"]


@covers("GET /projects", "L:page")
def test_all_pages(gl, owner, make_project, name):
    """list(all=True) follows the links to the last page."""
    word = name.token()
    made = {make_project(owner, name=word + str(n), visibility_level=PRIVATE)["id"] for n in range(5)}
    assert {p.id for p in gl.projects.list(all=True, per_page=2, search=word)} == made
