"""W6 to W8: pages of large in a browser session, against the requests of the API with the same content."""

import copy
import http.client
from urllib.parse import urlencode

from harness.git import ContentCase
from harness.git.content import Many
from harness.load import wrk

USER = {"username": "bench-browser", "name": "Browser", "email": "browser@example.com", "password": "bench-browser-1"}
HOME = "/root/large"
FILE = "README.md"
# By name: the page, the rest of the path of the API request with the same content, and the goal.
TWINS = {
    "project": (HOME, "", {"at_least": 0.5}),
    "tree": (f"{HOME}/tree/main", "/repository/tree?per_page=100", {"at_least": 0.67}),
    "file": (f"{HOME}/blob/main/{FILE}", f"/repository/blobs/main?filepath={FILE}", {"at_least": 0.67}),
    "branches": (f"{HOME}/branches", "/repository/branches?per_page=100", {"at_least": 0.67}),
    "issues": (f"{HOME}/issues", "/issues", {"at_least": 0.67}),
}


class Requests(Many):
    """Concurrent requests with other headers than those of the target."""

    def __init__(self, case, path):
        super().__init__(case.environment, None, path)
        self.case = case

    def headers(self, target):
        return target.server.headers

    def run(self, target, _prepared):
        server = copy.copy(target.server)
        server.headers = self.headers(target)
        counted = wrk(server, self.path.replace(":id", str(target.project_ids["large"])), self.seconds, self.connections)
        self.count = counted["requests"]
        return {"rate": self.count / (counted["microseconds"] / 1e6), "p50": counted["p50"] / 1e6}


class Page(Requests):
    def headers(self, _target):
        return {"Cookie": self.case.cookie}


class StoredPage(Requests):
    """A page that the clients have stored: the response is 304."""

    def headers(self, target):
        response = ask(target, "GET", self.path, {"Cookie": self.case.cookie})
        return {"Cookie": self.case.cookie, "If-None-Match": response.getheader("ETag")}


def ask(target, method, path, headers, body=None, expected=200):
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    if response.status != expected:
        raise RuntimeError(f"{method} {path} answers {response.status}")
    return response


class Case(ContentCase):
    name = "pages"
    projects = {"large": "large"}

    def operations(self, _git):
        operations = {}
        for what, (page, rest, _) in TWINS.items():
            operations[f"page of {what}"] = Page(self, page)
            operations[f"API of {what}"] = Requests(self, f"/api/v3/projects/:id{rest}")
        return operations | {"page of file, stored": StoredPage(self, TWINS["file"][0])}

    def measurements(self, environment):
        measurements = super().measurements(environment)
        target = self.local
        user = target.ask("/users", **USER, confirm="false")["id"]
        target.ask(f"/projects/{target.project_ids['large']}/members", user_id=user, access_level=30)
        self.cookie = self._sign_in(target)
        return measurements

    def _sign_in(self, target):
        form = urlencode({"login": USER["username"], "password": USER["password"]})
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        response = ask(target, "POST", "/sign_in", kind, form, expected=303)
        cookies = [value.split(";")[0] for name, value in response.getheaders() if name.lower() == "set-cookie"]
        return next(cookie for cookie in cookies if cookie.split("=")[0].endswith("holdfast"))

    def check(self, environment):
        super().check(environment)
        for page, _, _ in TWINS.values():
            ask(self.local, "GET", page, {"Cookie": self.cookie})

    def results(self, measured):
        lines = []
        for what, (_, _, goal) in TWINS.items():
            lines += self.within(measured, f"page of {what}", f"API of {what}", "rate", **goal)
        return lines + self.within(measured, "page of file, stored", "page of file", "rate", at_least=2.0)
