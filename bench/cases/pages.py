"""W6 to W8: pages of large in a browser session, against the requests of the API with the same content."""

from harness import paired
from harness.git.browsing import BrowsingCase, Page, Requests, StoredPage, ask

HOME = "/root/large"
FILE = "part00/ball/file10460.txt"
ISSUES = 30
# By name: the page, the rest of the paths of the API requests with the same content, and the goal. A page that shows
# the content of several requests is compared with all of them, one after the other.
TWINS = {
    "project": (HOME, [""], {"at_least": 0.5}),
    "tree": (f"{HOME}/tree/main", ["/repository/tree?per_page=100"], {"at_least": 0.67}),
    "file": (f"{HOME}/blob/main/{FILE}", [f"/repository/blobs/main?filepath={FILE}"], {"at_least": 0.67}),
    "branches": (f"{HOME}/branches", ["/repository/branches?per_page=100"], {"at_least": 0.67}),
    # The filter of the page offers the labels, milestones and members.
    "issues": (f"{HOME}/issues", ["/issues", "/labels", "/milestones", "/members"], {"at_least": 0.67}),
}


def api_name(what, index):
    return f"API of {what}" if index == 0 else f"API of {what}, part {index + 1}"


class Case(BrowsingCase):
    name = "pages"
    projects = {"large": "large"}

    def measurements(self, environment):
        measurements = super().measurements(environment)
        project = f"/projects/{self.local.project_ids['large']}"
        milestone = self.local.ask(f"{project}/milestones", title="1.0")["id"]
        for number in range(ISSUES):
            fields = {"title": f"Issue {number}", "labels": f"label{number % 7},common", "milestone_id": milestone}
            self.local.ask(f"{project}/issues", **fields)
        return measurements

    def operations(self, _git):
        operations = {}
        for what, (page, paths, _) in TWINS.items():
            operations[f"page of {what}"] = Page(self, page)
            for index, rest in enumerate(paths):
                operations[api_name(what, index)] = Requests(self, f"/api/v3/projects/{{large}}{rest}")
        permanent = f"{HOME}/blob/{self.head('large')}/{FILE}"
        return operations | {
            "permanent page of file": Page(self, permanent),
            "permanent page of file, stored": StoredPage(self, permanent),
        }

    def check(self, environment):
        super().check(environment)
        for page, _, _ in TWINS.values():
            ask(self.local, "GET", page, self.headers)

    def rates(self, measured, what):
        return [each["rate"] for each in measured[self.measurement_name(what, self.local)]]

    def results(self, measured):
        lines = []
        for what, (_, paths, goal) in TWINS.items():
            parts = zip(*(self.rates(measured, api_name(what, index)) for index in range(len(paths))))
            together = [1 / sum(1 / rate for rate in rates) for rates in parts]
            pages = self.rates(measured, f"page of {what}")
            lines.append(paired(self.name, f"page of {what} / API of {what}", "rate", pages, together, **goal))
        stored, full = "permanent page of file, stored", "permanent page of file"
        return lines + self.within(measured, stored, full, "rate", at_least=2.0)
