"""The base class of cases about repository contents, which use only the target with its objects in a directory."""

import http.client
import json
import time
from statistics import median

from ..load import wrk
from ..result import plain
from . import client
from .bare import CatFile, CatFileByPipes
from .case import GitCase, Operation


class ContentCase(GitCase):
    def measurements(self, environment):
        self.environment = environment
        return super().measurements(environment)

    @property
    def local(self):
        return self.git.target("local")

    @property
    def targets(self):
        return [self.local]

    @property
    def ours(self):
        return self.targets

    def head(self, fixture, revision="HEAD"):
        return client.git("-C", self.git.fixtures[fixture], "rev-parse", revision).decode().strip()


def api(target, project, path):
    return f"/api/v3/projects/{target.project_ids[project]}/repository/{path}"


class Connection:
    """A persistent connection that sends one request after the other."""

    def __init__(self, target):
        self._headers = target.server.headers
        self._connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=120)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def ask(self, path):
        """Sends a request, and returns the response and its whole body."""
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        return response, response.read()

    def get(self, path):
        response, body = self.ask(path)
        if response.status != 200:
            raise RuntimeError(f"GET {path} answers {response.status}: {body[:300]!r}")
        return response, body


class Get(Operation):
    """The median time of sequential requests."""

    def __init__(self, project, path, count):
        self.project, self.path, self.count = project, path, count

    def run(self, target, _prepared):
        path, taken = api(target, self.project, self.path), []
        with Connection(target) as connection:
            for _ in range(self.count):
                begin = time.monotonic()
                connection.get(path)
                taken.append(time.monotonic() - begin)
        return {"milliseconds": median(taken)}

    def answer(self, target):
        """Returns a response, for checks."""
        with Connection(target) as connection:
            return json.loads(connection.get(api(target, self.project, self.path))[1])


class Many(Operation):
    """Concurrent requests of many clients; their number is that of the last measurement."""

    def __init__(self, environment, project, path, seconds=None):
        self.project, self.path = project, path
        self.seconds, self.connections = seconds or environment.seconds, environment.connections

    def run(self, target, _prepared):
        path = api(target, self.project, self.path) if self.project else self.path
        counted = wrk(target.server, path, self.seconds, self.connections)
        self.count = counted["requests"]
        return {"rate": self.count / (counted["microseconds"] / 1e6), "p50": counted["p50"] / 1e6}


class RateCase(ContentCase):
    """Requests per second about large, against a git process that only looks up the same object."""

    projects = {"large": "large"}
    # The request, by its name in the report and as it is sent, and the object that git looks up instead.
    what: str
    path: str
    request: str

    def operations(self, git):
        fixture = git.fixtures["large"]
        return {
            self.what: Many(self.environment, "large", self.path),
            "git cat-file": CatFile(self.environment, fixture, self.request),
            "git cat-file by pipes": CatFileByPipes(self.environment, fixture, self.request),
            "GET /user": Many(self.environment, None, "/api/v3/user", max(1, self.environment.seconds // 3)),
        }

    def check(self, environment):
        super().check(environment)
        with Connection(self.local) as connection:
            connection.get(api(self.local, "large", self.path))

    def results(self, measured):
        results = [
            *self.within(measured, self.what, "git cat-file", "rate"),
            *self.within(measured, self.what, "git cat-file by pipes", "rate"),
            *self.within(measured, self.what, "GET /user", "rate", at_least=0.8),
        ]
        for what in (self.what, "GET /user"):
            figures = measured[self.measurement_name(what, self.local)]
            if "operation_cpu" in figures[0]:
                cpu = [each["operation_cpu"] for each in figures]
                results.append(plain(self.name, f"{what}, local alone", "server_cpu", cpu))
        return results
