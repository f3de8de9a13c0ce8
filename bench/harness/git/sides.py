"""All sides of a run, and the repositories that they serve."""

from ..server import say, shell
from . import repositories
from .ours import Ours, moto_settings
from .reference import Reference

NAMES = ("reference", "local", "s3")


class Sides:
    def __init__(self, world, names):
        self.directory = world.directory
        self.names, self.reference = names, None
        self.sides = []
        self._moto = False
        self.fixtures = repositories.make_all(shell('echo "$CACHE"'), repositories.RECIPES, say)
        self._world = world

    def start(self):
        for name in NAMES:
            if name in self.names:
                self.sides.append(self._start(name))

    def _start(self, name):
        group = self._world.group and self._world.group.child(name)
        if name == "reference":
            self.reference = Reference(self._world, group)
            return self.reference
        settings = {}
        if name == "s3":
            self._moto = True
            settings = moto_settings(self._world)
        return Ours(self._world, group, name, settings)

    def stop(self):
        for side in self.sides:
            side.stop()
        if self._moto:
            shell(f"stop {self.directory} moto")
