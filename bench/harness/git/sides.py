"""All sides of a run, and the fixtures that they serve."""

from ..server import say, shell
from . import repositories
from .ours import Ours, moto_settings
from .reference import Reference

NAMES = ("reference", "local", "s3")


class Sides:
    def __init__(self, world, names):
        self.directory = world.directory
        self.names = names
        self.fixtures = repositories.Fixtures(shell('echo "$CACHE"'), say)
        self._world = world
        self._started = {}
        self._moto = False

    @property
    def sides(self):
        """The selected sides."""
        return [self.side(name) for name in NAMES if name in self.names]

    @property
    def reference(self):
        return self.side("reference") if "reference" in self.names else None

    def side(self, name):
        """Returns a side, which is started on first use."""
        if name not in self._started:
            self._started[name] = self._start(name)
        return self._started[name]

    def _start(self, name):
        group = self._world.group and self._world.group.child(name)
        if name == "reference":
            return Reference(self._world, group)
        settings = {}
        if name == "s3":
            self._moto = True
            settings = moto_settings(self._world)
        return Ours(self._world, group, name, settings)

    def stop(self):
        for side in self._started.values():
            side.stop()
        if self._moto:
            shell(f"stop {self.directory} moto")
