"""The base class of git cases: runs the same operation on every target, in every round."""

from pathlib import Path
from time import monotonic

from .. import proc
from ..case import BaseCase
from ..result import paired, plain
from . import client
from .commits import Commits


class Operation:
    """An operation that is measured on each target."""

    # The figures in the report, and their goals as ratios to the reference.
    figures: dict[str, dict] = {}
    # The number by which CPU is divided.
    count = 1

    def prepare(self, target):
        """Prepares the operation; not measured. The result is passed to `run`."""

    def run(self, target, prepared):
        """Runs the operation, and returns a dict of figures."""
        raise NotImplementedError

    def clean(self, target):
        """Cleans up; not measured."""


class Measurement:
    # Seconds; low, since there are many measurements.
    quiet_wait = 1

    def __init__(self, name, operation, target):
        self.name, self.operation, self.target = name, operation, target

    def measure(self, environment):
        prepared = self.operation.prepare(self.target)
        before = self._account(environment)
        figures = self.operation.run(self.target, prepared)
        after = self._account(environment)
        if environment.group:
            time, machine, run, server = (b - a for a, b in zip(before, after))
            figures["operation_cpu"] = server / self.operation.count
            figures["elsewhere"] = max(0, (machine - run) / time / environment.machine["cores"])
        self.operation.clean(self.target)
        return figures

    def _account(self, environment):
        """Returns the time, and the CPU of the machine, of this run and of the server. Only a control group has the
        last: fcgiwrap does not wait for its children, so their CPU is not counted anywhere else."""
        if environment.group:
            return monotonic(), proc.busy(), environment.group.cpu(), self.target.group.cpu()
        environment.note("no control groups (version 2) can be made here, so the CPU of the servers is not known")
        return None


class GitCase(BaseCase):
    name: str
    # The fixture of each project at the start of the case.
    projects: dict[str, str] = {}
    with_reference = True

    def operations(self, git):
        """Returns the operations by their names in the report."""
        raise NotImplementedError

    def measurements(self, environment):
        self.git = environment.git
        self._operations = self.operations(self.git)
        for target in self.targets:
            for project, fixture in self.projects.items():
                target.ensure(project, self.git.fixtures[fixture])
        return [
            Measurement(self.measurement_name(what, target), operation, target)
            for what, operation in self._operations.items()
            for target in self.targets
        ]

    @property
    def ours(self):
        return [target for target in self.git.targets if target is not self.git.reference]

    @property
    def targets(self):
        return self.git.targets if self.with_reference else self.ours

    def measurement_name(self, what, target):
        return f"{self.name} {what} {target.name}"

    def check(self, _environment):
        for target in self.targets:
            for project, fixture in self.projects.items():
                there = client.refs_of(target.ls_remote(project, "refs/heads/*", "refs/tags/*"))
                here = client.refs_of(client.git("-C", self.git.fixtures[fixture], "show-ref", "--dereference"))
                if there != here:
                    raise RuntimeError(f"{target.name} does not serve the refs of {fixture} as {project}")

    def results(self, measured):
        return [
            line
            for what, operation in self._operations.items()
            for figure, goal in operation.figures.items()
            if figure in measured[self.measurement_name(what, self.targets[0])][0]
            for line in self.lines(measured, what, figure, **goal)
        ]

    def lines(self, measured, what, figure, **goal):
        """Compares each object store of the server with the reference; if a target is missing, returns the figures of
        the others."""
        if not self.git.reference or not self.ours:
            return self.alone(self.targets, measured, what, figure)
        theirs = self._of(measured, what, self.git.reference, figure)
        results = []
        for target in self.ours:
            mine = self._of(measured, what, target, figure)
            results.append(paired(self.name, f"{what}, {target.name}", figure, mine, theirs, **goal))
        return results

    def alone(self, targets, measured, what, figure, **goal):
        """Returns figures without a comparison."""
        return [
            plain(self.name, f"{what}, {target.name} alone", figure, self._of(measured, what, target, figure), **goal)
            for target in targets
        ]

    def within(self, measured, what, base, figure, **goal):
        """Compares two operations of the same target; the reference has no goal."""
        results = []
        for target in self.targets:
            mine, other = (self._of(measured, each, target, figure) for each in (what, base))
            wanted = goal if target in self.ours else {}
            results.append(paired(self.name, f"{what} / {base}, {target.name}", figure, mine, other, **wanted))
        return results

    def _of(self, measured, what, target, figure):
        return [figures[figure] for figures in measured[self.measurement_name(what, target)]]

    def commits(self, fixture, depth=None):
        """Returns a client repository, the same for all cases."""
        directory = Path(self.git.directory, f"client-{fixture}-{depth or 'full'}.git")
        return Commits(directory, self.git.fixtures[fixture], depth)
