"""Interoperability of accounts and groups with the client python-gitlab 0.21.2.

What test_python_gitlab.py says of the client holds here too. These tests need no
project: a server that has only users and groups passes them.
"""
import pytest

from suite.rows import covers
from suite.sshkey import key_body, new_public_key
from test_python_gitlab import connect

gitlab = pytest.importorskip("gitlab", reason="python-gitlab is not installed")

pytestmark = [pytest.mark.python_gitlab, pytest.mark.users]


@pytest.fixture(scope="module")
def root(admin):
    """The client as the administrator."""
    return connect(admin)


@pytest.fixture(scope="module")
def gl(owner):
    """The client as a normal user."""
    return connect(owner)


@covers("GET /users", "POST /users", "GET /users/:id", "PUT /users/:id", "DELETE /users/:id",
        "PUT /users/:uid/block", "PUT /users/:uid/unblock")
def test_users(root, gl, name):
    """Users: create, list, search, get, save, block, unblock, delete."""
    word = name("user")
    made = root.users.create({"email": word + "@example.com", "password": "Pw-%s-8sQz!" % word,
                              "username": word, "name": "User " + word, "confirm": False})
    assert [user.id for user in root.users.search(word)] == [made.id]
    assert [user.id for user in root.users.list(username=word)] == [made.id]
    user = root.users.get_by_username(word)
    user.bio = "Words"
    user.location = "Town"
    user.save()
    again = root.users.get(made.id)
    assert (again.bio, again.location, again.email) == ("Words", "Town", word + "@example.com")
    assert gl.users.get(made.id).bio == "Words"
    user.block()
    assert root.users.get(made.id).state == "blocked"
    user.unblock()
    assert root.users.get(made.id).state == "active"
    with pytest.raises(gitlab.GitlabCreateError) as refused:
        root.users.create({"email": word + "@example.com", "password": "Pw-%s-8sQz!" % word,
                           "username": word + "x", "name": "x"})
    assert refused.value.response_code == 409
    with pytest.raises(gitlab.GitlabCreateError) as refused:
        gl.users.create({"email": "x@example.com", "password": "Pw-x-8sQz!", "username": "x", "name": "x"})
    assert refused.value.response_code == 403
    user.delete()
    assert root.users.list(username=word) == []


@covers("GET /user/keys", "POST /user/keys", "GET /user/keys/:id", "DELETE /user/keys/:id",
        "GET /users/:uid/keys", "POST /users/:id/keys", "DELETE /users/:uid/keys/:id")
def test_keys(root, gl, make_user):
    """Keys, own and of another user: create, list, get, delete; a used key is refused."""
    other = root.users.get(make_user()["id"])
    for keys in (gl.user.keys, other.keys):
        key = new_public_key()
        made = keys.create({"title": "t", "key": key})
        assert key_body(keys.get(made.id).key) == key_body(key)
        with pytest.raises(gitlab.GitlabCreateError) as refused:
            gl.user.keys.create({"title": "again", "key": key})
        assert refused.value.response_code == 400
        made.delete()
        assert made.id not in [item.id for item in keys.list(per_page=100)]


@covers("GET /user/emails", "POST /user/emails", "GET /user/emails/:id", "DELETE /user/emails/:id",
        "GET /users/:uid/emails", "POST /users/:id/emails", "DELETE /users/:uid/emails/:id")
def test_emails(root, gl, make_user, name):
    """Addresses, own and of another user: create, list, delete."""
    other = root.users.get(make_user()["id"])
    for emails in (gl.user.emails, other.emails):
        mail = name("mail") + "@example.com"
        made = emails.create({"email": mail})
        assert mail in [item.email for item in emails.list(per_page=100)]
        made.delete()
        assert mail not in [item.email for item in emails.list(per_page=100)]


@covers("POST /groups", "GET /groups", "GET /groups/owned", "GET /groups/:id", "PUT /groups/:id",
        "DELETE /groups/:id")
def test_groups_and_members(gl, make_user, name):
    """Groups: create, list, search, get, save, delete; members: create, list, save, delete."""
    path = name("grp")
    group = gl.groups.create({"name": path, "path": path, "visibility_level": 20})
    assert [item.id for item in gl.groups.search(path)] == [group.id]
    assert group.id in [item.id for item in gl.groups.list(search=path)]
    group.description = "Changed"
    group.save()
    assert gl.groups.get(group.id).description == "Changed"
    user = make_user()["id"]
    member = group.members.create({"user_id": user, "access_level": gitlab.DEVELOPER_ACCESS})
    assert user in [item.id for item in group.members.list()]
    member.access_level = gitlab.MASTER_ACCESS
    member.save()
    assert group.members.get(user).access_level == gitlab.MASTER_ACCESS
    member.delete()
    assert user not in [item.id for item in group.members.list()]
    group.delete()
    with pytest.raises(gitlab.GitlabGetError):
        gl.groups.get(path)


@covers("L:page", "GET /users")
def test_pages(root, make_user, name):
    """Lists come in pages; all=True walks through them."""
    word = name.token()
    wanted = [make_user(username=word + letter)["id"] for letter in "abc"]
    pages = [root.users.list(search=word, per_page=2, page=page) for page in (1, 2)]
    assert sorted(user.id for page in pages for user in page) == sorted(wanted)
    assert sorted(user.id for user in root.users.list(search=word, per_page=1, all=True)) == sorted(wanted)
