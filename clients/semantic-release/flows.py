"""Flows of semantic-release with its plugin @semantic-release/gitlab, which publishes releases. See harness.py."""
import json
import os
import sys
import urllib.parse
import urllib.request

from harness import (DEADLINE, TOKEN, URL, WORK, eventually, flow, get, git, post, program, put, repository_url, run,
                     same)

CHECKOUT = os.path.join(WORK, "checkout")
DEMO = "/projects/root%2Fdemo"
MADE = {}


def release(*arguments):
    """Runs semantic-release in the checkout, as a job with a token of a user would."""
    script = os.path.join(os.environ["PROGRAM"], "node_modules/semantic-release/bin/semantic-release.js")
    done = program(os.environ["NODE"], script, "--no-ci", *arguments, cwd=CHECKOUT, seconds=300, check=False,
                   environment={"GITLAB_TOKEN": TOKEN, "GITLAB_URL": URL})
    print(done.stdout, done.stderr, file=sys.stderr)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "\u2718" in line or "HTTPError" in line]
    assert not done.returncode, "exit status %d: %s" % (done.returncode, said)
    return done.stdout


@flow("merge request with a feature")
def _():
    """What is to be released: a merged request that closed an issue."""
    issue = post(DEMO + "/issues", {"title": "a feature is missing"})
    git("clone", "-q", repository_url("root/demo"), CHECKOUT)
    git("checkout", "-q", "-b", "released", cwd=CHECKOUT)
    config = {"branches": ["main"], "repositoryUrl": URL + "/root/demo.git", "plugins": [
        "@semantic-release/commit-analyzer", "@semantic-release/release-notes-generator",
        ["@semantic-release/gitlab", {"assets": [{"path": "asset.txt", "label": "the asset"}]}]]}
    for name, content in ((".releaserc.json", json.dumps(config)), ("asset.txt", "content of the asset\n")):
        with open(os.path.join(CHECKOUT, name), "w", encoding="utf-8") as handle:
            handle.write(content)
    git("add", ".", cwd=CHECKOUT)
    git("commit", "-q", "-m", "feat: a feature", cwd=CHECKOUT)
    git("push", "-q", repository_url("root/demo"), "released", cwd=CHECKOUT)
    request = post(DEMO + "/merge_requests", {"source_branch": "released", "target_branch": "main",
                                              "title": "a feature", "description": "Closes #%d" % issue["iid"]})
    path = "%s/merge_requests/%d" % (DEMO, request["iid"])
    eventually(lambda: get(path)["detailed_merge_status"] == "mergeable")
    same(put(path + "/merge", {})["state"], "merged")
    eventually(lambda: get("%s/issues/%d" % (DEMO, issue["iid"]))["state"] == "closed")
    git("checkout", "-q", "-B", "main", cwd=CHECKOUT)
    git("fetch", "-q", repository_url("root/demo"), "main", cwd=CHECKOUT)
    git("reset", "-q", "--hard", "FETCH_HEAD", cwd=CHECKOUT)
    # Without a password in the URL: semantic-release adds the token itself.
    git("remote", "set-url", "origin", URL + "/root/demo.git", cwd=CHECKOUT)
    MADE.update(issue=issue["iid"], request=request["iid"])


@flow("dry run")
def _():
    assert "next release version is 1.1.0" in release("--dry-run")


@flow("release")
def _():
    assert "Published GitLab release: v1.1.0" in release()


@flow("tag")
def _():
    tagged = git("ls-remote", repository_url("root/demo"), "refs/tags/v1.1.0").split()[0]
    same(tagged, git("rev-parse", "main", cwd=CHECKOUT))


@flow("published release")
def _():
    published = get(DEMO + "/releases/v1.1.0")
    assert "a feature" in published["description"], published["description"]
    same([link["name"] for link in published["assets"]["links"]], ["the asset"])


@flow("asset")
def _():
    [link] = get(DEMO + "/releases/v1.1.0")["assets"]["links"]
    same(urllib.parse.urlsplit(link["url"]).netloc, urllib.parse.urlsplit(URL).netloc)
    request = urllib.request.Request(link["url"], headers={"PRIVATE-TOKEN": TOKEN})
    with urllib.request.urlopen(request, timeout=DEADLINE) as response:
        same(response.read(), b"content of the asset\n")


@flow("comments on the issue and the merge request")
def _():
    for path in ("issues/%d" % MADE["issue"], "merge_requests/%d" % MADE["request"]):
        notes = [note["body"] for note in get("%s/%s/notes" % (DEMO, path))]
        assert any("version 1.1.0" in note for note in notes), (path, notes)


@flow("nothing to release")
def _():
    assert "no new version is released" in release()


if __name__ == "__main__":
    run()
