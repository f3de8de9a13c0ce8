"""B5, B6: a push of one commit and of a thousand by git, and whether a crash after the "ok" loses one."""

import shutil
import time
from pathlib import Path
from statistics import median

from harness import plain
from harness.git import GitCase, Operation, client

PROJECT = "medium-push"


class Push(Operation):
    """The first push after maintenance is not measured, so that the caches are warm for all others."""

    def __init__(self, commits, name, pushes, commits_each, at_most):
        self.commits, self.name = commits, name
        self.count, self.commits_each = pushes, commits_each
        self.figures = {"milliseconds": {"at_most": at_most}, "operation_cpu": {}}
        self._prepared = {}

    def prepare(self, target):
        self._prepared[target.name] = number = self._prepared.get(target.name, 0) + 1
        target.settle(PROJECT)
        ref = f"refs/heads/{self.name}-{number}"
        chain = self.commits.chain(f"{self.name}-{number}", 1 + self.count * self.commits_each)
        self.commits.push(target, PROJECT, chain[0], ref)
        return ref, chain[self.commits_each :: self.commits_each]

    def run(self, target, prepared):
        ref, tips = prepared
        taken = []
        for tip in tips:
            begin = time.monotonic()
            self.commits.push(target, PROJECT, tip, ref)
            taken.append(time.monotonic() - begin)
        return {"milliseconds": median(taken)}


class Case(GitCase):
    name = "git_push"
    projects = {PROJECT: "medium"}

    def operations(self, _git):
        commits = self.commits("medium")
        return {
            "1 commit": Push(commits, "one", pushes=10, commits_each=1, at_most=1.2),
            "1,000 commits": Push(commits, "thousand", pushes=1, commits_each=1000, at_most=1.1),
        }

    def after(self, environment):
        self._note = environment.note
        self._kept = {target.name: self._survives(target) for target in self.ours}

    def _survives(self, target):
        """Pushes, kills the server, starts it again, and clones the pushed commits."""
        (oid,) = self.commits("medium").chain("crash", 1)
        self.commits("medium").push(target, PROJECT, oid, "refs/heads/crash")
        target.kill()
        copy = Path(self.git.directory, "after-crash.git")
        try:
            client.git(*target.options, "clone", "-q", "--bare", "-b", "crash", target.url(PROJECT), copy)
            return client.git("-C", copy, "rev-parse", "refs/heads/crash").decode().strip() == oid
        except RuntimeError as lost:
            self._note(f"{target.name}, after kill -9: {lost}")
            return False
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def results(self, measured):
        return super().results(measured) + [
            plain(self.name, f"kill -9 right after the ok, {name}", "kept", [int(kept)], at_least=1)
            for name, kept in self._kept.items()
        ]
