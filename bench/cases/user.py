"""GET /user with a token, against one read by primary key."""

from harness import BaseCase, Load, compare, same_answers


class Case(BaseCase):
    def targets(self, world):
        small = world.instance("small")
        self._targets = [
            Load("user ours", small.ours, "/api/v3/user"),
            Load("user axum-pk", small.reference, f"/axum-pk/user/{small.root_id}"),
        ]
        return self._targets

    def check(self, _world):
        same_answers(self._targets)

    def results(self, measured):
        return compare("user", "axum-pk", *(measured[target.name] for target in self._targets), at_least=0.6)
