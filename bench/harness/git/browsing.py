"""Requests for pages in a browser session."""

import copy
import hashlib
import http.client
import time
from statistics import median
from urllib.parse import urlencode

from ..load import wrk
from .case import Operation
from .content import ContentCase, Many

PASSWORD = "bench-browser-1"


def ask(target, method, path, headers, body=None, expected=200):
    """Sends a request, and returns the response with the seconds until its first byte and until its end."""
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    connection.connect()
    begin = time.monotonic()
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    response.content = response.read(1)
    response.first_byte = time.monotonic() - begin
    response.content += response.read()
    response.complete = time.monotonic() - begin
    connection.close()
    if response.status != expected:
        raise RuntimeError(f"{method} {path} answers {response.status}")
    return response


class BrowsingCase(ContentCase):
    """A case whose user is a developer of all its projects and signed in as `cookie`."""

    def measurements(self, environment):
        measurements = super().measurements(environment)
        self.cookie = self.sign_in(self.local, f"bench-{self.name}")
        return measurements

    def sign_in(self, target, username):
        """Creates a user who is a developer of all projects, and returns the cookie of a session."""
        fields = {"username": username, "name": username, "email": f"{username}@example.com", "password": PASSWORD}
        user = target.ask("/users", **fields, confirm="false")["id"]
        for project in self.projects:
            target.ask(f"/projects/{target.project_ids[project]}/members", user_id=user, access_level=30)
        form = urlencode({"login": username, "password": PASSWORD})
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        response = ask(target, "POST", "/sign_in", kind, form, expected=303)
        cookies = [value.split(";")[0] for name, value in response.getheaders() if name.lower() == "set-cookie"]
        return next(cookie for cookie in cookies if cookie.split("=")[0].endswith("holdfast"))

    @property
    def headers(self):
        return {"Cookie": self.cookie}


class Requests(Many):
    """Concurrent requests of the API. The path has the name of a project in braces instead of its id."""

    def __init__(self, case, path):
        super().__init__(case.environment, None, path)
        self.case = case

    def headers(self, target):
        return target.server.headers

    def run(self, target, _prepared):
        server = copy.copy(target.server)
        server.headers = self.headers(target)
        counted = wrk(server, self.path.format_map(target.project_ids), self.seconds, self.connections)
        self.count = counted["requests"]
        return {"rate": self.count / (counted["microseconds"] / 1e6), "p50": counted["p50"] / 1e6}


class Page(Requests):
    """Concurrent requests of a page."""

    def headers(self, _target):
        return self.case.headers


def conditional_headers(target, path, headers):
    """Returns the headers of a client that has stored a page: the response is 304."""
    # The first response may lack parts that were not ready in time. Its tag is then a digest of the page.
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        response = ask(target, "GET", path, headers)
        tag = response.getheader("ETag")
        if tag != f'W/"{hashlib.sha256(response.content).hexdigest()[:32]}"':
            return headers | {"If-None-Match": tag}
    raise RuntimeError(f"GET {path} is never complete")


class StoredPage(Requests):
    """Concurrent requests of a page that the clients have stored."""

    def headers(self, target):
        return conditional_headers(target, self.path, self.case.headers)


class Opened(Operation):
    """The median times of sequential requests of one address in a session, or with the token."""

    def __init__(self, case, path, count, with_token=False, is_stored=False):
        self.case, self.path, self.count, self.with_token, self.is_stored = case, path, count, with_token, is_stored

    def run(self, target, _prepared):
        headers = target.server.headers if self.with_token else self.case.headers
        path = self.path.format_map(target.project_ids)
        if self.is_stored:
            headers = conditional_headers(target, path, headers)
        status = 304 if self.is_stored else 200
        responses = [ask(target, "GET", path, headers, expected=status) for _ in range(self.count)]
        return {
            "milliseconds": median(response.complete for response in responses),
            "first_byte": median(response.first_byte for response in responses),
        }


class OpenedOnce(Opened):
    """One request of an address that was never requested before: each round takes the next one."""

    def __init__(self, case, paths):
        super().__init__(case, None, 1)
        self._paths = iter(paths)

    def run(self, target, prepared):
        self.path = next(self._paths)
        return super().run(target, prepared)
