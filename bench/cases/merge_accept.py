"""Accepting a merge request, against `git fetch`, `git merge --no-ff` and `git push` in a clone of the reference."""

import time
from pathlib import Path
from statistics import median

from harness.git import GitCase, Operation, client

PROJECT = "medium-merge"
MERGES = 10
IDENTITY = ["-c", "user.name=Bench", "-c", "user.email=bench@example.com"]


class Requests:
    """Merge requests of the branches into main, which are accepted one by one."""

    def __init__(self, target, branches):
        self.target = target
        self._path = f"/projects/{target.project_ids[PROJECT]}/merge_requests"
        self._ids = {
            branch: target.ask(self._path, source_branch=branch, target_branch="main", title=branch)["id"]
            for branch in branches
        }

    def merge(self, branch):
        merged = self.target.put(f"{self._path}/{self._ids[branch]}/merge")
        if merged["state"] != "merged":
            raise RuntimeError(f"{self.target.name}: {branch} is {merged['state']}")


class Clone:
    """A clone with a work tree of main, which is up to date because nobody else merges."""

    def __init__(self, target, directory):
        self.target, self.directory = target, directory
        if not directory.exists():
            client.git(*target.options, "clone", "-q", target.url(PROJECT), directory)

    def merge(self, branch):
        self._git("fetch", "-q", "origin", branch)
        self._git("merge", "-q", "--no-ff", "--no-edit", "FETCH_HEAD")
        self._git("push", "-q", "origin", "main")

    def _git(self, *arguments):
        client.git("-C", self.directory, *IDENTITY, *self.target.options, *arguments)


class Merge(Operation):
    """Merges one branch after the other into main. The first merge after maintenance is not measured, to warm the
    caches."""

    count = MERGES
    figures = {"milliseconds": {"at_most": 1.0}, "operation_cpu": {}}

    def __init__(self, commits, reference, directory):
        self.commits, self.reference = commits, reference
        self.directory = Path(directory, "merge-clone")
        self._prepared, self._trees = {}, {}

    def prepare(self, target):
        self._prepared[target.name] = number = self._prepared.get(target.name, 0) + 1
        target.settle(PROJECT)
        # No two branches change the same file.
        files = range((number - 1) * (1 + MERGES), number * (1 + MERGES))
        tips = self.commits.branches(f"merge-{number}", files)
        branches = {f"merge-{number}-{nth}": tip for nth, tip in enumerate(tips)}
        self.commits.push_all(target, PROJECT, [f"{tip}:refs/heads/{branch}" for branch, tip in branches.items()])
        if target is self.reference:
            merger = Clone(target, self.directory)
        else:
            merger = Requests(target, branches)
        first, *others = branches
        merger.merge(first)
        return merger, others

    def run(self, _target, prepared):
        merger, branches = prepared
        taken = []
        for branch in branches:
            begin = time.monotonic()
            merger.merge(branch)
            taken.append(time.monotonic() - begin)
        return {"milliseconds": median(taken), "each": taken}

    def clean(self, target):
        """Checks that all targets have merged the same."""
        number = self._prepared[target.name]
        merges, tree = self.commits.merges(target, PROJECT, "refs/heads/main")
        expected = self._trees.setdefault(number, tree)
        if merges != number * (1 + MERGES) or tree != expected:
            raise RuntimeError(f"{target.name}: main has {merges} merges and the tree {tree} instead of {expected}")


class Case(GitCase):
    name = "merge_accept"
    projects = {PROJECT: "medium"}

    def operations(self, git):
        return {"merge of 1 commit": Merge(self.commits("medium"), git.reference, git.directory)}
