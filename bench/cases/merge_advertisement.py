"""Lists of refs of a project with 100,000 open merge requests, against the same project with none."""

import time
from statistics import median

from harness import paired
from harness.git import ContentCase, Operation, client, wire
from harness.merge_requests import OPENED, insert_merge_requests

FIXTURE = "refs1k"
MANY, NONE = "requests-many", "requests-none"
PROJECTS = (MANY, NONE)
# Pairs of requests in one round; those without git take a few milliseconds.
PAIRS, PAIRS_BY_HAND = 20, 100


class Refs(Operation):
    """Requests the refs of both projects by turns."""

    def __init__(self, ask, pairs):
        self.ask, self.pairs = ask, pairs
        self.count = 2 * pairs

    def run(self, target, _prepared):
        taken, cpu, stored = ({project: [] for project in PROJECTS} for _ in range(3))
        for pair in range(self.pairs):
            for project in PROJECTS if pair % 2 else reversed(PROJECTS):
                used, begin = self._cpu(target), time.monotonic()
                response = self.ask(target, project)
                taken[project].append(time.monotonic() - begin)
                cpu[project].append(self._cpu(target) - used)
                stored[project].append(len(response))
        figures = {"milliseconds": taken, "stored": stored} | ({"operation_cpu": cpu} if target.group else {})
        return {
            f"{project} {figure}": median(values) for figure, all in figures.items() for project, values in all.items()
        }

    def _cpu(self, target):
        return target.group.cpu() if target.group else 0


def ls_remote(target, project):
    return target.ls_remote(project)


def listed(*prefixes):
    """Returns a function that sends `ls-refs` of protocol version 2 without git."""
    body = wire.refs_asked_for(*prefixes)

    def ask(target, project):
        with wire.Pusher(target, project) as connection:
            return connection.refs(body)

    return ask


def advertised(service):
    """Returns a function that requests the refs of protocol version 0 without git."""

    def ask(target, project):
        with wire.Pusher(target, project) as connection:
            return connection.advertisement(service)

    return ask


KINDS = {
    "git ls-remote": ls_remote,
    "ls-refs of git ls-remote": listed(),
    "ls-refs of git fetch": listed("refs/heads/", "refs/heads/main", "refs/tags/"),
    "advertisement of version 0": advertised("git-upload-pack"),
    "advertisement for a push": advertised("git-receive-pack"),
}


class Case(ContentCase):
    name = "merge_advertisement"
    projects = dict.fromkeys(PROJECTS, FIXTURE)

    def measurements(self, environment):
        self._count = environment.open_merge_requests
        measurements = super().measurements(environment)
        commits = client.git("-C", self.git.fixtures[FIXTURE], "rev-list", "main").decode().split()
        heads = ", ".join(f"'\\x{commit}'::bytea" for commit in commits)
        head = f"(array[{heads}])[1 + n % {len(commits)}]"
        insert_merge_requests(self.local.instance, self.local.project_ids[MANY], self._count, OPENED, head)
        return measurements

    def operations(self, _git):
        return {kind: Refs(ask, PAIRS if ask is ls_remote else PAIRS_BY_HAND) for kind, ask in KINDS.items()}

    def check(self, environment):
        super().check(environment)
        for kind, ask in KINDS.items():
            many, none = (ask(self.local, project) for project in PROJECTS)
            if many != none:
                raise RuntimeError(f"{kind}: merge requests change the response: {len(many)} bytes, not {len(none)}")
        one = f"refs/merge-requests/{self._count}/head"
        for project, expected in ((MANY, 1), (NONE, 0)):
            count = listed(one)(self.local, project).count(one.encode())
            if count != expected:
                raise RuntimeError(f"{project} has {count} of {one}")

    def results(self, measured):
        goals = {"stored": {"at_least": 1.0, "at_most": 1.0}, "milliseconds": {"at_most": 1.1}, "operation_cpu": {}}
        results = []
        for kind in KINDS:
            rounds = measured[self.measurement_name(kind, self.local)]
            for figure, goal in goals.items():
                if f"{MANY} {figure}" in rounds[0]:
                    pair = ([each[f"{project} {figure}"] for each in rounds] for project in PROJECTS)
                    what = f"{kind}, {self._count:,} requests / none, local"
                    results.append(paired(self.name, what, figure, *pair, **goal))
        return results
