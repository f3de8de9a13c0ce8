"""Repositories with one commit, and very many files or large ones."""

import random
from dataclasses import dataclass

from .client import git


@dataclass
class Wide:
    # Number of directories; 0 puts all files into the root.
    directories: int
    # Number of files in each directory.
    files: int
    # Number of different contents, which all files share. They are incompressible.
    blobs: int = 5
    blob_bytes: int = 100

    def write(self, _name, directory):
        def run(*arguments, stdin):
            return git("-C", directory, *arguments, stdin=stdin).decode().split()

        chance = random.Random(f"holdfast {self}")
        blobs = []
        for _ in range(self.blobs):
            blobs += run("hash-object", "-w", "--stdin", stdin=chance.randbytes(self.blob_bytes))
        trees = ["".join(self._files(blobs, chance)) for _ in range(self.directories or 1)]
        # mktree handles a directory of any size, while fast-import scans all files of a directory for each one that is
        # added.
        trees = run("mktree", "--batch", stdin="\n".join(trees).encode())
        if self.directories:
            names = (f"040000 tree {tree}\tdirectory{number:04}\n" for number, tree in enumerate(trees))
            trees = run("mktree", stdin="".join(names).encode())
        commit = "commit refs/heads/main\ncommitter Bench <bench@example.com> 1600000000 +0000\ndata 4\nWide\n"
        run("fast-import", "--quiet", stdin=f'{commit}M 040000 {trees[0]} ""\n\n'.encode())

    def _files(self, blobs, chance):
        return (f"100644 blob {chance.choice(blobs)}\tfile{number:07}.txt\n" for number in range(self.files))
