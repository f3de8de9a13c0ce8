"""All targets of a run, and the fixtures that they serve."""

from ..server import say, shell
from . import repositories
from .holdfast import Holdfast, moto_settings
from .reference import Reference

NAMES = ("reference", "local", "s3")


class Targets:
    def __init__(self, environment, names):
        self.directory = environment.directory
        self.names = names
        self.fixtures = repositories.Fixtures(shell('echo "$CACHE"'), say)
        self._environment = environment
        self._started = {}
        self._moto = False

    @property
    def targets(self):
        """The selected targets."""
        return [self.target(name) for name in NAMES if name in self.names]

    @property
    def reference(self):
        return self.target("reference") if "reference" in self.names else None

    def target(self, name):
        """Returns a target, which is started on first use."""
        if name not in self._started:
            self._started[name] = self._start(name)
        return self._started[name]

    def _start(self, name):
        group = self._environment.group and self._environment.group.child(name)
        if name == "reference":
            return Reference(self._environment, group)
        settings = {}
        if name == "s3":
            self._moto = True
            settings = moto_settings(self._environment)
        return Holdfast(self._environment, group, name, settings)

    def stop(self):
        for target in self._started.values():
            target.stop()
        if self._moto:
            shell(f"stop {self.directory} moto")
