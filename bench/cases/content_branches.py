"""B16: pages of the branches of a repository with 50,000 branches, against one with 50."""

from harness.git import ContentCase, Get

FEW = "50 branches, page 1"
PAGES = (1, 250, 2500)
EACH = 30


class Case(ContentCase):
    name = "content_branches"
    projects = {"branches50": "branches50", "branches50k": "branches50k"}

    def operations(self, _git):
        def page(project, number):
            return Get(project, f"branches?per_page=20&page={number}", EACH)

        many = {f"50,000 branches, page {number:,}": page("branches50k", number) for number in PAGES}
        self._pages = {FEW: page("branches50", 1)} | many
        return self._pages

    def check(self, environment):
        super().check(environment)
        for what, page in self._pages.items():
            if (count := len(page.answer(self.local))) != 20:
                raise RuntimeError(f"{what} has {count} branches instead of 20")

    def results(self, measured):
        return [
            line
            for what in self._pages
            if what != FEW
            for figure, goal in {"milliseconds": {"at_most": 2.0}, "operation_cpu": {}}.items()
            if figure in measured[self.measurement_name(what, self.local)][0]
            for line in self.within(measured, what, FEW, figure, **goal)
        ]
