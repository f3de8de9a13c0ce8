"""B4: many identical concurrent clones of depth 1, right after a push. The responses are discarded."""

import resource
import time
from concurrent.futures import ThreadPoolExecutor

from harness.git import GitCase, Operation, wire

PROJECT = "medium-crowd"
# The maximum share of all CPU that the clients may use.
CLIENTS = 0.2


class Crowd(Operation):
    figures = {"seconds": {"at_most": 0.5}, "operation_cpu": {"at_most": 0.25}}

    def __init__(self, commits, count):
        self.commits, self.count = commits, count
        self._prepared = {}

    def prepare(self, target):
        """Pushes another commit each time, so that no response is cached."""
        self._prepared[target.name] = number = self._prepared.get(target.name, 0) + 1
        target.settle(PROJECT)
        tip = self.commits.push_by_hand(target, PROJECT, f"crowd-{self.count}-{number}", 1)
        return wire.fetch_body([tip], depth=1)

    def run(self, target, body):
        before, begin = own_cpu(), time.monotonic()
        with ThreadPoolExecutor(self.count) as pool:
            fetched = list(pool.map(lambda _: wire.fetch(target, PROJECT, body), range(self.count)))
        seconds = time.monotonic() - begin
        return {
            "seconds": seconds,
            "first_byte": max(each.first_byte for each in fetched),
            "bytes": fetched[0].bytes,
            "client_cpu": (own_cpu() - before) / self.count,
        }


def own_cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Case(GitCase):
    name = "git_crowd"
    projects = {PROJECT: "medium"}

    def operations(self, _git):
        return {f"{count} clones": Crowd(self.commits("medium"), count) for count in (8, 32)}

    def after(self, environment):
        self._note = environment.note

    def results(self, measured):
        for what in self._operations:
            for target in self.targets:
                figures = measured[self.measurement_name(what, target)]
                shares = [f["client_cpu"] / (f["client_cpu"] + f.get("operation_cpu", 0)) for f in figures]
                if "operation_cpu" in figures[0] and min(shares) > CLIENTS:
                    self._note(f"git_crowd: the clients of {what} use {min(shares):.0%} of the CPU at {target.name}")
        return super().results(measured)
