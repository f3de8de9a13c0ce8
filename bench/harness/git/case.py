"""The base class of git cases: runs the same operation on every side, in every round."""

from pathlib import Path
from time import monotonic

from .. import proc
from ..case import BaseCase
from ..result import paired, plain
from . import client
from .commits import Commits


class Operation:
    """An operation that is measured on each side."""

    # The figures in the report, and their goals as ratios to the reference.
    figures: dict[str, dict] = {}
    # The number by which CPU is divided.
    count = 1

    def prepare(self, side):
        """Prepares the operation; not measured. The result is passed to `run`."""

    def run(self, side, prepared):
        """Runs the operation, and returns a dict of figures."""
        raise NotImplementedError

    def clean(self, side):
        """Cleans up; not measured."""


class Target:
    # Seconds; low, since there are many targets.
    quiet_wait = 1

    def __init__(self, name, operation, side):
        self.name, self.operation, self.side = name, operation, side

    def measure(self, world):
        prepared = self.operation.prepare(self.side)
        before = self._account(world)
        figures = self.operation.run(self.side, prepared)
        after = self._account(world)
        if world.group:
            time, machine, run, server = (b - a for a, b in zip(before, after))
            figures["operation_cpu"] = server / self.operation.count
            figures["elsewhere"] = max(0, (machine - run) / time / world.machine["cores"])
        self.operation.clean(self.side)
        return figures

    def _account(self, world):
        """Returns the time, and the CPU of the machine, of this run and of the server. Only a control group has the
        last: fcgiwrap does not wait for its children, so their CPU is not counted anywhere else."""
        if world.group:
            return monotonic(), proc.busy(), world.group.cpu(), self.side.group.cpu()
        world.note("no control groups (version 2) can be made here, so the CPU of the servers is not known")
        return None


class GitCase(BaseCase):
    name: str
    # The fixture of each project at the start of the case.
    projects: dict[str, str] = {}
    with_reference = True

    def operations(self, git):
        """Returns the operations by their names in the report."""
        raise NotImplementedError

    def targets(self, world):
        self.git = world.git
        self._operations = self.operations(self.git)
        for side in self.sides:
            for project, fixture in self.projects.items():
                side.ensure(project, self.git.fixtures[fixture])
        return [
            Target(self.target(what, side), operation, side)
            for what, operation in self._operations.items()
            for side in self.sides
        ]

    @property
    def ours(self):
        return [side for side in self.git.sides if side is not self.git.reference]

    @property
    def sides(self):
        return self.git.sides if self.with_reference else self.ours

    def target(self, what, side):
        return f"{self.name} {what} {side.name}"

    def check(self, _world):
        for side in self.sides:
            for project, fixture in self.projects.items():
                there = client.refs_of(side.ls_remote(project, "refs/heads/*", "refs/tags/*"))
                here = client.refs_of(client.git("-C", self.git.fixtures[fixture], "show-ref", "--dereference"))
                if there != here:
                    raise RuntimeError(f"{side.name} does not serve the refs of {fixture} as {project}")

    def results(self, measured):
        return [
            line
            for what, operation in self._operations.items()
            for figure, goal in operation.figures.items()
            if figure in measured[self.target(what, self.sides[0])][0]
            for line in self.lines(measured, what, figure, **goal)
        ]

    def lines(self, measured, what, figure, **goal):
        """Compares each object store of the server with the reference; if a side is missing, returns the figures of the
        others."""
        if not self.git.reference or not self.ours:
            return self.alone(self.sides, measured, what, figure)
        theirs = self._of(measured, what, self.git.reference, figure)
        return [
            paired(self.name, f"{what}, {side.name}", figure, self._of(measured, what, side, figure), theirs, **goal)
            for side in self.ours
        ]

    def alone(self, sides, measured, what, figure, **goal):
        """Returns figures without a comparison."""
        return [
            plain(self.name, f"{what}, {side.name} alone", figure, self._of(measured, what, side, figure), **goal)
            for side in sides
        ]

    def within(self, measured, what, base, figure, **goal):
        """Compares two operations of the same side; the reference has no goal."""
        results = []
        for side in self.sides:
            mine, other = (self._of(measured, each, side, figure) for each in (what, base))
            wanted = goal if side in self.ours else {}
            results.append(paired(self.name, f"{what} / {base}, {side.name}", figure, mine, other, **wanted))
        return results

    def _of(self, measured, what, side, figure):
        return [figures[figure] for figures in measured[self.target(what, side)]]

    def commits(self, fixture, depth=None):
        """Returns a client repository, the same for all cases."""
        directory = Path(self.git.directory, f"client-{fixture}-{depth or 'full'}.git")
        return Commits(directory, self.git.fixtures[fixture], depth)
