"""The server as sender of hook deliveries: projects with hooks, events in them, and their cost."""

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from . import proc
from .http import get

CONCURRENCY = "HOLDFAST__HOOKS__CONCURRENCY"
FAILED = 'holdfast_hook_deliveries_total{outcome="failed"}'
CLIENTS = 8


class Sender:
    """A side whose hooks point at the receiver."""

    def __init__(self, world, name, delivering):
        self.world, self.side, self.receiver = world, world.git.side(name), world.receiver
        self.side.instance.environment["HOLDFAST__HOOKS__ALLOWED_NETWORKS"] = "127.0.0.0/8"
        self._deliver(delivering)

    def restart(self, delivering):
        begin = time.monotonic()
        self.side.instance.stop("ours")
        if time.monotonic() > begin + 5:
            self.world.note("the server takes more than 5 s to stop")
        self._deliver(delivering)
        return self.side.server

    def _deliver(self, delivering):
        """Sets whether the next server that is started delivers."""
        if delivering:
            self.side.instance.environment.pop(CONCURRENCY, None)
        else:
            self.side.instance.environment[CONCURRENCY] = "0"

    def check(self):
        """Adds a note if a delivery failed and had to be sent again."""
        _, metrics = get(self.side.server.monitoring_port, "/metrics")
        for line in metrics.decode().splitlines():
            if line.startswith(FAILED) and float(line.split()[-1]):
                self.world.note(f"the server counts failed deliveries: {line}")

    def add_hooks(self, project, count, what):
        names = (f"{self.side.name}/{project}/{number}" for number in range(count))
        switches = {"push_events": False} | {what: True}
        hooks = [{"url": self.receiver.url(name), "token": f"secret of {name}"} | switches for name in names]
        self.post([(self._path(project, "hooks"), hook) for hook in hooks])

    def add_issues(self, projects, each):
        """Creates issues, alternating between the projects."""
        paths = [self._path(project, "issues") for project in projects]
        self.post([(path, {"title": f"Number {number}"}) for number in range(each) for path in paths])

    def _path(self, project, what):
        return f"/api/v3/projects/{self.side.project_ids[project]}/{what}"

    def post(self, requests):
        """Sends POST requests, given as pairs of path and parameters, with several concurrent clients."""
        server, kind = self.side.server, {"Content-Type": "application/x-www-form-urlencoded"}

        def send(some):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for path, parameters in some:
                connection.request("POST", path, urlencode(parameters).encode(), server.headers | kind)
                response = connection.getresponse()
                answer = response.read()
                if response.status != 201:
                    raise RuntimeError(f"POST {path} with {parameters} answers {response.status}: {answer[:300]!r}")
            connection.close()

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(send, (requests[number::CLIENTS] for number in range(CLIENTS))))


class Account:
    """The CPU since its creation: of the processes that take part in deliveries, and of others."""

    def __init__(self, sender):
        self.sender, self.world = sender, sender.world
        self._before, self._began = self._used(), self._machine()

    def figures(self, deliveries):
        after, ended = self._used(), self._machine()
        figures = {
            # A new process has used nothing before.
            who: sum(used - self._before[who].get(pid, 0) for pid, used in after[who].items()) / deliveries
            for who in after
        }
        if self.world.group:
            seconds, machine, run = (b - a for a, b in zip(self._began, ended))
            figures["elsewhere"] = max(0, (machine - run) / seconds / self.world.machine["cores"])
        return figures

    def _used(self):
        server, receiver = self.sender.side.instance.running("ours"), self.sender.receiver.server
        return {
            "server_cpu": {server.pid: proc.cpu(server.pid)} if server else {},
            "database_cpu": proc.cpu_of_family(self.world.postmaster()),
            "receiver_cpu": {receiver.pid: proc.cpu(receiver.pid)},
        }

    def _machine(self):
        return time.monotonic(), proc.busy(), self.world.group.cpu() if self.world.group else 0
