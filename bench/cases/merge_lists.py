"""Pages of 20 merge requests of a project with 1,000 and with 1,000,000, each against the reference with the same
statement, which is taken from PostgreSQL's log as in cases/projects.py."""

from harness import BaseCase, Load, capture_page, compare, growth, same_answers
from harness.merge_requests import insert_merge_requests

SMALL = 1_000
VIEWS = ["", "state=opened", "page=50", "order_by=updated_at"]
USER = "bench-member"
PROJECT = f"""select p.id from projects p join namespaces n on n.id = p.namespace_id where n.path = '{USER}'
    order by p.id limit 1"""
# The target branch, which the page reads.
MAIN = """insert into refs (repository_id, name, target)
    select id, 'refs/heads/main', decode(md5('main') || left(md5('tip'), 8), 'hex') from repositories
    where project_id = {}"""


class Captured(Load):
    """The statement of the page. The id in its rows is that of the author."""

    def ids(self):
        return [row["merge_request_id"] for row in self.answer()]


class Case(BaseCase):
    growth_at_most = 1.1

    def measurements(self, environment):
        self._pairs = {}
        self._counts = {"small": SMALL, "large": environment.large_merge_requests}
        for size, count in self._counts.items():
            instance = environment.instance(f"merge_requests_{size}")
            project = instance.number(PROJECT)
            instance.execute(MAIN.format(project))
            insert_merge_requests(instance, project, count)
            for view in VIEWS:
                path = f"/api/v3/projects/{project}/merge_requests?{view}".rstrip("?")
                self._pairs[view, size] = self._pair(environment, instance, f"merge_lists {size} {view}", path)
        return [measurement for pair in self._pairs.values() for measurement in pair]

    def _pair(self, environment, instance, name, path):
        ours = Load(f"{name} ours", instance.ours_as(USER), path)
        captured = capture_page(environment, instance.reference, ours, rows=20)
        return ours, Captured(f"{name} reference", instance.reference, captured)

    def check(self, _environment):
        for (view, _), pair in self._pairs.items():
            same_answers(pair)
            self._check(pair[0], view)

    def _check(self, ours, view):
        requests = ours.answer()
        if len(requests) != 20:
            raise RuntimeError(f"{ours.name}: {len(requests)} merge requests instead of 20")
        key = "updated_at" if "updated_at" in view else "created_at"
        times = [request[key] for request in requests]
        if times != sorted(times, reverse=True):
            raise RuntimeError(f"{ours.name}: not the newest first")
        states = {request["state"] for request in requests}
        if (states <= {"opened", "reopened"}) != (view == "state=opened"):
            raise RuntimeError(f"{ours.name}: the states are {sorted(states)}")

    def results(self, measured):
        results = []
        for (view, size), pair in self._pairs.items():
            what = f"{view or 'first page'}, {self._counts[size]:,}"
            results += compare("merge_lists", what, *(measured[measurement.name] for measurement in pair), None)
        for view in VIEWS:
            pairs = [self._pairs[view, size] for size in self._counts]
            ours, reference = ([measured[measurement.name] for measurement in who] for who in zip(*pairs))
            what = f"{view or 'first page'}, growth"
            results.append(growth("merge_lists", what, ours, reference, self.growth_at_most))
        return results
