"""Backups under load, and what was made of them; started by dev/survive, which has a server ready."""
import argparse
import base64
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from datetime import datetime
from pathlib import Path
from urllib.parse import urlparse

from harness.git import wire
from harness.git.handmade import Handmade

PROJECTS = 8
DEADLINE = 60


def say(words):
    print(f"  {words}", flush=True)


def expect(condition, words):
    if not condition:
        raise SystemExit(f"FAILED: {words}")


class Server:
    """Where a server answers, as root."""

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
        """What the feed says was pushed to main after the first time, the oldest first."""
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
    """Projects with one commit each."""
    seed = scratch / "seed"
    git("init", "-q", "-b", "main", seed)
    (seed / "file").write_text("first\n")
    git("add", "-A", cwd=seed)
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first", cwd=seed)
    names = [f"survivor-{number}" for number in range(PROJECTS)]
    for name in names:
        server.ask("/projects", f"name={name}".encode())
        git("push", "-q", server.address(name), "main", cwd=seed)
    return seed, names


class Load:
    """Pushes at a steady pace, each to its project; when which commit was acknowledged."""

    def __init__(self, server, seed, names, rate, seconds):
        self.acknowledged = {name: [] for name in names}
        self.stop = threading.Event()
        self.failed = []
        pace, made = PROJECTS / rate, Handmade(seed)
        count = int(seconds / pace) + 10
        self.threads = [
            threading.Thread(target=self._push, args=(server, name, self._commits(made, name, count), pace))
            for name in names
        ]
        for thread in self.threads:
            thread.start()

    def _commits(self, made, name, count):
        bodies, _ = made.bodies(name, count)
        # A push says where the ref is to be in its first line, behind where it is.
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

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        expect(not self.failed, self.failed)
        return sum(map(len, self.acknowledged.values()))


def run(holdfast, *arguments, **variables):
    begun = time.monotonic()
    done = subprocess.run([holdfast, *map(str, arguments)], capture_output=True, text=True, env=os.environ | variables)
    expect(done.returncode == 0, f"holdfast {arguments[0]}: {done.stdout}{done.stderr}")
    return done.stdout, time.monotonic() - begun


def backup(holdfast, directory):
    """Its manifest."""
    before = set(directory.glob("2*")) if directory.exists() else set()
    said, seconds = run(holdfast, "backup", directory)
    made, = set(directory.glob("2*")) - before
    manifest = json.loads((made / "manifest.json").read_text())
    say(f"backup {made.name}: {seconds:.1f} s, {manifest['objects']} objects; {said.strip().splitlines()[-1]}")
    expect(not manifest["lost_before"], manifest)
    return manifest


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def restored(holdfast, directory, manifest, url, place, token):
    """A server on what was restored, and its process."""
    port = free_port()
    variables = {
        "HOLDFAST__DATABASE__URL": url,
        "HOLDFAST__STORAGE__URL": f"file://{place}/objects",
        "HOLDFAST__GIT__CACHE_DIRECTORY": f"{place}/cache",
        "HOLDFAST__SERVER__LISTEN": f"127.0.0.1:{port}",
        "HOLDFAST__SERVER__EXTERNAL_URL": f"http://127.0.0.1:{port}",
        "HOLDFAST__SSH__LISTEN": "",
        "HOLDFAST__OPERATIONS__LISTEN": "",
        "HOLDFAST__HOOKS__CONCURRENCY": "0",
    }
    _, seconds = run(holdfast, "restore", directory, "--at", manifest["at"], **variables)
    say(f"restored in {seconds:.1f} s")
    run(holdfast, "migrate", **variables)
    log = open(place / "server.log", "w")
    process = subprocess.Popen([holdfast, "serve"], env=os.environ | variables, stdout=log, stderr=log)
    server, end = Server(f"http://127.0.0.1:{port}", token), time.monotonic() + DEADLINE
    while True:
        try:
            server.ask("/user")
            return server, process
        except OSError:
            expect(time.monotonic() < end and process.poll() is None, (place / "server.log").read_text()[-2000:])
            time.sleep(0.1)


def check(server, names, load, at, place):
    """Everything that was acknowledged before is there, and nothing half."""
    due, there = 0, 0
    for name in names:
        clone = place / f"{name}.git"
        git("clone", "-q", "--mirror", server.address(name), clone)
        git("fsck", "--full", "--strict", cwd=clone)
        history = git("rev-list", "--reverse", "refs/heads/main", cwd=clone).split()[1:]
        before = [commit for when, commit in load.acknowledged[name] if when < at]
        expect(history[: len(before)] == before, f"{name} lacks pushes: {len(history)} of {len(before)}")
        expect(server.pushed(name) == history, f"the feed of {name} is not what was pushed")
        due, there = due + len(before), there + len(history)
    say(f"{due} pushes were acknowledged before, {there} are there; git fsck and the feed agree")
    expect(due > 0, "nothing was pushed before the backup")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast")
    parser.add_argument("scratch", type=Path)
    parser.add_argument("first")
    parser.add_argument("last")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=20)
    options = parser.parse_args()
    token = os.environ["TOKEN"]
    server = Server(os.environ["HOLDFAST__SERVER__EXTERNAL_URL"], token)
    seed, names = begin(server, options.scratch)
    directory = options.scratch / "backups"
    begun = time.monotonic()
    load = Load(server, seed, names, options.rate, options.seconds)
    manifests = []
    for part in (1, 2):
        while time.monotonic() < begun + part * options.seconds / 3:
            time.sleep(0.1)
        manifests.append(backup(options.holdfast, directory))
    while time.monotonic() < begun + options.seconds:
        time.sleep(0.1)
    pushes, seconds = load.end(), time.monotonic() - begun
    say(f"{pushes} pushes in {seconds:.0f} s, {pushes / seconds:.1f} a second")
    for manifest, url in zip(manifests, (options.first, options.last)):
        place = options.scratch / manifest["at"]
        place.mkdir()
        copy, process = restored(options.holdfast, directory, manifest, url, place, token)
        try:
            check(copy, names, load, datetime.fromisoformat(manifest["at"]).timestamp(), place)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    say("what was acknowledged survives")


main()
