"""A git server under test: Holdfast on one of the object stores, or the reference."""

import base64
import contextlib

from .. import proc
from .client import git, refs_of


class Target:
    name: str
    port: int
    # The root processes of the server; their descendants count as well.
    roots: list[int]

    def __init__(self, group, credentials):
        self.group = group
        self.authorization = "Basic " + base64.b64encode(credentials.encode()).decode()
        # Sent with the first request already.
        self.options = ["-c", f"http.extraHeader=Authorization: {self.authorization}"]
        self._projects = set()

    def path(self, project):
        raise NotImplementedError

    def url(self, project):
        return f"http://127.0.0.1:{self.port}{self.path(project)}"

    def ensure(self, project, fixture):
        """Creates a project with the contents of a fixture, in the state after maintenance."""
        if project not in self._projects:
            self._fill(project, fixture)
            self._projects.add(project)

    def _fill(self, project, fixture):
        raise NotImplementedError

    def settle(self, project):
        """Runs maintenance, so that earlier pushes do not affect the measurement."""
        raise NotImplementedError

    def ls_remote(self, project, *patterns):
        return git(*self.options, "-c", "protocol.version=2", "ls-remote", self.url(project), *patterns)

    def tips(self, project):
        """Returns the objects that a clone requests."""
        refs = refs_of(self.ls_remote(project))
        return sorted({oid for name, oid in refs.items() if not name.endswith("^{}")})

    def accounted(self):
        """Returns a context manager that accounts the processes started within it to this target."""
        return self.group or contextlib.nullcontext()

    def processes(self):
        return self.group.processes() if self.group else proc.family(self.roots)

    def stop(self):
        pass
