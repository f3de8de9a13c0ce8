"""Base classes of the class `Case` that each file in bench/cases defines."""

from .load import Load
from .result import compare, growth


class BaseCase:
    """The methods are called in this order, each one for all cases before the next."""

    def before(self, environment):
        """Runs before any server is started."""

    def measurements(self, environment):
        """Returns the measurements of every round: objects with a `name` and a method `measure(environment)` that
        returns a dict."""
        return []

    def check(self, environment):
        """Raises an error if the measurements are not comparable."""

    def after(self, environment):
        """Runs after the last round, while the servers are still running."""

    def results(self, measured):
        """Returns the lines of the report, from the dicts of all rounds by measurement name."""
        return []


def same_answers(measurements):
    ids = [measurement.ids() for measurement in measurements]
    for measurement, found in zip(measurements, ids):
        if found != ids[0]:
            raise RuntimeError(f"{measurement.name} answers {found}, but {measurements[0].name} answers {ids[0]}")


class ListCase(BaseCase):
    """The first page at both sizes, against the same statement with and without a total.

    The server returns the total only if it is small: at the small size it runs the statement with the total, at the
    large one the statement without."""

    name: str
    path: str
    references: dict[str, str]
    at_least = 0.7
    growth_at_most = 1.1
    sizes = ("small", "large")

    def measurements(self, environment):
        self._by_size = {}
        for size in self.sizes:
            instance = environment.instance(size)
            ours = Load(self._name(size, "ours"), instance.ours, self.path)
            others = [Load(self._name(size, n), instance.reference, path) for n, path in self.references.items()]
            self._by_size[size] = [ours, *others]
        return [measurement for measurements in self._by_size.values() for measurement in measurements]

    def check(self, environment):
        # The reference that runs the same statement as the server.
        self._same = {}
        for size, (ours, *others) in self._by_size.items():
            same_answers([ours, *others])
            statements = [statement.sql for statement in environment.statements(ours.ids)]
            for variant, other in zip(self.references, others):
                if environment.statements(other.ids)[0].sql in statements:
                    self._same[size] = variant
            if size not in self._same:
                listed = "\n".join(statements)
                raise RuntimeError(f"bench/reference no longer runs our statement for {self.path}; we run\n{listed}")

    def results(self, measured):
        def of(size, who):
            return measured[self._name(size, who)]

        results = []
        for size in self.sizes:
            for variant in self.references:
                mark = " (our statement)" if variant == self._same[size] else ""
                what = f"{size}: axum-list, {variant}{mark}"
                results += compare(self.name, what, of(size, "ours"), of(size, variant), self.at_least)
        for variant in self.references:
            ours, reference = ([of(size, who) for size in ("small", "large")] for who in ("ours", variant))
            results.append(growth(self.name, f"growth: axum-list, {variant}", ours, reference, self.growth_at_most))
        return results

    def _name(self, size, who):
        return f"{self.name} {size} {who}"
