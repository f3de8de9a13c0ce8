"""The users, projects, issues and pipelines that the tests open, created through the API, git and the runner protocol.

The names are awkward on purpose: long without a place to break, written from right to left, and with emoji.
"""
import os
import subprocess
import tempfile
import types
import uuid

from suite.client import CREATED, PUBLIC, Client, data, eventually
from suite.gitrepo import LocalRepo, repo_url
from suite.runner import Runner

PASSWORD = "correct horse battery staple 9"
RTL = "מדידת הגאות בנמל"
EMOJI = "🌊🦀 waves"
LONG = "Supercalifragilisticexpialidocious" * 7

CI_FILE = b"""stages: [build, test, deploy]
compile: {stage: build, tags: [suite], script: make}
unit: {stage: test, tags: [suite], script: make test}
publish: {stage: deploy, tags: [suite], script: make publish, when: manual}
"""

README = b"""# Tide

Measures the tide. See [the program](src/main.rs) and [the guide](docs/guide.md).

| Place | Height |
|---|---:|
| harbor | 3.2 m |

- [x] gauge
- [ ] pump

> A note.

```rust
fn main() { println!("{}", 1); }
```
"""

DEPLOY_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH2vN69p35Yhl7vcQXn2MGk25PezSCgjphznSMPLQ1FP deploy"

# The smallest valid image: one transparent pixel.
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060"
                      "000000050001a5f645400000000049454e44ae426082")


def unique():
    return uuid.uuid4().hex[:12]


def new_user(admin, username, name):
    form = dict(email=username + "@example.com", password=PASSWORD, username=username, name=name, confirm=False,
                projects_limit=1000, can_create_group=True)
    user = data(admin.post("/users", **form), *CREATED)
    command = [os.environ["HOLDFAST"], "admin", "token", "create", "--user", username]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60)
    return Client(admin.base_url, done.stdout.decode().split()[-1], user)


def new_repository(directory):
    """A repository with every kind of entry, two branches and two tags."""
    local = LocalRepo(directory, "main")
    local.commit({"src/main.rs": b"fn main() {\n    println!(\"tide\");\n}\n"}, "Add the program")
    local.commit({"README.md": README, "docs/guide.md": b"# Guide\n\nText.\n"}, "Add a README\n\nWith a second paragraph.")
    os.symlink("README.md", os.path.join(directory, "link"))
    local.git("add", "link")
    local.git("update-index", "--add", "--cacheinfo", "160000,%s,vendor/pump" % ("1" * 40))
    # The work tree has no submodule, so further commits must not remove it.
    local.commit({
        ".gitlab-ci.yml": CI_FILE,
        "assets/data.bin": bytes(range(256)) * 3,
        "assets/pixel.png": PIXEL,
        "empty": b"",
        "names/%s.txt" % RTL: "שלום\n".encode(),
        "names/%s.txt" % EMOJI: EMOJI.encode(),
        "names/%s.txt" % LONG[:200]: (LONG * 20).encode() + b"\n",
        "large.txt": b"".join(b"%06d a line of a large file\n" % number for number in range(30000)),
    }, "Add a pipeline")
    local.tag("v1.0", message="First release\n\nWith notes.")
    local.checkout("topic/" + LONG[:150], create=True)
    local.commit({"src/main.rs": b"fn main() {\n    println!(\"high tide\");\n}\n", "docs/guide.md": None},
                 LONG + "\n\nText.")
    local.checkout("main")
    local.commit({"src/lib.rs": b"pub fn level() -> u32 {\n    3\n}\n"}, "Add a library " + EMOJI)
    local.tag("v1.1")
    return local


def run_pipelines(base_url, project, client):
    """Lets a runner pass the first build of each pipeline of the project and fail the second. Returns the id of a build
    with artifacts."""
    api = "/projects/%s" % project["id"]
    eventually(lambda: len(client.read(api + "/pipelines")) >= 2, "the pipelines of the pushes")
    runner = Runner(base_url, client.read(api)["runners_token"], ["suite"])
    build_with_artifacts = None
    for _ in range(10):
        job = runner.ask()
        if job is None:
            break
        if job.name == "compile":
            job.upload({"build/tide.txt": b"tide\n", "report.html": b"<p>Report</p>"})
            job.end("success", "compiling\n\x1b[32mdone\x1b[0m\n")
            build_with_artifacts = job.id
        else:
            job.end("failed", "running 2 tests\n\x1b[31merror: the pump is dry\x1b[0m\n")
    return build_with_artifacts


def propose(author, reviewer, api, local, url):
    """Creates a merge request with two versions, notes and discussions."""
    branch = "topic/" + LONG[:150]
    form = dict(source_branch=branch, target_branch="main", title=LONG, description="See #1.\n\n" + README.decode())
    request = data(author.post(api + "/merge_requests", **form), *CREATED)
    address = "%s/merge_requests/%s" % (api, request["id"])
    data(reviewer.post(address + "/discussions", body="Why " + EMOJI + "?", path="src/main.rs", line=2, side="new"), *CREATED)
    data(reviewer.post(address + "/discussions", body=RTL), *CREATED)
    data(author.post(address + "/notes", body="Soon."), *CREATED)
    local.checkout(branch)
    local.commit({"src/tide.rs": b"// " + RTL.encode() + b"\n"}, "Add the tide [ci skip]")
    local.push(url, branch)


def create(base_url, admin):
    """Creates everything, and returns the users and the main project."""
    ada = new_user(admin, "ada", "Ada Lovelace")
    bea = new_user(admin, "bea", RTL)
    gone = new_user(admin, "gone", "Somebody who leaves")
    group = data(ada.post("/groups", name="Harbor", path="harbor", visibility_level=PUBLIC), *CREATED)
    new_project = lambda **form: data(ada.post("/projects", **form), *CREATED)
    new_project(name="Empty", path="empty", visibility_level=PUBLIC)
    new_project(name="Secret", path="secret", visibility_level=0)
    new_project(name=RTL, path="rtl", visibility_level=PUBLIC, description=LONG)
    project = new_project(name="Tide", path="tide", description="Measures the tide " + EMOJI, visibility_level=PUBLIC,
                          namespace_id=group["id"], builds_enabled=True)
    api = "/projects/%s" % project["id"]
    data(ada.post(api + "/members", user_id=bea.id, access_level=30), *CREATED)
    # Its deliveries fail: there is no such host.
    data(ada.post(api + "/hooks", url="http://receiver.invalid/hook", push_events=True), *CREATED)
    with tempfile.TemporaryDirectory() as directory:
        local = new_repository(directory)
        url = repo_url(project, ada.username, ada.token)
        # The ref log has an update, a forced update and a deletion.
        local.push(url, "main~1:refs/heads/main")
        local.push(url, "main", "--tags")
        local.push(url, "main:refs/heads/rewritten")
        local.push(url, "+v1.0^{commit}:refs/heads/rewritten")
        local.push(url, "--all")
        local.push(url, "main:refs/heads/short-lived")
        local.push(url, ":refs/heads/short-lived")
        build_with_artifacts = run_pipelines(base_url, project, ada)
        propose(ada, bea, api, local, url)
    data(ada.post(api + "/repository/tags/v1.0/release", description="Notes of the release.\n\n- " + EMOJI), *CREATED)

    labels = [data(ada.post(api + "/labels", name=name, color=color), *CREATED)
              for name, color in (("bug", "#d9534f"), (RTL, "#5cb85c"), (LONG[:100], "#222222"), ("todo", "#f0ad4e"))]
    milestone = data(ada.post(api + "/milestones", title="Before winter", description="*Soon.*", due_date="2030-12-01"),
                     *CREATED)
    new_issue = lambda who, **form: data(who.post(api + "/issues", **form), *CREATED)
    first = new_issue(ada, title="A gauge drifts", description="See `main.rs`.\n\n" + README.decode(),
                      labels="bug,todo", milestone_id=milestone["id"], assignee_id=bea.id)
    new_issue(gone, title=LONG + "!", description=LONG, labels=LONG[:100])
    closed = new_issue(bea, title=RTL + " " + EMOJI, description=RTL, labels=RTL)
    data(ada.put("%s/issues/%s" % (api, closed["id"]), state_event="close"), 200)
    for who, text in ((bea, "I can see that."), (gone, RTL), (ada, LONG)):
        data(who.post("%s/issues/%s/notes" % (api, first["id"]), body=text), *CREATED)
    board = ada.read(api + "/boards")[0]
    for label in labels[:2]:
        data(ada.post("%s/boards/%s/lists" % (api, board["id"]), label_id=label["id"]), *CREATED)
    upload = ada.request("POST", api + "/uploads", files={"file": ("notes.txt", b"notes")})
    new_issue(ada, title="With a file", description=data(upload, *CREATED)["markdown"])
    data(ada.post(api + "/deploy_keys", title="Server " + EMOJI, key=DEPLOY_KEY), *CREATED)
    data(ada.post("/groups/%s/members" % group["id"], user_id=bea.id, access_level=10), *CREATED)
    data(admin.post("/hooks", url="http://receiver.invalid/system"), *CREATED)
    # Sends a test event.
    data(admin.get("/hooks/%s" % admin.read("/hooks")[0]["id"]), 200)
    data(admin.put("/users/%s" % new_user(admin, "root2", "Administrator of tests").id, admin=True), 200)
    data(ada.post(api + "/variables", key="DEPTH", value="3"), *CREATED)
    data(ada.post(api + "/triggers"), *CREATED)
    data(ada.post(api + "/star"), *CREATED)
    admin.delete("/users/%s" % gone.id)
    return types.SimpleNamespace(owner=ada, developer=bea, project=project, issue=first, api=api,
                                 build_with_artifacts=build_with_artifacts)
