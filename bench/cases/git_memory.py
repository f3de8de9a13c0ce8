"""Memory of the server while 100 concurrent clients fetch large and discard the response."""

import time
from concurrent.futures import ThreadPoolExecutor

from harness import plain
from harness.git import GitCase, MemorySampler, client, wire

CLIENTS = 100


class Case(GitCase):
    name = "git_memory"
    projects = {"large": "large"}
    with_reference = False

    def operations(self, _git):
        return {}

    def after(self, _environment):
        wants = client.refs_of(client.git("-C", self.git.fixtures["large"], "show-ref")).values()
        body = wire.fetch_body(sorted(set(wants)))
        self._watched, self._seconds = {}, {}
        for target in self.ours:
            begin = time.monotonic()
            with MemorySampler(target) as self._watched[target.name], ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(lambda _: wire.fetch(target, "large", body), range(CLIENTS)))
            self._seconds[target.name] = time.monotonic() - begin

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
