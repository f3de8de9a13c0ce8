"""Memory of our server while 100 clients at once fetch large and throw the answer away."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import plain, proc
from harness.git import GitCase, client, wire

CLIENTS = 100
EVERY = 0.05


class Watch(threading.Thread):
    """Looks at the server and at its children all the time."""

    def __init__(self, side):
        super().__init__(daemon=True)
        self.side, self.pid = side, side.server.pid
        self.rss = self.children = self.children_rss = 0
        self._end = threading.Event()

    def __enter__(self):
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        self.start()
        return self

    def run(self):
        while not self._end.wait(EVERY):
            children = [pid for pid in self.side.processes() if pid != self.pid]
            self.rss = max(self.rss, proc.memory(self.pid, "VmRSS"))
            self.children = max(self.children, len(children))
            self.children_rss = max(self.children_rss, sum(proc.memory(pid, "VmRSS") for pid in children))

    def __exit__(self, *_):
        self._end.set()
        self.join()
        self.rss = max(self.rss, proc.memory(self.pid, "VmHWM"))


class Case(GitCase):
    name = "git_memory"
    projects = {"large": "large"}
    with_reference = False

    def operations(self, _git):
        return {}

    def after(self, _world):
        wants = client.refs_of(client.git("-C", self.git.fixtures["large"], "show-ref")).values()
        body = wire.fetch_body(sorted(set(wants)))
        self._watched, self._seconds = {}, {}
        for side in self.ours:
            begin = time.monotonic()
            with Watch(side) as self._watched[side.name], ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(lambda _: wire.fetch(side, "large", body), range(CLIENTS)))
            self._seconds[side.name] = time.monotonic() - begin

    def results(self, _measured):
        what = f"{CLIENTS} fetches of large at once"
        return [
            line
            for name, watched in self._watched.items()
            for line in (
                plain(self.name, f"{what}, {name}", "rss", [watched.rss], at_most=200e6),
                plain(self.name, f"{what}, {name}: git children", "processes", [watched.children]),
                plain(self.name, f"{what}, {name}: git children", "rss", [watched.children_rss]),
                plain(self.name, f"{what}, {name}", "seconds", [self._seconds[name]]),
            )
        ]
