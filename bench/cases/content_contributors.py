"""B16: the contributors of large, 30,000 commits: the first request, the second, and one after another push."""

import json
import time
from statistics import median

from harness import paired, plain
from harness.git import ContentCase
from harness.git.bare import Command
from harness.git.content import Connection, api
from harness.server import say

COMMITS = 30_000
PROJECTS = [f"contributors-{number}" for number in (1, 2, 3)]
SECONDS = 10
# Seconds between requests while the response is 503, and the maximum for all of them.
EVERY = 0.1
TIMEOUT = 300


class Case(ContentCase):
    """Runs after the rounds: there is only one first request, so each measurement has its own project."""

    name = "content_contributors"
    projects = dict.fromkeys(PROJECTS, "large")

    def operations(self, _git):
        return {}

    def after(self, environment):
        self._later = 0
        self._taken = {what: [] for what in ("first", "second", "pushed", "bare")}
        log = Command(self.git.fixtures["large"], "log", "--no-merges", "--numstat", self.head("large"))
        (commit,) = self.commits("large").chain("contributors", 1)
        for project in PROJECTS:
            # The repository is cached already, as on a server that is in use.
            with Connection(self.local) as connection:
                connection.get(api(self.local, project, "tree?recursive=true&per_page=1"))
            self._take("first", lambda: self._ask(project, COMMITS))
            self._take("second", lambda: [self._ask(project, COMMITS) for _ in range(SECONDS)], SECONDS)
            self.commits("large").push(self.local, project, commit, "refs/heads/main")
            self._take("pushed", lambda: self._ask(project, COMMITS + 1))
            self._taken["bare"].append(log.run(None, None)["milliseconds"])
            say(f"{project}: " + ", ".join(f"{what} {taken[-1]:.4f} s" for what, taken in self._taken.items()))
        if self._later:
            environment.note(f"contributors: {self._later} answers of 503, asked again every {EVERY} s")

    def _take(self, what, do, count=1):
        begin = time.monotonic()
        do()
        self._taken[what].append((time.monotonic() - begin) / count)

    def _ask(self, project, commits):
        """Repeats the request until the contributors are counted."""
        path, end = api(self.local, project, "contributors"), time.monotonic() + TIMEOUT
        with Connection(self.local) as connection:
            while True:
                response, body = connection.ask(path)
                if response.status != 503 or time.monotonic() > end:
                    break
                self._later += 1
                time.sleep(EVERY)
        if response.status != 200:
            raise RuntimeError(f"GET {path} answers {response.status}: {body[:300]!r}")
        counted = sum(each["commits"] for each in json.loads(body))
        if counted != commits:
            self.environment.note(f"the contributors have {counted:,} commits instead of {commits:,}")

    def results(self, _measured):
        first, second, pushed, bare = self._taken.values()
        return [
            paired(self.name, "second / first, local", "seconds", second, first, at_most=0.02),
            paired(self.name, "after another commit / first, local", "seconds", pushed, first),
            paired(self.name, "first / git log --numstat, local", "seconds", first, bare),
            plain(self.name, "second, local alone", "milliseconds", [median(second)]),
        ]
