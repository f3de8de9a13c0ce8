"""GET /groups/:id as administrator: a group with 10,000 projects (see bench/seed) against one with 20."""

from harness import BaseCase, Load, compare

PROJECTS = "select count(*) from projects p join namespaces n on n.id = p.namespace_id where n.path = '{}'"


class Case(BaseCase):
    def measurements(self, environment):
        large = environment.instance("projects_large")
        paths = ("group-1", "group-2")
        self._measurements = [Load(f"group_detail {path}", large.ours, f"/api/v3/groups/{path}") for path in paths]
        self._sizes = [large.number(PROJECTS.format(path)) for path in paths]
        return self._measurements

    def check(self, _environment):
        for measurement in self._measurements:
            measurement.ids()

    def results(self, measured):
        many, few = (measured[measurement.name] for measurement in self._measurements)
        what = "{:,} projects against {}".format(*self._sizes)
        return compare("group_detail", what, many, few, at_least=1 / 5)
