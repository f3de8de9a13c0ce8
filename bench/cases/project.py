"""GET /projects/:id of a private project as a member of its group, against one read by primary key, and against the
same facts: the statement that finds token, user, project and levels, which is taken from PostgreSQL's log."""

from harness import BaseCase, Load, capture, compare, same_answers

PROJECT = """select min(p.id) from projects p join namespaces n on n.id = p.namespace_id
    where n.path in ('group-8', 'group-9', 'group-10') and p.visibility_level = 0"""


class Case(BaseCase):
    def measurements(self, environment):
        small = environment.instance("projects_small")
        project = small.number(PROJECT)
        ours = Load("project ours", small.ours_as("bench-member"), f"/api/v3/projects/{project}")
        # The log also has statements of jobs. Only the one for tokens also reads the project.
        statements = [each for each in environment.statements(ours.answer) if " from tokens " in each.sql]
        if len(statements) != 1 or "projects p " not in statements[0].sql:
            raise RuntimeError(f"{ours.path} does not find the token and the project with one statement")
        facts = capture(small.reference, statements[0], rows=1)
        self._measurements = [
            ours,
            Load("project axum-pk", small.reference, f"/axum-pk/project/{project}"),
            Load("project same facts", small.reference, facts),
        ]
        return self._measurements

    def check(self, _environment):
        same_answers(self._measurements)

    def results(self, measured):
        ours, by_key, facts = (measured[measurement.name] for measurement in self._measurements)
        return [
            *compare("project", "axum-pk", ours, by_key, at_least=0.4),
            *compare("project", "same facts", ours, facts, at_least=0.6),
        ]
