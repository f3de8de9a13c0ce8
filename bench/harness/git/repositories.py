"""The fixture repositories: deterministic, generated once and kept in the cache of the scripts."""

import os
import random
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import client
from .page_fixture import PageFixture
from .wide import Wide

# Changing the number generates them again.
VERSION = 1
EPOCH = 1_600_000_000
WHO = "Bench <bench@example.com>"
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "ll")]


@dataclass
class Recipe:
    commits: int
    files: int
    refs: int = 20
    large_blobs: int = 0
    # One in this many refs is an annotated tag; the others are branches.
    tag_every: int = 10

    def write(self, name, directory):
        importer = subprocess.Popen(
            ["nice", "git", "-C", directory, "fast-import", "--quiet"], stdin=subprocess.PIPE, env=client.ENVIRONMENT
        )
        with importer.stdin as stream:
            History(name, self, stream).write()
        if importer.wait():
            raise RuntimeError(f"git fast-import of {name} failed")


RECIPES = {
    "small": Recipe(50, 100, refs=10),
    "medium": Recipe(5_000, 5_000),
    "large": Recipe(30_000, 20_000, large_blobs=8),
    "refs10": Recipe(50, 100, refs=10),
    "refs1k": Recipe(50, 100, refs=1_000),
    "refs50k": Recipe(50, 100, refs=50_000),
    "branches50": Recipe(50, 100, refs=50, tag_every=0),
    "branches50k": Recipe(50, 100, refs=50_000, tag_every=0),
    "tree": Wide(directories=1000, files=1000),
    "flat": Wide(directories=0, files=1_000_000),
    "pages": PageFixture(20_000, 20, sources=20, source_lines=1000, changed_files=200, changed_lines=40),
    "archive": Wide(directories=0, files=40, blobs=4, blob_bytes=50_000_000),
}


class Fixtures(dict):
    """The directories of the repositories by name; each is generated on first use."""

    def __init__(self, cache, say):
        self._home, self._say = Path(cache, f"bench-repositories/{VERSION}"), say

    def __missing__(self, name):
        self._home.mkdir(parents=True, exist_ok=True)
        self[name] = self._home / f"{name}.git"
        if not self[name].exists():
            self._say(f"making the repository {name}, only this once")
            _make(self._home, name, RECIPES[name])
        return self[name]


def _make(home, name, recipe):
    unfinished = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=home))
    try:
        client.git("init", "-q", "--bare", "--initial-branch=main", unfinished)
        recipe.write(name, unfinished)
        settle(unfinished)
        os.rename(unfinished, home / f"{name}.git")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def settle(directory):
    """Brings a repository into the state after maintenance: one pack with a bitmap, a commit-graph, packed refs."""
    # With more threads, the pack would differ between runs.
    client.git("-C", directory, "-c", "pack.threads=1", "repack", "-adbq")
    client.git("-C", directory, "commit-graph", "write", "--reachable", "--no-progress")
    client.git("-C", directory, "pack-refs", "--all", "--prune")


class History:
    """A history in which every commit changes two files, and adds files until there are as many as the recipe says."""

    def __init__(self, name, recipe, stream):
        self.recipe, self.stream = recipe, stream
        self.random = random.Random(f"holdfast {name.rstrip('0123456789k')}")
        self.files = []

    def write(self):
        recipe = self.recipe
        for number in range(1, recipe.commits + 1):
            changes = {}
            while len(self.files) * recipe.commits < recipe.files * number:
                self.files.append(self._lines(self.random.randint(10, 60)))
                changes[len(self.files) - 1] = None
            for _ in range(2):
                changes[self._edit()] = None
            self._commit(number, changes)
        self._refs()

    def _lines(self, count):
        return [" ".join(self.random.choices(WORDS, k=8)) for _ in range(count)]

    def _edit(self):
        """Recent files change most often."""
        index = int(len(self.files) * self.random.random() ** 0.5)
        lines = self.files[index]
        at = self.random.randrange(len(lines))
        lines[at : at + self.random.randint(0, 2)] = self._lines(self.random.randint(1, 3))
        return index

    def _commit(self, number, changes):
        self._put(f"commit refs/heads/main\nmark :{number}\ncommitter {WHO} {EPOCH + 60 * number} +0000\n")
        self._data(" ".join(self.random.choices(WORDS, k=6)).encode())
        for index in changes:
            self._put(f"M 100644 inline {path(index)}\n")
            self._data("\n".join(self.files[index]).encode())
        every = self.recipe.commits // (self.recipe.large_blobs or self.recipe.commits + 1)
        if every and number % every == 0:
            self._put(f"M 100644 inline assets/{number}.bin\n")
            self._data(self.random.randbytes(self.random.randint(2_000_000, 6_000_000)))
        self._put("\n")

    def _refs(self):
        every = self.recipe.tag_every
        for number in range(1, self.recipe.refs):
            at = self.random.randint(1, self.recipe.commits)
            if every and number % every == every - 1:
                self._put(f"tag v{number}\nfrom :{at}\ntagger {WHO} {EPOCH} +0000\n")
                self._data(b"A release")
            else:
                self._put(f"reset refs/heads/topic/{number % 100:02}/{number}\nfrom :{at}\n\n")

    def _data(self, content):
        self._put(f"data {len(content)}\n")
        self.stream.write(content)
        self._put("\n")

    def _put(self, text):
        self.stream.write(text.encode())


def path(index):
    return f"part{index % 20:02}/{WORDS[index // 20 % 40]}/file{index}.txt"
