"""Issues, their notes, milestones and closing commits, and labels, boards and the feed with them.

The specification has labels, boards and the feed; issues, notes and milestones
are those of the interface of the era (release line 8.14 to 8.17). Not of that
time, but of this service:

- issues, notes and milestones need a token on public projects, too;
- a confidential issue that the caller may not see does not exist for any call;
- the feed shows what happened to a confidential issue to reporters and above;
- the issues in a list of a board, and moving them from list to list, have calls;
- the lists of a board close up when a label is deleted.
"""
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from suite.client import (CREATED, INTERNAL, NO_ID, PRIVATE, PUBLIC, all_pages, client_error, data, enc,
                          eventually, has_message, ids, no_body, status)
from suite.gitrepo import repo_url
from suite.rows import covers
from suite.shapes import BOARD_LIST, EVENT, ISSUE, ISSUE_NOTE, LABEL, MILESTONE, check

pytestmark = [pytest.mark.issues, pytest.mark.milestones]

GUEST, REPORTER, DEVELOPER, MASTER = 10, 20, 30, 40
ROLES = {"guest": GUEST, "reporter": REPORTER, "developer": DEVELOPER, "master": MASTER}

FORBIDDEN = {"message": "403 Forbidden"}
NO_ISSUES = {"message": "403 Forbidden  - Issues are switched off in this project"}
NO_LABELS = {"message": "403 Forbidden  - Issues and merge requests are switched off in this project"}
UNAUTHORIZED = {"message": "401 Unauthorized"}
NO_PROJECT = {"message": "404 Project Not Found"}
NO_ISSUE = {"message": "404 Issue Not Found"}


@pytest.fixture(scope="module")
def people(owner, admin, outsider, anonymous, make_account):
    """Callers by their part: owner, administrator, one member for each role, stranger, anonymous."""
    found = types.SimpleNamespace(owner=owner, admin=admin, stranger=outsider, anonymous=anonymous)
    for role in ROLES:
        setattr(found, role, make_account())
    return found


@pytest.fixture(scope="module")
def make_team(people, make_project):
    """Factory: a project of the owner with a member for each role."""
    def make(**extra):
        project = make_project(people.owner, **extra)
        for role, level in ROLES.items():
            join(people.owner, project, getattr(people, role), level)
        return types.SimpleNamespace(project=project, id=project["id"], api="/projects/%s" % project["id"])
    return make


@pytest.fixture
def team(make_team):
    """A private project with members, for one test."""
    return make_team()


@pytest.fixture
def open_team(make_team):
    """A public project with members, for one test."""
    return make_team(visibility_level=PUBLIC)


def join(client, project, account, level):
    data(client.post("/projects/%s/members" % project["id"], user_id=account.id, access_level=level), 201)


def new_issue(client, api, **extra):
    """A new issue; without a title it is called "An issue"."""
    return data(client.post(api + "/issues", **dict({"title": "An issue"}, **extra)), 201)


def new_milestone(client, api, title="First", **extra):
    return data(client.post(api + "/milestones", title=title, **extra), 201)


def new_note(client, api, issue, body="Words"):
    return data(client.post(notes_of(api, issue), body=body), 201)


def one(api, issue):
    return "%s/issues/%s" % (api, issue["id"])


def notes_of(api, issue):
    return one(api, issue) + "/notes"


def edit(client, api, issue, **changes):
    """A change that must succeed."""
    return data(client.put(one(api, issue), **changes), 200)


def label_of(client, api, name):
    found = [label for label in all_pages(client, api + "/labels") if label["name"] == name]
    assert len(found) == 1, "%d labels named %s" % (len(found), name)
    return found[0]


def counts(client, api, name):
    """Open and closed issues with a label, as the caller sees them."""
    label = check(label_of(client, api, name), LABEL, "label")
    return label["open_issues_count"], label["closed_issues_count"]


def feed(client, path):
    """(action_name, target_type, target_id) of a feed, newest first, without memberships and the creation."""
    events = all_pages(client, path + "/events")
    for event in events:
        check(event, EVENT, "event")
    return [(event["action_name"], event["target_type"], event["target_id"]) for event in events
            if event["target_type"] is not None]


def at_once(calls):
    """The answers to calls that are sent together."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def body_is(resp, code, body):
    """Assert code and body of an error."""
    assert data(resp, code) == body
    return resp


def same(before, after, *but):
    """Assert that two answers agree in all fields, but for those named and updated_at."""
    but = set(but) | {"updated_at"}
    assert {k: v for k, v in after.items() if k not in but} == {
        k: v for k, v in before.items() if k not in but}


# ---------------------------------------------------------------- issues: creation

def test_create_with_the_title_only(people, team):
    """Issues, POST: 201; title is enough; what is not given is empty."""
    made = check(new_issue(people.owner, team.api, title="Only a title"), ISSUE, "issue")
    assert (made["iid"], made["project_id"], made["title"], made["state"]) == (
        1, team.id, "Only a title", "opened")
    assert (made["description"], made["milestone"], made["assignee"], made["due_date"]) == (None,) * 4
    assert (made["labels"], made["confidential"], made["subscribed"]) == ([], False, True)
    assert (made["user_notes_count"], made["upvotes"], made["downvotes"]) == (0, 0, 0)
    assert made["author"]["id"] == people.owner.id
    assert made["web_url"] == "%s/issues/1" % team.project["web_url"]
    assert people.owner.read(one(team.api, made)) == made
    assert people.owner.read(team.api + "/issues") == [made]


def test_create_with_all_parameters(how, people, team):
    """Issues, POST: all parameters, in the query or in a form."""
    milestone = new_milestone(people.owner, team.api)
    made = data(people.owner.send(
        "POST", team.api + "/issues", how, title="All", description="Words\n\nMore words",
        assignee_id=people.guest.id, milestone_id=milestone["id"], labels="one, two",
        due_date="2017-01-31", confidential=True, created_at="2016-03-11T03:45:40Z"), 201)
    check(made, ISSUE, "issue")
    assert (made["title"], made["description"]) == ("All", "Words\n\nMore words")
    assert (made["assignee"]["id"], made["milestone"]) == (people.guest.id, milestone)
    assert (sorted(made["labels"]), made["due_date"], made["confidential"]) == (
        ["one", "two"], "2017-01-31", True)
    assert made["created_at"].startswith("2016-03-11T03:45:40")
    assert people.owner.read(one(team.api, made)) == made


def test_numbers_are_of_the_project(people, make_team):
    """Issues: id is global, iid counts in the project from 1."""
    first, second = make_team(), make_team()
    made = [new_issue(people.owner, team.api) for team in (first, second, first)]
    assert [issue["iid"] for issue in made] == [1, 1, 2]
    assert len(set(ids(made))) == 3
    status(people.owner.get(one(second.api, made[0])), 404)


def test_numbers_of_issues_made_at_once(people, team):
    """Issues: those who create at the same time get numbers without gaps or repeats."""
    made = at_once([lambda: people.owner.request("POST", team.api + "/issues", form={"title": "x", "labels": "one"})
                    for _ in range(12)])
    assert sorted(data(resp, 201)["iid"] for resp in made) == list(range(1, 13))
    assert counts(people.owner, team.api, "one") == (12, 0)
    assert people.owner.read(team.api)["open_issues_count"] == 12


@pytest.mark.parametrize("params,body", [
    ({}, {"error": "title is missing"}),
    ({"description": "x"}, {"error": "title is missing"}),
    ({"title": ""}, {"message": {"title": ["can't be blank"]}}),
    ({"title": "x" * 256}, {"message": {"title": ["is too long (maximum is 255 characters)"]}}),
    ({"title": "x", "assignee_id": "abc"}, {"error": "assignee_id is invalid"}),
    ({"title": "x", "milestone_id": "abc"}, {"error": "milestone_id is invalid"}),
    ({"title": "x", "due_date": "soon"}, {"error": "due_date is invalid"}),
    ({"title": "x", "confidential": "perhaps"}, {"error": "confidential is invalid"}),
    ({"title": "x", "created_at": "then"}, {"error": "created_at is invalid"})],
    ids=["nothing", "no-title", "blank", "long", "assignee", "milestone", "due_date", "confidential", "created_at"])
def test_create_errors(params, body, people, team):
    """Issues, POST: 400 says what is wrong; nothing is made."""
    body_is(people.owner.post(team.api + "/issues", **params), 400, body)
    assert people.owner.read(team.api + "/issues") == []
    assert people.owner.read(team.api + "/labels") == []


def test_title_of_255_characters(people, team):
    """Issues, POST: a title may have 255 characters, whatever their bytes."""
    assert new_issue(people.owner, team.api, title="ü" * 255)["title"] == "ü" * 255


def test_order_of_checks(people, team):
    """Errors: first the token (401), then parameters (400), then what is named (404), then rights (403)."""
    issue = new_issue(people.owner, team.api)
    body_is(people.anonymous.post(team.api + "/issues"), 401, UNAUTHORIZED)
    body_is(people.owner.post("/projects/%d/issues" % NO_ID), 400, {"error": "title is missing"})
    body_is(people.stranger.post(team.api + "/issues", title="x"), 404, NO_PROJECT)
    body_is(people.guest.put(one(team.api, issue), state_event="x"), 400,
            {"error": "state_event does not have a valid value"})
    body_is(people.guest.put(one(team.api, issue), title="x"), 403, FORBIDDEN)
    body_is(people.guest.post(team.api + "/labels", color="#123456"), 400, {"error": "name is missing"})
    body_is(people.guest.post(team.api + "/milestones"), 400, {"error": "title is missing"})


@pytest.mark.parametrize("part,kept", [("owner", True), ("admin", True), ("master", False),
                                       ("reporter", False), ("guest", False)])
def test_created_at_and_updated_at(part, kept, people, team):
    """Issues: created_at and updated_at are for the owner and administrators, dropped for others."""
    caller = getattr(people, part)
    made = new_issue(caller, team.api, created_at="2016-03-11T03:45:40Z")
    assert made["created_at"].startswith("2016-03-11T03:45:40") is kept
    changed = edit(caller, team.api, made, title="Changed", updated_at="2016-04-12T03:45:40Z")
    assert (changed["title"], changed["created_at"]) == ("Changed", made["created_at"])
    assert changed["updated_at"].startswith("2016-04-12T03:45:40") is kept


def test_created_at_is_not_changed(people, team):
    """Issues, PUT: created_at is not among what can be changed."""
    made = new_issue(people.owner, team.api)
    changed = edit(people.owner, team.api, made, title="Changed", created_at="2016-03-11T03:45:40Z")
    assert changed["created_at"] == made["created_at"]


@pytest.mark.parametrize("part", ["guest", "stranger"])
def test_create_by_those_who_do_not_manage(part, people, open_team):
    """Issues, POST: guests, and strangers in a public project, give title and description, but no more."""
    caller, api = getattr(people, part), open_team.api
    milestone = new_milestone(people.owner, api)
    data(people.owner.post(api + "/labels", name="known", color="#123456"), 200)
    made = new_issue(caller, api, title="Mine", description="Words", labels="known,unknown",
                     assignee_id=people.owner.id, milestone_id=milestone["id"])
    assert (made["title"], made["description"], made["author"]["id"]) == ("Mine", "Words", caller.id)
    assert (made["labels"], made["assignee"], made["milestone"]) == ([], None, None)
    assert [label["name"] for label in people.owner.read(api + "/labels")] == ["known"]
    assert counts(people.owner, api, "known") == (0, 0)


def test_create_by_a_reporter(people, team):
    """Issues, POST: a reporter sets label, assignee and milestone."""
    milestone = new_milestone(people.owner, team.api)
    made = new_issue(people.reporter, team.api, labels="new", assignee_id=people.developer.id,
                     milestone_id=milestone["id"])
    assert (made["labels"], made["assignee"]["id"], made["milestone"]["id"]) == (
        ["new"], people.developer.id, milestone["id"])
    assert label_of(people.owner, team.api, "new")["open_issues_count"] == 1


def test_foreign_milestone_and_unknown_assignee(people, make_team):
    """Issues: a milestone of another project, and nobody, are not taken."""
    team, other = make_team(), make_team()
    milestone = new_milestone(people.owner, other.api)
    for params in ({"milestone_id": milestone["id"]}, {"milestone_id": NO_ID}, {"assignee_id": NO_ID}):
        resp = people.owner.post(team.api + "/issues", title="x", **params)
        if resp.status_code == 201:
            assert (resp.json()["milestone"], resp.json()["assignee"]) == (None, None)
        else:
            has_message(status(resp, 400, 404))
    assert people.owner.read("%s/milestones/%s/issues" % (other.api, milestone["id"])) == []


# ---------------------------------------------------------------- issues: labels

def test_labels_are_split_and_trimmed(people, team):
    """Issues, labels: names are split at commas and trimmed; unknown ones are made; each once."""
    made = new_issue(people.reporter, team.api, labels=" two words ,one,, one , two words")
    assert sorted(made["labels"]) == ["one", "two words"]
    assert [label["name"] for label in people.owner.read(team.api + "/labels")] == ["one", "two words"]
    for label in people.owner.read(team.api + "/labels"):
        check(label, LABEL, "label")


def test_labels_are_replaced(people, team):
    """Issues, PUT labels: all of them at once; empty removes all; absent leaves them."""
    made = new_issue(people.owner, team.api, labels="one,two")
    assert sorted(edit(people.owner, team.api, made, title="Changed")["labels"]) == ["one", "two"]
    assert sorted(edit(people.owner, team.api, made, labels="two,three")["labels"]) == ["three", "two"]
    assert edit(people.owner, team.api, made, labels="")["labels"] == []
    assert len(people.owner.read(team.api + "/labels")) == 3


# ---------------------------------------------------------------- issues: lists

@pytest.fixture(scope="module")
def shelf(people, make_team):
    """A project with five issues of different states, labels and milestones."""
    team = make_team()
    owner, api = people.owner, team.api
    first = new_milestone(owner, api, "First")
    for number, params in enumerate((
            dict(labels="bug", milestone_id=first["id"]), dict(labels="bug,urgent"),
            dict(labels="urgent"), dict(), dict(milestone_id=first["id"])), 1):
        new_issue(owner, api, title="Issue %d" % number, created_at="2016-01-%02dT00:00:00Z" % number, **params)
    team.issues = {issue["iid"]: issue for issue in owner.read(api + "/issues")}
    for iid, day, event in ((1, 5, None), (2, 3, "close"), (3, 6, "close"), (4, 4, None), (5, 7, None)):
        params = {"state_event": event} if event else {"description": "Words"}
        edit(owner, api, team.issues[iid], updated_at="2016-02-%02dT00:00:00Z" % day, **params)
    edit(owner, api, team.issues[3], updated_at="2016-02-06T00:00:00Z", state_event="reopen")
    return team


@pytest.mark.parametrize("query,wanted", [
    ("", [5, 4, 3, 2, 1]), ("state=all", [5, 4, 3, 2, 1]), ("state=opened", [5, 4, 3, 1]),
    ("state=closed", [2]), ("labels=bug", [2, 1]), ("labels=bug,urgent", [3, 2, 1]),
    ("labels=bug, urgent", [3, 2, 1]), ("labels=none", []), ("milestone=First", [5, 1]),
    ("milestone=none", []), ("iid=2", [2]), ("iid=77", []), ("sort=asc", [1, 2, 3, 4, 5]),
    ("order_by=updated_at", [5, 3, 1, 4, 2]), ("order_by=updated_at&sort=asc", [2, 4, 1, 3, 5]),
    ("state=opened&labels=urgent", [3]), ("milestone=First&labels=bug", [1])])
def test_list_filters(query, wanted, people, shelf):
    """Issues, GET: state, labels (any of them), milestone, iid, order_by, sort; newest first."""
    params = dict(item.split("=", 1) for item in query.split("&") if item)
    found = people.guest.read(shelf.api + "/issues", **params)
    assert [issue["iid"] for issue in found] == wanted
    for issue in found:
        check(issue, ISSUE, "issue")


@pytest.mark.parametrize("params,error", [
    ({"state": "other"}, "state does not have a valid value"),
    ({"order_by": "title"}, "order_by does not have a valid value"),
    ({"sort": "up"}, "sort does not have a valid value"),
    ({"iid": "one"}, "iid is invalid")], ids=["state", "order_by", "sort", "iid"])
def test_list_errors(params, error, people, shelf):
    """Issues, GET: 400 names the parameter that is wrong."""
    body_is(people.guest.get(shelf.api + "/issues", **params), 400, {"error": error})


@pytest.mark.parametrize("path,total", [("issues", 5), ("milestones", 2), ("notes", 3)])
def test_lists_have_pages(path, total, people, shelf, make_team):
    """Pagination: page, per_page, the headers and the links, which keep the other parameters."""
    owner, api = people.owner, shelf.api
    if path == "milestones":
        api = make_team().api
        for title in ("First", "Second"):
            new_milestone(owner, api, title)
    if path == "notes":
        api = make_team().api
        issue = new_issue(owner, api)
        for _ in range(3):
            new_note(owner, api, issue)
        path = "issues/%s/notes" % issue["id"]
    others = {} if "notes" in path else {"state": "all"}
    everything = owner.read("%s/%s" % (api, path))
    assert len(everything) == total
    resp = status(owner.get("%s/%s" % (api, path), page=2, per_page=1, **others), 200)
    assert resp.json() == everything[1:2]
    headers = {key: resp.headers[key] for key in
               ("X-Page", "X-Per-Page", "X-Total", "X-Total-Pages", "X-Prev-Page", "X-Next-Page")}
    assert headers == {"X-Page": "2", "X-Per-Page": "1", "X-Total": str(total),
                       "X-Total-Pages": str(total), "X-Prev-Page": "1",
                       "X-Next-Page": "3" if total > 2 else ""}
    assert set(resp.links) == {"prev", "first", "last"} | ({"next"} if total > 2 else set())
    assert "page=%d" % total in resp.links["last"]["url"]
    for link in resp.links.values():
        assert not others or "state=all" in link["url"]


def test_own_issues(people, make_team, make_account):
    """GET /issues: what the caller wrote, in all projects, not what he has to do."""
    first, second, writer = make_team(), make_team(), make_account()
    for team in (first, second):
        join(people.owner, team.project, writer, REPORTER)
    new_issue(people.owner, first.api, assignee_id=writer.id)
    mine = [new_issue(writer, first.api, labels="one"), new_issue(writer, second.api, labels="one,two"),
            new_issue(writer, second.api, confidential=True)]
    edit(writer, first.api, mine[0], state_event="close")
    found = writer.read("/issues")
    assert ids(found) == ids(reversed(mine))
    for issue in found:
        check(issue, ISSUE, "issue")
    assert ids(writer.read("/issues", state="closed")) == [mine[0]["id"]]
    assert ids(writer.read("/issues", state="opened", sort="asc")) == ids(mine[1:])
    assert mine[1]["id"] in ids(writer.read("/issues", labels="one"))
    assert writer.read("/issues", milestone="none") == []
    assert ids(writer.read("/issues", per_page=1, page=2)) == [mine[1]["id"]]
    body_is(people.anonymous.get("/issues"), 401, UNAUTHORIZED)


@pytest.fixture(scope="module")
def grouped(people, admin, make_group, make_project):
    """A group with a public and a private project, an issue in each; the second is labelled twice."""
    owner = people.owner
    group = make_group(owner)
    teams = []
    for level, labels in ((PUBLIC, "bug"), (PRIVATE, "bug,urgent")):
        project = make_project(owner, visibility_level=level)
        status(admin.post("/groups/%s/projects/%s" % (group["id"], project["id"])), *CREATED)
        api = "/projects/%s" % project["id"]
        milestone = new_milestone(owner, api, "Of %d" % level)
        issue = new_issue(owner, api, labels=labels, milestone_id=milestone["id"])
        teams.append(types.SimpleNamespace(api=api, project=project, issue=issue["id"]))
    teams[0].hidden = new_issue(owner, teams[0].api, confidential=True)["id"]
    return types.SimpleNamespace(path="/groups/%s/issues" % group["id"], public=teams[0],
                                 private=teams[1], group=group)


def test_group_issues(people, grouped):
    """GET /groups/:id/issues: issues of its projects; several labels must all match."""
    public, private, hidden = grouped.public.issue, grouped.private.issue, grouped.public.hidden
    found = people.owner.read(grouped.path)
    assert ids(found) == [hidden, private, public]
    for issue in found:
        check(issue, ISSUE, "issue")
    assert ids(people.owner.read(grouped.path, sort="asc")) == [public, private, hidden]
    assert ids(people.owner.read(grouped.path, labels="bug")) == [private, public]
    assert ids(people.owner.read(grouped.path, labels="bug,urgent")) == [private]
    assert ids(people.owner.read(grouped.path, milestone="Of 20")) == [public]
    assert people.owner.read(grouped.path, state="closed") == []
    assert ids(people.owner.read("/groups/%s/issues" % grouped.group["path"], per_page=1)) == [hidden]


def test_group_issues_of_others(people, grouped, make_group):
    """GET /groups/:id/issues: strangers see what they may see; a hidden group is missing."""
    assert ids(people.stranger.read(grouped.path)) == [grouped.public.issue]
    body_is(people.anonymous.get(grouped.path), 401, UNAUTHORIZED)
    body_is(people.stranger.get("/groups/%d/issues" % NO_ID), 404, {"message": "404 Group Not Found"})
    hidden = make_group(people.owner, visibility_level=PRIVATE)
    body_is(people.stranger.get("/groups/%s/issues" % hidden["id"]), 404, {"message": "404 Group Not Found"})


# ---------------------------------------------------------------- issues: changes

@pytest.mark.parametrize("field,value", [
    ("title", "Changed"), ("description", "Other words"), ("due_date", "2018-01-01"), ("confidential", True)])
def test_change_of_one_field(field, value, how, people, team):
    """Issues, PUT: 200; what is given changes and nothing else."""
    milestone = new_milestone(people.owner, team.api)
    before = new_issue(people.owner, team.api, description="Words", labels="one", due_date="2017-01-01",
                       assignee_id=people.developer.id, milestone_id=milestone["id"])
    other = new_issue(people.owner, team.api)
    after = data(people.reporter.send("PUT", one(team.api, before), how, **{field: value}), 200)
    assert check(after, ISSUE, "issue")[field] == value
    same(before, after, field, "subscribed")
    same(after, people.owner.read(one(team.api, before)), "subscribed")
    assert people.owner.read(one(team.api, other)) == other


def test_change_of_assignee_and_milestone(people, team):
    """Issues, PUT: assignee_id and milestone_id change, and 0 or nothing takes them away."""
    first, second = (new_milestone(people.owner, team.api, title) for title in ("First", "Second"))
    before = new_issue(people.owner, team.api, assignee_id=people.guest.id, milestone_id=first["id"])
    after = edit(people.owner, team.api, before, assignee_id=people.developer.id)
    assert after["assignee"]["id"] == people.developer.id
    same(before, after, "assignee")
    after = edit(people.owner, team.api, before, milestone_id=second["id"])
    assert (after["assignee"]["id"], after["milestone"]) == (people.developer.id, second)
    for nothing in (0, ""):
        edit(people.owner, team.api, before, assignee_id=people.guest.id, milestone_id=first["id"])
        after = edit(people.owner, team.api, before, assignee_id=nothing)
        assert (after["assignee"], after["milestone"]["id"]) == (None, first["id"])
        assert edit(people.owner, team.api, before, milestone_id=nothing)["milestone"] is None


def test_description_and_due_date_are_taken_away(people, team):
    """Issues, PUT: an empty description or due_date removes it."""
    before = new_issue(people.owner, team.api, description="Words", due_date="2017-01-01")
    after = edit(people.owner, team.api, before, description="", due_date="")
    assert after["description"] in (None, "") and after["due_date"] is None


@pytest.mark.parametrize("params,body", [
    ({"title": ""}, {"message": {"title": ["can't be blank"]}}),
    ({"title": "x" * 256}, {"message": {"title": ["is too long (maximum is 255 characters)"]}}),
    ({"title": "y", "state_event": "delete"}, {"error": "state_event does not have a valid value"}),
    ({"title": "y", "due_date": "2017-13-01"}, {"error": "due_date is invalid"}),
    ({"title": "y", "confidential": "x"}, {"error": "confidential is invalid"}),
    ({"title": "y", "assignee_id": "x"}, {"error": "assignee_id is invalid"})],
    ids=["blank", "long", "state_event", "due_date", "confidential", "assignee"])
def test_change_errors(params, body, people, team):
    """Issues, PUT: 400 says what is wrong, and nothing changes."""
    before = new_issue(people.owner, team.api)
    body_is(people.owner.put(one(team.api, before), labels="new", **params), 400, body)
    assert people.owner.read(one(team.api, before)) == before
    assert people.owner.read(team.api + "/labels") == []


def test_change_of_nothing(people, team):
    """Issues, PUT: at least one parameter is required."""
    before = new_issue(people.owner, team.api)
    resp = has_message(status(people.owner.put(one(team.api, before)), 400))
    assert resp.json()["error"].endswith("are missing, at least one parameter must be provided")
    assert people.owner.read(one(team.api, before)) == before


def test_states(people, team):
    """Issues, states: opened or reopened -close-> closed -reopen-> reopened; other events change nothing."""
    issue = new_issue(people.owner, team.api)
    before = issue
    for event, wanted in (("reopen", "opened"), ("close", "closed"), ("close", "closed"),
                          ("reopen", "reopened"), ("reopen", "reopened"), ("close", "closed")):
        after = edit(people.owner, team.api, issue, state_event=event)
        assert after["state"] == wanted
        same(before, after, "state")
        assert people.owner.read(one(team.api, issue))["state"] == wanted


def test_closed_by_several_at_once(people, team):
    """Issues, states: those who close at the same time close once: one event, one count."""
    issue = new_issue(people.owner, team.api, labels="one")
    answers = at_once([lambda: people.owner.put(one(team.api, issue), state_event="close") for _ in range(8)])
    assert {data(resp, 200)["state"] for resp in answers} == {"closed"}
    assert feed(people.owner, team.api) == [("closed", "Issue", issue["id"]), ("opened", "Issue", issue["id"])]
    assert counts(people.owner, team.api, "one") == (0, 1)
    assert people.owner.read(team.api)["open_issues_count"] == 0


def test_updated_at(people, team):
    """Issues, PUT: a change moves updated_at on, and created_at stays."""
    before = new_issue(people.owner, team.api)
    after = edit(people.owner, team.api, before, title="Changed")
    assert after["updated_at"] > before["updated_at"]
    assert after["created_at"] == before["created_at"]


def test_reopened_counts_as_opened(people, team):
    """Issues: the filter state=opened, and open_issues_count, include reopened ones."""
    issue = new_issue(people.owner, team.api)
    for event, count in (("close", 0), ("reopen", 1)):
        edit(people.owner, team.api, issue, state_event=event)
        assert len(people.owner.read(team.api + "/issues", state="opened")) == count
        assert people.owner.read(team.api)["open_issues_count"] == count


@pytest.mark.parametrize("part,code", [("owner", 200), ("admin", 200), ("master", 200), ("developer", 200),
                                       ("reporter", 200), ("guest", 403), ("stranger", 403)])
def test_who_changes_the_issues_of_others(part, code, people, open_team):
    """Issues, PUT: reporters and above; others 403, and nothing changes."""
    author = people.developer if part != "developer" else people.master
    issue = new_issue(author, open_team.api)
    resp = getattr(people, part).put(one(open_team.api, issue), title="Changed", state_event="close")
    found = author.read(one(open_team.api, issue))
    if code == 200:
        status(resp, 200)
        assert (found["title"], found["state"]) == ("Changed", "closed")
    else:
        body_is(resp, 403, FORBIDDEN)
        assert found == issue


@pytest.mark.parametrize("part", ["guest", "stranger"])
def test_who_wrote_an_issue_changes_it(part, people, open_team):
    """Issues, PUT: the author edits title and description, closes and reopens; label, assignee and milestone stay."""
    caller, api = getattr(people, part), open_team.api
    milestone = new_milestone(people.owner, api)
    issue = new_issue(caller, api)
    edit(people.owner, api, issue, labels="one")
    after = edit(caller, api, issue, title="Changed", description="Words", state_event="close", labels="two",
                 assignee_id=people.owner.id, milestone_id=milestone["id"])
    assert (after["title"], after["description"], after["state"]) == ("Changed", "Words", "closed")
    assert (after["labels"], after["assignee"], after["milestone"]) == (["one"], None, None)
    assert [label["name"] for label in people.owner.read(api + "/labels")] == ["one"]
    assert edit(caller, api, issue, state_event="reopen")["state"] == "reopened"


def test_the_assignee_changes_an_issue(people, team):
    """Issues, PUT: the assignee edits and closes it, whatever his role."""
    issue = new_issue(people.owner, team.api, assignee_id=people.guest.id)
    after = edit(people.guest, team.api, issue, title="Changed", state_event="close")
    assert (after["title"], after["state"], after["assignee"]["id"]) == ("Changed", "closed", people.guest.id)


# ---------------------------------------------------------------- issues: deletion

@pytest.mark.parametrize("part", ["owner", "admin"])
def test_delete(part, people, team):
    """Issues, DELETE: 200 with the issue, for the owner and administrators; notes go, other issues stay."""
    issue, other = new_issue(people.guest, team.api), new_issue(people.guest, team.api)
    edit(people.owner, team.api, issue, labels="one")
    note = new_note(people.guest, team.api, issue)
    before = people.guest.read(one(team.api, issue))
    gone = check(data(getattr(people, part).delete(one(team.api, issue)), 200), ISSUE, "issue")
    same(before, gone, "subscribed")
    body_is(people.owner.get(one(team.api, issue)), 404, NO_ISSUE)
    status(people.owner.get(notes_of(team.api, issue)), 404)
    status(people.owner.get("%s/%s" % (notes_of(team.api, issue), note["id"])), 404)
    body_is(getattr(people, part).delete(one(team.api, issue)), 404, NO_ISSUE)
    assert people.guest.read(team.api + "/issues") == [other]
    assert counts(people.owner, team.api, "one") == (0, 0)
    for event in all_pages(people.owner, team.api + "/events"):
        check(event, EVENT, "event")


@pytest.mark.parametrize("part", ["master", "developer", "reporter", "guest", "stranger"])
def test_delete_by_others(part, people, open_team):
    """Issues, DELETE: 403 for everybody but the owner and administrators, also for the author."""
    caller = getattr(people, part)
    issue = new_issue(caller, open_team.api)
    body_is(caller.delete(one(open_team.api, issue)), 403, FORBIDDEN)
    assert caller.read(one(open_team.api, issue)) == issue


# ---------------------------------------------------------------- issues: move

def test_move(people, make_team):
    """Issues, move: 201 with the issue in its new project; the old one is closed."""
    source, target = make_team(), make_team()
    new_issue(people.owner, target.api, labels="shared")
    milestone = new_milestone(people.owner, source.api, "Of both")
    there = new_milestone(people.owner, target.api, "Of both")
    issue = new_issue(people.guest, source.api, title="Moving", description="Words", due_date="2017-01-01")
    edit(people.owner, source.api, issue, labels="shared,only here", milestone_id=milestone["id"],
         assignee_id=people.developer.id)
    new_note(people.guest, source.api, issue, "Said before")
    moved = check(data(people.reporter.post(one(source.api, issue) + "/move", to_project_id=target.id), 201),
                  ISSUE, "issue")
    assert (moved["project_id"], moved["iid"], moved["state"]) == (target.id, 2, "opened")
    assert (moved["title"], moved["description"], moved["due_date"]) == ("Moving", "Words", "2017-01-01")
    assert (moved["author"]["id"], moved["assignee"]["id"]) == (people.guest.id, people.developer.id)
    assert (moved["labels"], moved["milestone"]) == (["shared"], there)
    assert [note["body"] for note in people.guest.read(notes_of(target.api, moved))
            if not note["system"]] == ["Said before"]
    assert people.guest.read(one(target.api, moved))["title"] == "Moving"
    assert people.guest.read(one(source.api, issue))["state"] == "closed"
    assert [label["name"] for label in people.owner.read(target.api + "/labels")] == ["shared"]
    assert people.owner.read(source.api)["open_issues_count"] == 0
    assert people.owner.read(target.api)["open_issues_count"] == 2


def test_move_of_a_confidential_issue(people, make_team):
    """Issues, move: a confidential issue stays confidential."""
    source, target = make_team(), make_team()
    issue = new_issue(people.owner, source.api, confidential=True)
    moved = data(people.owner.post(one(source.api, issue) + "/move", to_project_id=target.id), 201)
    assert moved["confidential"] is True
    status(people.guest.get(one(target.api, moved)), 404)
    assert people.guest.read(target.api + "/issues") == []
    assert feed(people.guest, target.api) == []


@pytest.mark.parametrize("source_role,target_role", [("guest", "reporter"), ("reporter", "guest")])
def test_move_without_rights(source_role, target_role, people, make_project, make_account):
    """Issues, move: who is not a reporter in both projects is refused, and nothing changes."""
    mover, apis = make_account(), []
    for role in (source_role, target_role):
        project = make_project(people.owner)
        join(people.owner, project, mover, ROLES[role])
        apis.append("/projects/%s" % project["id"])
    issue = new_issue(mover, apis[0])
    body_is(mover.post(one(apis[0], issue) + "/move", to_project_id=apis[1].split("/")[-1]), 400,
            {"message": "Cannot move issue due to insufficient permissions!"})
    assert mover.read(one(apis[0], issue)) == issue
    assert mover.read(apis[1] + "/issues") == []


def test_move_errors(people, make_team, make_project):
    """Issues, move: 400 without a target or into the same project; 404 for what is missing or hidden."""
    source, target = make_team(), make_team()
    issue = new_issue(people.owner, source.api)
    path = one(source.api, issue) + "/move"
    body_is(people.owner.post(path), 400, {"error": "to_project_id is missing"})
    body_is(people.owner.post(path, to_project_id="x"), 400, {"error": "to_project_id is invalid"})
    body_is(people.owner.post(path, to_project_id=source.id), 400,
            {"message": "Cannot move issue to project it originates from!"})
    body_is(people.owner.post(path, to_project_id=NO_ID), 404, NO_PROJECT)
    hidden = make_project(people.owner)
    body_is(people.reporter.post(path, to_project_id=hidden["id"]), 404, NO_PROJECT)
    body_is(people.owner.post("%s/issues/%d/move" % (source.api, NO_ID), to_project_id=target.id), 404, NO_ISSUE)
    assert people.owner.read(one(source.api, issue)) == issue
    assert people.owner.read(target.api + "/issues") == []


def test_moves_in_both_directions_at_once(people, make_team):
    """Issues, move: those who move between two projects at the same time do not hinder each other."""
    first, second = make_team(), make_team()
    moves = [(new_issue(people.owner, source.api, labels="one"), source, target)
             for source, target in ((first, second), (second, first)) for _ in range(4)]
    answers = at_once([lambda m=m: people.owner.post(one(m[1].api, m[0]) + "/move", to_project_id=m[2].id)
                       for m in moves])
    assert [resp.status_code for resp in answers] == [201] * 8
    for team in (first, second):
        assert counts(people.owner, team.api, "one") == (4, 4)
        assert people.owner.read(team.api)["open_issues_count"] == 4


# ---------------------------------------------------------------- issues: subscription

@pytest.mark.parametrize("part", ["owner", "guest", "stranger"])
def test_subscription(part, people, open_team):
    """Issues, subscription: 201, 304, 200, 304 with no body; it is the caller's own."""
    caller = getattr(people, part)
    issue = new_issue(people.developer, open_team.api)
    path = one(open_team.api, issue) + "/subscription"
    assert caller.read(one(open_team.api, issue))["subscribed"] is False
    no_body(status(caller.delete(path), 304))
    for method, code, subscribed in ((caller.post, 201, True), (caller.delete, 200, False)):
        answer = check(data(method(path), code), ISSUE, "issue")
        assert answer["subscribed"] is subscribed
        same(issue, answer, "subscribed")
        no_body(status(method(path), 304))
        assert caller.read(one(open_team.api, issue))["subscribed"] is subscribed
        assert people.developer.read(one(open_team.api, issue))["subscribed"] is True
        assert people.master.read(one(open_team.api, issue))["subscribed"] is False


def test_author_and_assignee_are_subscribed(people, team):
    """Issues: author and assignee are subscribed, and can end it."""
    issue = new_issue(people.owner, team.api, assignee_id=people.guest.id)
    path = one(team.api, issue) + "/subscription"
    for caller in (people.owner, people.guest):
        assert caller.read(one(team.api, issue))["subscribed"] is True
        status(caller.post(path), 304)
        assert data(caller.delete(path), 200)["subscribed"] is False
    assert people.reporter.read(one(team.api, issue))["subscribed"] is False
    assert [i["subscribed"] for i in people.guest.read(team.api + "/issues")] == [False]


def test_subscription_to_what_is_missing(people, team):
    """Issues, subscription: 404 for an unknown issue."""
    for method in (people.owner.post, people.owner.delete):
        has_message(status(method("%s/issues/%d/subscription" % (team.api, NO_ID)), 404))


# ---------------------------------------------------------------- notes

def test_note(how, people, team):
    """Notes: create 201, list, show; field by field; the issue counts it and is else the same."""
    issue = new_issue(people.owner, team.api)
    made = data(people.guest.send("POST", notes_of(team.api, issue), how, body="Some *words*"), 201)
    check(made, ISSUE_NOTE, "note")
    assert (made["body"], made["author"]["id"], made["system"]) == ("Some *words*", people.guest.id, False)
    assert (made["noteable_id"], made["noteable_type"]) == (issue["id"], "Issue")
    assert (made["attachment"], made["upvote"], made["downvote"]) == (None, False, False)
    assert people.reporter.read(notes_of(team.api, issue)) == [made]
    assert people.reporter.read("%s/%s" % (notes_of(team.api, issue), made["id"])) == made
    after = people.owner.read(one(team.api, issue))
    assert after["user_notes_count"] == 1
    same(issue, after, "user_notes_count")


def test_note_changed_and_deleted(people, team):
    """Notes: PUT 200 with the note; DELETE 200 with the note; other notes stay."""
    issue = new_issue(people.owner, team.api)
    note, other = new_note(people.guest, team.api, issue), new_note(people.guest, team.api, issue, "Others")
    path = "%s/%s" % (notes_of(team.api, issue), note["id"])
    changed = check(data(people.guest.put(path, body="Changed"), 200), ISSUE_NOTE, "note")
    assert changed["body"] == "Changed"
    same(note, changed, "body")
    assert people.owner.read(path) == changed
    deleted = check(data(people.guest.delete(path), 200), ISSUE_NOTE, "note")
    same(changed, deleted)
    for method in (people.guest.get, people.guest.delete):
        has_message(status(method(path), 404))
    assert people.owner.read(notes_of(team.api, issue)) == [other]
    assert people.owner.read(one(team.api, issue))["user_notes_count"] == 1


@pytest.mark.parametrize("part,code", [("owner", 200), ("admin", 200), ("master", 200), ("developer", 403),
                                       ("reporter", 403), ("guest", 403), ("stranger", 403)])
def test_who_changes_the_notes_of_others(part, code, people, open_team, make_account):
    """Notes, PUT and DELETE: the author and masters; others 403, and nothing changes."""
    caller, writer = getattr(people, part), make_account()
    issue = new_issue(people.owner, open_team.api)
    note = new_note(writer, open_team.api, issue)
    path = "%s/%s" % (notes_of(open_team.api, issue), note["id"])
    for resp in (caller.put(path, body="Changed"), caller.delete(path)):
        status(resp, code) if code == 200 else body_is(resp, 403, FORBIDDEN)
    if code == 403:
        assert people.owner.read(path) == note
    else:
        status(people.owner.get(path), 404)


def test_note_without_a_body(people, team):
    """Notes, POST and PUT: 400 without body; nothing is said."""
    issue = new_issue(people.owner, team.api)
    body_is(people.owner.post(notes_of(team.api, issue)), 400, {"error": "body is missing"})
    assert people.owner.read(notes_of(team.api, issue)) == []
    note = new_note(people.owner, team.api, issue)
    path = "%s/%s" % (notes_of(team.api, issue), note["id"])
    body_is(people.owner.put(path), 400, {"error": "body is missing"})
    assert people.owner.read(path) == note


def test_blank_note_is_not_made(people, team):
    """Notes, POST: 404 when the body does not pass."""
    issue = new_issue(people.owner, team.api)
    resp = people.owner.post(notes_of(team.api, issue), body="")
    assert people.owner.read(notes_of(team.api, issue)) == []
    assert people.owner.read(one(team.api, issue)) == issue
    has_message(status(resp, 404))


def test_note_is_not_made_blank(people, team):
    """Notes, PUT: 400 "Failed to save note ..." when the body does not pass."""
    issue = new_issue(people.owner, team.api)
    note = new_note(people.owner, team.api, issue)
    path = "%s/%s" % (notes_of(team.api, issue), note["id"])
    resp = people.owner.put(path, body="")
    assert people.owner.read(path) == note
    message = data(resp, 400)["message"]
    assert isinstance(message, str) and message.startswith("Failed to save note "), message


@pytest.mark.parametrize("part,kept", [("owner", True), ("admin", True), ("master", False), ("guest", False)])
def test_created_at_of_a_note(part, kept, people, team):
    """Notes, POST: created_at is for the owner and administrators, dropped for others."""
    issue = new_issue(people.owner, team.api)
    made = data(getattr(people, part).post(notes_of(team.api, issue), body="x",
                                           created_at="2016-03-11T03:45:40Z"), 201)
    assert made["created_at"].startswith("2016-03-11T03:45:40") is kept


def test_notes_that_are_missing(people, make_team):
    """Notes: 404 for an unknown issue, an unknown note, and a note of another issue."""
    team, other = make_team(), make_team()
    issue, second, elsewhere = (new_issue(people.owner, api) for api in (team.api, team.api, other.api))
    note = new_note(people.owner, team.api, issue)
    for path in ("%s/issues/%d/notes" % (team.api, NO_ID), notes_of(other.api, issue), notes_of(team.api, elsewhere)):
        has_message(status(people.owner.get(path), 404))
        has_message(status(people.owner.post(path, body="x"), 404))
    for path in ("%s/%d" % (notes_of(team.api, issue), NO_ID), "%s/%s" % (notes_of(team.api, second), note["id"])):
        has_message(status(people.owner.get(path), 404))
        has_message(status(people.owner.put(path, body="x"), 404))
        has_message(status(people.owner.delete(path), 404))
    assert people.owner.read(notes_of(team.api, issue)) == [note]


@pytest.mark.parametrize("change", ["title", "labels", "assignee_id", "milestone_id", "state_event"])
def test_system_notes(change, people, team):
    """System notes: a change of title, label, assignee, milestone or state is told beneath the issue."""
    issue = new_issue(people.owner, team.api)
    value = {"title": "Changed", "labels": "one", "assignee_id": people.guest.id,
             "milestone_id": new_milestone(people.owner, team.api)["id"], "state_event": "close"}[change]
    edit(people.reporter, team.api, issue, **{change: value})
    found = people.guest.read(notes_of(team.api, issue))
    assert len(found) == 1
    note = check(found[0], ISSUE_NOTE, "note")
    assert (note["system"], note["author"]["id"], note["noteable_id"]) == (True, people.reporter.id, issue["id"])
    assert note["body"].strip()
    assert people.guest.read(one(team.api, issue))["user_notes_count"] == 0
    edit(people.reporter, team.api, issue, **{change: value})
    assert people.guest.read(notes_of(team.api, issue)) == found


def test_cross_references(people, team):
    """System notes: an issue that is named in another, or in a note, is told of it."""
    first, second = new_issue(people.owner, team.api), new_issue(people.owner, team.api)
    new_note(people.owner, team.api, second, "See #%d" % first["iid"])
    found = eventually(lambda: people.guest.read(notes_of(team.api, first)), "a note on the issue that was named",
                       timeout=5)
    assert [note["system"] for note in found] == [True]
    assert "#%d" % second["iid"] in found[0]["body"]


def test_cross_reference_from_what_is_hidden(people, make_team, make_project):
    """System notes: a cross reference to something the reader cannot see is left out of the list."""
    team, hidden = make_team(), make_project(people.owner)
    issue = new_issue(people.owner, team.api)
    new_issue(people.owner, "/projects/%s" % hidden["id"],
              description="See %s#%d" % (team.project["path_with_namespace"], issue["iid"]))
    new_issue(people.owner, team.api, description="See #%d" % issue["iid"], confidential=True)
    assert people.guest.read(notes_of(team.api, issue)) == []


# ---------------------------------------------------------------- confidential issues

@pytest.fixture(scope="module")
def secret(people, make_team, make_account, admin, make_group, board_of):
    """A public project in a group with an open issue and a confidential one, both in all lists."""
    owner = people.owner
    group = make_group(owner)
    team = make_team(visibility_level=PUBLIC)
    status(admin.post("/groups/%s/projects/%s" % (group["id"], team.id)), *CREATED)
    author, assignee = make_account(), make_account()
    for account in (author, assignee):
        join(owner, team.project, account, GUEST)
    milestone = new_milestone(owner, team.api)
    team.open = new_issue(owner, team.api, title="Open", labels="topic", milestone_id=milestone["id"])
    team.hidden = new_issue(author, team.api, title="Hidden", confidential=True)
    edit(owner, team.api, team.hidden, labels="topic", milestone_id=milestone["id"], assignee_id=assignee.id)
    team.note = new_note(owner, team.api, team.hidden, "Hidden words")
    team.group, team.milestone = "/groups/%s" % group["id"], "%s/milestones/%s" % (team.api, milestone["id"])
    label = label_of(owner, team.api, "topic")
    lists = "%s/boards/%s/lists" % (team.api, board_of(owner, team.project)["id"])
    made = data(owner.post(lists, label_id=label["id"]), 200)
    team.cards = "%s/%s/issues" % (lists, made["id"])
    team.parts = dict(vars(people), author=author, assignee=assignee)
    return team


SEEING = ["owner", "admin", "master", "developer", "reporter", "author", "assignee"]
MANAGING = SEEING[:5]


@pytest.mark.parametrize("part", SEEING + ["guest", "stranger"])
def test_confidential_in_lists(part, secret):
    """Confidential issues: in lists for author, assignee, reporters and above, administrators; hidden from others."""
    caller = secret.parts[part]
    wanted = {secret.open["id"], secret.hidden["id"]} if part in SEEING else {secret.open["id"]}
    for path in (secret.api + "/issues", secret.milestone + "/issues", secret.cards, secret.group + "/issues"):
        resp = status(caller.get(path), 200)
        assert set(ids(resp.json())) == wanted, path
        assert resp.headers["X-Total"] == str(len(wanted)), path
    assert ids(caller.read(secret.api + "/issues", iid=secret.hidden["iid"])) == (
        [secret.hidden["id"]] if part in SEEING else [])


@pytest.mark.parametrize("part", SEEING + ["guest", "stranger"])
def test_confidential_in_counts(part, secret):
    """Confidential issues: counts of labels and of the project are of what the caller may see."""
    caller = secret.parts[part]
    assert counts(caller, secret.api, "topic") == ((2, 0) if part in SEEING else (1, 0))
    count = caller.read(secret.api)["open_issues_count"]
    if part in ("author", "assignee"):
        assert count in (1, 2)
    else:
        assert count == (2 if part in MANAGING else 1)


@pytest.mark.parametrize("part", SEEING)
def test_confidential_is_shown(part, secret):
    """Confidential issues: show, notes and subscription for those who may see it."""
    caller = secret.parts[part]
    found = check(caller.read(one(secret.api, secret.hidden)), ISSUE, "issue")
    assert (found["title"], found["confidential"]) == ("Hidden", True)
    assert secret.note["id"] in ids(caller.read(notes_of(secret.api, secret.hidden)))
    status(caller.get("%s/%s" % (notes_of(secret.api, secret.hidden), secret.note["id"])), 200)
    data(caller.post(notes_of(secret.api, secret.hidden), body="By " + part), 201)
    status(caller.post(one(secret.api, secret.hidden) + "/subscription"), 201, 304)


@pytest.mark.parametrize("part", ["guest", "stranger"])
def test_confidential_is_hidden(part, secret):
    """Confidential issues: 404 for every call of those who may not see it."""
    caller, path = secret.parts[part], one(secret.api, secret.hidden)
    note = "%s/notes/%s" % (path, secret.note["id"])
    before = secret.parts["owner"].read(path)
    for resp in (caller.get(path), caller.put(path, title="x"), caller.post(path + "/subscription"),
                 caller.delete(path + "/subscription"), caller.get(path + "/notes"),
                 caller.post(path + "/notes", body="x"), caller.get(note), caller.put(note, body="x"),
                 caller.delete(note), caller.post(path + "/move", to_project_id=secret.id)):
        has_message(status(resp, 404))
    assert secret.parts["owner"].read(path) == before


def test_confidential_without_a_token(secret):
    """Confidential issues: without a token 401, as for every issue."""
    anonymous, path = secret.parts["anonymous"], one(secret.api, secret.hidden)
    for resp in (anonymous.get(path), anonymous.get(path + "/notes"), anonymous.get(secret.api + "/issues"),
                 anonymous.get(secret.milestone + "/issues"), anonymous.get(secret.cards)):
        body_is(resp, 401, UNAUTHORIZED)


@pytest.mark.parametrize("part", SEEING + ["guest", "stranger"])
def test_confidential_in_the_feed(part, secret):
    """Confidential issues: feeds show their events to reporters and above."""
    caller, parts = secret.parts[part], secret.parts
    for path in (secret.api, "/users/%s" % parts["author"].id, "/users/%s" % parts["owner"].id):
        events = feed(caller, path)
        told = {("opened", "Issue", secret.hidden["id"]), ("commented on", "Note", secret.note["id"])} & set(events)
        if path == secret.api:
            assert len(told) == (2 if part in MANAGING else 0)
            assert ("opened", "Issue", secret.open["id"]) in events
        elif part not in MANAGING:
            assert not told


def test_becoming_confidential_and_back(people, open_team):
    """Confidential issues: the switch hides issue, count and events at once, and shows them again."""
    issue = new_issue(people.owner, open_team.api, labels="topic")
    note = new_note(people.owner, open_team.api, issue)
    for confidential, seen in ((True, 0), (False, 1)):
        edit(people.reporter, open_team.api, issue, confidential=confidential)
        for caller in (people.guest, people.stranger):
            status(caller.get(one(open_team.api, issue)), 200 if seen else 404)
            assert len(caller.read(open_team.api + "/issues")) == seen
            assert counts(caller, open_team.api, "topic") == (seen, 0)
            assert caller.read(open_team.api)["open_issues_count"] == seen
            events = feed(caller, open_team.api)
            assert (("opened", "Issue", issue["id"]) in events) == bool(seen)
            assert (("commented on", "Note", note["id"]) in events) == bool(seen)
        assert counts(people.reporter, open_team.api, "topic") == (1, 0)


def test_confidential_for_who_is_assigned_later(people, open_team):
    """Confidential issues: who becomes the assignee sees it, who ceases to be does not."""
    issue = new_issue(people.owner, open_team.api, confidential=True)
    for assignee, code in ((people.guest.id, 200), (0, 404)):
        edit(people.owner, open_team.api, issue, assignee_id=assignee)
        status(people.guest.get(one(open_team.api, issue)), code)
        status(people.guest.get(notes_of(open_team.api, issue)), code)


# ---------------------------------------------------------------- labels

@pytest.mark.labels
@covers("R:Label")
def test_label_counts(people, team):
    """Label: open and closed issues follow creation, closing, reopening, relabelling and deletion."""
    owner, api = people.owner, team.api
    first, second = (new_issue(owner, api, labels="one") for _ in range(2))
    new_issue(owner, api, labels="two")
    steps = [({"state_event": "close"}, (1, 1), (1, 0)), ({"state_event": "close"}, (1, 1), (1, 0)),
             ({"labels": "one,two"}, (1, 1), (1, 1)), ({"state_event": "reopen"}, (2, 0), (2, 0)),
             ({"labels": "two"}, (1, 0), (2, 0)), ({"labels": "one", "state_event": "close"}, (1, 1), (1, 0)),
             ({"confidential": True}, (1, 1), (1, 0)), ({"state_event": "reopen"}, (2, 0), (1, 0)),
             ({"confidential": False}, (2, 0), (1, 0)), ({"labels": ""}, (1, 0), (1, 0))]
    assert (counts(owner, api, "one"), counts(owner, api, "two")) == ((2, 0), (1, 0))
    for changes, one_wanted, two_wanted in steps:
        edit(owner, api, first, **changes)
        assert (counts(owner, api, "one"), counts(owner, api, "two")) == (one_wanted, two_wanted), changes
    data(owner.delete(one(api, second)), 200)
    assert (counts(owner, api, "one"), counts(owner, api, "two")) == ((0, 0), (1, 0))
    for label in owner.read(api + "/labels"):
        assert label["open_merge_requests_count"] == 0


@pytest.mark.labels
@covers("R:Label")
def test_counts_of_changes_at_once(people, open_team):
    """Label, project, issue: counts are what the lists show, whatever happens at the same time."""
    owner, api = people.owner, open_team.api
    issues = [new_issue(owner, api, labels="one,two") for _ in range(5)]
    calls = [lambda: owner.delete(one(api, issues[0])), lambda: owner.delete(api + "/labels", name="two"),
             lambda: owner.put(api + "/labels", name="one", new_name="uno")]
    for issue in issues[1:]:
        calls += [lambda it=issue: owner.put(one(api, it), state_event="close"),
                  lambda it=issue: owner.put(one(api, it), confidential=True),
                  lambda it=issue: owner.put(one(api, it), labels="three"),
                  lambda it=issue: owner.post(notes_of(api, it), body="Words")]
    assert {resp.status_code for resp in at_once(calls)} <= {200, 201}
    for caller in (owner, people.stranger):
        found = all_pages(caller, api + "/issues")
        for label in all_pages(caller, api + "/labels"):
            closed = [it["state"] == "closed" for it in found if label["name"] in it["labels"]]
            assert (label["open_issues_count"], label["closed_issues_count"]) == (
                closed.count(False), closed.count(True)), label["name"]
        assert caller.read(api)["open_issues_count"] == len(caller.read(api + "/issues", state="opened"))
    for issue in all_pages(owner, api + "/issues"):
        assert issue["user_notes_count"] == 1


@pytest.mark.labels
@covers("DELETE /projects/:id/labels", "PUT /projects/:id/labels")
def test_label_renamed_and_deleted(people, team):
    """Labels: issues carry the new name; a deleted label is taken from them, and nothing else."""
    issue = new_issue(people.owner, team.api, labels="one,two")
    data(people.owner.put(team.api + "/labels", name="one", new_name="uno"), 200)
    assert sorted(people.owner.read(one(team.api, issue))["labels"]) == ["two", "uno"]
    assert ids(people.owner.read(team.api + "/issues", labels="uno")) == [issue["id"]]
    deleted = data(people.owner.delete(team.api + "/labels", name="uno"), 200)
    assert deleted["open_issues_count"] in (0, 1)
    after = people.owner.read(one(team.api, issue))
    assert after["labels"] == ["two"]
    same(issue, after, "labels")
    assert people.owner.read(team.api + "/issues", labels="uno") == []


@pytest.mark.labels
@pytest.mark.parametrize("params,code,body", [
    ({"color": "#123456"}, 400, {"error": "name is missing"}),
    ({"name": "x"}, 400, {"error": "color is missing"}),
    ({"name": "x", "color": "#123456", "priority": "high"}, 400, {"error": "priority is invalid"}),
    ({"name": "x", "color": "#123456", "priority": -1}, 400,
     {"message": {"priority": ["must be greater than or equal to 0"]}}),
    ({"name": "x", "color": "red"}, 400, {"message": {"color": ["must be a valid color code"]}}),
    ({"name": "x,y", "color": "#123456"}, 400, {"message": {"title": ["is invalid"]}}),
    ({"name": "known", "color": "#123456"}, 409, {"message": "Label already exists"})],
    ids=["name", "color", "priority", "negative", "no-color", "comma", "exists"])
@covers("POST /projects/:id/labels", "T:label errors")
def test_label_create_errors(params, code, body, people, team):
    """Labels, POST: the bodies of errors."""
    data(people.owner.post(team.api + "/labels", name="known", color="#abcdef"), 200)
    body_is(people.reporter.post(team.api + "/labels", **params), code, body)
    assert [label["name"] for label in people.owner.read(team.api + "/labels")] == ["known"]


@pytest.mark.labels
@covers("PUT /projects/:id/labels", "DELETE /projects/:id/labels", "T:label errors")
def test_label_change_errors(people, team):
    """Labels, PUT, DELETE and subscription: the bodies of errors."""
    path = team.api + "/labels"
    for word in ("one", "two"):
        data(people.owner.post(path, name=word, color="#abcdef"), 200)
    before = people.owner.read(path)
    body_is(people.owner.put(path, new_name="x"), 400, {"error": "name is missing"})
    body_is(people.owner.put(path, name="one"), 400,
            {"error": "new_name, color are missing, at least one parameter must be provided"})
    has_message(status(people.owner.put(path, name="none", color="#123456"), 404))
    body_is(people.owner.put(path, name="one", new_name="two"), 400,
            {"message": {"title": ["has already been taken"]}})
    body_is(people.owner.delete(path), 400, {"error": "name is missing"})
    body_is(people.owner.delete(path, name="none"), 404, {"message": "404 Label Not Found"})
    for method in (people.owner.post, people.owner.delete):
        body_is(method(path + "/none/subscription"), 404, {"message": "404 Label Not Found"})
    assert people.owner.read(path) == before


@pytest.mark.labels
@covers("PUT /projects/:id/labels", "E404", "T:label errors")
def test_change_of_a_missing_label(people, team):
    """Labels, PUT: the body of 404."""
    body_is(people.owner.put(team.api + "/labels", name="none", color="#123456"), 404,
            {"message": "404 Label not found Not Found"})


@pytest.mark.labels
@pytest.mark.parametrize("part,code", [("master", 200), ("developer", 200), ("reporter", 200), ("guest", 403),
                                       ("stranger", 403)])
@covers("POST /projects/:id/labels", "PUT /projects/:id/labels", "DELETE /projects/:id/labels")
def test_who_manages_labels(part, code, people, open_team):
    """Labels: reporters and above create, change and delete; everybody who reads subscribes."""
    caller, path = getattr(people, part), open_team.api + "/labels"
    label = data(people.owner.post(path, name="known", color="#abcdef"), 200)
    for resp in (caller.post(path, name="new", color="#123456"), caller.put(path, name="known", color="#654321"),
                 caller.delete(path, name="known")):
        status(resp, 200) if code == 200 else body_is(resp, 403, FORBIDDEN)
        if code == 403:
            assert people.owner.read(path) == [label]
    left = people.owner.read(path)[0]
    assert data(caller.post("%s/%s/subscription" % (path, left["id"])), 201)["subscribed"] is True


@pytest.mark.labels
@covers("GET /projects/:id/labels")
def test_labels_are_sorted_by_title(people, team):
    """Labels, GET: title ascending; titles are unique by case."""
    for word in ("delta", "alpha", "Alpha", "charlie"):
        data(people.owner.post(team.api + "/labels", name=word, color="#123456"), 200)
    found = [label["name"] for label in people.owner.read(team.api + "/labels")]
    assert sorted(found) == ["Alpha", "alpha", "charlie", "delta"]
    assert [word.lower() for word in found] == ["alpha", "alpha", "charlie", "delta"] or found == sorted(found)


# ---------------------------------------------------------------- boards

@pytest.fixture
def desk(people, make_team, board_of):
    """A public project with three labels, a list for each, and issues in them."""
    team = make_team(visibility_level=PUBLIC)
    owner, board = people.owner, board_of(people.owner, team.project)
    team.board = "%s/boards/%s" % (team.api, board["id"])
    team.labels = {word: data(owner.post(team.api + "/labels", name=word, color="#123456"), 200)
                   for word in ("todo", "doing", "review")}
    team.lists = {word: data(owner.post(team.board + "/lists", label_id=label["id"]), 200)
                  for word, label in team.labels.items()}
    team.cards = {word: "%s/lists/%s/issues" % (team.board, item["id"]) for word, item in team.lists.items()}
    return team


def positions(client, desk):
    return {item["label"]["name"]: item["position"] for item in client.read(desk.board + "/lists")}


@pytest.mark.boards
def test_issues_of_a_list(people, desk):
    """Board: the issues of a list are the open ones with its label, for everybody who reads them."""
    first = new_issue(people.owner, desk.api, labels="todo")
    both = new_issue(people.owner, desk.api, labels="todo,doing")
    closed = new_issue(people.owner, desk.api, labels="todo")
    new_issue(people.owner, desk.api)
    edit(people.owner, desk.api, closed, state_event="close")
    for caller in (people.owner, people.guest, people.stranger):
        resp = status(caller.get(desk.cards["todo"]), 200)
        assert set(ids(resp.json())) == {first["id"], both["id"]}
        assert resp.headers["X-Total"] == "2"
        for issue in resp.json():
            check(issue, ISSUE, "issue")
        assert ids(caller.read(desk.cards["doing"])) == [both["id"]]
        assert caller.read(desk.cards["review"]) == []
    assert len(people.owner.read(desk.cards["todo"], per_page=1)) == 1
    edit(people.owner, desk.api, closed, state_event="reopen")
    assert closed["id"] in ids(people.owner.read(desk.cards["todo"]))


@pytest.mark.boards
def test_issues_of_a_list_errors(people, desk):
    """Board: the issues of an unknown list or board are missing; a token is needed."""
    body_is(people.owner.get("%s/lists/%d/issues" % (desk.board, NO_ID)), 404, {"message": "404 Not found"})
    body_is(people.owner.get("%s/boards/%d/lists/1/issues" % (desk.api, NO_ID)), 404,
            {"message": "404 Board Not Found"})
    body_is(people.anonymous.get(desk.cards["todo"]), 401, UNAUTHORIZED)


@pytest.mark.boards
def test_issue_from_list_to_list(how, people, desk):
    """Board: an issue that is moved leaves the label of one list and gets that of the other; the rest stays."""
    before = new_issue(people.owner, desk.api, labels="todo,review")
    after = data(people.reporter.send(
        "PUT", "%s/issues/%s" % (desk.board, before["id"]), how,
        from_list_id=desk.lists["todo"]["id"], to_list_id=desk.lists["doing"]["id"]), 200)
    assert sorted(check(after, ISSUE, "issue")["labels"]) == ["doing", "review"]
    same(before, after, "labels", "subscribed")
    assert people.owner.read(desk.cards["todo"]) == []
    assert ids(people.owner.read(desk.cards["doing"])) == [before["id"]]
    assert ids(people.owner.read(desk.cards["review"])) == [before["id"]]
    assert [counts(people.owner, desk.api, word) for word in ("todo", "doing", "review")] == [
        (0, 0), (1, 0), (1, 0)]


@pytest.mark.boards
def test_issue_into_and_out_of_the_backlog(people, desk):
    """Board: without from_list_id an issue only gets a label, without to_list_id it only loses one."""
    issue = new_issue(people.owner, desk.api, labels="else")
    path = "%s/issues/%s" % (desk.board, issue["id"])
    after = data(people.reporter.put(path, to_list_id=desk.lists["todo"]["id"]), 200)
    assert sorted(after["labels"]) == ["else", "todo"]
    after = data(people.reporter.put(path, from_list_id=desk.lists["todo"]["id"]), 200)
    assert after["labels"] == ["else"]


@pytest.mark.boards
def test_issue_from_list_to_list_errors(people, desk):
    """Board: 400 without a list, 404 for what is missing, 403 below reporter, 401 without a token."""
    issue = new_issue(people.guest, desk.api)
    edit(people.owner, desk.api, issue, labels="todo")
    before = people.owner.read(one(desk.api, issue))
    path, to = "%s/issues/%s" % (desk.board, issue["id"]), {"to_list_id": desk.lists["doing"]["id"]}
    has_message(status(people.owner.put(path), 400))
    body_is(people.owner.put(path, to_list_id="x"), 400, {"error": "to_list_id is invalid"})
    for name in ("from_list_id", "to_list_id"):
        has_message(status(people.owner.put(path, **dict(to, **{name: NO_ID})), 404))
    body_is(people.owner.put("%s/issues/%d" % (desk.board, NO_ID), **to), 404, NO_ISSUE)
    body_is(people.owner.put("%s/boards/%d/issues/%s" % (desk.api, NO_ID, issue["id"]), **to), 404,
            {"message": "404 Board Not Found"})
    for caller in (people.guest, people.stranger):
        body_is(caller.put(path, **to), 403, FORBIDDEN)
    body_is(people.anonymous.put(path, **to), 401, UNAUTHORIZED)
    assert people.owner.read(one(desk.api, issue)) == before


@pytest.mark.boards
@covers("DELETE /projects/:id/labels")
def test_label_of_a_list_deleted(people, desk):
    """Board: with a label its list goes, and the lists behind it close up."""
    assert positions(people.owner, desk) == {"todo": 0, "doing": 1, "review": 2}
    issue = new_issue(people.owner, desk.api, labels="todo,doing")
    data(people.owner.delete(desk.api + "/labels", name="todo"), 200)
    assert positions(people.owner, desk) == {"doing": 0, "review": 1}
    status(people.owner.get("%s/lists/%s" % (desk.board, desk.lists["todo"]["id"])), 404)
    status(people.owner.get(desk.cards["todo"]), 404)
    assert ids(people.owner.read(desk.cards["doing"])) == [issue["id"]]
    again = data(people.owner.post(desk.api + "/labels", name="todo", color="#123456"), 200)
    assert data(people.owner.post(desk.board + "/lists", label_id=again["id"]), 200)["position"] == 2


@pytest.mark.boards
@covers("PUT /projects/:id/labels")
def test_label_of_a_list_changed(people, desk):
    """Board: a list shows its label as it is now."""
    data(people.owner.put(desk.api + "/labels", name="todo", new_name="next", color="#abcdef",
                          description="Words"), 200)
    found = people.owner.read("%s/lists/%s" % (desk.board, desk.lists["todo"]["id"]))
    label = check(found, BOARD_LIST, "list")["label"]
    assert (label["name"], label["color"], label["description"]) == ("next", "#abcdef", "Words")
    assert found["position"] == 0


@pytest.mark.boards
@covers("POST /projects/:id/boards/:board_id/lists")
def test_list_create_errors(people, desk):
    """Board lists, POST: the bodies of errors; the label is looked at before the rights."""
    path, known = desk.board + "/lists", desk.labels["todo"]["id"]
    other = data(people.owner.post(desk.api + "/labels", name="other", color="#123456"), 200)
    body_is(people.owner.post(path), 400, {"error": "label_id is missing"})
    body_is(people.owner.post(path, label_id=NO_ID), 400, {"message": {"error": "Label not found!"}})
    body_is(people.owner.post(path, label_id=known), 400,
            {"message": {"label_id": ["has already been taken"]}})
    body_is(people.owner.post("%s/boards/%d/lists" % (desk.api, NO_ID), label_id=other["id"]), 404,
            {"message": "404 Board Not Found"})
    for caller in (people.guest, people.stranger):
        body_is(caller.post(path, label_id=other["id"]), 403, FORBIDDEN)
    assert positions(people.owner, desk) == {"todo": 0, "doing": 1, "review": 2}
    made = check(data(people.reporter.post(path, label_id=other["id"]), 200), BOARD_LIST, "list")
    assert made["position"] == 3


@pytest.mark.boards
@covers("POST /projects/:id/boards/:board_id/lists")
def test_list_for_an_unknown_label_by_a_guest(people, desk):
    """Board lists, POST: an unknown label is told (400) before missing rights (403)."""
    body_is(people.guest.post(desk.board + "/lists", label_id=NO_ID), 400,
            {"message": {"error": "Label not found!"}})


@pytest.mark.boards
@covers("PUT /projects/:id/boards/:board_id/lists/:list_id")
def test_list_moved(people, desk):
    """Board lists, PUT: the lists between shift by one; outside of the lists is refused."""
    def path(word):
        return "%s/lists/%s" % (desk.board, desk.lists[word]["id"])

    for word, position, wanted in (("review", 0, ["review", "todo", "doing"]),
                                   ("review", 1, ["todo", "review", "doing"]),
                                   ("todo", 2, ["review", "doing", "todo"]),
                                   ("todo", 2, ["review", "doing", "todo"])):
        moved = data(people.reporter.put(path(word), position=position), 200)
        assert (moved["label"]["name"], moved["position"]) == (word, position)
        found = people.owner.read(desk.board + "/lists")
        assert [item["label"]["name"] for item in found] == wanted
        assert [item["position"] for item in found] == [0, 1, 2]
    before = people.owner.read(desk.board + "/lists")
    for position in (-1, 3, 100):
        body_is(people.owner.put(path("todo"), position=position), 400,
                {"message": {"error": "List could not be moved!"}})
    body_is(people.owner.put(path("todo")), 400, {"error": "position is missing"})
    body_is(people.owner.put("%s/lists/%d" % (desk.board, NO_ID), position=0), 404, {"message": "404 Not found"})
    for caller in (people.guest, people.stranger):
        body_is(caller.put(path("todo"), position=0), 403, FORBIDDEN)
    assert people.owner.read(desk.board + "/lists") == before


@pytest.mark.boards
@covers("DELETE /projects/:id/boards/:board_id/lists/:list_id")
def test_list_deleted(people, desk):
    """Board lists, DELETE: for the owner; the lists behind it close up; issues and labels stay."""
    issue = new_issue(people.owner, desk.api, labels="todo")
    path = "%s/lists/%s" % (desk.board, desk.lists["todo"]["id"])
    for caller in (people.master, people.developer, people.reporter, people.guest, people.stranger):
        body_is(caller.delete(path), 403, FORBIDDEN)
    assert data(people.owner.delete(path), 200) == desk.lists["todo"]
    assert positions(people.owner, desk) == {"doing": 0, "review": 1}
    assert people.owner.read(one(desk.api, issue)) == issue
    body_is(people.owner.get(path), 404, {"message": "404 Not found"})


# ---------------------------------------------------------------- milestones

def test_milestone_create(how, people, team):
    """Milestones, POST: 201; all parameters, field by field."""
    made = check(data(people.master.send(
        "POST", team.api + "/milestones", how, title="First", description="Words", start_date="2017-01-01",
        due_date="2017-02-01"), 201), MILESTONE, "milestone")
    assert (made["iid"], made["project_id"], made["state"]) == (1, team.id, "active")
    assert (made["title"], made["description"]) == ("First", "Words")
    assert (made["start_date"], made["due_date"]) == ("2017-01-01", "2017-02-01")
    path = "%s/milestones/%s" % (team.api, made["id"])
    assert people.guest.read(path) == made
    assert people.guest.read(team.api + "/milestones") == [made]


def test_milestone_create_with_the_title_only(people, team):
    """Milestones, POST: title is enough; the rest is empty."""
    made = check(new_milestone(people.owner, team.api), MILESTONE, "milestone")
    assert (made["start_date"], made["due_date"]) == (None, None)
    assert made["description"] in (None, "")


def test_milestone_numbers_and_titles_are_of_the_project(people, make_team):
    """Milestones: iid counts in the project; a title may be that of another project's."""
    first, second = make_team(), make_team()
    made = [new_milestone(people.owner, first.api, "One"), new_milestone(people.owner, second.api, "One"),
            new_milestone(people.owner, first.api, "Two")]
    assert [milestone["iid"] for milestone in made] == [1, 1, 2]
    assert len(set(ids(made))) == 3
    status(people.owner.get("%s/milestones/%s" % (second.api, made[0]["id"])), 404)


@pytest.mark.parametrize("params,body", [
    ({}, {"error": "title is missing"}),
    ({"title": ""}, {"message": {"title": ["can't be blank"]}}),
    ({"title": "Taken"}, {"message": {"title": ["has already been taken"]}}),
    ({"title": "x", "due_date": "soon"}, {"error": "due_date is invalid"}),
    ({"title": "x", "start_date": "soon"}, {"error": "start_date is invalid"})],
    ids=["missing", "blank", "taken", "due_date", "start_date"])
def test_milestone_create_errors(params, body, people, team):
    """Milestones, POST: 400 says what is wrong; nothing is made."""
    taken = new_milestone(people.owner, team.api, "Taken")
    body_is(people.owner.post(team.api + "/milestones", **params), 400, body)
    assert people.owner.read(team.api + "/milestones") == [taken]


@pytest.mark.parametrize("part,code", [("owner", 201), ("admin", 201), ("master", 201), ("developer", 403),
                                       ("reporter", 403), ("guest", 403), ("stranger", 403)])
def test_who_manages_milestones(part, code, people, open_team):
    """Milestones: masters create and change; others 403, and nothing changes; whoever sees the project reads."""
    caller = getattr(people, part)
    milestone = new_milestone(people.owner, open_team.api)
    path = "%s/milestones/%s" % (open_team.api, milestone["id"])
    created = caller.post(open_team.api + "/milestones", title="Another")
    changed = caller.put(path, title="Changed", state_event="close")
    if code == 201:
        status(created, 201)
        assert data(changed, 200)["title"] == "Changed"
    else:
        body_is(created, 403, FORBIDDEN)
        body_is(changed, 403, FORBIDDEN)
        assert caller.read(path) == milestone
        assert caller.read(open_team.api + "/milestones") == [milestone]
        assert caller.read(path + "/issues") == []


def test_milestone_list(people, team):
    """Milestones, GET: newest first; state and one or more iid."""
    made = [new_milestone(people.owner, team.api, "Number %d" % n) for n in range(1, 4)]
    data(people.owner.put("%s/milestones/%s" % (team.api, made[1]["id"]), state_event="close"), 200)

    def listed(**query):
        return [milestone["iid"] for milestone in people.guest.read(team.api + "/milestones", **query)]

    assert listed() == listed(state="all") == [3, 2, 1]
    assert (listed(state="active"), listed(state="closed")) == ([3, 1], [2])
    assert (listed(iid=2), listed(iid=77)) == ([2], [])
    assert listed(**{"iid[]": [1, 3]}) == [3, 1]
    assert listed(state="active", **{"iid[]": [1, 2]}) == [1]
    body_is(people.guest.get(team.api + "/milestones", state="other"), 400,
            {"error": "state does not have a valid value"})


@pytest.mark.parametrize("field,value", [("title", "Changed"), ("description", "Other words"),
                                         ("start_date", "2016-12-01"), ("due_date", "2017-03-01")])
def test_milestone_change_of_one_field(field, value, how, people, team):
    """Milestones, PUT: 200; what is given changes and nothing else."""
    before = new_milestone(people.owner, team.api, description="Words", start_date="2017-01-01",
                           due_date="2017-02-01")
    other = new_milestone(people.owner, team.api, "Other")
    path = "%s/milestones/%s" % (team.api, before["id"])
    after = check(data(people.master.send("PUT", path, how, **{field: value}), 200), MILESTONE, "milestone")
    assert after[field] == value
    same(before, after, field)
    assert people.guest.read(path) == after
    assert people.guest.read("%s/milestones/%s" % (team.api, other["id"])) == other


def test_milestone_states(people, team):
    """Milestones, states: active -close-> closed -activate-> active; other events change nothing."""
    before = new_milestone(people.owner, team.api)
    issue = new_issue(people.owner, team.api, milestone_id=before["id"])
    path = "%s/milestones/%s" % (team.api, before["id"])
    for event, state in (("activate", "active"), ("close", "closed"), ("close", "closed"), ("activate", "active")):
        after = data(people.owner.put(path, state_event=event), 200)
        assert after["state"] == state
        same(before, after, "state")
        found = people.owner.read(one(team.api, issue))
        assert (found["state"], found["milestone"]["state"]) == ("opened", state)


def test_milestone_change_errors(people, team):
    """Milestones, PUT and GET: 400 says what is wrong, 404 what is missing; nothing changes."""
    before, other = new_milestone(people.owner, team.api), new_milestone(people.owner, team.api, "Other")
    path = "%s/milestones/%s" % (team.api, before["id"])
    body_is(people.owner.put(path, state_event="reopen"), 400, {"error": "state_event does not have a valid value"})
    body_is(people.owner.put(path, title=""), 400, {"message": {"title": ["can't be blank"]}})
    body_is(people.owner.put(path, title=other["title"]), 400, {"message": {"title": ["has already been taken"]}})
    body_is(people.owner.put(path, due_date="x"), 400, {"error": "due_date is invalid"})
    has_message(status(people.owner.put(path), 400))
    assert people.owner.read(path) == before
    missing = "%s/milestones/%d" % (team.api, NO_ID)
    for resp in (people.owner.get(missing), people.owner.put(missing, title="x"),
                 people.owner.get(missing + "/issues")):
        has_message(status(resp, 404))
    client_error(people.owner.delete(path))
    assert people.owner.read(path) == before


def test_milestone_issues(people, team):
    """Milestones, issues: those that have it, open and closed, in pages."""
    milestone, other = new_milestone(people.owner, team.api), new_milestone(people.owner, team.api, "Other")
    new_issue(people.owner, team.api)
    new_issue(people.owner, team.api, milestone_id=other["id"])
    made = [new_issue(people.owner, team.api, milestone_id=milestone["id"]) for _ in range(2)]
    edit(people.owner, team.api, made[0], state_event="close")
    path = "%s/milestones/%s/issues" % (team.api, milestone["id"])
    found = people.guest.read(path)
    assert {(issue["id"], issue["state"]) for issue in found} == {
        (made[0]["id"], "closed"), (made[1]["id"], "opened")}
    for issue in found:
        assert check(issue, ISSUE, "issue")["milestone"] == milestone
    resp = status(people.guest.get(path, per_page=1, page=2), 200)
    assert (len(resp.json()), resp.headers["X-Total"]) == (1, "2")


# ---------------------------------------------------------------- feed

@pytest.mark.events
@covers("R:Activity event", "EV:activity", "GET /projects/:id/events", "GET /users/:id/events")
def test_feed_of_an_issue(people, team):
    """Events: opened, closed, opened (again) and commented on, by who acted; edits and system notes write nothing."""
    issue = new_issue(people.guest, team.api, title="Of the feed")
    edit(people.reporter, team.api, issue, labels="one", description="Words")
    edit(people.reporter, team.api, issue, state_event="close")
    edit(people.owner, team.api, issue, state_event="reopen")
    note = new_note(people.developer, team.api, issue, "Some words")
    status(people.developer.post(one(team.api, issue) + "/subscription"), 201)
    data(people.developer.put("%s/%s" % (notes_of(team.api, issue), note["id"]), body="Changed words"), 200)
    wanted = [("commented on", "Note", note["id"], people.developer), ("opened", "Issue", issue["id"], people.owner),
              ("closed", "Issue", issue["id"], people.reporter), ("opened", "Issue", issue["id"], people.guest)]
    events = [event for event in all_pages(people.guest, team.api + "/events") if event["target_type"]]
    assert len(events) == 4
    for event, (action, kind, target, author) in zip(events, wanted):
        check(event, EVENT, "event")
        assert (event["action_name"], event["target_type"], event["target_id"]) == (action, kind, target)
        assert (event["author_id"], event["author_username"]) == (author.id, author.username)
        assert (event["author"]["id"], event["project_id"]) == (author.id, team.id)
        assert (event["title"], event["data"]) == (None, None)
        assert event["target_title"] == "Of the feed" or (kind == "Note" and event["target_title"] is None)
        assert ("note" in event) == (kind == "Note")
        mine = [e for e in all_pages(author, "/users/%s/events" % author.id) if e["project_id"] == team.id]
        assert event in mine
    comment = check(events[0]["note"], ISSUE_NOTE, "note")
    assert (comment["id"], comment["author"]["id"]) == (note["id"], people.developer.id)
    assert comment["body"] in ("Some words", "Changed words")
    assert (comment["noteable_id"], comment["noteable_type"]) == (issue["id"], "Issue")
    assert (comment["system"], comment["attachment"], comment["upvote"], comment["downvote"]) == (
        False, None, False, False)
    assert events[0]["created_at"] >= events[-1].get("created_at", "")


@pytest.mark.events
@covers("R:Activity event", "EV:activity")
def test_feed_of_a_milestone(people, team):
    """Events: a milestone is opened, closed and opened again."""
    milestone = new_milestone(people.master, team.api, "Of the feed")
    path = "%s/milestones/%s" % (team.api, milestone["id"])
    for event in ("close", "activate"):
        data(people.master.put(path, state_event=event), 200)
    data(people.master.put(path, description="Words"), 200)
    assert feed(people.guest, team.api) == [
        (action, "Milestone", milestone["id"]) for action in ("opened", "closed", "opened")]
    for event in all_pages(people.guest, team.api + "/events")[:3]:
        assert (event["target_title"], event["author_id"]) == ("Of the feed", people.master.id)


@pytest.mark.events
@covers("EV:activity")
def test_what_writes_nothing(people, desk):
    """Events: labels, boards, subscriptions and repeated transitions write nothing."""
    issue = new_issue(people.owner, desk.api)
    edit(people.owner, desk.api, issue, state_event="close")
    before = all_pages(people.owner, desk.api + "/events")
    edit(people.owner, desk.api, issue, state_event="close")
    data(people.owner.put(desk.api + "/labels", name="todo", color="#654321"), 200)
    label = desk.labels["doing"]["id"]
    status(people.owner.post("%s/labels/%s/subscription" % (desk.api, label)), 201)
    data(people.owner.put("%s/issues/%s" % (desk.board, issue["id"]), to_list_id=desk.lists["doing"]["id"]), 200)
    data(people.owner.put("%s/lists/%s" % (desk.board, desk.lists["todo"]["id"]), position=2), 200)
    status(people.owner.delete(one(desk.api, issue) + "/subscription"), 200)
    assert all_pages(people.owner, desk.api + "/events") == before


@pytest.mark.events
@covers("GET /users/:id/events", "A6")
def test_feed_of_a_user_hides_what_is_private(people, team, open_team):
    """Events: the feed of a user has issues of projects that the caller sees, and no others."""
    hidden, seen = new_issue(people.owner, team.api), new_issue(people.owner, open_team.api)
    path = "/users/%s" % people.owner.id
    found = feed(people.stranger, path)
    assert ("opened", "Issue", seen["id"]) in found and ("opened", "Issue", hidden["id"]) not in found
    assert ("opened", "Issue", hidden["id"]) in feed(people.guest, path)


# ---------------------------------------------------------------- switches

def switch(client, team, **switches):
    data(client.put(team.api, name=team.project["name"], **switches), 200)


@pytest.mark.parametrize("part", ["owner", "admin", "master", "guest"])
def test_issues_switched_off(part, people, team):
    """Switches: without issues every call on them is 403, for administrators, too; nothing is lost."""
    caller, owner = getattr(people, part), people.owner
    issue = new_issue(owner, team.api, labels="one")
    note = new_note(owner, team.api, issue)
    before = owner.read(one(team.api, issue))
    switch(owner, team, issues_enabled=False)
    path, notes = one(team.api, issue), notes_of(team.api, issue)
    for resp in (caller.get(team.api + "/issues"), caller.post(team.api + "/issues", title="x"), caller.get(path),
                 caller.put(path, title="x"), caller.delete(path), caller.post(path + "/subscription"),
                 caller.delete(path + "/subscription"), caller.get(notes), caller.post(notes, body="x"),
                 caller.get("%s/%s" % (notes, note["id"])), caller.put("%s/%s" % (notes, note["id"]), body="x"),
                 caller.delete("%s/%s" % (notes, note["id"]))):
        body_is(resp, 403, NO_ISSUES)
    assert issue["id"] not in ids(all_pages(owner, "/issues"))
    switch(owner, team, issues_enabled=True)
    assert owner.read(path) == before
    assert owner.read(notes) == [note]


def test_issues_switched_off_in_a_group(people, make_group, make_project, admin):
    """Switches: a project without issues adds none to the list of its group."""
    group, project = make_group(people.owner), make_project(people.owner)
    status(admin.post("/groups/%s/projects/%s" % (group["id"], project["id"])), *CREATED)
    issue = new_issue(people.owner, "/projects/%s" % project["id"])
    path = "/groups/%s/issues" % group["id"]
    assert ids(people.owner.read(path)) == [issue["id"]]
    data(people.owner.put("/projects/%s" % project["id"], name=project["name"], issues_enabled=False), 200)
    assert people.owner.read(path) == []


@pytest.mark.labels
@covers("GET /projects/:id/labels", "POST /projects/:id/labels")
@pytest.mark.parametrize("part", ["owner", "admin"])
def test_labels_switched_off(part, people, team):
    """Switches: without issues and merge requests there are no labels and none are made; one of them is enough."""
    caller, path = getattr(people, part), team.api + "/labels"
    label = data(caller.post(path, name="one", color="#123456"), 200)
    switch(people.owner, team, issues_enabled=False)
    assert caller.read(path) == [label]
    switch(people.owner, team, issues_enabled=True, merge_requests_enabled=False)
    assert caller.read(path) == [label]
    switch(people.owner, team, issues_enabled=False, merge_requests_enabled=False)
    assert caller.read(path) == []
    for resp in (caller.post(path, name="two", color="#123456"), caller.put(path, name="one", color="#654321"),
                 caller.delete(path, name="one")):
        body_is(resp, 403, NO_LABELS)
    switch(people.owner, team, issues_enabled=True, merge_requests_enabled=True)
    assert caller.read(path) == [label]


# ---------------------------------------------------------------- access

CALLS = [
    ("GET", "issues", {}), ("POST", "issues", {"title": "x"}), ("GET", "issues/{issue}", {}),
    ("PUT", "issues/{issue}", {"title": "x"}), ("DELETE", "issues/{issue}", {}),
    ("POST", "issues/{issue}/move", {"to_project_id": 1}), ("POST", "issues/{issue}/subscription", {}),
    ("DELETE", "issues/{issue}/subscription", {}), ("GET", "issues/{issue}/notes", {}),
    ("POST", "issues/{issue}/notes", {"body": "x"}), ("GET", "issues/{issue}/notes/{note}", {}),
    ("PUT", "issues/{issue}/notes/{note}", {"body": "x"}), ("DELETE", "issues/{issue}/notes/{note}", {}),
    ("GET", "milestones", {}), ("POST", "milestones", {"title": "x"}), ("GET", "milestones/{milestone}", {}),
    ("PUT", "milestones/{milestone}", {"title": "x"}), ("GET", "milestones/{milestone}/issues", {}),
    ("GET", "boards/{board}/lists/{list}/issues", {}),
    ("PUT", "boards/{board}/issues/{issue}", {"to_list_id": 1})]


@pytest.fixture(scope="module")
def guarded(people, make_team, make_list, board_of):
    """A private and a public project with one of everything, and what they answer to the owner."""
    found = {}
    for kind, level in (("private", PRIVATE), ("public", PUBLIC)):
        team = make_team(visibility_level=level)
        board = board_of(people.owner, team.project)
        issue = new_issue(people.owner, team.api)
        note, milestone = new_note(people.owner, team.api, issue), new_milestone(people.owner, team.api)
        team.ids = dict(issue=issue["id"], note=note["id"], milestone=milestone["id"], board=board["id"],
                        list=make_list(people.owner, team.project, board)["id"])
        found[kind] = team
    return found


@pytest.mark.parametrize("method,path,params", CALLS, ids=["%s-%s" % call[:2] for call in CALLS])
def test_every_call_is_guarded(method, path, params, people, guarded):
    """Access: 404 for strangers of a private project, 401 without a token, also on a public one; nothing changes."""
    how = "query" if method == "GET" else "form"
    for kind, caller, code, body in (("private", people.stranger, 404, NO_PROJECT),
                                     ("private", people.anonymous, 401, UNAUTHORIZED),
                                     ("public", people.anonymous, 401, UNAUTHORIZED)):
        team = guarded[kind]
        before = [people.owner.read("%s/%s" % (team.api, it)) for it in
                  ("issues", "milestones", "issues/%s/notes" % team.ids["issue"])]
        body_is(caller.send(method, "%s/%s" % (team.api, path.format(**team.ids)), how, **params), code, body)
        assert before == [people.owner.read("%s/%s" % (team.api, it)) for it in
                          ("issues", "milestones", "issues/%s/notes" % team.ids["issue"])]


def test_internal_project(people, make_project, make_account):
    """Access: in an internal project users are as guests, but not those who are external."""
    api = "/projects/%s" % make_project(people.owner, visibility_level=INTERNAL)["id"]
    issue = new_issue(people.owner, api)
    assert people.stranger.read(api + "/issues") == [dict(issue, subscribed=False)]
    mine = new_issue(people.stranger, api)
    new_note(people.stranger, api, issue)
    assert people.stranger.read(api + "/milestones") == []
    external = make_account(external=True)
    for resp in (external.get(api + "/issues"), external.get(one(api, mine)), external.get(notes_of(api, mine)),
                 external.post(api + "/issues", title="x"), external.get(api + "/milestones")):
        body_is(resp, 404, NO_PROJECT)


def test_who_left_the_project(people, team, make_account):
    """Access: who has left a private project sees nothing of it, not even what he wrote or has to do."""
    leaver = make_account()
    join(people.owner, team.project, leaver, REPORTER)
    issue = new_issue(leaver, team.api, assignee_id=leaver.id, confidential=True)
    assert ids(leaver.read("/issues")) == [issue["id"]]
    status(people.owner.delete("%s/members/%s" % (team.api, leaver.id)), 200)
    for resp in (leaver.get(one(team.api, issue)), leaver.put(one(team.api, issue), title="x"),
                 leaver.get(notes_of(team.api, issue)), leaver.get(team.api + "/issues")):
        body_is(resp, 404, NO_PROJECT)
    assert leaver.read("/issues") == []
    assert people.owner.read(one(team.api, issue))["author"]["id"] == leaver.id


@covers("DELETE /projects/:id")
def test_deleted_project(people, make_account, make_project):
    """Projects, DELETE: its issues go with it."""
    writer = make_account()
    project, kept = make_project(writer), make_project(writer)
    new_issue(writer, "/projects/%s" % project["id"])
    issue = new_issue(writer, "/projects/%s" % kept["id"])
    status(writer.delete("/projects/%s" % project["id"]), 200)
    eventually(lambda: ids(writer.read("/issues")) == [issue["id"]], "the issue is gone")


def test_projects_by_encoded_path(people, guarded):
    """Access: the project's number or NAMESPACE%2FPROJECT, in all these calls."""
    for team in guarded.values():
        path = "/projects/" + enc(team.project["path_with_namespace"])
        for _, it, _ in (call for call in CALLS if call[0] == "GET"):
            it = it.format(**team.ids)
            assert people.owner.read("%s/%s" % (path, it)) == people.owner.read("%s/%s" % (team.api, it))
        made = new_issue(people.owner, path)
        assert made["project_id"] == team.id
        assert data(people.owner.delete(one(path, made)), 200)["id"] == made["id"]


# ---------------------------------------------------------------- closing by commit

@pytest.mark.git_transport
@pytest.mark.parametrize("words", ["Closes #%d", "fixes #%d", "A change\n\nThis fixes #%d."])
def test_closed_by_a_commit(words, people, push_project):
    """Issues: a commit pushed to the default branch that says "closes #N" closes the issue."""
    r = push_project(people.owner)
    left, issue = new_issue(people.owner, r.api), new_issue(people.owner, r.api)
    r.local.commit({"one.txt": b"1\n"}, words % issue["iid"])
    r.local.push(r.url, r.trunk)
    eventually(lambda: people.owner.read(one(r.api, issue))["state"] == "closed", "the issue closed")
    assert ("closed", "Issue", issue["id"]) in feed(people.owner, r.api)
    assert any(note["system"] for note in people.owner.read(notes_of(r.api, issue)))
    assert people.owner.read(one(r.api, left)) == left


@pytest.mark.git_transport
def test_not_closed_by_a_commit(people, push_project):
    """Issues: a commit on another branch, or one that only names an issue, closes nothing."""
    r = push_project(people.owner)
    branch, named, issue = (new_issue(people.owner, r.api) for _ in range(3))
    r.local.checkout("topic", create=True)
    r.local.commit({"one.txt": b"1\n"}, "Closes #%d" % branch["iid"])
    r.local.push(r.url, "topic")
    r.local.checkout(r.trunk)
    r.local.commit({"two.txt": b"2\n"}, "See #%d" % named["iid"])
    r.local.push(r.url, r.trunk)
    r.local.commit({"three.txt": b"3\n"}, "Closes #%d and #%d" % (issue["iid"], NO_ID))
    r.local.push(r.url, r.trunk)
    eventually(lambda: people.owner.read(one(r.api, issue))["state"] == "closed", "the issue closed")
    assert people.owner.read(one(r.api, branch))["state"] == "opened"
    assert people.owner.read(one(r.api, named))["state"] == "opened"
    r.local.merge("topic")
    r.local.push(r.url, r.trunk)
    eventually(lambda: people.owner.read(one(r.api, branch))["state"] == "closed",
               "the issue closed by the merge into the default branch")


@pytest.mark.git_transport
def test_closed_by_who_pushed(people, push_project):
    """Issues: the closing is by the one who pushed, and happens once."""
    r = push_project(people.owner)
    join(people.owner, r.project, people.master, MASTER)
    issue = new_issue(people.owner, r.api)
    r.local.commit({"one.txt": b"1\n"}, "Closes #%d, fixes #%d" % (issue["iid"], issue["iid"]))
    r.local.push(repo_url(r.project, people.master.username, people.master.token), r.trunk)
    eventually(lambda: people.owner.read(one(r.api, issue))["state"] == "closed", "the issue closed")
    events = [event for event in all_pages(people.owner, r.api + "/events") if event["action_name"] == "closed"]
    assert [event["author_id"] for event in events] == [people.master.id]


# ---------------------------------------------------------------- deleted users

@pytest.mark.users
@covers("DELETE /users/:id")
def test_deleted_user(people, admin, make_account, open_team):
    """Users, DELETE: what the user wrote stays and belongs to a ghost account at once; what the user was to do is nobody's."""
    owner, api, leaver = people.owner, open_team.api, make_account()
    join(owner, open_team.project, leaver, REPORTER)
    left = new_issue(leaver, api, labels="one")
    answer = new_note(owner, api, left, "Stays")
    kept = new_issue(owner, api, labels="one")
    assigned = new_issue(owner, api, labels="one", assignee_id=leaver.id)
    note, other = new_note(leaver, api, kept), new_note(owner, api, kept, "Stays")
    edit(leaver, api, kept, state_event="close")
    events = all_pages(owner, api + "/events")
    status(admin.delete("/users/%s" % leaver.id), 200)
    ghost = check(owner.read(one(api, left)), ISSUE, "issue")["author"]
    assert (ghost["username"], ghost["name"], ghost["state"]) == ("ghost", "Ghost User", "blocked")
    found = {issue["id"]: issue for issue in owner.read(api + "/issues")}
    assert sorted(found) == sorted([left["id"], kept["id"], assigned["id"]])
    for issue in found.values():
        assert check(issue, ISSUE, "issue")["author"]["id"] == (ghost["id"] if issue["id"] == left["id"] else owner.id)
        assert issue["assignee"] is None
    authors = {it["id"]: it["author"]["id"] for issue in (left, kept) for it in owner.read(notes_of(api, issue))}
    assert (authors[answer["id"]], authors[note["id"]], authors[other["id"]]) == (owner.id, ghost["id"], owner.id)
    assert leaver.id not in authors.values()
    assert [owner.read(one(api, issue))["user_notes_count"] for issue in (left, kept)] == [1, 2]
    assert counts(owner, api, "one") == (2, 1)
    assert owner.read(api)["open_issues_count"] == 2
    swap = {leaver.id: ghost["id"]}
    after = all_pages(owner, api + "/events")
    assert [e["author_id"] for e in after] == [swap.get(e["author_id"], e["author_id"]) for e in events]
    assert ghost["id"] not in ids(all_pages(admin, "/users"))
    assert owner.read("/users/%s" % ghost["id"])["username"] == "ghost"
