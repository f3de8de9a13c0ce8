"""Flows of glab, the command line client. See harness.py."""
import json
import os
import re
import zipfile

from harness import (TOKEN, URL, WORK, contains, eventually, flow, get, git, once, post, program, public_key,
                     repository_url, run, same)

# The host of a remote is compared without its port, so the address of the API is configured apart.
API = URL.partition("://")[2]
HOST = API.partition(":")[0]
DEMO, CI = "root/demo", "root/glab-ci"
CI_FILE = """
make:
  script:
    - echo "made of $WORD"
    - echo made >made.txt
  artifacts:
    paths: [made.txt]
"""


def execute(*arguments, cwd=None, check=True):
    """Runs glab in a directory, by default in the clone of the demo project."""
    login()
    environment = {"GITLAB_HOST": HOST, "NO_PROMPT": "1", "GLAMOUR_STYLE": "notty"}
    return program(os.environ["PROGRAM"], *arguments, cwd=cwd or checkout(), environment=environment, check=check)


def glab(*arguments, cwd=None):
    """Runs glab and returns its output."""
    done = execute(*arguments, cwd=cwd)
    return done.stdout + done.stderr


def parsed(*arguments, cwd=None):
    """Runs glab and returns the JSON that it prints, in some commands after a line of text."""
    output = execute(*arguments, cwd=cwd).stdout
    starts = [output.find(start) for start in "[{" if start in output]
    assert starts, "no JSON: %r" % output
    return json.loads(output[min(starts):])


def failed(*arguments):
    """Runs glab and expects that it fails."""
    done = execute(*arguments, check=False)
    assert done.returncode, done.stdout


def number(output):
    """Returns the number at the end of the address that glab prints of a new issue or merge request."""
    address = next(word for word in output.split() if word.startswith(URL))
    return address.rstrip("/").rpartition("/")[2]


@once
def login():
    program(os.environ["PROGRAM"], "auth", "login", "--hostname", HOST, "--api-host", API, "--token", TOKEN,
            "--api-protocol", "http", "--git-protocol", "http")


@once
def checkout():
    """A clone of the demo project. The password is not in the address, since glab shows that."""
    with open(os.path.join(WORK, ".git-credentials"), "w", encoding="ascii") as handle:
        handle.write(URL.replace("://", "://root:%s@" % TOKEN) + "\n")
    with open(os.path.join(WORK, ".gitconfig"), "w", encoding="ascii") as handle:
        handle.write("[credential]\n\thelper = store\n[user]\n\tname = Client\n\temail = client@example.com\n")
    path = os.path.join(WORK, "demo")
    program("git", "clone", "-q", "%s/%s.git" % (URL, DEMO), path)
    return path


def use_ssh(path):
    """Gives root a new SSH key, and makes git use it in a clone. The server is known by the key it first shows."""
    key, known = os.path.join(WORK, "ssh"), os.path.join(WORK, "known_hosts")
    program("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "client", "-f", key)
    with open(key + ".pub", encoding="ascii") as handle:
        post("/user/keys", {"title": "of a clone", "key": handle.read().strip()})
    command = "ssh -F none -i %s -o IdentitiesOnly=yes -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=%s"
    git("config", "core.sshCommand", command % (key, known), cwd=path)


@once
def issue():
    return number(glab("issue", "create", "-t", "by glab", "-d", "words", "-l", "glab", "--no-editor", "-y"))


def merge_request(branch):
    """Pushes a branch, and returns the number of a merge request for it."""
    git("checkout", "-q", "-b", branch, "origin/main", cwd=checkout())
    with open(os.path.join(checkout(), branch + ".txt"), "w", encoding="ascii") as handle:
        handle.write("first\n")
    git("add", ".", cwd=checkout())
    git("commit", "-q", "-m", "add " + branch, cwd=checkout())
    git("push", "-q", repository_url(DEMO), branch, cwd=checkout())
    git("fetch", "-q", "origin", cwd=checkout())
    return number(glab("mr", "create", "-s", branch, "-b", "main", "-t", branch, "-d", "words", "-y", "--no-editor"))


@once
def opened():
    return merge_request("glab-open")


@once
def pipeline():
    """A finished pipeline of a project with a CI file."""
    post("/projects", {"name": "glab-ci", "visibility": "private"})
    path = os.path.join(WORK, "ci")
    git("init", "-q", path)
    with open(os.path.join(path, ".gitlab-ci.yml"), "w", encoding="ascii") as handle:
        handle.write(CI_FILE)
    git("add", ".", cwd=path)
    git("commit", "-q", "-m", "add pipelines", cwd=path)
    git("remote", "add", "origin", "%s/%s.git" % (URL, CI), cwd=path)
    git("push", "-q", repository_url(CI), "HEAD:refs/heads/main", cwd=path)
    eventually(lambda: get("/projects/root%2Fglab-ci/pipelines"))
    eventually(lambda: get("/projects/root%2Fglab-ci/pipelines")[0]["status"] == "success")
    return get("/projects/root%2Fglab-ci/pipelines")[0]["id"]


def in_ci(*arguments, run_glab=glab):
    """Runs glab in the clone of the project with pipelines, after the first of them has finished."""
    pipeline()
    return run_glab(*arguments, cwd=os.path.join(WORK, "ci"))


@flow("auth login")
def _():
    output = glab("auth", "status", "--hostname", HOST)
    assert "as root" in output, output


@flow("api")
def _():
    same(parsed("api", "user")["username"], "root")


@flow("api paginate")
def _():
    pages = glab("api", "--paginate", "projects/root%2Fdemo/repository/branches?per_page=1")
    assert '"main"' in pages and '"feature"' in pages, pages


@flow("repo view")
def _():
    same(parsed("repo", "view", DEMO, "-F", "json")["path_with_namespace"], DEMO)
    # The text of the README is not shown: `readme_url` is null here.
    assert "demo" in glab("repo", "view", DEMO)


@flow("repo list")
def _():
    contains([project["path_with_namespace"] for project in parsed("repo", "list", "-m", "-F", "json")], DEMO)


@flow("repo search")
def _():
    assert DEMO in glab("repo", "search", "-s", "demo")


@flow("repo create/delete")
def _():
    git("init", "-q", os.path.join(WORK, "made"))
    glab("repo", "create", "glab-made", "--private", "-d", "words", cwd=os.path.join(WORK, "made"))
    same(get("/projects/root%2Fglab-made")["visibility"], "private")
    glab("repo", "delete", "root/glab-made", "-y")


@flow("repo create with a readme")
def _():
    git("init", "-q", os.path.join(WORK, "readme"))
    glab("repo", "create", "glab-readme", "--readme", "--defaultBranch", "main", cwd=os.path.join(WORK, "readme"))
    assert get("/projects/root%2Fglab-readme/repository/files/README.md?ref=main")


@flow("repo clone")
def _():
    path = os.path.join(WORK, "cloned")
    glab("repo", "clone", DEMO, path)
    assert os.path.exists(os.path.join(path, "package.json"))


@flow("repo fork")
def _():
    glab("repo", "fork", DEMO, "--clone=false", "--remote=false", "-n", "glab-fork", "-p", "glab-fork")
    same(get("/projects/root%2Fglab-fork")["forked_from_project"]["path_with_namespace"], DEMO)


@flow("repo archive")
def _():
    glab("repo", "archive", DEMO, os.path.join(WORK, "archive"), "--format", "zip")
    with zipfile.ZipFile(os.path.join(WORK, "archive.zip")) as archive:
        assert any(name.endswith("package.json") for name in archive.namelist()), archive.namelist()


@flow("repo contributors")
def _():
    assert "root@example.com" in glab("repo", "contributors")


@flow("issue create/list")
def _():
    wanted = int(issue())
    listed = parsed("issue", "list", "-O", "json", "-l", "glab")
    same([found["iid"] for found in listed], [wanted])


@flow("issue view")
def _():
    same(parsed("issue", "view", issue(), "-F", "json")["title"], "by glab")


@flow("issue note")
def _():
    glab("issue", "note", issue(), "-m", "noted by glab")
    assert "noted by glab" in glab("issue", "view", issue(), "-c")


@flow("issue update")
def _():
    glab("issue", "update", issue(), "-l", "second")
    glab("issue", "update", issue(), "-t", "renamed by glab", "-a", "root")
    found = get("/projects/root%%2Fdemo/issues/%s" % issue())
    same((found["title"], sorted(found["labels"]), found["assignees"][0]["username"]),
         ("renamed by glab", ["glab", "second"], "root"))


@flow("issue subscribe")
def _():
    glab("issue", "unsubscribe", issue())
    same(get("/projects/root%%2Fdemo/issues/%s" % issue())["subscribed"], False)
    glab("issue", "subscribe", issue())


@flow("issue close/reopen")
def _():
    glab("issue", "close", issue())
    same(get("/projects/root%%2Fdemo/issues/%s" % issue())["state"], "closed")
    glab("issue", "reopen", issue())


@flow("issue delete")
def _():
    unwanted = number(glab("issue", "create", "-t", "unwanted", "-d", "words", "--no-editor", "-y"))
    glab("issue", "delete", unwanted)
    failed("issue", "view", unwanted)


@flow("label")
def _():
    glab("label", "create", "-n", "made-by-glab", "-c", "#00ff00", "-d", "words")
    contains([label["name"] for label in parsed("label", "list", "-F", "json")], "made-by-glab")
    glab("label", "delete", "made-by-glab")
    assert "made-by-glab" not in glab("label", "list")


@flow("variable")
def _():
    glab("variable", "set", "GLAB_KEY", "value")
    same(glab("variable", "get", "GLAB_KEY").strip(), "value")
    glab("variable", "update", "GLAB_KEY", "changed")
    same([found["value"] for found in parsed("variable", "list", "-F", "json")], ["changed"])
    glab("variable", "delete", "GLAB_KEY")


@flow("mr create/list")
def _():
    wanted = int(opened())
    listed = parsed("mr", "list", "-F", "json", "-s", "glab-open")
    same([found["iid"] for found in listed], [wanted])


@flow("mr view")
def _():
    same(parsed("mr", "view", opened(), "-F", "json")["source_branch"], "glab-open")


@flow("mr diff")
def _():
    assert "glab-open.txt" in glab("mr", "diff", opened(), "--color", "never")


@flow("mr note")
def _():
    glab("mr", "note", opened(), "-m", "noted by glab")
    assert "noted by glab" in glab("mr", "view", opened(), "-c")


@flow("mr update")
def _():
    glab("mr", "update", opened(), "-t", "renamed", "-l", "glab")
    glab("mr", "update", opened(), "--draft")
    found = get("/projects/root%%2Fdemo/merge_requests/%s" % opened())
    same((found["title"], found["draft"], found["labels"]), ("Draft: renamed", True, ["glab"]))
    glab("mr", "update", opened(), "--ready")


@flow("mr todo")
def _():
    glab("mr", "todo", opened())
    assert any(todo["target"]["iid"] == int(opened()) for todo in get("/todos?type=MergeRequest"))


@flow("mr subscribe")
def _():
    glab("mr", "unsubscribe", opened())
    same(get("/projects/root%%2Fdemo/merge_requests/%s" % opened())["subscribed"], False)
    glab("mr", "subscribe", opened())


@flow("mr checkout")
def _():
    wanted = opened()
    git("checkout", "-q", "main", cwd=checkout())
    # glab always fetches by SSH here, whatever the protocol in its configuration.
    use_ssh(checkout())
    glab("mr", "checkout", wanted, "-b", "checked-out", cwd=checkout())
    assert os.path.exists(os.path.join(checkout(), "glab-open.txt"))


@flow("mr close/reopen")
def _():
    glab("mr", "close", opened())
    same(get("/projects/root%%2Fdemo/merge_requests/%s" % opened())["state"], "closed")
    glab("mr", "reopen", opened())


@flow("mr merge")
def _():
    accepted = merge_request("glab-accepted")
    path = "/projects/root%%2Fdemo/merge_requests/%s" % accepted
    eventually(lambda: get(path)["detailed_merge_status"] == "mergeable")
    glab("mr", "merge", accepted, "-y", "--auto-merge=false", "-d")
    same(get(path)["state"], "merged")


@flow("mr delete")
def _():
    unwanted = merge_request("glab-unwanted")
    glab("mr", "delete", unwanted)
    failed("mr", "view", unwanted)


@flow("release create/list/view")
def _():
    glab("release", "create", "glab-1", "-r", "main", "-N", "notes of glab", "-n", "by glab")
    assert "glab-1" in glab("release", "list")
    assert "notes of glab" in glab("release", "view", "glab-1")


@flow("release upload")
def _():
    path = os.path.join(WORK, "uploaded.txt")
    with open(path, "w", encoding="ascii") as handle:
        handle.write("uploaded\n")
    glab("release", "upload", "glab-1", path)
    links = get("/projects/root%2Fdemo/releases/glab-1")["assets"]["links"]
    same([link["name"] for link in links], ["uploaded.txt"])


@flow("release delete")
def _():
    glab("release", "delete", "glab-1", "-y")
    failed("release", "view", "glab-1")


@flow("ci list")
def _():
    contains([found["id"] for found in in_ci("ci", "list", "-F", "json", run_glab=parsed)], pipeline())


@flow("ci get")
def _():
    same(in_ci("ci", "get", "-p", str(pipeline()), "-F", "json", run_glab=parsed)["status"], "success")


@flow("ci status")
def _():
    output = in_ci("ci", "status", "-b", "main")
    assert "success" in output, output


@flow("ci trace")
def _():
    job = get("/projects/root%%2Fglab-ci/pipelines/%d/jobs" % pipeline())[0]["id"]
    assert "made of" in in_ci("ci", "trace", str(job))


@flow("ci run")
def _():
    made = in_ci("ci", "run", "-b", "main", "--variables", "WORD:clay")
    number_of = re.search(r"id: (\d+)", made)
    path = "/projects/root%%2Fglab-ci/pipelines/%s" % number_of[1]
    eventually(lambda: get(path)["status"] == "success")
    assert "made of clay" in in_ci("ci", "trace", str(get(path + "/jobs")[0]["id"]))


@flow("ci retry")
def _():
    job = get("/projects/root%%2Fglab-ci/pipelines/%d/jobs" % pipeline())[0]["id"]
    in_ci("ci", "retry", str(job))


@flow("ci lint")
def _():
    output = in_ci("ci", "lint")
    assert "is valid" in output, output


@flow("job artifact")
def _():
    path = os.path.join(WORK, "artifacts")
    os.mkdir(path)
    in_ci("job", "artifact", "main", "make", "-p", path + "/")
    same(os.listdir(path), ["made.txt"])


@flow("ssh-key")
def _():
    path = os.path.join(WORK, "key.pub")
    with open(path, "w", encoding="ascii") as handle:
        handle.write(public_key())
    glab("ssh-key", "add", path, "-t", "by glab")
    assert "by glab" in glab("ssh-key", "list")
    [key] = [key["id"] for key in get("/user/keys") if key["title"] == "by glab"]
    glab("ssh-key", "delete", str(key))
    assert "by glab" not in glab("ssh-key", "list")


@flow("token list")
def _():
    contains([token["name"] for token in parsed("token", "list", "-U", "@me", "-F", "json")], "dev")


@flow("user events")
def _():
    assert glab("user", "events").strip()


if __name__ == "__main__":
    run()
