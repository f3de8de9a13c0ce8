"""Generates commits on top of a repository, to be pushed."""

import random

from .client import git
from .repositories import EPOCH, WHO, WORDS, path
from .wire import NOTHING, Pusher, push_body


class Commits:
    """A client repository. The commits depend only on their name, so every target gets the same ones."""

    def __init__(self, directory, fixture, depth=None):
        self.directory = directory
        if not directory.exists():
            source = [f"--depth={depth}", f"file://{fixture}"] if depth else ["--shared", fixture]
            git("clone", "-q", "--bare", "--single-branch", *source, directory)
            git("-C", directory, "config", "gc.auto", "0")

    def chain(self, name, count):
        """Returns the ids of a chain of commits on top of main, oldest first."""
        ref = f"refs/bench/{name}"
        if not self._git("for-each-ref", ref):
            self._git("fast-import", "--quiet", stdin=b"".join(self._import(ref, count)))
        return self._git("rev-list", "--reverse", f"refs/heads/main..{ref}").decode().split()

    def branches(self, name, files):
        """Returns the ids of commits on top of main, one for each of the files, given by their numbers."""
        ref = f"refs/bench/{name}"
        if not self._git("for-each-ref", f"{ref}/"):
            imported = (part for file in files for part in self._import(f"{ref}/{file:06}", 1, file))
            self._git("fast-import", "--quiet", stdin=b"".join(imported))
        return self._git("for-each-ref", "--format=%(objectname)", f"{ref}/").decode().split()

    def push(self, target, project, oid, ref):
        self.push_all(target, project, [f"{oid}:{ref}"])

    def push_all(self, target, project, refspecs):
        self._git(*target.options, "push", "-q", target.url(project), *refspecs)

    def merges(self, target, project, ref):
        """Fetches a branch, and returns the number of its merge commits since main, and its tree."""
        self.look_for(target, project, ref)
        count = self._git("rev-list", "--count", "--merges", "refs/heads/main..FETCH_HEAD")
        return int(count), self._git("rev-parse", "FETCH_HEAD^{tree}").decode().strip()

    def look_for(self, target, project, ref):
        self._git(*target.options, "-c", "protocol.version=2", "fetch", "-q", "--no-tags", target.url(project), ref)

    def bodies(self, chain, ref):
        """Returns a push request for each commit of the chain."""
        base = self._git("rev-parse", "refs/heads/main").decode().strip()
        pack_objects = ("pack-objects", "-q", "--stdout", "--revs", "--delta-base-offset")
        for parent, old, new in zip([base, *chain], [NOTHING, *chain], chain):
            pack = self._git(*pack_objects, stdin=f"{new}\n^{parent}\n".encode())
            yield push_body(ref, old, new, pack)

    def push_by_hand(self, target, project, name, count):
        """Pushes commits to a new branch, one after the other, and returns the id of the last."""
        chain = self.chain(name, count)
        with Pusher(target, project) as pusher:
            for body in self.bodies(chain, f"refs/heads/{name}"):
                pusher.push(body)
        return chain[-1]

    def _import(self, ref, count, file=None):
        chance = random.Random(ref)
        yield f"reset {ref}\nfrom refs/heads/main^0\n".encode()
        for number in range(count):
            text = "\n".join(" ".join(chance.choices(WORDS, k=8)) for _ in range(30)).encode()
            yield f"commit {ref}\ncommitter {WHO} {EPOCH + 10**8 + number} +0000\ndata 4\nWork\n".encode()
            changed = path(chance.randrange(100) if file is None else file)
            yield f"M 100644 inline {changed}\ndata {len(text)}\n".encode() + text + b"\n\n"

    def _git(self, *arguments, stdin=None):
        return git("-C", self.directory, *arguments, stdin=stdin)
