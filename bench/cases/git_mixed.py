"""B15: the latency of `GET /projects/:id` while 8 clients clone and 4 push, against an otherwise idle server."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness import plain
from harness.git import GitCase, Operation, wire
from harness.load import wrk

CLONED = "medium"
CLONERS, PUSHERS = 8, 4
# Prepared pushes of each pusher, per second.
PUSHES = 40


class Alone(Operation):
    """The maximum rate of requests of 32 clients."""

    def __init__(self, environment):
        self.seconds, self.connections = environment.seconds, environment.connections

    def run(self, target, _prepared):
        path = f"/api/v3/projects/{target.project_ids[CLONED]}"
        counted = wrk(target.server, path, self.seconds, self.connections)
        self.count = counted["requests"]
        return {
            "rate": self.count / (counted["microseconds"] / 1e6),
            "p50": counted["p50"] / 1e6,
            "p99": counted["p99"] / 1e6,
        }


class Mixed(Alone):
    """The clones are those of `git_fetch`; each pusher has a small repository of its own."""

    def __init__(self, environment, commits, pushed):
        super().__init__(environment)
        self.note, self.commits, self.pushed = environment.note, commits, pushed
        self._prepared, self._bodies = {}, {}

    def prepare(self, target):
        self._prepared[target.name] = number = self._prepared.get(target.name, 0) + 1
        for project in self.pushed:
            target.settle(project)
        bodies = [self._made(f"mixed-{number}-{pusher}") for pusher in range(PUSHERS)]
        return wire.fetch_body(target.tips(CLONED)), bodies

    def _made(self, name):
        """Returns the pushes, which are the same for every target."""
        if name not in self._bodies:
            chain = self.commits.chain(name, PUSHES * (self.seconds + 1))
            self._bodies[name] = list(self.commits.bodies(chain, f"refs/heads/{name}"))
        return self._bodies[name]

    def run(self, target, prepared):
        body, pushes = prepared
        end, begin = threading.Event(), time.monotonic()

        def clone():
            count = 0
            while not end.is_set():
                wire.fetch(target, CLONED, body)
                count += 1
            return count

        def push(project, bodies):
            count = 0
            with wire.Pusher(target, project) as pusher:
                for each in bodies:
                    if end.is_set():
                        return count
                    pusher.push(each)
                    count += 1
            self.note(f"git_mixed: {count} pushes of a pusher were not enough for {self.seconds} s")
            return count

        with ThreadPoolExecutor(CLONERS + PUSHERS) as pool:
            clones = [pool.submit(clone) for _ in range(CLONERS)]
            pushed = [pool.submit(push, *each) for each in zip(self.pushed, pushes)]
            try:
                figures = super().run(target, None)
            finally:
                end.set()
            clones, pushed = (sum(each.result() for each in some) for some in (clones, pushed))
        seconds = time.monotonic() - begin
        return figures | {"clones": clones / seconds, "pushes": pushed / seconds}


class Case(GitCase):
    name = "git_mixed"
    pushed = [f"small-mixed-{number}" for number in range(PUSHERS)]
    projects = {CLONED: "medium"} | dict.fromkeys(pushed, "small")
    with_reference = False

    def measurements(self, environment):
        self.environment = environment
        return super().measurements(environment)

    def operations(self, _git):
        return {"mixed": Mixed(self.environment, self.commits("small"), self.pushed), "alone": Alone(self.environment)}

    def results(self, measured):
        return [
            *self.within(measured, "mixed", "alone", "p99", at_most=2.5),
            *self.within(measured, "mixed", "alone", "p50"),
            *self.within(measured, "mixed", "alone", "rate"),
            *self.alone(self.targets, measured, "mixed", "clones"),
            *self.alone(self.targets, measured, "mixed", "pushes"),
        ]
