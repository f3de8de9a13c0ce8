"""The log of branches and tags, and the way back.

Not in the specification, but of this service: who moved which branch or tag,
and how one that was deleted or forced elsewhere is put back.
"""
import pytest

from suite.client import data, has_message, status

pytestmark = pytest.mark.branches

CONFLICT = 409


@pytest.fixture
def place(owner, push_project):
    """A project of the owner with one more commit on a branch "topic"."""
    found = push_project(owner)
    found.log = found.api + "/repository/ref_log"
    found.branches = found.api + "/repository/branches"
    data(owner.post(found.branches, branch_name="topic", ref=found.trunk), 200, 201)
    return found


def last(client, place, name):
    return client.read(place.log, ref_name=name)[0]


def restore(client, place, entry, name):
    return client.post("%s/%s/restore" % (place.log, entry["generation"]), ref_name=name)


def test_the_log_has_the_last_move_first(owner, place):
    entry = last(owner, place, "topic")
    assert (entry["ref_name"], entry["old"], entry["new"]) == ("refs/heads/topic", None, place.first)
    assert (entry["user"]["id"], entry["via"], entry["restorable"]) == (owner.id, "api", False)
    everything = owner.read(place.log)
    assert everything[0] == entry
    assert [it["generation"] for it in everything] == sorted((it["generation"] for it in everything), reverse=True)


def test_a_deleted_branch_comes_back(owner, place):
    data(owner.delete(place.branches + "/topic"), 200)
    entry = last(owner, place, "topic")
    assert (entry["old"], entry["new"], entry["restorable"]) == (place.first, None, True)
    assert data(restore(owner, place, entry, "topic"), 201) == {"ref_name": "refs/heads/topic", "target": place.first}
    assert owner.read(place.branches + "/topic")["commit"]["id"] == place.first
    has_message(status(restore(owner, place, entry, "topic"), CONFLICT))


def test_the_log_is_for_those_who_push(owner, place, outsider, anonymous):
    data(owner.delete(place.branches + "/topic"), 200)
    entry = last(owner, place, "topic")
    for client, refusal in ((outsider, 404), (anonymous, 401)):
        status(client.get(place.log), refusal)
        status(restore(client, place, entry, "topic"), refusal)
