"""Interoperability of pipelines and builds with the client python-gitlab 0.21.2.

What test_python_gitlab.py says of the client holds here too. Builds are brought to their
end by a runner that the tests play themselves (suite/runner.py). These are all calls that
the client has for pipelines, builds, variables, triggers, runners and statuses of commits,
but for two that the interface does not have: it lists runners of a project and statuses of
a commit, and the client would also get a single one.

The client has no call for artifacts by ref, and cannot get a commit where the server has no
commits: here the commit is the one that a build shows.
"""
import types

import pytest

from suite.client import NO_ID, PRIVATE, PUBLIC, eventually, ids
from suite.gitrepo import repo_url
from suite.rows import covers
from suite.runner import Runner, unpacked
from test_python_gitlab import connect

gitlab = pytest.importorskip("gitlab", reason="python-gitlab is not installed")

pytestmark = [pytest.mark.python_gitlab, pytest.mark.pipelines]

LIST = "GET /projects/:id/pipelines"
READ = "GET /projects/:id/pipelines/:pipeline_id"
CREATE = "POST /projects/:id/pipeline"
RETRY = "POST /projects/:id/pipelines/:pipeline_id/retry"
CANCEL = "POST /projects/:id/pipelines/:pipeline_id/cancel"

FILE = b"""
stages: [build, test, deploy]
compile:
  stage: build
  tags: [suite]
  script: [make]
  artifacts: {paths: [out/]}
unit:
  stage: test
  tags: [suite]
  script: [make test]
soft:
  stage: test
  tags: [suite]
  allow_failure: true
  script: [make lint]
release:
  stage: deploy
  tags: [suite]
  when: manual
  script: [make release]
"""
FILES = {"out/app": b"an application\n"}


@pytest.fixture(scope="module")
def gl(owner):
    """The client as the owner."""
    return connect(owner)


@pytest.fixture(scope="module")
def root(admin):
    """The client as the administrator."""
    return connect(admin)


@pytest.fixture
def project(gl, owner, http_git, make_project, local_repo):
    """A project with the file and the pipeline of its push, for one test."""
    made = make_project(owner, builds_enabled=True)
    local = local_repo()
    sha = local.commit({".gitlab-ci.yml": FILE, "README.md": b"Words\n"}, "First commit")
    local.push(repo_url(made, owner.username, owner.token), "master")
    found = gl.projects.get(made["id"])
    found.sha = sha
    eventually(found.pipelines.list, "the pipeline of the push")
    return found


@pytest.fixture
def runner(project, base_url):
    """A runner of that project."""
    return Runner(base_url, project.runners_token, ["suite"])


@pytest.fixture
def builds(project):
    """Gives the newest builds of the project by name, as the client gets them."""
    def newest(**query):
        return types.SimpleNamespace(**{b.name: b for b in reversed(project.builds.list(per_page=100, **query))})
    return newest


def statuses(found):
    return {name: build.status for name, build in vars(found).items()}


def refused(error, code, call, *args, **kwargs):
    """The call fails with this code; gives the message."""
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert caught.value.response_code == code, caught.value
    return str(caught.value.error_message)


# ---------------------------------------------------------------- pipelines

@covers(LIST, READ, CREATE)
def test_pipelines(project, owner):
    """Pipelines: that of the push; create, list, pages, get."""
    pushed, = project.pipelines.list()
    assert (pushed.status, pushed.ref, pushed.sha, pushed.tag) == ("pending", "master", project.sha, False)
    made = project.pipelines.create({"ref": "master"})
    assert (made.status, made.sha, made.user["username"]) == ("pending", project.sha, owner.username)
    assert [p.id for p in project.pipelines.list()] == [made.id, pushed.id]
    assert [p.id for p in project.pipelines.list(per_page=1, page=2)] == [pushed.id]
    assert [p.id for p in project.pipelines.list(all=True, per_page=1)] == [made.id, pushed.id]
    found = project.pipelines.get(made.id)
    assert (found.id, found.status, found.started_at, found.duration) == (made.id, "pending", None, None)
    assert len(project.builds.list(per_page=100)) == 8


@covers(READ, CREATE, RETRY, CANCEL, "E404")
def test_pipeline_errors(project):
    """Pipelines: the codes of errors reach the caller."""
    refused(gitlab.GitlabCreateError, 400, project.pipelines.create, {"ref": "none"})
    refused(gitlab.GitlabGetError, 404, project.pipelines.get, NO_ID)
    pipeline, = project.pipelines.list()
    pipeline.id = NO_ID
    refused(gitlab.GitlabPipelineRetryError, 404, pipeline.retry)
    refused(gitlab.GitlabPipelineRetryError, 404, pipeline.cancel)


@covers(RETRY, READ)
def test_retry_of_a_pipeline(project, runner, builds):
    """Pipelines: a failed one is retried, and goes on to its end."""
    pipeline, = project.pipelines.list()
    runner.take("compile").end("failed", "no compiler\n")
    found = project.pipelines.get(pipeline.id)
    assert found.status == "failed"
    assert statuses(builds()) == dict(compile="failed", unit="skipped", soft="skipped", release="skipped")
    old = builds().compile
    found.retry()
    assert (found.id, found.status) == (pipeline.id, "pending")
    assert statuses(builds()) == dict(compile="pending", unit="created", soft="created", release="created")
    assert builds().compile.id > old.id
    for name, state in (("compile", "success"), ("unit", "success"), ("soft", "failed")):
        assert project.pipelines.get(pipeline.id).status != "success"
        runner.take(name).end(state)
    found = project.pipelines.get(pipeline.id)
    assert found.status == "success"
    assert None not in (found.started_at, found.finished_at)
    assert isinstance(found.duration, int)
    assert statuses(builds()) == dict(compile="success", unit="success", soft="failed", release="skipped")
    assert project.builds.get(old.id).status == "failed"
    found.retry()
    # What is allowed to fail is retried too.
    assert statuses(builds()) == dict(compile="success", unit="success", soft="pending", release="created")


@covers(CANCEL)
def test_cancel_of_a_pipeline(project, runner, builds):
    """Pipelines: cancel ends all that has not ended; the runner is told."""
    pipeline, = project.pipelines.list()
    job = runner.take("compile")
    pipeline.cancel()
    assert pipeline.status == "canceled"
    assert statuses(builds()) == dict.fromkeys(("compile", "unit", "soft", "release"), "canceled")
    answer = job.put("success")
    assert (answer.status_code, answer.headers["Job-Status"]) == (403, "canceled")
    assert runner.ask() is None
    finished = project.pipelines.get(pipeline.id).finished_at
    pipeline.cancel()
    assert (pipeline.status, pipeline.finished_at) == ("canceled", finished)


# ---------------------------------------------------------------- builds

def test_builds(project, owner, runner, builds):
    """Builds: list, scopes, pages, get."""
    found = project.builds.list()
    assert [b.name for b in found] == ["release", "soft", "unit", "compile"]
    assert [b.id for b in found] == sorted((b.id for b in found), reverse=True)
    assert [b.name for b in project.builds.list(per_page=2, page=2)] == ["unit", "compile"]
    assert [b.name for b in project.builds.list(all=True, per_page=3)] == ["release", "soft", "unit", "compile"]
    assert [b.name for b in project.builds.list(scope="pending")] == ["compile"]
    build = project.builds.get(builds().compile.id)
    assert (build.name, build.stage, build.status, build.ref, build.tag) == (
        "compile", "build", "pending", "master", False)
    assert (build.coverage, build.started_at, build.finished_at, build.runner) == (None, None, None, None)
    assert (build.user.username, build.commit.id, build.commit.title) == (owner.username, project.sha, "First commit")
    pipeline, = project.pipelines.list()
    assert build.pipeline == {"id": pipeline.id, "sha": project.sha, "ref": "master", "status": "pending"}
    assert not hasattr(build, "artifacts_file")

    job = runner.take("compile")
    running = project.builds.get(build.id)
    assert (job.id, running.status, running.runner.id) == (build.id, "running", runner.id)
    assert running.started_at and not running.finished_at
    assert [b.name for b in project.builds.list(scope="running")] == ["compile"]
    job.end("success")
    over = project.builds.get(build.id)
    assert (over.status, over.started_at) == ("success", running.started_at)
    assert over.finished_at >= over.started_at
    assert {b.name for b in project.builds.list(**{"scope[]": ["success", "pending"]})} == {"compile", "unit", "soft"}
    assert project.builds.list(scope="canceled") == []


def test_build_errors(project, make_project, owner, gl):
    """Builds: unknown scopes, unknown builds, and those of another project."""
    refused(gitlab.GitlabListError, 400, project.builds.list, scope="sideways")
    refused(gitlab.GitlabGetError, 404, project.builds.get, NO_ID)
    other = gl.projects.get(make_project(owner)["id"])
    refused(gitlab.GitlabGetError, 404, other.builds.get, project.builds.list()[0].id)
    assert other.builds.list() == []


def test_trace(project, runner, builds):
    """Builds: trace, also while it runs, and in pieces."""
    assert builds().compile.trace() == b""
    job = runner.take("compile")
    assert job.say("first line\n").status_code == 202
    assert builds().compile.trace() == b"first line\n"
    job.end("success", "second line: \u00fc\n")
    whole = "first line\nsecond line: \u00fc\n".encode()
    assert builds().compile.trace() == whole
    pieces = []
    builds().compile.trace(streamed=True, action=pieces.append, chunk_size=4)
    assert (b"".join(pieces), len(pieces) > 1) == (whole, True)


def test_artifacts(project, runner, builds):
    """Builds: artifacts, whole and in pieces; there are none before; keep_artifacts."""
    job = runner.take("compile")
    refused(gitlab.GitlabGetError, 404, builds().compile.artifacts)
    refused(gitlab.GitlabGetError, 404, builds().compile.keep_artifacts)
    job.upload(FILES, expire_in="1 day").end("success")
    build = builds().compile
    content = build.artifacts()
    assert build.artifacts_file == {"filename": "artifacts.zip", "size": len(content)}
    assert unpacked(content) == FILES
    pieces = []
    build.artifacts(streamed=True, action=pieces.append, chunk_size=16)
    assert (b"".join(pieces), len(pieces) > 1) == (content, True)
    build.keep_artifacts()
    assert project.builds.get(build.id).artifacts() == content


def test_cancel(project, runner, builds):
    """Builds: cancel while waiting and while running; one that is over stays as it is."""
    job = runner.take("compile")
    job.say("some words\n")
    builds().compile.cancel()
    build = builds().compile
    assert (build.status, build.trace()) == ("canceled", b"some words\n")
    assert build.finished_at
    answer = job.say("more words\n")
    assert answer.status_code in (202, 403) and answer.headers["Job-Status"] == "canceled"
    assert job.put("failed").status_code == 403
    assert builds().compile.status == "canceled"
    assert statuses(builds()) == dict(compile="canceled", unit="skipped", soft="skipped", release="skipped")

    made = project.pipelines.create({"ref": "master"})
    builds().compile.cancel()
    assert (builds().compile.status, builds().compile.started_at) == ("canceled", None)
    assert runner.ask() is None
    assert project.pipelines.get(made.id).status == "canceled"
    builds().compile.cancel()
    assert builds().compile.status == "canceled"


def test_retry(project, runner, builds):
    """Builds: retry makes a new build; what waits, runs or was retried already is refused."""
    assert "not retryable" in refused(gitlab.GitlabBuildRetryError, 403, builds().compile.retry)
    job = runner.take("compile")
    refused(gitlab.GitlabBuildRetryError, 403, builds().compile.retry)
    job.end("failed", "no\n")
    old = builds().compile
    old.retry()
    new = builds().compile
    assert (new.id > old.id, new.status, new.trace()) == (True, "pending", b"")
    assert (project.builds.get(old.id).status, project.builds.get(old.id).trace()) == ("failed", b"no\n")
    refused(gitlab.GitlabBuildRetryError, 403, old.retry)
    assert len(project.builds.list()) == 5
    runner.take("compile").end("success")
    assert statuses(builds()) == dict(compile="success", unit="pending", soft="pending", release="created")
    builds().compile.retry()
    assert builds().compile.status == "pending"


def test_play(project, runner, builds):
    """Builds: play starts a manual build; others are refused."""
    refused(gitlab.GitlabBuildPlayError, 400, builds().compile.play)
    for name in ("compile", "unit", "soft"):
        runner.take(name).end("success")
    assert builds().release.status == "skipped"
    assert runner.ask() is None
    builds().release.play()
    build = builds().release
    assert build.status == "pending"
    refused(gitlab.GitlabBuildPlayError, 400, build.play)
    job = runner.take("release")
    assert job.id == build.id
    job.end("success", "released\n")
    assert (builds().release.status, builds().release.trace()) == ("success", b"released\n")
    refused(gitlab.GitlabBuildPlayError, 400, builds().release.play)


def test_erase(project, runner, builds):
    """Builds: erase takes trace and artifacts; nothing is erased twice, or before the end."""
    assert "not erasable" in refused(gitlab.GitlabBuildEraseError, 403, builds().compile.erase)
    job = runner.take("compile")
    job.say("words\n")
    refused(gitlab.GitlabBuildEraseError, 403, builds().compile.erase)
    job.upload(FILES).end("success")
    build = builds().compile
    build.erase()
    again = project.builds.get(build.id)
    assert (again.status, again.finished_at, again.trace()) == ("success", build.finished_at, b"")
    assert not hasattr(again, "artifacts_file")
    refused(gitlab.GitlabGetError, 404, again.artifacts)
    refused(gitlab.GitlabBuildEraseError, 403, again.erase)


def test_rights(project, make_account, outsider, runner):
    """Builds: a reporter reads and changes nothing; a developer changes; a stranger sees nothing."""
    reporter, developer = make_account(), make_account()
    for user, level in ((reporter, gitlab.REPORTER_ACCESS), (developer, gitlab.DEVELOPER_ACCESS)):
        project.members.create({"user_id": user.id, "access_level": level})
    runner.take("compile").upload(FILES).end("failed", "words\n")
    build = next(b for b in connect(reporter).projects.get(project.id).builds.list() if b.name == "compile")
    assert (build.trace(), unpacked(build.artifacts())) == (b"words\n", FILES)
    refused(gitlab.GitlabBuildCancelError, 403, build.cancel)
    refused(gitlab.GitlabBuildRetryError, 403, build.retry)
    refused(gitlab.GitlabBuildPlayError, 403, build.play)
    refused(gitlab.GitlabBuildEraseError, 403, build.erase)
    refused(gitlab.GitlabGetError, 403, build.keep_artifacts)
    seen = connect(developer).projects.get(project.id)
    refused(gitlab.GitlabListError, 403, seen.variables.list)
    refused(gitlab.GitlabListError, 403, seen.triggers.list)
    refused(gitlab.GitlabListError, 403, seen.runners.list)
    seen.builds.get(build.id).retry()
    assert seen.builds.list()[0].user.username == developer.username
    refused(gitlab.GitlabListError, 404, connect(outsider).project_builds.list, project_id=project.id)


# ---------------------------------------------------------------- commits

def test_builds_of_a_commit(project, builds):
    """Commits: builds, of this commit and no other."""
    commit = builds().compile.commit
    assert [b.id for b in commit.builds()] == [b.id for b in project.builds.list()]
    assert [b.name for b in commit.builds(scope="pending")] == ["compile"]
    commit.id = "f" * 40
    refused(gitlab.GitlabListError, 404, commit.builds)


def test_statuses_of_a_commit(project, builds, owner):
    """Commits: statuses create, change while unfinished, list, filters; they move the pipeline."""
    commit = builds().compile.commit
    made = commit.statuses.create({"state": "running", "name": "outside", "ref": "master",
                                   "description": "Words", "target_url": "http://ci.example/1"})
    assert (made.status, made.name, made.sha, made.ref, made.description, made.target_url) == (
        "running", "outside", project.sha, "master", "Words", "http://ci.example/1")
    assert made.author["username"] == owner.username
    assert project.pipelines.list()[0].status == "running"
    again = commit.statuses.create({"state": "failed", "context": "outside", "ref": "master"})
    assert (again.id, again.status) == (made.id, "failed")
    assert again.finished_at
    third = commit.statuses.create({"state": "success", "name": "outside", "ref": "master"})
    assert third.id > made.id
    listed = commit.statuses.list(per_page=100)
    assert {s.name for s in listed} == {"compile", "unit", "soft", "release", "outside"}
    assert [s.id for s in listed if s.name == "outside"] == [third.id]
    assert [s.id for s in commit.statuses.list(name="outside")] == [third.id]
    # The client keeps the parameter all for itself.
    path = "/projects/%s/repository/commits/%s/statuses" % (project.id, project.sha)
    every = owner.read(path, all=True, name="outside")
    assert sorted(ids(every)) == [made.id, third.id]
    assert [s.name for s in commit.statuses.list(stage="build")] == ["compile"]
    assert commit.statuses.list(ref="none") == []


def test_status_errors(project, builds):
    """Commits: states and addresses are checked, and there must be such a commit."""
    commit = builds().compile.commit
    refused(gitlab.GitlabCreateError, 400, commit.statuses.create, {"state": "sideways"})
    refused(gitlab.GitlabCreateError, 400, commit.statuses.create, {"state": "success", "target_url": "nowhere"})
    commit.id = "f" * 40
    refused(gitlab.GitlabCreateError, 404, commit.statuses.create, {"state": "success"})
    refused(gitlab.GitlabListError, 404, commit.statuses.list)
    assert {s.name for s in builds().compile.commit.statuses.list()} == {"compile", "unit", "soft", "release"}


# ---------------------------------------------------------------- variables and triggers

def test_variables(project, runner):
    """Variables: create, list, get, save, delete; builds are given them."""
    made = project.variables.create({"key": "WORD", "value": "one"})
    assert (made.key, made.value) == ("WORD", "one")
    project.variables.create({"key": "OTHER", "value": "x y\nz"})
    assert sorted((v.key, v.value) for v in project.variables.list()) == [("OTHER", "x y\nz"), ("WORD", "one")]
    assert len(project.variables.list(per_page=1, page=2)) == 1
    variable = project.variables.get("WORD")
    variable.value = "two"
    variable.save()
    assert project.variables.get("WORD").value == "two"
    job = runner.take("compile")
    assert (job.variables["WORD"], job.variables["OTHER"]) == ("two", "x y\nz")
    assert not [v for v in job.body["variables"] if v["key"] in ("WORD", "OTHER") and v["public"]]
    variable.delete()
    project.variables.delete("OTHER")
    assert project.variables.list() == []


def test_variable_errors(project):
    """Variables: names are checked and taken once; the codes reach the caller."""
    project.variables.create({"key": "WORD", "value": "one"})
    assert "taken" in refused(gitlab.GitlabCreateError, 400, project.variables.create, {"key": "WORD", "value": "two"})
    refused(gitlab.GitlabCreateError, 400, project.variables.create, {"key": "A-B", "value": "two"})
    assert "Variable Not Found" in refused(gitlab.GitlabGetError, 404, project.variables.get, "NONE")
    refused(gitlab.GitlabDeleteError, 404, project.variables.delete, "NONE")
    variable = project.variables.get("WORD")
    variable.key = "NONE"
    refused(gitlab.GitlabUpdateError, 404, variable.save)
    assert [(v.key, v.value) for v in project.variables.list()] == [("WORD", "one")]


def test_triggers(project, runner, builds):
    """Triggers: create, list, get, delete; trigger_build starts a pipeline with variables."""
    made = project.triggers.create({})
    assert made.token and made.created_at and made.last_used is None
    assert [t.token for t in project.triggers.list()] == [made.token]
    assert project.triggers.get(made.token).token == made.token
    project.pipelines.list()[0].cancel()
    project.variables.create({"key": "WORD", "value": "of the project"})
    project.trigger_build("master", made.token, {"WORD": "of the trigger", "MORE": "than that"})
    newest = project.pipelines.list()[0]
    assert (len(project.pipelines.list()), newest.status, newest.sha) == (2, "pending", project.sha)
    job = runner.take("compile")
    assert (job.variables["WORD"], job.variables["MORE"]) == ("of the trigger", "than that")
    assert project.triggers.get(made.token).last_used
    project.trigger_build("master", made.token)
    assert len(project.pipelines.list()) == 3
    made.delete()
    assert project.triggers.list() == []
    refused(gitlab.GitlabCreateError, 404, project.trigger_build, "master", made.token)
    assert len(project.pipelines.list()) == 3


def test_trigger_errors(project, gl, make_project, owner):
    """Triggers: unknown ones, those of another project, and refs without builds."""
    assert "Trigger Not Found" in refused(gitlab.GitlabGetError, 404, project.triggers.get, "none")
    refused(gitlab.GitlabDeleteError, 404, project.triggers.delete, "none")
    refused(gitlab.GitlabCreateError, 404, project.trigger_build, "master", "none")
    other = gl.projects.get(make_project(owner)["id"]).triggers.create({})
    refused(gitlab.GitlabAuthenticationError, 401, project.trigger_build, "master", other.token)
    mine = project.triggers.create({})
    refused(gitlab.GitlabCreateError, 400, project.trigger_build, "none", mine.token)
    assert len(project.pipelines.list()) == 1


# ---------------------------------------------------------------- runners

def test_runners(gl, root, runner, project):
    """Runners: list, all, scopes, get, save, delete."""
    assert runner.id in [r.id for r in gl.runners.list(per_page=100)]
    assert runner.id in [r.id for r in root.runners.all(per_page=100)]
    assert runner.id in [r.id for r in root.runners.all("specific", per_page=100)]
    assert runner.id not in [r.id for r in root.runners.all("shared", per_page=100)]
    refused(gitlab.GitlabListError, 403, gl.runners.all)
    found = gl.runners.get(runner.id)
    assert (found.description, found.active, found.is_shared, found.tag_list, found.name) == (
        "a runner of the suite", True, False, ["suite"], "conformance")
    assert [p["id"] for p in found.projects] == [project.id]
    found.description, found.active, found.tag_list = "Changed", False, ["suite", "more"]
    found.save()
    found = gl.runners.get(runner.id)
    assert (found.description, found.active, sorted(found.tag_list)) == ("Changed", False, ["more", "suite"])
    assert runner.id in [r.id for r in gl.runners.list(scope="paused", per_page=100)]
    assert runner.id not in [r.id for r in gl.runners.list(scope="active", per_page=100)]
    assert runner.ask() is None
    found.active = True
    found.save()
    assert runner.ask().name == "compile"
    found.delete()
    refused(gitlab.GitlabGetError, 404, gl.runners.get, runner.id)
    assert runner.call("POST", "/jobs/request", json={"token": runner.token}).status_code == 403


def test_runners_of_projects(gl, root, runner, project, owner, make_project, outsider, base_url):
    """Runners of a project: list, create, delete; the reasons of refusals."""
    other = gl.projects.get(make_project(owner)["id"])
    assert [r.id for r in project.runners.list()] == [runner.id]
    assert other.runners.list() == []
    made = other.runners.create({"runner_id": runner.id})
    assert (made.id, [r.id for r in other.runners.list()]) == (runner.id, [runner.id])
    refused(gitlab.GitlabCreateError, 409, other.runners.create, {"runner_id": runner.id})
    assert "more than one project" in refused(gitlab.GitlabDeleteError, 403, gl.runners.delete, runner.id)
    other.runners.delete(runner.id)
    assert other.runners.list() == []
    assert "Only one project" in refused(gitlab.GitlabDeleteError, 403, project.runners.delete, runner.id)
    refused(gitlab.GitlabDeleteError, 404, other.runners.delete, runner.id)
    hidden, foreign = (Runner(base_url, make_project(outsider, visibility_level=level)["runners_token"], ["suite"])
                       for level in (PRIVATE, PUBLIC))
    # Of a project that the caller cannot see nothing is told.
    refused(gitlab.GitlabGetError, 404, gl.runners.get, hidden.id)
    for error, call, of in ((gitlab.GitlabGetError, gl.runners.get, foreign.id),
                            (gitlab.GitlabCreateError, project.runners.create, {"runner_id": foreign.id}),
                            (gitlab.GitlabDeleteError, gl.runners.delete, foreign.id)):
        assert "No access granted" in refused(error, 403, call, of)
    locked = Runner(base_url, project.runners_token, ["suite"], locked=True)
    assert "locked" in refused(gitlab.GitlabCreateError, 403, other.runners.create, {"runner_id": locked.id})
    root.runners.delete(foreign.id)
    refused(gitlab.GitlabGetError, 404, root.runners.get, foreign.id)
