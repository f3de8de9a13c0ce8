"""Concurrent requests: responses per second, and their cost."""

import json
import resource
import subprocess
import time
from pathlib import Path

from . import proc
from .http import get, post

SCRIPT = Path(__file__).parent.parent / "wrk.lua"


def wrk(server, path, seconds, connections, arguments=()):
    """Runs wrk, and returns the output of wrk.lua. Raises an error unless all responses are successful."""
    headers = [f"-H{name}: {value}" for name, value in server.headers.items()]
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout=10s", f"-s{SCRIPT}", *headers]
    url = f"http://127.0.0.1:{server.port}{path}"
    done = subprocess.run([*command, url, "--", *arguments], check=True, capture_output=True, text=True)
    counted = json.loads(done.stdout.splitlines()[-1])
    if counted["errors"] or not counted["requests"]:
        raise RuntimeError(f"{url} failed under load: {done.stdout}")
    return counted


def capture(reference, statement, rows):
    """Gives the reference a statement of the server, and returns the path where it runs the statement."""
    status, body = post(reference.port, "/captured", json.dumps(vars(statement) | {"rows": rows}), "application/json")
    if status != 200:
        raise RuntimeError(f"the reference does not take this statement: {body.decode()}\n{statement.sql}")
    return f"/captured/{int(body)}"


def capture_page(environment, reference, ours, rows):
    """Gives the reference the statement with which the server reads the page of `ours`, and returns the path where it
    runs the statement."""
    pages = [statement for statement in environment.statements(ours.ids) if " as total from " in statement.sql]
    if len(pages) != 1:
        raise RuntimeError(f"{len(pages)} statements read the page of {ours.path}")
    return capture(reference, pages[0], rows)


class Load:
    """A measurement with many concurrent requests. `server` belongs to an instance."""

    def __init__(self, name, server, path, seconds=None):
        self.name = name
        self.server = server
        self.path = path
        self.seconds = seconds

    def answer(self):
        status, body = get(self.server.port, self.path, self.server.headers)
        if status != 200:
            raise RuntimeError(f"{self.name}: {self.path} answers {status}: {body[:200]!r}")
        return json.loads(body)

    def ids(self):
        """Returns the ids in the response, to prove that the server and the reference return the same."""
        answer = self.answer()
        return [row["id"] for row in answer] if isinstance(answer, list) else [answer["id"]]

    def arguments(self):
        """Returns the arguments for wrk.lua, which without any sends the same request each time."""
        return []

    def measure(self, environment):
        seconds = self.seconds or environment.seconds
        before = self._account(environment)
        counted = wrk(self.server, self.path, seconds, environment.connections, self.arguments())
        after = self._account(environment)
        spent = {what: after[what] - before[what] for what in ("time", "busy", "server", "client")}
        # A new process has used nothing before.
        family = sum(used - before["family"].get(pid, 0) for pid, used in after["family"].items())
        elsewhere = spent["busy"] - spent["server"] - spent["client"] - family
        return {
            "requests": counted["requests"],
            "rate": counted["requests"] / (counted["microseconds"] / 1e6),
            "server_cpu": spent["server"] / counted["requests"],
            "database_cpu": family / counted["requests"],
            "p50": counted["p50"] / 1e6,
            "p99": counted["p99"] / 1e6,
            "elsewhere": max(0, elsewhere / spent["time"] / environment.machine["cores"]),
        }

    def _account(self, environment):
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "time": time.monotonic(),
            "busy": proc.busy(),
            "server": proc.cpu(self.server.pid),
            "client": children.ru_utime + children.ru_stime,
            "family": proc.cpu_of_family(environment.postmaster()),
        }
