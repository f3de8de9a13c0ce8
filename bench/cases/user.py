"""GET /user with a token, against one read by primary key."""

from harness import BaseCase, Load, compare, same_answers


class Case(BaseCase):
    def measurements(self, environment):
        small = environment.instance("small")
        self._measurements = [
            Load("user ours", small.ours, "/api/v3/user"),
            Load("user axum-pk", small.reference, f"/axum-pk/user/{small.root_id}"),
        ]
        return self._measurements

    def check(self, _environment):
        same_answers(self._measurements)

    def results(self, measured):
        ours, reference = (measured[measurement.name] for measurement in self._measurements)
        return compare("user", "axum-pk", ours, reference, at_least=0.6)
