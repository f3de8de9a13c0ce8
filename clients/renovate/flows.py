"""Flows of Renovate, which updates dependencies by merge requests. See harness.py.

The packages come from a registry in this program, which has a newer version for each run.
"""
import http.server
import json
import os
import threading

from harness import LOGS, TOKEN, URL, WORK, eventually, flow, get, git, program, repository_url, run, same

PACKAGE, BRANCH = "holdfast-example", "renovate/holdfast-example-1.x"
DASHBOARD = "Dependency Dashboard"
VERSIONS = ["1.0.0", "1.1.0"]


class Registry(http.server.BaseHTTPRequestHandler):
    """An npm registry with one package."""

    def do_GET(self):  # pylint: disable=invalid-name
        known = self.path == "/" + PACKAGE
        versions = {version: {"name": PACKAGE, "version": version} for version in VERSIONS}
        times = {version: "2020-01-01T00:00:00.000Z" for version in VERSIONS}
        package = {"name": PACKAGE, "dist-tags": {"latest": VERSIONS[-1]}, "versions": versions, "time": times}
        body = json.dumps(package if known else {"error": "not found"}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def serve():
    """Starts the registry and returns its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/" % server.server_port


REGISTRY = serve()


def renovate(number):
    """Runs Renovate over all projects that the token is a member of and that have this name."""
    config = os.path.join(WORK, "config.json")
    with open(config, "w", encoding="utf-8") as handle:
        json.dump({
            "platform": "gitlab", "endpoint": URL + "/api/v4", "token": TOKEN, "autodiscover": True,
            "autodiscoverFilter": ["root/demo"], "baseDir": os.path.join(WORK, "base"), "npmrc": "registry=" + REGISTRY,
            "onboarding": False, "requireConfig": "optional", "extends": ["config:recommended"],
            # Nothing here is asked for but the server and the registry.
            "fetchChangeLogs": "off", "osvVulnerabilityAlerts": False,
        }, handle)
    script = os.path.join(os.environ["PROGRAM"], "node_modules/renovate/dist/renovate.js")
    done = program(os.environ["NODE"], script, seconds=300, check=False, environment={
        "RENOVATE_CONFIG_FILE": config, "LOG_FORMAT": "json", "LOG_LEVEL": "debug"})
    with open(os.path.join(LOGS, "renovate-%d.json" % number), "w", encoding="utf-8") as handle:
        handle.write(done.stdout)
    entries = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    errors = [{key: entry[key] for key in ("msg", "errorMessage", "err") if key in entry}
              for entry in entries if entry["level"] >= 50]
    same((errors, done.returncode), ([], 0))
    finished = [entry["repository"] for entry in entries if entry["msg"] == "Repository finished"]
    same(finished, ["root/demo"])


def merge_requests():
    return get("/projects/root%%2Fdemo/merge_requests?state=opened&source_branch=%s" % BRANCH)


def dashboards():
    issues = get("/projects/root%2Fdemo/issues?state=opened&per_page=100")
    return [issue for issue in issues if issue["title"] == DASHBOARD]


def proposed():
    """Returns the version of the dependency on the branch of Renovate."""
    checkout = os.path.join(WORK, "checkout")
    if not os.path.exists(checkout):
        git("init", "-q", checkout)
    git("fetch", "-q", repository_url("root/demo"), BRANCH, cwd=checkout)
    return json.loads(git("show", "FETCH_HEAD:package.json", cwd=checkout))["dependencies"][PACKAGE]


def proposal(version):
    """Returns the number of the only merge request, which must propose this version."""
    same(proposed(), version)
    [found] = merge_requests()
    assert version in found["title"] and PACKAGE in found["title"], found["title"]
    same((found["target_branch"], found["author"]["username"]), ("main", "root"))
    head = git("ls-remote", repository_url("root/demo"), "refs/heads/" + BRANCH).split()[0]
    eventually(lambda: get("/projects/root%%2Fdemo/merge_requests/%d" % found["iid"])["sha"] == head)
    return found["iid"]


FIRST = {}


@flow("first run")
def _():
    renovate(1)


@flow("branch and merge request")
def _():
    FIRST["merge request"] = proposal("1.1.0")


@flow("dashboard issue")
def _():
    [dashboard] = dashboards()
    assert BRANCH in dashboard["description"], dashboard["description"]
    FIRST["dashboard"] = dashboard["iid"]


@flow("second run")
def _():
    VERSIONS.append("1.2.0")
    renovate(2)


@flow("updated branch and merge request")
def _():
    same(proposal("1.2.0"), FIRST["merge request"])


@flow("same dashboard issue")
def _():
    [dashboard] = dashboards()
    same(dashboard["iid"], FIRST["dashboard"])
    assert "1.2.0" in dashboard["description"], dashboard["description"]


if __name__ == "__main__":
    run()
