"""B1: wall-clock time of `git clone --bare` over loopback."""

import shutil
import time
from pathlib import Path

from harness.git import GitCase, Operation, client


class Clone(Operation):
    figures = {"seconds": {"at_most": 1.05}, "operation_cpu": {}}

    def __init__(self, project, directory):
        self.project, self.directory = project, Path(directory, "clone.git")

    def run(self, target, _prepared):
        begin = time.monotonic()
        client.git(*target.options, "clone", "-q", "--bare", target.url(self.project), self.directory)
        return {"seconds": time.monotonic() - begin}

    def clean(self, _side):
        shutil.rmtree(self.directory)


class Case(GitCase):
    name = "git_clone"
    projects = {"medium": "medium", "large": "large"}

    def operations(self, git):
        return {project: Clone(project, git.directory) for project in self.projects}
