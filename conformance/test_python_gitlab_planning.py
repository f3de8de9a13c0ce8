"""Interoperability of labels, boards, issues, notes and milestones with the client python-gitlab 0.21.2.

What test_python_gitlab.py says of the client holds here too. Further:

- subscribe() of an issue takes only 200 as success, where the interface has 201.
- save() of an issue sends back all that it read, so labels that were changed
  in between are set again, and `updated_at` is what it was.
- The client lists issues at a path that ends in a slash, and reads one at a
  path with two.
- It cannot delete a note or a milestone, and has no call for a user's events.
"""
import types

import pytest

import test_python_gitlab as client
from suite.client import all_pages
from suite.rows import covers
from suite.shapes import EVENT, check
from test_python_gitlab import connect

gitlab = pytest.importorskip("gitlab", reason="python-gitlab is not installed")

pytestmark = [pytest.mark.python_gitlab, pytest.mark.labels, pytest.mark.boards,
              pytest.mark.issues, pytest.mark.milestones, pytest.mark.events]


@pytest.fixture(scope="module")
def gl(owner):
    """The client as the owner."""
    return connect(owner)


@pytest.fixture(scope="module")
def root(admin):
    """The client as the administrator."""
    return connect(admin)


@pytest.fixture
def project(gl, fresh_project):
    """A project of the owner, for one test."""
    return gl.projects.get(fresh_project["id"])


@pytest.fixture
def issue(project):
    """An issue of that project."""
    return project.issues.create({"title": "An issue"})


def iids(issues):
    return [issue.iid for issue in issues]


def subscribe(issue):
    """Subscribe: the client calls the 201 an error."""
    with pytest.raises(gitlab.GitlabSubscribeError) as caught:
        issue.subscribe()
    assert caught.value.response_code == 201, caught.value


# ---------------------------------------------------------------- labels and boards

@covers("GET /projects/:id/labels", "POST /projects/:id/labels", "PUT /projects/:id/labels",
        "DELETE /projects/:id/labels", "POST /projects/:id/labels/:label_id/subscription",
        "DELETE /projects/:id/labels/:label_id/subscription")
def test_labels(gl, fresh_project, name):
    """Labels: create, list, get, save, subscribe, unsubscribe, delete."""
    client.test_labels(gl, None, fresh_project, name)


@covers("GET /projects/:id/labels", "PUT /projects/:id/labels", "DELETE /projects/:id/labels")
def test_labels_with_every_attribute(project):
    """Labels: description and priority come and go; the lists are sorted and paged."""
    for word in ("beta", "alpha", "gamma delta"):
        client.create(project.labels, {"name": word, "color": "#8899aa", "description": "Of " + word,
                                       "priority": len(word)})
    found = project.labels.list()
    assert [(label.name, label.description, label.priority) for label in found] == [
        ("alpha", "Of alpha", 5), ("beta", "Of beta", 4), ("gamma delta", "Of gamma delta", 11)]
    assert [label.name for label in project.labels.list(all=True, per_page=1)] == [
        "alpha", "beta", "gamma delta"]
    label = project.labels.get("gamma delta")
    label.description, label.priority = "Changed", None
    label.save()
    label = project.labels.get("gamma delta")
    assert (label.description, label.priority, label.color) == ("Changed", None, "#8899aa")
    project.labels.get("alpha").delete()
    assert [label.name for label in project.labels.list()] == ["beta", "gamma delta"]


@covers("POST /projects/:id/labels", "DELETE /projects/:id/labels", "E400", "E409", "E404")
def test_label_errors(project):
    """Labels: the codes of errors reach the caller."""
    client.create(project.labels, {"name": "one", "color": "#112233"})
    for values, code in (({"name": "one", "color": "#112233"}, 409),
                         ({"name": "two", "color": "red"}, 400)):
        with pytest.raises(gitlab.GitlabCreateError) as caught:
            project.labels.create(values)
        assert (caught.value.response_code, bool(caught.value.error_message)) == (code, True)
    with pytest.raises(gitlab.GitlabDeleteError) as caught:
        project.labels.delete("none")
    assert caught.value.response_code == 404


@covers("GET /projects/:id/boards", "GET /projects/:id/boards/:board_id/lists",
        "POST /projects/:id/boards/:board_id/lists",
        "PUT /projects/:id/boards/:board_id/lists/:list_id",
        "DELETE /projects/:id/boards/:board_id/lists/:list_id")
def test_boards(project, owner, fresh_project, make_label):
    """Boards: list, get; lists list, create, get, save, delete."""
    board = project.boards.list()[0]
    assert project.boards.get(board.id).id == board.id
    labels = [make_label(owner, fresh_project) for _ in range(3)]
    for label in labels:
        client.create(board.lists, {"label_id": label["id"]})
    lists = board.lists.list()
    assert [item.position for item in lists] == [0, 1, 2]
    assert [item.label.name for item in lists] == [label["name"] for label in labels]
    last = board.lists.get(lists[2].id)
    last.position = 0
    last.save()
    moved = [lists[2].id, lists[0].id, lists[1].id]
    assert [item.id for item in board.lists.list()] == moved
    board.lists.get(lists[0].id).delete()
    assert [(item.id, item.position) for item in board.lists.list()] == [
        (lists[2].id, 0), (lists[1].id, 1)]


# ---------------------------------------------------------------- issues

def test_create_with_every_attribute(gl, project, owner, make_account):
    """Issues: create with all attributes; get says the same."""
    helper = make_account()
    project.members.create({"user_id": helper.id, "access_level": gitlab.DEVELOPER_ACCESS})
    milestone = project.milestones.create({"title": "First"})
    made = project.issues.create({
        "title": "All of it", "description": "Words", "assignee_id": helper.id,
        "milestone_id": milestone.id, "labels": ["bug", "urgent"],
        "created_at": "2016-03-11T03:45:40.000Z", "due_date": "2017-01-31"})
    for issue in (made, project.issues.get(made.id), project.issues.list()[0]):
        assert (issue.id, issue.iid, issue.project_id) == (made.id, 1, project.id)
        assert (issue.title, issue.description, issue.state) == ("All of it", "Words", "opened")
        assert (issue.assignee.id, issue.author.id) == (helper.id, owner.id)
        assert (issue.milestone.id, issue.milestone.title) == (milestone.id, "First")
        assert sorted(issue.labels) == ["bug", "urgent"]
        assert issue.created_at == "2016-03-11T03:45:40.000Z"
        assert issue.due_date == "2017-01-31"
        assert (issue.confidential, issue.user_notes_count, issue.upvotes, issue.downvotes) == (
            False, 0, 0, 0)
        assert issue.subscribed is True
        assert issue.web_url.endswith("/issues/1")
    assert [label.name for label in project.labels.list()] == ["bug", "urgent"]


def test_save(project, owner, issue):
    """Issues: save title, description, labels, assignee, milestone, due date; each can be taken back."""
    milestone = project.milestones.create({"title": "First"})
    issue.title, issue.description = "Changed", "Words"
    issue.labels, issue.due_date = ["one", "two"], "2017-02-28"
    issue.assignee_id, issue.milestone_id = owner.id, milestone.id
    issue.save()
    for found in (issue, project.issues.get(issue.id)):
        assert (found.title, found.description, found.due_date) == ("Changed", "Words", "2017-02-28")
        assert sorted(found.labels) == ["one", "two"]
        assert (found.assignee.id, found.milestone.id) == (owner.id, milestone.id)
    again = project.issues.get(issue.id)
    again.labels, again.due_date, again.assignee_id, again.milestone_id = [], None, 0, 0
    again.save()
    found = project.issues.get(issue.id)
    assert (found.labels, found.due_date, found.assignee, found.milestone) == ([], None, None, None)
    assert (found.title, found.description) == ("Changed", "Words")


def test_close_and_reopen(project, issue):
    """Issues: save with state_event close and reopen."""
    issue.save(state_event="close")
    assert (issue.state, project.issues.get(issue.id).state) == ("closed", "closed")
    issue.save(state_event="reopen")
    assert (issue.state, project.issues.get(issue.id).state) == ("reopened", "reopened")
    issue.state_event = "close"
    issue.save()
    assert project.issues.get(issue.id).state == "closed"


@pytest.fixture(scope="module")
def many(gl, owner, make_project):
    """A project with four issues: their states, labels and milestones differ."""
    project = gl.projects.get(make_project(owner)["id"])
    first = project.milestones.create({"title": "First"})
    second = project.milestones.create({"title": "Second"})
    values = [
        {"labels": ["bug"], "milestone_id": first.id, "created_at": "2016-01-04T00:00:00.000Z"},
        {"labels": ["bug", "urgent"], "milestone_id": second.id, "created_at": "2016-01-03T00:00:00.000Z"},
        {"labels": ["urgent"], "created_at": "2016-01-02T00:00:00.000Z"},
        {"created_at": "2016-01-01T00:00:00.000Z"}]
    issues = [project.issues.create(dict(value, title="Issue %d" % n))
              for n, value in enumerate(values, 1)]
    days = {1: "05", 2: "03", 3: "06", 4: "04"}
    for issue in issues:
        issue.updated_at = "2016-02-%sT00:00:00.000Z" % days[issue.iid]
        issue.save(**({"state_event": "close"} if issue.iid in (2, 3) else {"title": issue.title + "."}))
    issues[2].updated_at = "2016-02-06T00:00:00.000Z"
    issues[2].save(state_event="reopen")
    return types.SimpleNamespace(project=project, issues=issues)


@pytest.mark.parametrize("filters,wanted", [
    ({}, [1, 2, 3, 4]),
    ({"state": "opened"}, [1, 3, 4]),
    ({"state": "closed"}, [2]),
    ({"state": "all"}, [1, 2, 3, 4]),
    ({"labels": "bug"}, [1, 2]),
    ({"labels": "bug,urgent"}, [1, 2, 3]),
    ({"labels": "none"}, []),
    ({"milestone": "First"}, [1]),
    ({"milestone": "none"}, []),
    ({"iid": 3}, [3]),
    ({"iid": 99}, []),
    ({"sort": "asc"}, [4, 3, 2, 1]),
    ({"order_by": "created_at", "sort": "desc"}, [1, 2, 3, 4]),
    ({"order_by": "updated_at"}, [3, 1, 4, 2]),
    ({"order_by": "updated_at", "sort": "asc"}, [2, 4, 1, 3]),
    ({"state": "opened", "labels": "urgent", "sort": "asc"}, [3]),
    ({"all": True, "per_page": 1}, [1, 2, 3, 4]),
    ({"page": 2, "per_page": 3}, [4])],
    ids=lambda value: ",".join("%s=%s" % item for item in value.items()) if isinstance(value, dict) else "")
def test_filters(filters, wanted, many):
    """Issues: list with state, labels, milestone, iid, order_by, sort and pages."""
    assert iids(many.project.issues.list(**filters)) == wanted


def test_own_issues(gl, root, many):
    """gl.issues.list(): what the caller wrote, with state, labels, order_by and sort."""
    def mine(**filters):
        return [issue.iid for issue in gl.issues.list(all=True, per_page=100, **filters)
                if issue.project_id == many.project.id]

    assert mine() == [1, 2, 3, 4]
    assert mine(state="closed") == [2]
    assert mine(labels="bug") == [1, 2]
    assert mine(order_by="updated_at", sort="asc") == [2, 4, 1, 3]
    assert gl.issues.get(many.issues[0].id, all=True).title == "Issue 1."
    assert many.project.id not in [issue.project_id for issue in root.issues.list(all=True, per_page=100)]


def test_group_issues(gl, root, owner, make_group, make_project):
    """group.issues: the issues of its projects; several labels must all match."""
    group, found = gl.groups.get(make_group(owner)["id"]), []
    for number, labels in enumerate((["bug"], ["bug", "urgent"])):
        project = make_project(owner)
        root.groups.get(group.id).transfer_project(project["id"])
        project = gl.projects.get(project["id"])
        milestone = project.milestones.create({"title": "Number %d" % number})
        found.append(project.issues.create({"title": "Issue %d" % number, "labels": labels,
                                            "milestone_id": milestone.id}))
    elsewhere = gl.projects.get(make_project(owner)["id"])
    elsewhere.issues.create({"title": "Elsewhere"})
    first, second = (issue.id for issue in found)
    found[0].save(state_event="close")

    def listed(**filters):
        return [issue.id for issue in group.issues.list(**filters)]

    assert listed() == [second, first]
    assert listed(sort="asc") == [first, second]
    assert listed(order_by="created_at", sort="desc") == [second, first]
    assert (listed(state="closed"), listed(state="opened")) == ([first], [second])
    assert (listed(labels="bug", sort="asc"), listed(labels="bug,urgent")) == ([first, second], [second])
    assert listed(milestone="Number 1") == [second]
    assert group.issues.get(second).title == "Issue 1"


def test_move(gl, project, owner, make_project, issue):
    """Issues: move; the issue goes on in the other project, and the old one is closed."""
    target = gl.projects.get(make_project(owner)["id"])
    target.issues.create({"title": "There already"})
    old = issue.id
    issue.move(target.id)
    assert (issue.project_id, issue.iid, issue.title, issue.state) == (target.id, 2, "An issue", "opened")
    assert target.issues.get(issue.id).title == "An issue"
    assert project.issues.get(old).state == "closed"
    with pytest.raises(gitlab.GitlabUpdateError) as caught:
        issue.move(target.id)
    assert caught.value.response_code == 400
    assert caught.value.error_message == "Cannot move issue to project it originates from!"


def test_subscription(gl, root, project, issue):
    """Issues: subscribe and unsubscribe; the author is subscribed from the start."""
    assert project.issues.get(issue.id).subscribed is True
    issue.unsubscribe()
    assert (issue.subscribed, project.issues.get(issue.id).subscribed) == (False, False)
    subscribe(issue)
    assert project.issues.get(issue.id).subscribed is True
    other = root.projects.get(project.id).issues.get(issue.id)
    assert other.subscribed is False
    subscribe(other)
    assert root.projects.get(project.id).issues.get(issue.id).subscribed is True


def test_delete(project, issue):
    """Issues: delete by the object and by the manager."""
    other = project.issues.create({"title": "Another"})
    issue.delete()
    with pytest.raises(gitlab.GitlabGetError) as caught:
        project.issues.get(issue.id)
    assert (caught.value.response_code, caught.value.error_message) == (404, "404 Issue Not Found")
    assert iids(project.issues.list()) == [2]
    project.issues.delete(other.id)
    assert project.issues.list() == []


def test_issue_errors(project):
    """Issues: the codes of errors reach the caller."""
    with pytest.raises(gitlab.GitlabCreateError) as caught:
        project.issues.create({"title": ""})
    assert (caught.value.response_code, caught.value.error_message) == (400, {"title": ["can't be blank"]})
    with pytest.raises(gitlab.GitlabListError) as caught:
        project.issues.list(state="other")
    assert caught.value.response_code == 400


# ---------------------------------------------------------------- notes

def test_notes(project, owner, issue):
    """Notes of an issue: create, list, get, save; the issue counts them."""
    made = issue.notes.create({"body": "First words"})
    other = issue.notes.create({"body": "Other words", "created_at": "2016-03-11T03:45:40.000Z"})
    assert other.created_at == "2016-03-11T03:45:40.000Z"
    for note in (made, issue.notes.get(made.id)):
        assert (note.body, note.author.id, note.system) == ("First words", owner.id, False)
        assert (note.noteable_id, note.noteable_type) == (issue.id, "Issue")
        assert (note.attachment, note.upvote, note.downvote) == (None, False, False)
    note = issue.notes.get(made.id)
    note.body = "Changed words"
    note.save()
    assert issue.notes.get(made.id).body == "Changed words"
    assert {note.body for note in issue.notes.list(all=True, per_page=1)} == {
        "Changed words", "Other words"}
    assert project.issues.get(issue.id).user_notes_count == 2


def test_system_notes(issue):
    """Notes of an issue: what the service says of a change is a system note."""
    issue.save(state_event="close")
    issue.notes.create({"body": "Said by hand"})
    assert sorted(note.system for note in issue.notes.list()) == [False, True]


# ---------------------------------------------------------------- milestones

def test_milestones(project):
    """Milestones: create with all attributes, get, list by state and iid, save, close, activate."""
    made = project.milestones.create({"title": "First", "description": "Words",
                                      "start_date": "2017-01-01", "due_date": "2017-02-01"})
    other = project.milestones.create({"title": "Second"})
    for milestone in (made, project.milestones.get(made.id)):
        assert (milestone.iid, milestone.project_id, milestone.state) == (1, project.id, "active")
        assert (milestone.title, milestone.description) == ("First", "Words")
        assert (milestone.start_date, milestone.due_date) == ("2017-01-01", "2017-02-01")
    assert iids(project.milestones.list()) == [2, 1]
    assert iids(project.milestones.list(iid=1)) == [1]
    made.title, made.description, made.due_date = "Changed", "Other words", "2017-03-01"
    made.save(state_event="close")
    found = project.milestones.get(made.id)
    assert (found.title, found.description, found.state) == ("Changed", "Other words", "closed")
    assert (found.start_date, found.due_date) == ("2017-01-01", "2017-03-01")
    for state, wanted in (("active", [2]), ("closed", [1]), ("all", [2, 1])):
        assert iids(project.milestones.list(state=state)) == wanted
    found.state_event = "activate"
    found.save()
    assert project.milestones.get(made.id).state == "active"
    assert project.milestones.get(other.id).title == "Second"


def test_issues_of_a_milestone(project):
    """Milestones: issues() are the issues that have it, open and closed."""
    milestone = project.milestones.create({"title": "First"})
    project.issues.create({"title": "Without"})
    made = [project.issues.create({"title": "With", "milestone_id": milestone.id}) for _ in range(2)]
    made[0].save(state_event="close")
    assert {(issue.id, issue.state) for issue in milestone.issues()} == {
        (made[0].id, "closed"), (made[1].id, "opened")}
    assert milestone.issues()[0].milestone.title == "First"
    assert len(milestone.issues(per_page=1)) == 1


def test_milestone_errors(project):
    """Milestones: a title that is taken is refused."""
    project.milestones.create({"title": "First"})
    with pytest.raises(gitlab.GitlabCreateError) as caught:
        project.milestones.create({"title": "First"})
    assert (caught.value.response_code, caught.value.error_message) == (
        400, {"title": ["has already been taken"]})


# ---------------------------------------------------------------- events

@covers("GET /projects/:id/events", "GET /users/:id/events", "R:Activity event", "EV:activity")
def test_events(gl, project, owner, issue):
    """Events of a project and of a user: opened, commented on with its note, closed, opened again."""
    note = issue.notes.create({"body": "Some words"})
    issue.save(state_event="close")
    issue.save(state_event="reopen")
    wanted = [("opened", "Issue", issue.id, "An issue"), ("closed", "Issue", issue.id, "An issue"),
              ("commented on", "Note", note.id), ("opened", "Issue", issue.id, "An issue")]
    events = project.events.list()
    assert [event.action_name for event in events] == [item[0] for item in wanted] + ["created"]
    feed = all_pages(owner, "/users/%s/events" % owner.id)
    for found in ([event.as_dict() for event in events],
                  [event for event in feed if event["project_id"] == project.id]):
        for event, item in zip(found, wanted):
            check(event, EVENT, "event")
            assert (event["action_name"], event["target_type"], event["target_id"]) == item[:3]
            assert (event["author_id"], event["author_username"]) == (owner.id, owner.username)
            assert ("note" in event) == (item[1] == "Note")
            if item[1] == "Issue":
                assert event["target_title"] == item[3]
        comment = found[2]["note"]
        assert (comment["id"], comment["body"], comment["author"]["id"]) == (note.id, "Some words", owner.id)
        assert (comment["noteable_id"], comment["noteable_type"]) == (issue.id, "Issue")
