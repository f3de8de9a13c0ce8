"""B16: comparing the last 200 commits of large, against a whole run of `git diff -M`."""

from harness import paired
from harness.git import ContentCase, Get, client
from harness.git.bare import Command

COMMITS = 200
EACH = 10


class Case(ContentCase):
    name = "content_compare"
    projects = {"large": "large"}

    def operations(self, git):
        fixture = git.fixtures["large"]
        old, new = self.head("large", f"HEAD~{COMMITS}"), self.head("large")
        base = client.git("-C", fixture, "merge-base", old, new).decode().strip()
        self._files = len(client.git("-C", fixture, "diff", "-M", "--name-only", base, new).splitlines())
        self._compare = Get("large", f"compare?from={old}&to={new}", EACH)
        return {"compare": self._compare, "git diff": Command(fixture, "diff", "-M", base, new, count=EACH)}

    def check(self, environment):
        super().check(environment)
        answer = self._compare.answer(self.local)
        found = len(answer["commits"]), len(answer["diffs"])
        if found != (COMMITS, self._files):
            expected = f"{COMMITS} commits and {self._files} files"
            environment.note(f"compare answers {found[0]} commits and {found[1]} files, git {expected}")

    def results(self, measured):
        results = self.within(measured, "compare", "git diff", "milliseconds", at_most=1.2)
        ours, bare = (measured[self.measurement_name(what, self.local)] for what in ("compare", "git diff"))
        if "operation_cpu" in ours[0]:
            cpu = [each["operation_cpu"] for each in ours], [each["bare_cpu"] for each in bare]
            results.append(paired(self.name, "compare / git diff, local", "operation_cpu", *cpu))
        return results
