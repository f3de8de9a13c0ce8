"""Takes backups under load and checks the restored installations. Started by dev/test-backup, which runs a server."""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from load import DEADLINE, Load, Server, begin, expect, git, say

# Transactions that end together may be written in another order than that of their times.
TOLERANCE = 0.5


def run(holdfast, *arguments, **variables):
    begun = time.monotonic()
    done = subprocess.run([holdfast, *map(str, arguments)], capture_output=True, text=True, env=os.environ | variables)
    expect(done.returncode == 0, f"holdfast {arguments[0]}: {done.stdout}{done.stderr}")
    return done.stdout, time.monotonic() - begun


def backup(holdfast, directory):
    """Takes a backup, and returns its manifest."""
    before = set(directory.glob("2*")) if directory.exists() else set()
    output, seconds = run(holdfast, "backup", directory)
    made, = set(directory.glob("2*")) - before
    manifest = json.loads((made / "manifest.json").read_text())
    say(f"backup {made.name}: {seconds:.1f} s, {manifest['objects']} objects; {output.strip().splitlines()[-1]}")
    expect(not manifest["lost_before"] and manifest["objects"], manifest)
    return manifest


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def elsewhere(url, place):
    """Returns the settings of another installation."""
    port = free_port()
    return {
        "HOLDFAST__DATABASE__URL": url,
        "HOLDFAST__STORAGE__URL": f"file://{place}/objects",
        "HOLDFAST__GIT__CACHE_DIRECTORY": f"{place}/cache",
        "HOLDFAST__SERVER__LISTEN": f"127.0.0.1:{port}",
        "HOLDFAST__SERVER__EXTERNAL_URL": f"http://127.0.0.1:{port}",
        "HOLDFAST__SSH__LISTEN": "",
        "HOLDFAST__MONITORING__LISTEN": "",
        "HOLDFAST__HOOKS__CONCURRENCY": "0",
    }


@contextmanager
def serving(holdfast, variables, place, token):
    log = open(place / "server.log", "w")
    process = subprocess.Popen([holdfast, "serve"], env=os.environ | variables, stdout=log, stderr=log)
    server, end = Server(variables["HOLDFAST__SERVER__EXTERNAL_URL"], token), time.monotonic() + DEADLINE
    try:
        while True:
            try:
                server.ask("/user")
                break
            except OSError:
                expect(time.monotonic() < end and process.poll() is None, (place / "server.log").read_text()[-2000:])
                time.sleep(0.1)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def check(server, names, load, at, place, until=float("inf")):
    """Checks that all pushes acknowledged before `at` are there, that repositories are complete, and that nothing after
    `until` is there."""
    due, there = 0, 0
    for name in names:
        clone = place / f"{name}.git"
        git("clone", "-q", "--mirror", server.address(name), clone)
        git("fsck", "--full", "--strict", cwd=clone)
        history = git("rev-list", "--reverse", "refs/heads/main", cwd=clone).split()[1:]
        before = [commit for when, commit in load.acknowledged[name] if when < at]
        expect(history[: len(before)] == before, f"{name} lacks pushes: {len(history)} of {len(before)}")
        expect(server.pushed(name) == history, f"the feed of {name} is not what was pushed")
        # One push may have been running.
        later = [commit for when, commit in load.acknowledged[name] if when > until][1:]
        expect(not set(later) & set(history), f"{name} has pushes of later")
        due, there = due + len(before), there + len(history)
    say(f"{due} pushes were acknowledged before, {there} are there; git fsck and the feed agree")
    expect(due > 0, "nothing was pushed before the backup")


def wait(load, pushes):
    """Waits for this many pushes, however long a slow machine takes. Fails if no further push ends within the
    deadline."""
    made, end = load.made(), time.monotonic() + DEADLINE
    while made < pushes:
        time.sleep(0.1)
        before, made = made, load.made()
        end = time.monotonic() + DEADLINE if made > before else end
        expect(not load.failed, load.failed)
        expect(time.monotonic() < end, f"after {made} of {pushes:.0f} pushes none comes any more")


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
        wait(load, options.rate * options.seconds * part / 3)
        manifests.append(backup(options.holdfast, directory))
        if part == 1:
            between = time.time()
    wait(load, options.rate * options.seconds)
    pushes, seconds = load.end(), time.monotonic() - begun
    say(f"{pushes} pushes in {seconds:.0f} s, {pushes / seconds:.1f} a second")
    for manifest, url in zip(manifests, (options.first, options.last)):
        place = options.scratch / manifest["at"]
        place.mkdir()
        variables = elsewhere(url, place)
        _, seconds = run(options.holdfast, "restore", directory, "--at", manifest["at"], **variables)
        say(f"restored in {seconds:.1f} s")
        run(options.holdfast, "migrate", **variables)
        with serving(options.holdfast, variables, place, token) as copy:
            check(copy, names, load, datetime.fromisoformat(manifest["at"]).timestamp(), place)
    place = options.scratch / "between"
    place.mkdir()
    url = subprocess.run(["bash", options.scratch / "recover", datetime.fromtimestamp(between, UTC).isoformat()],
                         check=True, stdout=subprocess.PIPE, text=True, timeout=DEADLINE).stdout.strip()
    say(f"the database is as it was at {datetime.fromtimestamp(between, UTC):%H:%M:%S.%f}")
    # The current object store, which still has the packs that were replaced meanwhile.
    shutil.copytree(options.scratch / "objects", place / "objects")
    with serving(options.holdfast, elsewhere(url, place), place, token) as copy:
        check(copy, names, load, between - TOLERANCE, place, between + TOLERANCE)
    say("all acknowledged pushes are restored")


main()
