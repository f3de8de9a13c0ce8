"""B8: `git ls-remote` with few and with many refs, and a fetch of one of them."""

import time
from statistics import median

from harness.git import GitCase, Operation


class LsRemote(Operation):
    def __init__(self, project, count, **goal):
        self.project, self.count = project, count
        self.figures = {"milliseconds": goal, "operation_cpu": {}}

    def run(self, target, _prepared):
        taken = []
        for _ in range(self.count):
            begin = time.monotonic()
            self.ask(target)
            taken.append(time.monotonic() - begin)
        return {"milliseconds": median(taken)}

    def ask(self, target):
        target.ls_remote(self.project)


class LookForMain(LsRemote):
    """A fetch without new commits. Unlike `ls-remote`, which filters the refs itself, it sends a ref-prefix."""

    def __init__(self, commits, *arguments, **goal):
        super().__init__(*arguments, **goal)
        self.commits = commits

    def ask(self, target):
        self.commits.look_for(target, self.project, "refs/heads/main")


class Case(GitCase):
    name = "git_refs"
    projects = {"refs10": "refs10", "refs1k": "refs1k", "refs50k": "refs50k"}

    def operations(self, _git):
        commits = self.commits("refs10")
        return {
            "10 refs": LsRemote("refs10", 10, at_most=1.0),
            "1,000 refs": LsRemote("refs1k", 10, at_most=1.0),
            "50,000 refs": LsRemote("refs50k", 5, at_most=1.3),
            "1 of 10 refs": LookForMain(commits, "refs10", 10),
            "1 of 50,000 refs": LookForMain(commits, "refs50k", 10),
        }

    def results(self, measured):
        among, few = "1 of 50,000 refs", "1 of 10 refs"
        return super().results(measured) + [
            line
            for line in self.within(measured, among, few, "milliseconds", at_most=1.2)
        ]
