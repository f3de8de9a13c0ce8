"""B14: from the request to fork until `git ls-remote` of the fork succeeds, large against small."""

import time
from statistics import median

from harness.git import GitCase, Operation

TIMEOUT = 60


class Fork(Operation):
    count = 3
    figures = {"milliseconds": {}}
    groups = 0

    def __init__(self, project):
        self.project = project

    def prepare(self, target):
        groups = []
        for _ in range(self.count):
            Fork.groups += 1
            groups.append(target.ask("/groups", name=f"forks-{Fork.groups}", path=f"forks-{Fork.groups}"))
        return groups

    def run(self, target, groups):
        taken = [self._fork(target, group) for group in groups]
        return {"milliseconds": median(whole for whole, _ in taken), "request": median(alone for _, alone in taken)}

    def _fork(self, target, group):
        begin = time.monotonic()
        target.ask(f"/projects/fork/{target.project_ids[self.project]}", namespace=group["id"])
        answered = time.monotonic()
        while True:
            try:
                target.ls_remote(f"{group['path']}/{self.project}")
                return time.monotonic() - begin, answered - begin
            except RuntimeError:
                if time.monotonic() > begin + TIMEOUT:
                    raise


class Case(GitCase):
    name = "git_fork"
    projects = {"small": "small", "large": "large"}
    with_reference = False

    def operations(self, _git):
        return {project: Fork(project) for project in self.projects}

    def results(self, measured):
        return [
            *self.alone(self.ours, measured, "small", "milliseconds"),
            *self.alone(self.ours, measured, "large", "milliseconds", at_most=0.05),
            *self.within(measured, "large", "small", "milliseconds", at_most=1.2),
        ]
