"""B7: pushes per second of 8 concurrent pushers, into 8 repositories and into one, where each pusher has its own
branch."""

import time
from concurrent.futures import ThreadPoolExecutor

from harness.git import GitCase, Operation, wire

PUSHERS = 8


class Rate(Operation):
    """Every pusher sends one commit after the other."""

    def __init__(self, commits, name, projects, each, goal):
        self.commits, self.name, self.each = commits, name, each
        # One project for each pusher.
        self.projects = projects
        self.count = PUSHERS * each
        self.figures = {"pushes": goal, "operation_cpu": {}}
        self._prepared = {}

    def prepare(self, target):
        self._prepared[target.name] = number = self._prepared.get(target.name, 0) + 1
        for project in dict.fromkeys(self.projects):
            target.settle(project)
        work = []
        for pusher, project in enumerate(self.projects):
            name = f"{self.name}-{number}-{pusher}"
            push, (first, *others) = self.pushes(target, project, name)
            # Warms the caches; not measured.
            push(first)
            work.append((push, others))
        return work

    def run(self, _side, work):
        def send(one):
            push, pushes = one
            for each in pushes:
                push(each)

        begin = time.monotonic()
        with ThreadPoolExecutor(PUSHERS) as pool:
            list(pool.map(send, work))
        return {"pushes": self.count / (time.monotonic() - begin)}


class ByClients(Rate):
    def pushes(self, target, project, name):
        chain = self.commits.chain(name, 1 + self.each)
        return lambda oid: self.commits.push(target, project, oid, f"refs/heads/{name}"), chain


class ByHand(Rate):
    """Sends prepared requests, so that the clients use little CPU."""

    def pushes(self, target, project, name):
        chain = self.commits.chain(name, 1 + self.each)
        return wire.Pusher(target, project).push, list(self.commits.bodies(chain, f"refs/heads/{name}"))


class Case(GitCase):
    name = "git_push_rate"
    distinct = [f"small-push-{number}" for number in range(PUSHERS)]
    one = ["one-push"] * PUSHERS
    projects = dict.fromkeys(distinct, "small") | {"one-push": "medium"}

    def operations(self, _git):
        small, medium = self.commits("small"), self.commits("medium")
        return {
            "8 repositories": ByClients(small, "rate", self.distinct, 4, {"at_least": 0.95}),
            "8 repositories, clients by hand": ByHand(small, "rate-hand", self.distinct, 10, {}),
            "1 repository": ByClients(medium, "rate-one", self.one, 4, {}),
            "1 repository, clients by hand": ByHand(medium, "rate-one-hand", self.one, 10, {}),
        }

    def results(self, measured):
        return super().results(measured) + [
            line
            for what in ("1 repository", "1 repository, clients by hand")
            for line in self.alone(self.ours, measured, what, "pushes", at_least=50)
        ]
