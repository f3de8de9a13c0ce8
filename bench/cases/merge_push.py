"""A push of one commit to a branch with an open merge request, against one to a branch without, in one repository."""

import random
import time
from statistics import median

from harness import paired
from harness.git import GitCase, Operation, wire

PROJECT = "medium-requests"
WITH, WITHOUT = "with", "without"
BRANCHES = (WITH, WITHOUT)
PENDING = "select count(*) from graphile_worker.jobs where task_identifier = 'update_merge_requests'"
# Maximum seconds for the job that follows a push.
TIMEOUT = 60


class Pairs(Operation):
    """Pushes by git to both branches, in random order. The first two pushes to each are not measured."""

    pairs = 10

    def __init__(self, commits, name):
        self.commits, self.name = commits, name
        self.count = 2 * self.pairs
        self._prepared = {}

    def prepare(self, target):
        self._prepared[target.name] = number = self._prepared.get(target.name, 0) + 1
        target.settle(PROJECT)
        # The same in every run.
        self._order = list(BRANCHES) * self.pairs
        random.Random(f"holdfast {number}").shuffle(self._order)
        work = {}
        for which in BRANCHES:
            branch = f"{self.name}-{which}-{number}"
            push, (first, second, *others) = self.pushes(target, branch, self.commits.chain(branch, 2 + self.pairs))
            push(first)
            if which == WITH:
                path = f"/projects/{target.project_ids[PROJECT]}/merge_requests"
                target.ask(path, source_branch=branch, target_branch="main", title=branch)
            push(second)
            work[which] = push, iter(others)
        self.wait(target)
        return work

    def pushes(self, target, branch, chain):
        """Returns a function that pushes, and what it is called with for each commit."""
        return lambda oid: self.commits.push(target, PROJECT, oid, f"refs/heads/{branch}"), chain

    def wait(self, target):
        """Waits for the jobs that follow pushes."""
        deadline = time.monotonic() + TIMEOUT
        while target.instance.number(PENDING):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{target.name}: the job after a push has not finished after {TIMEOUT} s")

    def run(self, target, work):
        taken = {which: [] for which in BRANCHES}
        for which in self._order:
            push, pushes = work[which]
            each = next(pushes)
            begin = time.monotonic()
            push(each)
            taken[which].append(time.monotonic() - begin)
        return {f"{which}_milliseconds": median(times) for which, times in taken.items()} | {"each": taken}


class PairsByHand(Pairs):
    """Sends prepared requests, so that the client uses little CPU, and waits for the job before the next push."""

    pairs = 20

    def pushes(self, target, branch, chain):
        return wire.Pusher(target, PROJECT).push, list(self.commits.bodies(chain, f"refs/heads/{branch}"))

    def run(self, target, work):
        taken, cpu = ({which: [] for which in BRANCHES} for _ in range(2))
        for which in self._order:
            push, pushes = work[which]
            each, used = next(pushes), self._cpu(target)
            begin = time.monotonic()
            push(each)
            taken[which].append(time.monotonic() - begin)
            self.wait(target)
            cpu[which].append(self._cpu(target) - used)
        figures = {f"{which}_milliseconds": median(times) for which, times in taken.items()}
        if target.group:
            figures |= {f"{which}_operation_cpu": median(times) for which, times in cpu.items()}
        return figures | {"each": taken}

    def _cpu(self, target):
        return target.group.cpu() if target.group else 0


class Case(GitCase):
    name = "merge_push"
    projects = {PROJECT: "medium"}
    with_reference = False

    def operations(self, _git):
        commits = self.commits("medium")
        return {"by git": Pairs(commits, "requests"), "by hand": PairsByHand(commits, "requests-hand")}

    def results(self, measured):
        results = []
        for how in self._operations:
            for figure, goal in {"milliseconds": {"at_most": 1.1}, "operation_cpu": {}}.items():
                for target in self.targets:
                    rounds = measured[self.measurement_name(how, target)]
                    if f"{WITH}_{figure}" in rounds[0]:
                        pair = ([each[f"{which}_{figure}"] for each in rounds] for which in BRANCHES)
                        what = f"push {how}, open request / none, {target.name}"
                        results.append(paired(self.name, what, figure, *pair, **goal))
        return results
