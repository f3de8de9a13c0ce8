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
    """A target whose hooks point at the receiver."""

    def __init__(self, environment, name, delivering):
        self.environment, self.target, self.receiver = environment, environment.git.target(name), environment.receiver
        self.target.instance.settings["HOLDFAST__HOOKS__ALLOWED_NETWORKS"] = "127.0.0.0/8"
        self._deliver(delivering)

    def restart(self, delivering):
        begin = time.monotonic()
        self.target.instance.stop("ours")
        if time.monotonic() > begin + 5:
            self.environment.note("the server takes more than 5 s to stop")
        self._deliver(delivering)
        return self.target.server

    def _deliver(self, delivering):
        """Sets whether the next server that is started delivers."""
        if delivering:
            self.target.instance.settings.pop(CONCURRENCY, None)
        else:
            self.target.instance.settings[CONCURRENCY] = "0"

    def check(self):
        """Adds a note if a delivery failed and had to be sent again."""
        _, metrics = get(self.target.server.monitoring_port, "/metrics")
        for line in metrics.decode().splitlines():
            if line.startswith(FAILED) and float(line.split()[-1]):
                self.environment.note(f"the server counts failed deliveries: {line}")

    def add_hooks(self, project, count, what):
        names = (f"{self.target.name}/{project}/{number}" for number in range(count))
        switches = {"push_events": False} | {what: True}
        hooks = [{"url": self.receiver.url(name), "token": f"secret of {name}"} | switches for name in names]
        self.post([(self._path(project, "hooks"), hook) for hook in hooks])

    def add_issues(self, projects, each):
        """Creates issues, alternating between the projects."""
        paths = [self._path(project, "issues") for project in projects]
        self.post([(path, {"title": f"Number {number}"}) for number in range(each) for path in paths])

    def _path(self, project, what):
        return f"/api/v3/projects/{self.target.project_ids[project]}/{what}"

    def post(self, requests):
        """Sends POST requests, given as pairs of path and parameters, with several concurrent clients."""
        server, kind = self.target.server, {"Content-Type": "application/x-www-form-urlencoded"}

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
        self.sender, self.environment = sender, sender.environment
        self._before, self._began = self._used(), self._machine()

    def figures(self, deliveries):
        after, ended = self._used(), self._machine()
        figures = {
            # A new process has used nothing before.
            who: sum(used - self._before[who].get(pid, 0) for pid, used in after[who].items()) / deliveries
            for who in after
        }
        if self.environment.group:
            seconds, machine, run = (b - a for a, b in zip(self._began, ended))
            figures["elsewhere"] = max(0, (machine - run) / seconds / self.environment.machine["cores"])
        return figures

    def _used(self):
        server, receiver = self.sender.target.instance.running("ours"), self.sender.receiver.server
        return {
            "server_cpu": {server.pid: proc.cpu(server.pid)} if server else {},
            "database_cpu": proc.cpu_of_family(self.environment.postmaster()),
            "receiver_cpu": {receiver.pid: proc.cpu(receiver.pid)},
        }

    def _machine(self):
        return time.monotonic(), proc.busy(), self.environment.group.cpu() if self.environment.group else 0
