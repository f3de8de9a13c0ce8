"""GET /projects/:id of a private project as a member of its group, against one read by primary key."""

from harness import BaseCase, Load, compare, same_answers

PROJECT = """select min(p.id) from projects p join namespaces n on n.id = p.namespace_id
    where n.path in ('group-8', 'group-9', 'group-10') and p.visibility_level = 0"""


class Case(BaseCase):
    def measurements(self, environment):
        small = environment.instance("projects_small")
        project = small.number(PROJECT)
        self._measurements = [
            Load("project ours", small.ours_as("bench-member"), f"/api/v3/projects/{project}"),
            Load("project axum-pk", small.reference, f"/axum-pk/project/{project}"),
        ]
        return self._measurements

    def check(self, _environment):
        same_answers(self._measurements)

    def results(self, measured):
        ours, reference = (measured[measurement.name] for measurement in self._measurements)
        return compare("project", "axum-pk", ours, reference, at_least=0.6)
