"""Pages of 20 projects out of 1,000 and out of 1,000,000, each against the reference with the same statement.

The statement is taken from PostgreSQL's log, separately for each size, so that there is no copy to maintain."""

from harness import BaseCase, Load, capture_page, compare, growth, same_answers

SIZES = {"small": "projects_small", "large": "projects_large"}
# A word that about 0.3 % of the projects of bench/seed contain.
WORD = "makor"
VARIANTS = [
    "page=50",
    *(f"order_by={key}" for key in ("id", "name", "path", "created_at", "updated_at", "last_activity_at")),
    "archived=false",
    "visibility=public",
    f"search={WORD}",
]
# The lists, each with its user and its variants beside the first page.
LISTS = {
    "/projects": ("bench-member", ["page=50"]),
    "/projects/visible": ("bench-member", VARIANTS),
    "/projects/owned": ("bench-member", ["page=50"]),
    "/projects/starred": ("bench-member", ["page=50"]),
    "/projects/all": ("root", VARIANTS),
}


class Case(BaseCase):
    at_least = 0.75
    growth_at_most = 1.1

    def measurements(self, environment):
        self._pairs = {}
        for size, name in SIZES.items():
            instance = environment.instance(name)
            for path, (user, variants) in LISTS.items():
                for query in ["", *variants]:
                    view = f"{path}?{query}".rstrip("?")
                    if pair := self._pair(environment, instance, f"projects {size} {view}", user, view):
                        self._pairs[view, size] = pair
        return [measurement for pair in self._pairs.values() for measurement in pair]

    def _pair(self, environment, instance, name, user, view):
        """Returns a pair of measurements, None if the list has no such page."""
        # There are many measurements.
        seconds = max(1, environment.seconds // 3)
        ours = Load(f"{name} ours", instance.ours_as(user), f"/api/v3{view}", seconds)
        if not ours.ids():
            return None
        captured = capture_page(environment, instance.reference, ours, rows=20)
        return ours, Load(f"{name} reference", instance.reference, captured, seconds)

    def check(self, _environment):
        for pair in self._pairs.values():
            same_answers(pair)

    def results(self, measured):
        results = []
        for (view, size), pair in self._pairs.items():
            units = ("rate", "server_cpu", "database_cpu") if "?" not in view else ("rate",)
            of = [measured[measurement.name] for measurement in pair]
            results += compare("projects", f"{view}, {size}", *of, self.at_least, units)
        for view in dict.fromkeys(view for view, _ in self._pairs):
            pairs = [self._pairs.get((view, size)) for size in SIZES]
            if all(pairs):
                ours, reference = ([measured[measurement.name] for measurement in who] for who in zip(*pairs))
                results.append(growth("projects", f"{view}, growth", ours, reference, self.growth_at_most))
        return results
