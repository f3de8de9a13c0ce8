"""Helpers of the tests under load: requests to the server, git, and pushes at a constant rate."""
import base64
import json
import subprocess
import threading
import time
import urllib.request
from urllib.parse import urlparse

from harness.git import wire
from harness.git.synthetic import SyntheticCommits

PROJECTS = 8
DEADLINE = 60


def say(words):
    print(f"  {words}", flush=True)


def expect(condition, words):
    if not condition:
        raise SystemExit(f"FAILED: {words}")


class Server:
    """The URL of a server, and a token of root."""

    name = "holdfast"

    def __init__(self, url, token):
        self.url, self.port, self.token = url, urlparse(url).port, token
        self.authorization = "Basic " + base64.b64encode(f"root:{token}".encode()).decode()

    def path(self, project):
        return f"/root/{project}.git"

    def address(self, project):
        return f"http://root:{self.token}@127.0.0.1:{self.port}{self.path(project)}"

    def ask(self, path, data=None):
        request = urllib.request.Request(f"{self.url}/api/v3{path}", data, {"PRIVATE-TOKEN": self.token})
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return json.load(answer), answer.headers

    def pushed(self, project):
        """Returns the commits that the feed lists as pushed to main after the first push, oldest first."""
        found, page = [], 1
        while page:
            events, headers = self.ask(f"/projects/root%2F{project}/events?per_page=100&page={page}")
            pushes = [event["data"] for event in events if (event["data"] or {}).get("ref") == "refs/heads/main"]
            found += [data["after"] for data in pushes if int(data["before"], 16)]
            page = int(headers["X-Next-Page"] or 0)
        return found[::-1]


def git(*arguments, cwd=None):
    done = subprocess.run(["git", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    expect(done.returncode == 0, f"git {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def begin(server, scratch):
    """Creates projects with one commit each."""
    seed = scratch / "seed"
    git("init", "-q", "-b", "main", seed)
    (seed / "file").write_text("first\n")
    git("add", "-A", cwd=seed)
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first", cwd=seed)
    names = [f"project-{number}" for number in range(PROJECTS)]
    for name in names:
        server.ask("/projects", f"name={name}".encode())
        git("push", "-q", server.address(name), "main", cwd=seed)
    return seed, names


class Load:
    """Pushes at a constant rate, each to its project, and records when which commit was acknowledged."""

    def __init__(self, server, seed, names, rate, seconds):
        self.acknowledged = {name: [] for name in names}
        self.stop = threading.Event()
        self.failed = []
        pace, synthetic = PROJECTS / rate, SyntheticCommits(seed)
        count = int(seconds / pace) + 10
        self.threads = []
        for name in names:
            arguments = server, name, self._commits(synthetic, name, count), pace
            self.threads.append(threading.Thread(target=self._push, args=arguments, daemon=True))
        for thread in self.threads:
            thread.start()

    def _commits(self, synthetic, name, count):
        bodies, _ = synthetic.bodies(name, count)
        # The first line of a push contains the old and the new value of the ref.
        return [(body.split(b" ")[1].decode(), body) for body in bodies]

    def _push(self, server, name, commits, pace):
        due = time.monotonic()
        try:
            with wire.Pusher(server, name) as pusher:
                for commit, body in commits:
                    if self.stop.wait(max(0, due - time.monotonic())):
                        return
                    pusher.push(body)
                    self.acknowledged[name].append((time.time(), commit))
                    due += pace
        except Exception as error:
            self.failed.append(f"{name}: {error}")

    def made(self):
        return sum(map(len, self.acknowledged.values()))

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        expect(not self.failed, self.failed)
        return self.made()
