"""POST /projects/:id/members, which inserts the member, an event and an outbox row, against the latter two alone."""

from harness import BaseCase, Load, compare, post

PROJECTS = """select p.id from projects p join namespaces n on n.id = p.namespace_id
    where n.path in ('group-3', 'group-4', 'group-5', 'group-6', 'group-7') and not p.archived order by p.id"""
# The ids of the other users follow this one.
FIRST_USER = "select id from users where username = 'user2'"
WRITTEN = "select (select count(*) from events) + 1000000 * (select count(*) from outbox)"


class Write(Load):
    """Every request adds another user to a project; no pair is repeated."""

    def __init__(self, name, server, path, projects, first_user, users):
        super().__init__(name, server, path)
        self.projects, self.first_user, self.users = projects, first_user, users
        self.next = 0

    def once(self):
        project = self.projects[self.next % len(self.projects)]
        body = f"user_id={self.first_user + self.next // len(self.projects)}&access_level=30"
        self.next += 1
        kind = "application/x-www-form-urlencoded"
        status, answer = post(self.server.port, self.path % project, body, kind, self.server.headers)
        if status != 201:
            raise RuntimeError(f"{self.name}: {self.path % project} with {body} answers {status}: {answer[:200]!r}")

    def arguments(self):
        return [self.path, ",".join(map(str, self.projects)), str(self.first_user), str(self.next)]

    def measure(self, environment):
        figures = super().measure(environment)
        # Requests that were running at the end are not counted.
        self.next += figures["requests"] + 2 * environment.connections
        if self.next > len(self.projects) * self.users:
            raise RuntimeError(f"{self.name}: no more pairs of project and user; take fewer rounds or seconds")
        return figures


class Case(BaseCase):
    def measurements(self, environment):
        self._writes = writes = environment.instance("writes")
        pairs = writes.numbers(PROJECTS), writes.number(FIRST_USER), writes.size.users - 1
        self._measurements = [
            Write("write ours", writes.ours_as("bench-member"), "/api/v3/projects/%d/members", *pairs),
            Write("write axum-write", writes.reference, "/axum-write/projects/%d/members", *pairs),
        ]
        return self._measurements

    def check(self, _environment):
        for measurement in self._measurements:
            before = self._writes.number(WRITTEN)
            measurement.once()
            if self._writes.number(WRITTEN) != before + 1_000_001:
                raise RuntimeError(f"{measurement.name} does not write one event and one outbox row")

    def results(self, measured):
        ours, reference = (measured[measurement.name] for measurement in self._measurements)
        return compare("write", "axum-write", ours, reference, at_least=0.4)
