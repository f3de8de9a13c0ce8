"""Generates traffic of all kinds until it is stopped, and reports every failure. Started by dev/upgrade."""
import http.cookiejar
import os
import re
import shutil
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

from load import Load, Server, begin, expect, git, say

RATE = 10
LONGEST = 600
VIEWERS = 20
PASSWORD = "correct horse battery staple 9"
#: Seconds that a viewer looks at a page.
LOOK_SECONDS = 1
PAGES = ("/", "/root/{name}", "/root/{name}/tree/main", "/root/{name}/commits/main", "/root/{name}/issues",
         "/root/{name}/merge_requests", "/root/{name}/settings/general", "/profile")


class Viewer:
    """A browser with a session, whose user clicks from page to page."""

    def __init__(self, server, number):
        self.url = server.url
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)
        # Users of their own, because the expensive pages of one user are limited.
        name = f"viewer{number}"
        fields = {"username": name, "name": name, "email": f"{name}@example.com", "password": PASSWORD, "admin": "true"}
        server.ask("/users", urllib.parse.urlencode(fields | {"confirm": "false"}).encode())
        form = urllib.parse.urlencode({"login": name, "password": PASSWORD}).encode()
        self._open("/sign_in", form, {"Sec-Fetch-Site": "same-origin"})

    def _open(self, path, data=None, headers={}):
        request = urllib.request.Request(self.url + path, data, headers)
        with self.opener.open(request, timeout=60) as response:
            return response.headers.get_content_type(), response.read().decode()

    def look(self, path):
        """Opens a page with its style sheet. It must be complete, and the session must still be valid."""
        _, page = self._open(path)
        expect("</html>" in page, f"{path} is incomplete: {page[-200:]}")
        expect("User menu" in page, f"{path}: the session is lost")
        style = re.search(r'href="(/assets/[^"]+\.css)"', page)[1]
        kind, rules = self._open(style)
        expect(kind == "text/css" and "{" in rules, f"{path} has no style: {style}")


class Crowd:
    """Clients that each repeat one operation."""

    def __init__(self, server, scratch, seed, names):
        self.server, self.scratch, self.seed, self.names = server, scratch, seed, names
        self.viewers = [Viewer(server, number) for number in range(VIEWERS)]
        self.done, self.failed = Counter(), []
        self.stop, self.lock = threading.Event(), threading.Lock()
        kinds = [self.read, self.write, self.clone, self.push]
        self.kinds = [kind.__name__ for kind in kinds]
        kinds += [self._clicks(viewer, position) for position, viewer in enumerate(self.viewers)]
        self.kinds.append("view")
        self.threads = [threading.Thread(target=self._again, args=(kind,), daemon=True) for kind in kinds]
        for thread in self.threads:
            thread.start()

    def _again(self, kind):
        number = 0
        while not self.stop.is_set():
            try:
                kind(number)
                with self.lock:
                    self.done[kind.__name__] += 1
            except (Exception, SystemExit) as error:
                self.failed.append(f"{kind.__name__} {number}: {error} {getattr(error, 'read', bytes)()[:300]}")
                self.stop.wait(0.5)
            number += 1

    def read(self, number):
        name = self.names[number % len(self.names)]
        for path in ("", "/repository/branches", "/repository/tree", "/events", "/issues"):
            self.server.ask(f"/projects/root%2F{name}{path}")

    def write(self, number):
        issue, _ = self.server.ask("/projects/root%2Fproject-0/issues", f"title=number+{number}".encode())
        self.server.ask(f"/projects/{issue['project_id']}/issues/{issue['id']}/notes", b"body=noted")

    def clone(self, number):
        place = self.scratch / "clones" / str(number)
        git("clone", "-q", self.server.address(self.names[number % len(self.names)]), place)
        git("fsck", cwd=place)
        shutil.rmtree(place)

    def push(self, number):
        git("push", "-q", self.server.address("project-1"), f"main:refs/heads/branch-{number}", cwd=self.seed)

    def _clicks(self, viewer, position):
        """Returns the operation of a viewer, who begins with another page than the others."""
        def view(number):
            path = PAGES[(number + position) % len(PAGES)]
            viewer.look(path.format(name=self.names[number % len(self.names)]))
            self.stop.wait(LOOK_SECONDS)
        return view

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def main():
    scratch = Path(sys.argv[1])
    server = Server(os.environ["HOLDFAST__SERVER__EXTERNAL_URL"], os.environ["TOKEN"])
    seed, names = begin(server, scratch)
    load = Load(server, seed, names, RATE, LONGEST)
    crowd = Crowd(server, scratch, seed, names)
    phases = []
    for phase in ("begun", "migrated", "half", "upgraded", "restarted", "enough"):
        before = crowd.done.copy()
        end = time.monotonic() + LONGEST
        # Each kind of client completes a request in every phase.
        while not all(crowd.done[kind] > before[kind] for kind in crowd.kinds) and not crowd.failed:
            expect(time.monotonic() < end, f"nothing gets done: {crowd.done}")
            time.sleep(0.1)
        (scratch / f"{phase}.seen").touch()
        while not (scratch / phase).exists():
            expect(time.monotonic() < end, f"nobody says that it is {phase}")
            time.sleep(0.1)
        phases.append(sum((crowd.done - before).values()))
    crowd.end()
    pushes = load.end()
    counts = ", ".join(f"{count} of {kind}" for kind, count in sorted(crowd.done.items()))
    say(f"{counts}, {pushes} pushes by hand; by phases {phases}; {len(crowd.failed)} failed")
    expect(not crowd.failed, "\n".join(crowd.failed[:10]))
    # Every acknowledged push is there, once.
    for name in names:
        place = scratch / f"{name}.git"
        git("clone", "-q", "--mirror", server.address(name), place)
        history = git("rev-list", "--reverse", "refs/heads/main", cwd=place).split()[1:]
        expect(history == [commit for _, commit in load.acknowledged[name]], f"{name} is not what was pushed")
    _, headers = server.ask("/projects/root%2Fproject-0/issues?per_page=1")
    expect(int(headers["X-Total"]) == crowd.done["write"], "issues are missing, or there twice")
    _, headers = server.ask("/projects/root%2Fproject-1/repository/branches?per_page=1")
    expect(int(headers["X-Total"]) == crowd.done["push"] + 1, "branches are missing")


main()
