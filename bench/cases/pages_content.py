"""W7 and W9 to W11: pages of a large diff, of a directory with 1,000 entries and of a highlighted file with 1,000 lines."""

from harness import paired, plain, proc
from harness.git import MemorySampler
from harness.git.bare import Command
from harness.git.browsing import BrowsingCase, Opened, OpenedOnce, ask
from harness.git.repositories import RECIPES

HOME = "/root/pages"
EACH = 10
FIXTURE = RECIPES["pages"]


class Case(BrowsingCase):
    name = "pages_content"
    projects = {"pages": "pages"}

    def operations(self, git):
        fixture, head = git.fixtures["pages"], self.head("pages")
        self._diff = f"{HOME}/commit/{head}"
        # 8,000 lines are more than a page shows at once; the rest is folded.
        changes = ("-M", f"{head}~1", head)
        directories = [f"entries{index:02}" for index in range(FIXTURE.directories)]
        sources = [FIXTURE.source(index) for index in range(FIXTURE.sources)]
        api = "/api/v3/projects/{pages}/repository"
        return {
            "page of diff": Opened(self, self._diff, EACH),
            "git diff --raw": Command(fixture, "diff", "--raw", *changes, count=EACH),
            "git diff -p": Command(fixture, "diff", "-p", *changes, count=EACH),
            "page of directory, cold": OpenedOnce(self, (f"{HOME}/tree/main/{path}" for path in directories[1:])),
            "page of directory": Opened(self, f"{HOME}/tree/main/{directories[0]}", EACH),
            "API of directory": Opened(self, f"{api}/tree?path={directories[0]}&per_page=100", EACH, with_token=True),
            "page of file, cold": OpenedOnce(self, (f"{HOME}/blob/main/{path}" for path in sources[1:])),
            "page of file": Opened(self, f"{HOME}/blob/main/{sources[0]}", EACH),
            "page of file, stored": Opened(self, f"{HOME}/blob/main/{sources[0]}", EACH, is_stored=True),
            "raw file": Opened(self, f"{HOME}/raw/main/{sources[0]}", EACH),
        }

    def after(self, _environment):
        before = proc.memory(self.local.server.pid, "VmRSS")
        with MemorySampler(self.local, 0.01) as memory:
            for _ in range(EACH):
                ask(self.local, "GET", self._diff, self.headers)
        self._added = memory.rss - before

    def results(self, measured):
        def alone(what, figure, **goal):
            return self.alone([self.local], measured, what, figure, **goal)

        first = [each["first_byte"] for each in measured[self.measurement_name("page of diff", self.local)]]
        raw = [each["milliseconds"] for each in measured[self.measurement_name("git diff --raw", self.local)]]
        return [
            paired(self.name, "first byte of diff / git diff --raw", "milliseconds", first, raw, at_most=1.2),
            *self.within(measured, "page of diff", "git diff -p", "milliseconds", at_most=1.3),
            plain(self.name, "memory added by diffs", "rss", [self._added], at_most=20e6),
            *alone("page of directory, cold", "first_byte"),
            *self.within(measured, "page of directory", "API of directory", "milliseconds", at_most=1.2),
            *alone("page of file, cold", "milliseconds"),
            *self.within(measured, "page of file", "raw file", "milliseconds", at_most=1.3),
            *self.within(measured, "page of file, stored", "page of file", "milliseconds", at_most=0.5),
        ]
