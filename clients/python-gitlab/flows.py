"""Flows of python-gitlab, the client library of PyPI. See harness.py."""
import io
import tarfile
import warnings
import zipfile

import gitlab
from harness import TOKEN, URL, contains, eventually, flow, once, public_key, run, same

# The client warns if the server gives addresses of another origin, or pages that were not asked for.
warnings.simplefilter("error", UserWarning)

gl = gitlab.Gitlab(URL, private_token=TOKEN, timeout=60)

CI_FILE = """
stages: [build, deploy]

make:
  stage: build
  script:
    - echo "made of $WORD"
    - echo made >made.txt
  artifacts:
    paths: [made.txt]

later:
  stage: deploy
  when: manual
  script:
    - echo later
"""

# No runner has this tag.
STUCK = """
waiting:
  tags: [nowhere]
  script:
    - echo never
"""


# ---------------------------------------------------------------- what several flows use

@once
def demo():
    """The project that was pushed by git."""
    return gl.projects.get("root/demo")


@once
def project():
    """A project of this client."""
    return gl.projects.create({"name": "pg", "visibility": "internal", "request_access_enabled": True})


def new_user(name):
    return gl.users.create({"email": name + "@example.com", "username": name, "name": "P G",
                            "password": "Very-secret-77", "skip_confirmation": True})


@once
def user():
    """A user who is no administrator."""
    return new_user("pg-user")


@once
def group():
    return gl.groups.create({"name": "pg-group", "path": "pg-group", "visibility": "internal",
                             "request_access_enabled": True})


@once
def issue():
    return project().issues.create({"title": "one", "description": "words", "labels": ["bug", "x"]})


def change(branch, path="added.txt", content="added\n", title="add a file"):
    """Commits a file on a new branch of the demo project."""
    action = {"action": "create", "file_path": path, "content": content}
    return demo().commits.create({"branch": branch, "start_branch": "main", "commit_message": title,
                                  "actions": [action]})


@once
def merge_request():
    change("pg-open", path="pg-open.txt", content="first\nsecond\n")
    return demo().mergerequests.create({"source_branch": "pg-open", "target_branch": "main", "title": "open",
                                        "description": "words"})


def checked(number):
    """Returns the merge request once the server knows whether it can be merged."""
    return eventually(lambda: next(filter(lambda mr: mr.merge_status not in ("unchecked", "checking"),
                                          [demo().mergerequests.get(number)]), None))


@once
def pipelines():
    """A project with a CI file. On the branch stuck, no runner can execute the only job."""
    made = gl.projects.create({"name": "pg-ci", "visibility": "private"})
    action = {"action": "create", "file_path": ".gitlab-ci.yml", "content": CI_FILE}
    made.commits.create({"branch": "main", "commit_message": "add pipelines", "actions": [action]})
    action = {"action": "update", "file_path": ".gitlab-ci.yml", "content": STUCK}
    made.commits.create({"branch": "stuck", "start_branch": "main", "commit_message": "wait", "actions": [action]})
    eventually(lambda: len(made.pipelines.list(get_all=True)) == 2)
    return made


@once
def first_pipeline():
    """The pipeline that the first commit created."""
    return pipelines().pipelines.list(ref="main", source="push", get_all=True)[-1]


def job_named(name, pipeline):
    return next(job for job in pipeline.jobs.list(get_all=True) if job.name == name)


def succeeded(job_id):
    """Returns a job after a runner executed it."""
    return eventually(lambda: next(filter(lambda job: job.status == "success", [pipelines().jobs.get(job_id)]), None))


@once
def finished_job():
    return succeeded(job_named("make", first_pipeline()).id)


def refused(function, *statuses):
    """Calls a function that the server must refuse, and returns the error."""
    try:
        function()
    except gitlab.GitlabError as error:
        assert error.response_code in statuses, error
        return error
    raise AssertionError("not refused")


def gone(function):
    """Waits until something is not found, which takes a moment if it is deleted in the background."""
    def missing():
        try:
            function()
        except gitlab.GitlabError as error:
            same(error.response_code, 404)
            return True
        return False
    eventually(missing)


def names(items, attribute="name"):
    return [getattr(item, attribute) for item in items]


# ---------------------------------------------------------------- authentication and errors

@flow("auth")
def _():
    gl.auth()
    same(gl.user.username, "root")


@flow("version")
def _():
    version, revision = gl.version()
    assert version != "unknown" and revision != "unknown", (version, revision)


@flow("bearer")
def _():
    bearer = gitlab.Gitlab(URL, oauth_token=TOKEN)
    bearer.auth()
    same(bearer.user.username, "root")


@flow("unknown token")
def _():
    error = refused(gitlab.Gitlab(URL, private_token="unknown").auth, 401)
    assert isinstance(error, gitlab.GitlabAuthenticationError), error


@flow("not found")
def _():
    error = refused(lambda: gl.projects.get("root/nothing"), 404)
    same(error.error_message, "404 Project Not Found")


@flow("sudo")
def _():
    same(gl.http_get("/user", sudo=user().username)["username"], user().username)


# ---------------------------------------------------------------- projects

@flow("project create")
def _():
    same(project().visibility, "internal")


@flow("project get/save")
def _():
    found = gl.projects.get(project().id)
    found.description = "x"
    found.save()
    same(gl.projects.get(found.path_with_namespace).description, "x")


@flow("project create taken")
def _():
    error = refused(lambda: gl.projects.create({"name": project().path}), 400)
    assert "has already been taken" in str(error), error


@flow("projects list iterator")
def _():
    wanted = project()
    contains(names(gl.projects.list(iterator=True, per_page=2), "id"), wanted.id)


@flow("projects list owned/membership/get_all")
def _():
    wanted = project()
    contains(names(gl.projects.list(owned=True, get_all=True), "id"), wanted.id)
    contains(names(gl.projects.list(membership=True, get_all=True), "id"), wanted.id)


@flow("projects list search/visibility/simple")
def _():
    wanted = project()
    contains(names(gl.projects.list(search="demo", get_all=True), "path_with_namespace"), "root/demo")
    contains(names(gl.projects.list(visibility="internal", simple=True, get_all=True), "id"), wanted.id)


@flow("pages")
def _():
    project()
    page = gl.projects.list(iterator=True, per_page=1)
    assert page.total >= 2 and page.total_pages == page.total and page.next_page == 2, page.total
    same(len(list(page)), page.total)


@flow("keyset list")
def _():
    project()
    listed = names(gl.projects.list(iterator=True, order_by="id", sort="asc", pagination="keyset", per_page=1), "id")
    assert len(listed) >= 2 and listed == sorted(set(listed)), listed


@flow("archive")
def _():
    project().archive()
    same(gl.projects.get(project().id).archived, True)
    project().unarchive()
    same(gl.projects.get(project().id).archived, False)


@flow("star")
def _():
    demo().star()
    same(gl.projects.get(demo().id).star_count, 1)
    contains(names(gl.projects.list(starred=True, get_all=True), "id"), demo().id)
    demo().unstar()
    same(gl.projects.get(demo().id).star_count, 0)


@flow("fork")
def _():
    fork = demo().forks.create({}, sudo=user().username)
    same(fork.path_with_namespace, "pg-user/demo")
    same(fork.forked_from_project["id"], demo().id)
    contains(names(demo().forks.list(get_all=True), "id"), fork.id)


@flow("fork relation")
def _():
    made = gl.projects.create({"name": "pg-related", "visibility": "public"})
    made.create_fork_relation(demo().id)
    same(gl.projects.get(made.id).forked_from_project["id"], demo().id)
    made.delete_fork_relation()
    assert not hasattr(gl.projects.get(made.id), "forked_from_project")


@flow("users and groups of a project")
def _():
    contains(names(project().users.list(get_all=True), "username"), "root")
    same(project().groups.list(get_all=True), [])


@flow("import status")
def _():
    same(project().imports.get().import_status, "none")


@flow("project import")
def _():
    member = {"VERSION": "0.2.4", "tree/project.json": '{"description": "moved"}',
              "tree/project/labels.ndjson": '{"title": "bug", "color": "#ff0000"}\n'}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in member.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content.encode()))
    archive.seek(0)
    created = gl.projects.import_project(archive, path="pg-import", name="Moved")
    same(created["import_type"], "gitlab_project")
    imported = gl.projects.get(created["id"])
    eventually(lambda: imported.imports.get().import_status == "finished")
    same([label.name for label in imported.labels.list(get_all=True)], ["bug"])
    same((imported.name, imported.description, imported.visibility), ("Moved", "moved", "private"))


@flow("share")
def _():
    project().share(group().id, gitlab.const.AccessLevel.DEVELOPER)
    shares = gl.projects.get(project().id).shared_with_groups
    same([(share["group_id"], share["group_access_level"]) for share in shares], [(group().id, 30)])
    project().unshare(group().id)
    same(gl.projects.get(project().id).shared_with_groups, [])


@flow("upload")
def _():
    upload = project().upload("a.txt", filedata=b"x")
    assert upload["markdown"] and upload["url"] and upload["full_path"], upload
    response = gl.session.get(URL + upload["full_path"], headers={"PRIVATE-TOKEN": TOKEN}, timeout=60)
    same((response.status_code, response.content), (200, b"x"))


@flow("events")
def _():
    assert project().events.list(get_all=True)
    assert gl.events.list(get_all=True)
    assert gl.users.list(username="root")[0].events.list(get_all=True)


@flow("hooks")
def _():
    hook = project().hooks.create({"url": "https://example.com/h", "job_events": True})
    hook.push_events = False
    hook.save()
    found = project().hooks.get(hook.id)
    same((found.job_events, found.push_events), (True, False))
    same(found.url, "https://example.com/h")
    same(names(project().hooks.list(get_all=True), "id"), [hook.id])
    hook.delete()
    same(project().hooks.list(get_all=True), [])


@flow("variables")
def _():
    variable = project().variables.create({"key": "K", "value": "v"})
    variable.value = "w"
    variable.save()
    same(project().variables.get("K").value, "w")
    same(names(project().variables.list(get_all=True), "key"), ["K"])
    variable.delete()
    same(project().variables.list(get_all=True), [])


# ---------------------------------------------------------------- planning

@flow("labels")
def _():
    label = project().labels.create({"name": "bug/red", "color": "#ff0000"})
    label.color = "#00ff00"
    label.save()
    same([label.color.lower() for label in project().labels.list(get_all=True) if label.name == "bug/red"], ["#00ff00"])
    label.delete()
    assert "bug/red" not in names(project().labels.list(get_all=True))


@flow("label get")
def _():
    project().labels.create({"name": "keep", "color": "#ff0000"})
    same(project().labels.get("keep").name, "keep")


@flow("label subscribe")
def _():
    label = project().labels.create({"name": "followed", "color": "#ff0000"})
    label.subscribe()
    same(label.subscribed, True)
    label.unsubscribe()
    same(label.subscribed, False)


@flow("milestones")
def _():
    milestone = project().milestones.create({"title": "m1", "due_date": "2030-01-02"})
    milestone.state_event = "close"
    milestone.save()
    same(project().milestones.get(milestone.id).state, "closed")
    same(names(project().milestones.list(state="closed", get_all=True), "title"), ["m1"])
    planned = project().issues.create({"title": "planned", "milestone_id": milestone.id})
    same(names(milestone.issues(get_all=True), "iid"), [planned.iid])
    same(list(milestone.merge_requests(get_all=True)), [])


@flow("milestone delete")
def _():
    milestone = project().milestones.create({"title": "m2"})
    milestone.delete()
    gone(lambda: project().milestones.get(milestone.id))


@flow("issues")
def _():
    found = project().issues.get(issue().iid)
    same(sorted(found.labels), ["bug", "x"])
    found.title = "two"
    found.state_event = "close"
    found.save()
    same((project().issues.get(issue().iid).state, found.title), ("closed", "two"))
    found.state_event = "reopen"
    found.save()
    same(project().issues.get(issue().iid).state, "opened")


@flow("issues list")
def _():
    wanted = issue()
    contains(names(gl.issues.list(scope="created_by_me", get_all=True), "id"), wanted.id)
    same(names(project().issues.list(labels=["bug", "x"], get_all=True), "iid"), [issue().iid])
    same(names(project().issues.list(iids=[issue().iid], get_all=True), "iid"), [issue().iid])
    same(project().issues.list(state="closed", labels=["bug"], get_all=True), [])


@flow("issue assign")
def _():
    found = project().issues.get(issue().iid)
    found.assignee_ids = [gl.users.list(username="root")[0].id]
    found.save()
    same([one["username"] for one in project().issues.get(issue().iid).assignees], ["root"])


@flow("issue notes")
def _():
    note = issue().notes.create({"body": "hello"})
    issue().notes.create({"body": "newest"})
    same([note.body for note in issue().notes.list(get_all=True) if not note.system][0], "newest")
    note.body = "changed"
    note.save()
    same(issue().notes.get(note.id).body, "changed")
    note.delete()
    gone(lambda: issue().notes.get(note.id))


@flow("issue subscribe")
def _():
    other = project().issues.create({"title": "followed"})
    other.unsubscribe()
    same(project().issues.get(other.iid).subscribed, False)
    other.subscribe()
    same(other.subscribed, True)


@flow("issue discussions")
def _():
    discussion = issue().discussions.create({"body": "discussed"})
    same(issue().discussions.get(discussion.id).attributes["notes"][0]["body"], "discussed")
    contains(names(issue().discussions.list(get_all=True), "id"), discussion.id)


@flow("issue time tracking")
def _():
    same(issue().time_estimate("3h30m")["time_estimate"], 12600)
    same(issue().add_spent_time("1h")["total_time_spent"], 3600)
    same(project().issues.get(issue().iid).time_stats()["human_total_time_spent"], "1h")
    same(issue().reset_spent_time()["total_time_spent"], 0)
    same(issue().reset_time_estimate()["time_estimate"], 0)


@flow("issue award emoji")
def _():
    award = issue().awardemojis.create({"name": "rocket"})
    same(names(issue().awardemojis.list(get_all=True)), ["rocket"])
    same(issue().awardemojis.get(award.id).user["username"], "root")
    # The author of an issue cannot vote on it.
    refused(lambda: issue().awardemojis.create({"name": "thumbsup"}), 404)
    vote = issue().awardemojis.create({"name": "thumbsup"}, sudo=user().username)
    same(project().issues.get(issue().iid).upvotes, 1)
    vote.delete()
    award.delete()
    same(issue().awardemojis.list(get_all=True), [])


@flow("note award emoji")
def _():
    note = issue().notes.create({"body": "awarded"})
    award = note.awardemojis.create({"name": "rocket"})
    same(names(note.awardemojis.list(get_all=True)), ["rocket"])
    award.delete()
    same(note.awardemojis.list(get_all=True), [])


@flow("todos")
def _():
    wanted = project().issues.create({"title": "to do"})
    wanted.todo()
    todo = next(todo for todo in gl.todos.list(get_all=True) if todo.target["iid"] == wanted.iid)
    same((todo.state, todo.target_type), ("pending", "Issue"))
    todo.mark_as_done()
    assert todo.id not in names(gl.todos.list(get_all=True), "id")
    contains(names(gl.todos.list(state="done", get_all=True), "id"), todo.id)
    gl.todos.mark_all_as_done()
    same(gl.todos.list(get_all=True), [])


@flow("issue participants")
def _():
    contains([found["username"] for found in issue().participants(get_all=True)], "root")


@flow("issue move")
def _():
    moved = project().issues.create({"title": "moved"})
    moved.move(demo().id)
    same((moved.project_id, moved.title), (demo().id, "moved"))


@flow("issue delete")
def _():
    unwanted = project().issues.create({"title": "unwanted"})
    unwanted.delete()
    gone(lambda: project().issues.get(unwanted.iid))


@flow("boards")
def _():
    board = project().boards.list(get_all=True)[0]
    same(project().boards.get(board.id).id, board.id)
    label = project().labels.create({"name": "doing", "color": "#0000ff"})
    column = board.lists.create({"label_id": label.id})
    same(column.label["name"], "doing")
    contains(names(board.lists.list(get_all=True), "id"), column.id)
    column.position = 0
    column.save()
    same(board.lists.get(column.id).position, 0)
    column.delete()
    assert column.id not in names(board.lists.list(get_all=True), "id")


# ---------------------------------------------------------------- users and groups

@flow("users")
def _():
    found = gl.users.get(user().id)
    found.name = "Changed"
    found.save()
    same(gl.users.get(found.id).name, "Changed")
    contains(names(gl.users.list(search="pg-user", get_all=True), "id"), found.id)


@flow("user by username")
def _():
    same(names(gl.users.list(username=user().username), "id"), [user().id])


@flow("user status")
def _():
    gl.auth()
    status = gl.user.status.get()
    same((status.emoji, status.message), (None, None))
    status.emoji = "rocket"
    status.message = "away"
    status.save()
    same(gl.user.status.get().message, "away")
    same(gl.users.get(gl.user.id).status.get().emoji, "rocket")
    gl.user.status.update(new_data={})
    same(gl.user.status.get().message, None)


@flow("user counts")
def _():
    # python-gitlab has no manager for them.
    counts = gl.http_get("/user_counts")
    same(sorted(counts), ["assigned_issues", "merge_requests", "review_requested_merge_requests", "todos"])


@flow("user block/unblock")
def _():
    same(user().block(), True)
    same(gl.users.get(user().id).state, "blocked")
    same(user().unblock(), True)
    same(gl.users.get(user().id).state, "active")


@flow("user delete")
def _():
    unwanted = new_user("pg-gone")
    unwanted.delete()
    gone(lambda: gl.users.get(unwanted.id))


@flow("keys")
def _():
    gl.auth()
    key = gl.user.keys.create({"title": "laptop", "key": public_key()})
    same(gl.user.keys.get(key.id).title, "laptop")
    same(names(gl.user.keys.list(get_all=True), "title"), ["laptop"])
    key.delete()
    same(gl.user.keys.list(get_all=True), [])


@flow("user keys")
def _():
    key = user().keys.create({"title": "other", "key": public_key()})
    same(names(user().keys.list(get_all=True), "id"), [key.id])
    key.delete()
    same(user().keys.list(get_all=True), [])


@flow("emails")
def _():
    gl.auth()
    address = gl.user.emails.create({"email": "second@example.com"})
    same(gl.user.emails.get(address.id).email, "second@example.com")
    contains(names(gl.user.emails.list(get_all=True), "email"), "second@example.com")
    address.delete()
    assert "second@example.com" not in names(gl.user.emails.list(get_all=True), "email")


@flow("user emails")
def _():
    address = user().emails.create({"email": "third@example.com", "skip_confirmation": True})
    contains(names(user().emails.list(get_all=True), "email"), "third@example.com")
    address.delete()
    assert "third@example.com" not in names(user().emails.list(get_all=True), "email")


@flow("tokens")
def _():
    tokens = gl.personal_access_tokens.list(get_all=True)
    assert {"api", "sudo"} <= set(tokens[0].scopes), tokens[0].scopes
    same(gl.personal_access_tokens.get("self").name, "dev")


@flow("access tokens of projects and groups")
def _():
    group = gl.groups.create({"name": "pg-token-group", "path": "pg-token-group"})
    for parent, kind in [(demo(), "project"), (group, "group")]:
        new = parent.access_tokens.create({"name": f"pg-{kind}", "scopes": ["api"], "access_level": 30})
        same((new.resource_type, new.access_level), (kind, 30))
        bot = gitlab.Gitlab(gl.url, private_token=new.token)
        bot.auth()
        assert bot.user.bot, bot.user
        contains(names(parent.access_tokens.list(get_all=True)), f"pg-{kind}")
        rotated = parent.access_tokens.get(new.id).rotate()
        refused(bot.auth, 401)
        same(parent.access_tokens.get(rotated["id"]).user_id, new.user_id)
        parent.access_tokens.delete(rotated["id"])
        gone(lambda: parent.access_tokens.get(rotated["id"]))
    group.delete()


@flow("impersonation tokens")
def _():
    token = user().impersonationtokens.create({"name": "pg", "scopes": ["api"]})
    acting = gitlab.Gitlab(gl.url, private_token=token.token)
    acting.auth()
    same((acting.user.id, user().impersonationtokens.get(token.id).name), (user().id, "pg"))
    contains(names(user().impersonationtokens.list(state="active", get_all=True)), "pg")
    token.delete()
    refused(acting.auth, 401)


@flow("user tokens")
def _():
    token = user().personal_access_tokens.create({"name": "pg", "scopes": ["read_api"]})
    other = gitlab.Gitlab(URL, private_token=token.token)
    other.auth()
    same(other.user.username, user().username)
    refused(lambda: other.projects.create({"name": "no"}), 403)
    gl.personal_access_tokens.delete(token.id)
    refused(other.auth, 401)


@flow("token rotate")
def _():
    token = user().personal_access_tokens.create({"name": "rotated", "scopes": ["api"]})
    rotated = gl.personal_access_tokens.get(token.id).rotate()
    refused(gitlab.Gitlab(URL, private_token=token.token).auth, 401)
    gitlab.Gitlab(URL, private_token=rotated["token"]).auth()


@flow("namespaces")
def _():
    contains(names(gl.namespaces.list(get_all=True), "path"), "root")
    same(gl.namespaces.get("root").kind, "user")
    same(gl.namespaces.exists("pg-nobody").exists, False)


@flow("groups")
def _():
    made = gl.groups.create({"name": "pg-private", "path": "pg-private", "visibility": "private"})
    same(gl.groups.get(made.full_path).visibility, "private")
    made.description = "words"
    made.save()
    same(gl.groups.get(made.id).description, "words")
    contains(names(gl.groups.list(search="pg-private", get_all=True), "id"), made.id)
    same(made.projects.list(get_all=True), [])
    same(names(made.members.list(get_all=True), "username"), ["root"])
    made.delete()
    gone(lambda: gl.groups.get(made.id))


@flow("subgroups")
def _():
    same(gl.groups.get(group().id).subgroups.list(get_all=True), [])
    same(gl.groups.get(group().id).descendant_groups.list(get_all=True), [])


@flow("group projects")
def _():
    made = gl.projects.create({"name": "in-group", "namespace_id": group().id})
    same(made.path_with_namespace, "pg-group/in-group")
    same(names(group().projects.list(get_all=True), "id"), [made.id])
    made.issues.create({"title": "of the group"})
    same(names(group().issues.list(get_all=True), "title"), ["of the group"])
    same(group().mergerequests.list(get_all=True), [])
    same([found["id"] for found in group().search("projects", "in-group", get_all=True)], [made.id])


@flow("shared projects of a group")
def _():
    project().share(group().id, gitlab.const.AccessLevel.REPORTER)
    same(names(group().shared_projects.list(get_all=True), "id"), [project().id])
    project().unshare(group().id)


@flow("transfer")
def _():
    made = gl.projects.create({"name": "moving"})
    made.transfer("pg-group")
    same(gl.projects.get(made.id).path_with_namespace, "pg-group/moving")


@flow("transfer by the group")
def _():
    made = gl.projects.create({"name": "moving-too"})
    group().transfer_project(made.id)
    same(gl.projects.get(made.id).path_with_namespace, "pg-group/moving-too")


@flow("members")
def _():
    member = project().members.create({"user_id": user().id, "access_level": 30})
    member.access_level = 40
    member.save()
    same(project().members.get(user().id).access_level, 40)
    contains(names(project().members.list(get_all=True), "id"), user().id)
    refused(lambda: project().members.create({"user_id": user().id, "access_level": 30}), 409)
    member.delete()
    gone(lambda: project().members.get(user().id))


@flow("group members")
def _():
    member = group().members.create({"user_id": user().id, "access_level": 20})
    member.access_level = 30
    member.save()
    same(group().members.get(user().id).access_level, 30)
    same(sorted(names(group().members_all.list(get_all=True), "username")), ["pg-user", "root"])
    member.delete()
    same(names(group().members.list(get_all=True), "username"), ["root"])


@flow("members_all")
def _():
    made = gl.projects.create({"name": "inherits", "namespace_id": group().id})
    group().members.create({"user_id": user().id, "access_level": 30})
    made.members.create({"user_id": user().id, "access_level": 40})
    found = {member.username: member.access_level for member in made.members_all.list(get_all=True)}
    same((found["root"], found["pg-user"], len(found)), (50, 40, 2))
    same(made.members_all.get(user().id).access_level, 40)
    same(names(made.members.list(get_all=True), "username"), ["pg-user"])
    group().members.delete(user().id)


@flow("access requests")
def _():
    project().accessrequests.create({}, sudo=user().username)
    request = project().accessrequests.list(get_all=True)[0]
    same(request.username, user().username)
    request.approve(access_level=20)
    same(project().members.get(user().id).access_level, 20)
    project().members.delete(user().id)


@flow("group access requests")
def _():
    group().accessrequests.create({}, sudo=user().username)
    request = group().accessrequests.list(get_all=True)[0]
    same(request.username, user().username)
    request.delete()
    same(group().accessrequests.list(get_all=True), [])


@flow("system hooks")
def _():
    hook = gl.hooks.create({"url": "https://example.com/system", "push_events": True})
    same(gl.hooks.get(hook.id).url, "https://example.com/system")
    same(names(gl.hooks.list(get_all=True), "id"), [hook.id])
    hook.delete()
    same(gl.hooks.list(get_all=True), [])


# ---------------------------------------------------------------- repositories

@flow("files create")
def _():
    made = project().files.create({"file_path": "docs/README.md", "branch": "main", "content": "# hi\n",
                                   "commit_message": "first"})
    same(made.file_path, "docs/README.md")


@flow("commits create")
def _():
    actions = [{"action": "create", "file_path": "a", "content": "b\n"},
               {"action": "create", "file_path": "c", "content": "ZAo=", "encoding": "base64"}]
    commit = project().commits.create({"branch": "main", "commit_message": "c", "actions": actions})
    same((commit.title, commit.stats["additions"]), ("c", 2))
    same(project().files.raw("c", ref="main"), b"d\n")


@flow("files save/delete")
def _():
    made = demo().files.create({"file_path": "pg file.txt", "branch": "pg-files", "start_branch": "main",
                                "content": "one\n", "commit_message": "add"})
    found = demo().files.get("pg file.txt", ref="pg-files")
    found.content = "two\n"
    found.encoding = "text"
    found.save(branch="pg-files", commit_message="change")
    same(demo().files.get("pg file.txt", ref="pg-files").decode(), b"two\n")
    made.delete(branch="pg-files", commit_message="remove")
    gone(lambda: demo().files.get("pg file.txt", ref="pg-files"))


@flow("file get")
def _():
    found = demo().files.get("package.json", ref="main")
    assert b"dependencies" in found.decode()
    same((found.file_path, found.ref, found.size), ("package.json", "main", len(found.decode())))


@flow("file head")
def _():
    headers = demo().files.head("package.json", ref="main")
    same((headers["X-Gitlab-File-Path"], headers["X-Gitlab-Ref"]), ("package.json", "main"))


@flow("file raw")
def _():
    assert b"dependencies" in demo().files.raw("package.json", ref="main")


@flow("file blame")
def _():
    blame = demo().files.blame("README.md", ref="main", get_all=True)
    same(blame[0]["lines"][0], "# Demo")


@flow("tree")
def _():
    same([entry["path"] for entry in demo().repository_tree(get_all=True)], ["src", "README.md", "package.json"])
    same([entry["path"] for entry in demo().repository_tree(path="src", get_all=True)], ["src/index.js"])


@flow("blobs")
def _():
    blob = next(entry["id"] for entry in demo().repository_tree(get_all=True) if entry["path"] == "README.md")
    assert demo().repository_raw_blob(blob).startswith(b"# Demo\n")
    same(demo().repository_blob(blob)["sha"], blob)


@flow("branches")
def _():
    branch = demo().branches.create({"branch": "t/pg", "ref": "main"})
    same((branch.name, demo().branches.get("t/pg").commit["id"]), ("t/pg", demo().branches.get("main").commit["id"]))
    contains(names(demo().branches.list(search="^t/", get_all=True)), "t/pg")
    branch.delete()
    gone(lambda: demo().branches.get("t/pg"))


@flow("protected branches")
def _():
    demo().branches.create({"branch": "pg-protected", "ref": "main"})
    protected = demo().protectedbranches.create({"name": "pg-protected", "push_access_level": 30})
    found = demo().protectedbranches.get("pg-protected")
    same([level["access_level"] for level in found.push_access_levels], [30])
    contains(names(demo().protectedbranches.list(get_all=True)), "pg-protected")
    protected.push_access_level = 40
    protected.save()
    found = demo().protectedbranches.get("pg-protected")
    same([level["access_level"] for level in found.push_access_levels], [40])
    protected.delete()
    gone(lambda: demo().protectedbranches.get("pg-protected"))


@flow("protected tags")
def _():
    protected = demo().protectedtags.create({"name": "pg-protected-*", "create_access_level": 0})
    found = demo().protectedtags.get("pg-protected-*")
    same([level["access_level"] for level in found.create_access_levels], [0])
    contains(names(demo().protectedtags.list(get_all=True)), "pg-protected-*")
    refused(lambda: demo().tags.create({"tag_name": "pg-protected-1", "ref": "main"}), 400)
    protected.delete()
    gone(lambda: demo().protectedtags.get("pg-protected-*"))


@flow("merged branches")
def _():
    # A branch at the same commit as the default branch does not count as merged.
    demo().branches.create({"branch": "pg-merged", "ref": "v1.0.0"})
    demo().branches.create({"branch": "pg-fresh", "ref": "main"})
    demo().delete_merged_branches()
    gone(lambda: demo().branches.get("pg-merged"))
    demo().branches.get("pg-fresh").delete()


@flow("tags")
def _():
    tag = demo().tags.create({"tag_name": "v-pg", "ref": "main", "message": "m"})
    same((tag.name, demo().tags.get("v-pg").message), ("v-pg", "m"))
    assert {"v-pg", "v1.0.0"} <= set(names(demo().tags.list(get_all=True)))
    tag.delete()
    gone(lambda: demo().tags.get("v-pg"))


@flow("releases")
def _():
    release = demo().releases.create({"tag_name": "v-pg-2", "ref": "main", "name": "R", "description": "notes"})
    same((release.tag_name, demo().releases.get("v-pg-2").description), ("v-pg-2", "notes"))
    release.description = "changed"
    release.save()
    same(demo().releases.get("v-pg-2").description, "changed")
    contains(names(demo().releases.list(get_all=True), "tag_name"), "v-pg-2")
    refused(lambda: demo().releases.create({"tag_name": "v-pg-2", "description": "again"}), 409)


@flow("release links")
def _():
    release = demo().releases.create({"tag_name": "v-pg-3", "ref": "main", "description": "notes", "assets": {
        "links": [{"name": "first", "url": "https://example.com/1", "link_type": "package"}]}})
    link = release.links.create({"name": "second", "url": "https://example.com/2"})
    same(sorted(names(release.links.list(get_all=True))), ["first", "second"])
    link.name = "third"
    link.save()
    same(release.links.get(link.id).name, "third")
    link.delete()
    same(names(release.links.list(get_all=True)), ["first"])


@flow("release delete")
def _():
    demo().releases.create({"tag_name": "v-pg-4", "ref": "main", "description": "notes"})
    demo().releases.delete("v-pg-4")
    gone(lambda: demo().releases.get("v-pg-4"))
    same(demo().tags.get("v-pg-4").name, "v-pg-4")


@flow("commits list")
def _():
    commits = demo().commits.list(ref_name="main", get_all=True)
    contains(names(commits, "title"), "add the package")
    # As an argument of its own, path would be that of the request.
    query = {"path": "src/index.js"}
    commits = demo().commits.list(query_parameters=query, ref_name="main", iterator=True, per_page=1)
    same(names(commits, "title"), ["add the source"])


@flow("commit get")
def _():
    head = demo().branches.get("main").commit["id"]
    same((demo().commits.get(head).id, demo().commits.get("main").id), (head, head))


@flow("commit diff/refs")
def _():
    commit = demo().commits.get("feature")
    same([diff["new_path"] for diff in commit.diff(get_all=True)], ["feature.txt"])
    same([ref["name"] for ref in commit.refs("branch", get_all=True)], ["feature"])


@flow("commit comments")
def _():
    commit = demo().commits.get("main")
    commit.comments.create({"note": "seen"})
    contains(names(commit.comments.list(get_all=True), "note"), "seen")


@flow("commit statuses")
def _():
    commit = demo().commits.get(demo().branches.get("main").commit["id"], lazy=True)
    commit.statuses.create({"state": "success", "name": "x", "target_url": "https://example.com/x"})
    same([(status.name, status.status) for status in commit.statuses.list(get_all=True) if status.name == "x"],
         [("x", "success")])


@flow("commit cherry-pick")
def _():
    demo().branches.create({"branch": "pg-picked", "ref": "main"})
    picked = demo().commits.get("feature").cherry_pick(branch="pg-picked")
    same(picked["title"], "add a feature")
    assert demo().files.raw("feature.txt", ref="pg-picked")


@flow("compare")
def _():
    compared = demo().repository_compare("main", "feature")
    same(([commit["title"] for commit in compared["commits"]], [diff["new_path"] for diff in compared["diffs"]]),
         (["add a feature"], ["feature.txt"]))


@flow("archive of the repository")
def _():
    with zipfile.ZipFile(io.BytesIO(demo().repository_archive(sha="main", format="zip"))) as archive:
        assert any(name.endswith("/package.json") for name in archive.namelist()), archive.namelist()


@flow("contributors")
def _():
    assert demo().repository_contributors(get_all=True)[0]["commits"] >= 3


@flow("merge base")
def _():
    assert demo().repository_merge_base(["main", "feature"])["id"]


@flow("deploy keys")
def _():
    key = project().keys.create({"title": "deploy", "key": public_key(), "can_push": True})
    same((project().keys.get(key.id).title, project().keys.get(key.id).can_push), ("deploy", True))
    key.title = "renamed"
    key.save()
    same(names(project().keys.list(get_all=True), "title"), ["renamed"])
    demo().keys.enable(key.id)
    contains(names(demo().keys.list(get_all=True), "id"), key.id)
    demo().keys.delete(key.id)
    key.delete()
    same(project().keys.list(get_all=True), [])


@flow("all deploy keys")
def _():
    key = project().keys.create({"title": "listed", "key": public_key()})
    contains(names(gl.deploykeys.list(get_all=True), "id"), key.id)


@flow("search")
def _():
    contains([found["path_with_namespace"] for found in gl.search("projects", "demo", get_all=True)], "root/demo")
    wanted = project().issues.create({"title": "a needle"})
    same([found["iid"] for found in project().search("issues", "needle", get_all=True)], [wanted.iid])


# ---------------------------------------------------------------- merge requests

@flow("merge requests")
def _():
    found = demo().mergerequests.get(merge_request().iid)
    found.title = "renamed"
    found.labels = ["ready"]
    found.save()
    same((demo().mergerequests.get(found.iid).title, found.labels), ("renamed", ["ready"]))
    same(names(demo().mergerequests.list(state="opened", source_branch="pg-open", get_all=True), "iid"), [found.iid])
    again = {"source_branch": "pg-open", "target_branch": "main", "title": "again"}
    refused(lambda: demo().mergerequests.create(again), 409)


@flow("merge requests of all projects")
def _():
    wanted = merge_request()
    # Without an author or an assignee, the server refuses a list of all projects.
    found = gl.mergerequests.list(scope="all", state="opened", author_id=wanted.author["id"], get_all=True)
    contains(names(found, "id"), wanted.id)
    refused(lambda: gl.mergerequests.list(scope="all", get_all=True), 400)


@flow("merge request close/reopen")
def _():
    found = demo().mergerequests.get(merge_request().iid)
    found.state_event = "close"
    found.save()
    same(demo().mergerequests.get(found.iid).state, "closed")
    found.state_event = "reopen"
    found.save()
    same(demo().mergerequests.get(found.iid).state, "opened")


@flow("merge request draft")
def _():
    change("pg-draft", path="pg-draft.txt")
    made = demo().mergerequests.create({"source_branch": "pg-draft", "target_branch": "main", "title": "Draft: d"})
    same((made.draft, made.work_in_progress), (True, True))
    refused(made.merge, 405)


@flow("merge request commits/changes/versions")
def _():
    same(names(merge_request().commits(get_all=True), "title"), ["add a file"])
    same([found["new_path"] for found in merge_request().changes()["changes"]], ["pg-open.txt"])
    version = merge_request().diffs.list(get_all=True)[0]
    same([found["new_path"] for found in merge_request().diffs.get(version.id).diffs], ["pg-open.txt"])


@flow("merge request notes")
def _():
    note = merge_request().notes.create({"body": "x"})
    note.body = "y"
    note.save()
    same(merge_request().notes.get(note.id).body, "y")
    contains(names(merge_request().notes.list(get_all=True), "id"), note.id)
    note.delete()
    gone(lambda: merge_request().notes.get(note.id))


@flow("merge request discussions")
def _():
    discussion = merge_request().discussions.create({"body": "why?"})
    discussion.notes.create({"body": "because"})
    found = merge_request().discussions.get(discussion.id)
    same([note["body"] for note in found.attributes["notes"]], ["why?", "because"])
    note = found.notes.create({"body": "unwanted"})
    note.body = "still unwanted"
    note.save()
    note.delete()
    found = merge_request().discussions.get(discussion.id)
    same(len(found.attributes["notes"]), 2)
    found.resolved = True
    found.save()
    assert all(note["resolved"] for note in merge_request().discussions.get(discussion.id).attributes["notes"])
    contains(names(merge_request().discussions.list(get_all=True), "id"), discussion.id)


@flow("merge request discussion of a line")
def _():
    refs = demo().mergerequests.get(merge_request().iid).diff_refs
    position = {"position_type": "text", "new_path": "pg-open.txt", "old_path": "pg-open.txt", "new_line": 2, **refs}
    discussion = merge_request().discussions.create({"body": "this line", "position": position})
    note = merge_request().discussions.get(discussion.id).attributes["notes"][0]
    same((note["type"], note["position"]["new_path"], note["position"]["new_line"]), ("DiffNote", "pg-open.txt", 2))


@flow("merge request award emoji")
def _():
    award = merge_request().awardemojis.create({"name": "rocket"})
    same(names(merge_request().awardemojis.list(get_all=True)), ["rocket"])
    award.delete()
    same(merge_request().awardemojis.list(get_all=True), [])


@flow("merge request time tracking")
def _():
    same(merge_request().time_estimate("1d")["time_estimate"], 8 * 3600)
    same(merge_request().add_spent_time("30m")["human_total_time_spent"], "30m")
    same(merge_request().reset_spent_time()["total_time_spent"], 0)
    same(merge_request().reset_time_estimate()["time_estimate"], 0)


@flow("merge request participants/pipelines/approvals")
def _():
    contains([found["username"] for found in merge_request().participants(get_all=True)], "root")
    same(merge_request().pipelines.list(get_all=True), [])
    same(merge_request().approvals.get().approved_by, [])


@flow("merge request subscribe")
def _():
    found = demo().mergerequests.get(merge_request().iid)
    found.unsubscribe()
    same(found.subscribed, False)
    found.subscribe()
    same(found.subscribed, True)


@flow("merge request todo")
def _():
    merge_request().todo()
    todos = gl.todos.list(type="MergeRequest", get_all=True)
    assert merge_request().iid in [todo.target["iid"] for todo in todos], todos
    gl.todos.mark_all_as_done()


@flow("merge request accept")
def _():
    wanted = demo().issues.create({"title": "closed by a merge"})
    change("pg-accepted", path="pg-accepted.txt")
    made = demo().mergerequests.create({"source_branch": "pg-accepted", "target_branch": "main", "title": "accept",
                                        "description": "Closes #%d" % wanted.iid})
    same(names(made.closes_issues(get_all=True), "iid"), [wanted.iid])
    ready = checked(made.iid)
    same((ready.merge_status, ready.detailed_merge_status, ready.has_conflicts), ("can_be_merged", "mergeable", False))
    ready.merge(should_remove_source_branch=True)
    same(demo().mergerequests.get(made.iid).state, "merged")
    assert demo().files.raw("pg-accepted.txt", ref="main")
    gone(lambda: demo().branches.get("pg-accepted"))
    eventually(lambda: demo().issues.get(wanted.iid).state == "closed")


@flow("merge requests of a commit")
def _():
    wanted = merge_request()
    related = demo().commits.get(demo().mergerequests.get(wanted.iid).sha).merge_requests(get_all=True)
    contains([found["iid"] for found in related], wanted.iid)


@flow("merge request accept another commit")
def _():
    error = refused(lambda: checked(merge_request().iid).merge(sha="0" * 40), 409)
    assert "SHA does not match HEAD of source branch" in str(error), error


@flow("merge request delete")
def _():
    change("pg-deleted", path="pg-deleted.txt")
    made = demo().mergerequests.create({"source_branch": "pg-deleted", "target_branch": "main", "title": "t"})
    made.delete()
    gone(lambda: demo().mergerequests.get(made.iid))


# ---------------------------------------------------------------- pipelines and jobs

@flow("ci lint")
def _():
    valid = pipelines().ci_lint.create({"content": CI_FILE})
    same((valid.valid, valid.errors), (True, []))
    invalid = pipelines().ci_lint.create({"content": "make: [1"})
    assert not invalid.valid and invalid.errors, invalid
    same(pipelines().ci_lint.get().valid, True)


@flow("pipelines")
def _():
    found = pipelines().pipelines.get(first_pipeline().id)
    same((found.ref, found.source, found.user["username"]), ("main", "push", "root"))
    contains(names(pipelines().pipelines.list(iterator=True, per_page=1), "id"), found.id)


@flow("pipeline jobs")
def _():
    same(sorted(names(first_pipeline().jobs.list(get_all=True))), ["later", "make"])


@flow("pipeline create with variables")
def _():
    made = pipelines().pipelines.create({"ref": "main", "variables": [{"key": "WORD", "value": "clay"}]})
    same(made.source, "api")
    same([(variable.key, variable.value) for variable in made.variables.list(get_all=True)], [("WORD", "clay")])
    assert b"made of clay" in succeeded(job_named("make", made).id).trace()


@flow("pipeline cancel/retry")
def _():
    made = pipelines().pipelines.create({"ref": "stuck"})
    made.cancel()
    eventually(lambda: pipelines().pipelines.get(made.id).status == "canceled")
    made.retry()
    eventually(lambda: pipelines().pipelines.get(made.id).status == "pending")
    made.cancel()


@flow("pipeline latest")
def _():
    contains(names(pipelines().pipelines.list(get_all=True), "id"), pipelines().pipelines.latest(ref="main").id)


@flow("jobs")
def _():
    wanted = finished_job()
    contains(names(pipelines().jobs.list(scope=["success"], get_all=True), "id"), wanted.id)
    same((finished_job().stage, finished_job().pipeline["ref"]), ("build", "main"))


@flow("job trace")
def _():
    assert b"made of" in finished_job().trace()


@flow("job artifacts")
def _():
    with zipfile.ZipFile(io.BytesIO(finished_job().artifacts())) as archive:
        same(archive.namelist(), ["made.txt"])
    finished_job().keep_artifacts()


@flow("job artifact file")
def _():
    same(finished_job().artifact("made.txt"), b"made\n")


@flow("artifacts of a ref")
def _():
    finished_job()
    with zipfile.ZipFile(io.BytesIO(pipelines().artifacts.download(ref_name="main", job="make"))) as archive:
        same(archive.namelist(), ["made.txt"])


@flow("artifact file of a ref")
def _():
    finished_job()
    same(pipelines().artifacts.raw(ref_name="main", artifact_path="made.txt", job="make"), b"made\n")


@flow("job play")
def _():
    finished_job()
    later = pipelines().jobs.get(job_named("later", first_pipeline()).id)
    eventually(lambda: pipelines().jobs.get(later.id).status in ("manual", "skipped"))
    later.play()
    succeeded(later.id)


@flow("job cancel")
def _():
    waiting = pipelines().jobs.get(job_named("waiting", pipelines().pipelines.create({"ref": "stuck"})).id)
    waiting.cancel()
    eventually(lambda: pipelines().jobs.get(waiting.id).status == "canceled")


@flow("job retry")
def _():
    again = finished_job().retry()
    assert again["id"] != finished_job().id and again["name"] == "make", again
    succeeded(again["id"])


@flow("job erase")
def _():
    erased = succeeded(job_named("make", pipelines().pipelines.create({"ref": "main"})).id)
    erased.erase()
    gone(erased.artifacts)


@flow("triggers")
def _():
    trigger = pipelines().triggers.create({"description": "from outside"})
    same(names(pipelines().triggers.list(get_all=True), "id"), [trigger.id])
    pipeline = pipelines().trigger_pipeline("main", trigger.token, variables={"WORD": "glass"})
    same((pipeline.ref, pipelines().pipelines.get(pipeline.id).source), ("main", "trigger"))
    assert b"made of glass" in succeeded(job_named("make", pipeline).id).trace()
    trigger.description = "renamed"
    trigger.save()
    same(pipelines().triggers.get(trigger.id).description, "renamed")
    trigger.delete()
    same(pipelines().triggers.list(get_all=True), [])


@flow("runners")
def _():
    runner = next(runner for runner in gl.runners_all.list(get_all=True) if runner.description == "clients")
    found = gl.runners.get(runner.id)
    same((found.runner_type, found.active), ("instance_type", True))
    gl.runners.list(get_all=True)
    contains(names(pipelines().runners.list(get_all=True), "id"), runner.id)


@flow("runner create")
def _():
    gl.auth()
    made = gl.user.runners.create({"runner_type": "project_type", "project_id": pipelines().id, "description": "made",
                                   "tag_list": ["a", "b"], "run_untagged": False})
    gl.runners.verify(made.token)
    runner = gl.runners.get(made.id)
    same((runner.description, sorted(runner.tag_list), runner.run_untagged), ("made", ["a", "b"], False))
    runner.description = "renamed"
    runner.save()
    same(gl.runners.get(made.id).description, "renamed")
    runner.delete()
    gone(lambda: gl.runners.get(made.id))


# ---------------------------------------------------------------- the end

@flow("project delete")
def _():
    project().delete()
    gone(lambda: gl.projects.get(project().id))


if __name__ == "__main__":
    run()
