"""The Holdfast server, with its objects in a directory or in a bucket."""

import json
import subprocess
import tomllib
from urllib.parse import urlencode

from ..http import request
from ..server import say, shell
from .client import git
from .target import Target
from .wire import Pusher, refs_body

DEFAULT_HOME = "/var/lib/holdfast"


class Holdfast(Target):
    def __init__(self, environment, group, name, settings):
        home = f"{environment.directory}/home-{name}"
        self.name, self.environment = name, environment
        self.instance = environment.instance(f"git_{name}", private_directories(environment.holdfast, home) | settings)
        super().__init__(group, f"root:{self.instance.token}")
        self.project_ids = {}

    @property
    def server(self):
        """The running server; started if necessary."""
        if not self.instance.running("ours"):
            with self.accounted():
                return self.instance.ours
        return self.instance.ours

    @property
    def port(self):
        return self.server.port

    @property
    def roots(self):
        return [self.server.pid]

    def path(self, project):
        return f"/{project if '/' in project else f'root/{project}'}.git"

    def ask(self, path, /, **parameters):
        """Sends a POST request to the REST API, and returns the response."""
        return self._send("POST", 201, path, parameters)

    def put(self, path, /, **parameters):
        """Sends a PUT request to the REST API, and returns the response."""
        return self._send("PUT", 200, path, parameters)

    def _send(self, method, expected, path, parameters):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        headers = self.server.headers | kind
        status, body = request(method, self.port, f"/api/v3{path}", headers, urlencode(parameters))
        if status != expected:
            raise RuntimeError(f"{self.name}: {method} {path} with {parameters} answers {status}: {body[:300]!r}")
        return json.loads(body)

    def _fill(self, project, fixture):
        say(f"filling {project} of {self.name}")
        self.project_ids[project] = self.ask("/projects", name=project, path=project)["id"]
        main = "refs/heads/main"
        git("-C", fixture, *self.options, "push", "-q", self.url(project), f"{main}:{main}")
        # git itself compares each pushed ref with all others, which takes minutes if there are many.
        listed = git("-C", fixture, "for-each-ref", "--format=%(objectname) %(refname)").decode()
        others = [line.split() for line in listed.splitlines() if not line.endswith(f" {main}")]
        if others:
            pusher = Pusher(self, project)
            pusher.push(refs_body(others, git("-C", fixture, "pack-objects", "--all", "--stdout", "-q", stdin=b"")))
            pusher.close()
        self.settle(project)

    def settle(self, project):
        command = [self.environment.holdfast, "admin", "repo", "repack", self.path(project)[1 : -len(".git")]]
        done = subprocess.run(command, capture_output=True, text=True, env=self.instance.variables())
        if "unrecognized subcommand" in done.stderr:
            self.environment.note("there is no `holdfast admin repo repack`: nothing of ours was repacked")
        elif "changed by another process" in done.stderr:
            # Maintenance of the server itself, after many pushes; some may have arrived since it started.
            self.settle(project)
        elif done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stderr}")

    def kill(self):
        self.instance.kill("ours")


def private_directories(holdfast, home):
    """Returns the variables that move all directories in the file system below `home`."""
    printed = subprocess.run([holdfast, "config", "default"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {
        f"HOLDFAST__{section}__{key}".upper(): value.replace(DEFAULT_HOME, home)
        for section, keys in tomllib.loads(printed).items()
        for key, value in keys.items()
        if isinstance(value, str) and DEFAULT_HOME in value
    }


def moto_settings(environment):
    """Returns the settings of a bucket in an S3 server that keeps everything in memory."""
    say("starting moto, the S3 server")
    script = "storage_s3 \"$HOLDFAST_TEST_S3_ENDPOINT\" us-east-1 bench bench\nenv | grep ^HOLDFAST__STORAGE__"
    lines = shell(f"moto_start {environment.directory} >&2\n{script}").splitlines()
    return dict(line.split("=", 1) for line in lines) | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
