"""B3: server time of a clone right after pushes, before any maintenance."""

from harness.git import GitCase, Operation, wire


class FetchAfter(Operation):
    """Before the pushes everything is in one pack with a bitmap. Only the first fetch counts, since later ones may be
    served from a cache."""

    def __init__(self, commits, project, pushes, goal):
        self.commits, self.project, self.pushes = commits, project, pushes
        self.figures = {"seconds": goal, "first_byte": {}, "operation_cpu": goal}
        self._prepared = {}

    def prepare(self, target):
        self._prepared[target.name] = number = self._prepared.get(target.name, 0) + 1
        target.settle(self.project)
        self.commits.push_by_hand(target, self.project, f"after-{self.pushes}-{number}", self.pushes)
        return wire.fetch_body(target.tips(self.project))

    def run(self, target, body):
        fetched = wire.fetch(target, self.project, body)
        return {"seconds": fetched.seconds, "first_byte": fetched.first_byte, "bytes": fetched.bytes}


class Case(GitCase):
    name = "git_after_push"
    projects = {"medium-after": "medium", "large-after": "large"}
    # Ten pushes do not trigger maintenance yet.
    goals = {1: {"at_most": 1.2}, 10: {}}

    def operations(self, _git):
        return {
            f"{fixture} after {pushes} push{'es' * (pushes > 1)}": FetchAfter(
                self.commits(fixture), project, pushes, goal
            )
            for project, fixture in self.projects.items()
            for pushes, goal in self.goals.items()
        }
