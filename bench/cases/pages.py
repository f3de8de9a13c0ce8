"""W6 to W8: pages of large in a browser session, against the requests of the API with the same content."""

from harness.git.browsing import BrowsingCase, Page, Requests, StoredPage, ask

HOME = "/root/large"
FILE = "part00/ball/file10460.txt"
# By name: the page, the rest of the path of the API request with the same content, and the goal.
TWINS = {
    "project": (HOME, "", {"at_least": 0.5}),
    "tree": (f"{HOME}/tree/main", "/repository/tree?per_page=100", {"at_least": 0.67}),
    "file": (f"{HOME}/blob/main/{FILE}", f"/repository/blobs/main?filepath={FILE}", {"at_least": 0.67}),
    "branches": (f"{HOME}/branches", "/repository/branches?per_page=100", {"at_least": 0.67}),
    "issues": (f"{HOME}/issues", "/issues", {"at_least": 0.67}),
}


class Case(BrowsingCase):
    name = "pages"
    projects = {"large": "large"}

    def operations(self, _git):
        operations = {}
        for what, (page, rest, _) in TWINS.items():
            operations[f"page of {what}"] = Page(self, page)
            operations[f"API of {what}"] = Requests(self, f"/api/v3/projects/{{large}}{rest}")
        permanent = f"{HOME}/blob/{self.head('large')}/{FILE}"
        return operations | {
            "permanent page of file": Page(self, permanent),
            "permanent page of file, stored": StoredPage(self, permanent),
        }

    def check(self, environment):
        super().check(environment)
        for page, _, _ in TWINS.values():
            ask(self.local, "GET", page, self.headers)

    def results(self, measured):
        lines = []
        for what, (_, _, goal) in TWINS.items():
            lines += self.within(measured, f"page of {what}", f"API of {what}", "rate", **goal)
        stored, full = "permanent page of file, stored", "permanent page of file"
        return lines + self.within(measured, stored, full, "rate", at_least=2.0)
