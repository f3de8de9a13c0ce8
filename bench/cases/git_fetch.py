"""B2: server time of a clone. The request is sent without git, and the response is discarded."""

from statistics import median

from harness.git import GitCase, Operation, client, wire


class Fetch(Operation):
    figures = {"seconds": {"at_most": 1.0}, "first_byte": {"at_most": 1.0}, "operation_cpu": {"at_most": 1.0}}

    def __init__(self, project, fixture, count):
        self.project, self.count = project, count
        self.body = wire.fetch_body(sorted(set(client.refs_of(client.git("-C", fixture, "show-ref")).values())))

    def run(self, target, _prepared):
        fetched = [wire.fetch(target, self.project, self.body) for _ in range(self.count)]
        return {
            "seconds": median(f.seconds for f in fetched),
            "first_byte": median(f.first_byte for f in fetched),
            "bytes": fetched[-1].bytes,
        }


class Case(GitCase):
    name = "git_fetch"
    projects = {"medium": "medium", "large": "large"}
    counts = {"medium": 8, "large": 3}

    def operations(self, git):
        return {project: Fetch(project, git.fixtures[project], count) for project, count in self.counts.items()}
