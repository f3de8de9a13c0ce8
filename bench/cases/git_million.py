"""A repository with a million refs against one with a thousand."""

import shutil
import time
from pathlib import Path
from statistics import median

from harness import paired, plain, proc
from harness.git import ContentCase, Get, Operation, client, wire
from harness.git.content import Connection, api
from harness.git.synthetic import EMPTY
from harness.server import say

FIXTURE = "small"
FEW = 1_000
# Number of refs in one push.
BATCH = 50_000
FIRST_PAGE = "branches?per_page=10&page=1"


class Turns(Operation):
    """The median of several runs, each prepared before the clock starts."""

    def __init__(self, project, count):
        self.project, self.count = project, count

    def before(self, each):
        """Prepares one run; not measured."""

    def run(self, target, prepared):
        taken = []
        for each in prepared or range(self.count):
            self.before(each)
            begin = time.monotonic()
            self.do(target, each)
            taken.append(time.monotonic() - begin)
        return {"milliseconds": median(taken)}


class Push(Turns):
    """Pushes one commit after the other to a new branch. The first push is not measured."""

    def __init__(self, commits, name, *arguments):
        super().__init__(*arguments)
        self.commits, self.name, self._number = commits, name, 0

    def prepare(self, target):
        self._number += 1
        self._ref = f"refs/heads/{self.name}-{self._number}"
        first, *others = self.made(target, self.commits.chain(f"{self.name}-{self._number}", self.count + 1))
        self.before(first)
        self.do(target, first)
        return others


class ByClient(Push):
    def made(self, _side, chain):
        return chain

    def do(self, target, commit):
        self.commits.push(target, self.project, commit, self._ref)


class ByHand(Push):
    """Pushes without requesting the ref advertisement, which git reads first."""

    def made(self, target, chain):
        self._pusher = wire.Pusher(target, self.project)
        return list(self.commits.bodies(chain, self._ref))

    def do(self, _side, body):
        self._pusher.send(body)

    def clean(self, _side):
        self._pusher.close()


class PageAfterPush(ByHand):
    """Requests a page right after a push, so that no cached ref snapshot can be used."""

    def before(self, body):
        self._pusher.send(body)

    def do(self, target, _body):
        with Connection(target) as connection:
            connection.get(api(target, self.project, FIRST_PAGE))


class FetchOne(Turns):
    """Fetches main into an empty repository."""

    def __init__(self, directory, *arguments):
        super().__init__(*arguments)
        self.directory = Path(directory, "fetch-one")

    def prepare(self, _side):
        copies = [self.directory / str(number) for number in range(self.count)]
        for copy in copies:
            client.git("init", "-q", "--bare", copy)
        return copies

    def do(self, target, copy):
        main = "refs/heads/main"
        client.git("-C", copy, *target.options, "fetch", "-q", "--no-tags", target.url(self.project), f"{main}:{main}")

    def clean(self, _side):
        shutil.rmtree(self.directory)


class Refs(Turns):
    """Requests refs without git, and discards the response."""

    def __init__(self, body, *arguments):
        super().__init__(*arguments)
        self.body = body

    def do(self, target, _each):
        with wire.Pusher(target, self.project) as connection:
            connection.refs(self.body) if self.body else connection.advertisement()


class Case(ContentCase):
    name = "git_million"

    def measurements(self, environment):
        self._sizes = {"few": FEW, "many": environment.many_refs}
        measurements = super().measurements(environment)
        for project, count in self._sizes.items():
            self._make(f"refs-{project}", count)
        return measurements

    def _make(self, project, count):
        """Creates `count` branches in addition to those of the repository."""
        self.local.ensure(project, self.git.fixtures[FIXTURE])
        commits = client.git("-C", self.git.fixtures[FIXTURE], "rev-list", "main").decode().split()
        refs = [(commits[n % len(commits)], f"refs/heads/many/{n % 1000:03}/{n}") for n in range(count)]
        with wire.Pusher(self.local, project) as pusher:
            for begin in range(0, count, BATCH):
                clock = time.monotonic()
                pusher.send(wire.refs_body(refs[begin : begin + BATCH], EMPTY))
                say(f"{project}: {min(begin + BATCH, count):,} refs, {time.monotonic() - clock:.1f} s")
        self.local.settle(project)

    def operations(self, git):
        # The name, a function that creates the operation for a project, and the goal.
        commits = self.commits(FIXTURE)
        self._kinds = {
            "push by hand": (lambda p: ByHand(commits, f"hand-{p}", p, 10), {"at_most": 2.0}),
            "push by git": (lambda p: ByClient(commits, f"client-{p}", p, 1), {}),
            "fetch of one branch": (lambda p: FetchOne(git.directory, p, 10), {"at_most": 2.0}),
            "refs with a prefix": (lambda p: Refs(wire.refs_asked_for("refs/heads/main"), p, 10), {"at_most": 2.0}),
            "branches, page 1": (lambda p: Get(p, FIRST_PAGE, 10), {"at_most": 2.0}),
            "branches, page 100": (lambda p: Get(p, "branches?per_page=10&page=100", 10), {"at_most": 2.0}),
            "branches, page 1 after a push": (
                lambda p: PageAfterPush(commits, f"page-{p}", p, 10), {"at_most": 2.0}
            ),
            "all refs": (lambda p: Refs(wire.refs_asked_for(), p, 2), {}),
            "all refs for a push": (lambda p: Refs(None, p, 2), {}),
        }
        return {
            f"{kind}, {count:,} refs": make(f"refs-{project}")
            for kind, (make, _) in self._kinds.items()
            for project, count in self._sizes.items()
        }

    def check(self, environment):
        self._rss = {"when they were made": self._most()}
        Path(f"/proc/{self.local.server.pid}/clear_refs").write_text("5")
        for what, operation in self._operations.items():
            if isinstance(operation, Get) and (count := len(operation.answer(self.local))) != 10:
                raise RuntimeError(f"{what} has {count} branches instead of 10")
        super().check(environment)

    def after(self, _environment):
        self._rss["afterwards"] = self._most()
        # The first request to a node that has just been started.
        self._first = {}
        for project, count in self._sizes.items():
            self.local.instance.stop("ours")
            self.local.server.wait_for("/healthz")
            begin = time.monotonic()
            Refs(wire.refs_asked_for("refs/heads/main"), f"refs-{project}", 1).run(self.local, None)
            self._first[count] = time.monotonic() - begin

    def _most(self):
        return proc.memory(self.local.server.pid, "VmHWM")

    def results(self, measured):
        few, many = (f"{count:,} refs" for count in self._sizes.values())
        lines = []
        for kind, (_, goal) in self._kinds.items():
            for figure, wanted in {"milliseconds": goal, "operation_cpu": {}}.items():
                if figure in measured[self.measurement_name(f"{kind}, {few}", self.local)][0]:
                    lines += self.within(measured, f"{kind}, {many}", f"{kind}, {few}", figure, **wanted)
        return [
            *lines,
            paired(self.name, f"first question of a new node, {many} / {few}, local", "milliseconds",
                   [self._first[self._sizes["many"]]], [self._first[self._sizes["few"]]]),
            *(plain(self.name, f"server, {many}, {when}", "rss", [rss]) for when, rss in self._rss.items()),
        ]
