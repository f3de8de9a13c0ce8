"""Does ten common tasks in Chromium on Holdfast and on Kallithea, and prints a table of steps, traffic and time.

See README.md in this directory for what is measured and how to start both servers.
"""
import argparse
import dataclasses
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid

import requests
from playwright.sync_api import sync_playwright

TIMEOUT_SECONDS = 60
#: How long no request may be on its way before a task counts as finished, for its traffic only.
QUIET_SECONDS = 0.3
#: The administrator that install-kallithea creates.
PEER_ADMIN = ("admin", "correct horse 9")
PASSWORD = "correct horse battery staple 9"
#: Holdfast's access level of members who can write.
DEVELOPER = "30"
BRANCH = "faster-pump"
#: The time of the first commit. All are older than those that the tasks make.
FIRST_COMMIT_TIME = 1_700_000_000
NEW_LINE = "Edited in the browser."
COMMENT = "Is this fast enough?"


@dataclasses.dataclass
class Names:
    """The names of one round in one forge."""
    owner: str
    colleague: str
    repository: str
    key: str


@dataclasses.dataclass
class Measurement:
    """What one task took."""
    steps: int
    requests: int
    received: int
    seconds: float


class Visitor:
    """Does what a person does in one browser window, and counts it.

    Each method that is an action of a person adds one step. Waiting adds none.
    """

    def __init__(self, browser):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
        self.page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT_SECONDS * 1000)
        self.steps = self.requests = self.received = 0
        self.pending = set()
        self.from_server = set()
        network = self.context.new_cdp_session(self.page)
        network.on("Network.requestWillBeSent", self._count_request)
        network.on("Network.requestServedFromCache", lambda event: self._discount(event["requestId"]))
        network.on("Network.responseReceived", self._count_response)
        network.on("Network.loadingFinished", self._count_bytes)
        network.on("Network.loadingFailed", lambda event: self.pending.discard(event["requestId"]))
        network.send("Network.enable")

    def open(self, address):
        """Opens an address."""
        self.steps += 1
        self.page.goto(address, wait_until="commit")

    def click(self, target):
        """Clicks a link, a button, a box or an option."""
        self._find(target).click()

    def fill(self, target, text):
        """Writes a text into an empty field."""
        self._find(target).fill(text)

    def select(self, target, value):
        """Chooses an option of a list."""
        self._find(target).select_option(value)

    def write_at_start(self, target, text):
        """Writes a text in front of that of an editor."""
        self._find(target).click()
        self.page.keyboard.press("Control+Home")
        self.page.keyboard.insert_text(text)

    def wait_for(self, target):
        """Waits until something is visible. Playwright's own waiting sleeps up to half a second between two looks."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not target.is_visible():
            if time.monotonic() > deadline:
                raise TimeoutError("this did not become visible on %s: %r" % (self.page.url, target))
            self.page.wait_for_timeout(10)

    def measure(self, task, names):
        """Does a task and returns what it took, with the traffic of what loads after the result is visible."""
        self.steps = self.requests = self.received = 0
        start = time.monotonic()
        task(self, names)
        seconds = time.monotonic() - start
        self.wait_for_quiet()
        return Measurement(self.steps, self.requests, self.received, seconds)

    def prepare(self, address):
        """Opens an address before a task."""
        self.page.goto(address)
        self.wait_for_quiet()

    def wait_for_quiet(self):
        """Waits until nothing loads."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        quiet_since = time.monotonic()
        while time.monotonic() < min(deadline, quiet_since + QUIET_SECONDS):
            self.page.wait_for_timeout(20)
            if self.pending:
                quiet_since = time.monotonic()

    def _find(self, target):
        """Counts a step, and waits until its target is visible and the scripts of the page have run."""
        self.steps += 1
        self.wait_for(target)
        self.page.wait_for_load_state("domcontentloaded")
        return target

    def _count_request(self, event):
        if not event["request"]["url"].startswith("http"):
            return
        self.requests += 1
        # A redirection has no end of its own.
        self.received += event.get("redirectResponse", {}).get("encodedDataLength", 0)
        self.from_server.add(event["requestId"])
        # A live stream never ends.
        if event.get("type") != "EventSource":
            self.pending.add(event["requestId"])

    def _count_response(self, event):
        request = event["requestId"]
        is_page = event["type"] == "Document" and request == event["loaderId"]
        if is_page:
            # Chromium does not report the end of every request that the previous page leaves behind.
            self.pending.intersection_update([request])
        # A page that was prefetched is reported twice, but travels once.
        if event["response"].get("fromDiskCache") or (is_page and event["response"].get("fromPrefetchCache")):
            self._discount(request)

    def _discount(self, request):
        """Takes back a request that the browser answers itself."""
        if request in self.from_server:
            self.from_server.discard(request)
            self.requests -= 1

    def _count_bytes(self, event):
        request = event["requestId"]
        self.pending.discard(request)
        if request in self.from_server:
            self.received += event["encodedDataLength"]


class Holdfast:
    """The tasks on Holdfast.

    Each method that takes a visitor does one of them and waits until its result is visible.
    """

    name = "Holdfast"

    def __init__(self, url, token):
        self.url, self.token = url.rstrip("/"), token

    def create_user(self, username):
        """Creates a user with the API."""
        form = dict(username=username, name=username.title(), email=username + "@example.org", password=PASSWORD,
                    confirm=False)
        session = open_session()
        response = session.post(self.url + "/api/v3/users", json=form, headers={"PRIVATE-TOKEN": self.token},
                                timeout=TIMEOUT_SECONDS)
        response.raise_for_status()

    def repository_address(self, names):
        """Returns the address of the home of the repository."""
        return "%s/%s/%s" % (self.url, names.owner, names.repository)

    def push_address(self, names):
        """Returns the address for git."""
        return self.repository_address(names) + ".git"

    def sign_in(self, visitor, names):
        page = visitor.page
        visitor.open(self.url + "/")
        visitor.click(page.get_by_role("link", name="Sign in"))
        visitor.fill(page.get_by_label("Username or email"), names.owner)
        visitor.fill(page.get_by_label("Password"), PASSWORD)
        visitor.click(page.get_by_role("button", name="Sign in"))
        visitor.wait_for(page.get_by_role("button", name="User menu"))

    def create_repository(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="New project").first)
        visitor.fill(page.get_by_label("Name", exact=True), names.repository)
        visitor.click(page.get_by_role("button", name="Create project"))
        visitor.wait_for(page.get_by_role("heading", name="The repository is empty"))

    def read_file(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="src", exact=True))
        visitor.click(page.get_by_role("link", name="engine", exact=True))
        visitor.click(page.get_by_role("link", name="pump.py", exact=True))
        visitor.wait_for(page.get_by_text("def run_pump_1(").first)

    def edit_file(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="CHANGES.txt", exact=True))
        visitor.click(page.get_by_role("link", name="Edit", exact=True))
        visitor.write_at_start(page.get_by_role("textbox", name="Text"), NEW_LINE + "\n")
        visitor.click(page.get_by_role("button", name="Commit", exact=True))
        visitor.wait_for(page.locator("pre.code").get_by_text(NEW_LINE))

    def read_newest_commit(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("region", name="Files").locator("header a").first)
        visitor.wait_for(page.locator("tr.add").get_by_text(NEW_LINE))

    def read_history(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="CHANGES.txt", exact=True))
        visitor.click(page.get_by_role("link", name="History", exact=True))
        visitor.wait_for(page.get_by_role("link", name="Change 29", exact=True))

    def open_request(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name=re.compile("branches$")))
        visitor.click(page.get_by_role("link", name="New merge request from " + BRANCH))
        visitor.click(page.get_by_role("button", name="Create", exact=True))
        visitor.wait_for(page.locator(".head .state", has_text="open"))

    def comment_on_line(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="Merge requests"))
        visitor.click(page.locator("ul.rows a.title").first)
        visitor.click(page.get_by_role("link", name="Changes"))
        visitor.click(page.locator("tr.add").first.get_by_role("link", name="Comment on line"))
        visitor.fill(page.locator("#comment").get_by_role("textbox"), COMMENT)
        visitor.click(page.locator("#comment").get_by_role("button", name="Comment now"))
        visitor.wait_for(page.get_by_role("article", name="Discussion").get_by_text(COMMENT))

    def add_member(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="Members", exact=True))
        visitor.fill(page.get_by_label("Username"), names.colleague)
        visitor.select(page.locator("#access_level"), DEVELOPER)
        visitor.click(page.get_by_role("button", name="Add member"))
        visitor.wait_for(page.get_by_role("region", name="Members").get_by_text("@" + names.colleague))

    def add_key(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("button", name="User menu"))
        visitor.click(page.get_by_role("link", name="SSH keys"))
        visitor.fill(page.get_by_label("Title"), "Laptop")
        visitor.fill(page.get_by_label("Key"), names.key)
        visitor.click(page.get_by_role("button", name="Add key"))
        visitor.wait_for(page.get_by_role("cell", name="Laptop", exact=True))


class Kallithea:
    """The tasks on Kallithea.

    Each method that takes a visitor does one of them and waits until its result is visible.
    """

    name = "Kallithea"

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.api_key = None

    def create_user(self, username):
        """Creates a user with the API."""
        form = dict(username=username, email=username + "@example.org", password=PASSWORD)
        body = dict(id=1, api_key=self.api_key or self.find_api_key(), method="create_user", args=form)
        response = open_session().post(self.url + "/_admin/api", json=body, timeout=TIMEOUT_SECONDS)
        response.raise_for_status()
        if response.json()["error"]:
            sys.exit("Kallithea could not create a user: %s" % response.json()["error"])

    def find_api_key(self):
        """Finds the API key of the administrator, which only its page shows."""
        session, (username, password) = open_session(), PEER_ADMIN
        address = self.url + "/_admin/login"
        page = session.get(address, timeout=TIMEOUT_SECONDS).text
        secret = re.search(r'name="(_session_csrf_secret_token)"[^>]*value="([^"]+)"', page)
        form = {"username": username, "password": password, secret[1]: secret[2]}
        session.post(address, data=form, timeout=TIMEOUT_SECONDS)
        page = session.get(self.url + "/_admin/my_account/api_keys", timeout=TIMEOUT_SECONDS).text
        self.api_key = re.search(r"\b[0-9a-f]{40}\b", page)[0]
        return self.api_key

    def repository_address(self, names):
        """Returns the address of the home of the repository."""
        return "%s/%s" % (self.url, names.repository)

    def push_address(self, names):
        """Returns the address for git."""
        return self.repository_address(names)

    def sign_in(self, visitor, names):
        page = visitor.page
        visitor.open(self.url + "/")
        visitor.click(page.locator("#quick_login_link"))
        visitor.fill(page.locator("#quick_login").get_by_label("Username"), names.owner)
        visitor.fill(page.locator("#quick_login").get_by_label("Password"), PASSWORD)
        visitor.click(page.locator("#quick_login input[name=sign_in]"))
        visitor.wait_for(page.locator(".menu_link_user", has_text=names.owner))

    def create_repository(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="Add Repository"))
        visitor.fill(page.get_by_label("Name:", exact=True), names.repository)
        visitor.click(page.get_by_role("button", name="Add", exact=True))
        visitor.wait_for(page.get_by_role("heading", name="Push new repository"))

    def read_file(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="Files"))
        visitor.click(page.locator(".browser-dir").get_by_text("src", exact=True))
        visitor.click(page.locator(".browser-dir").get_by_text("engine", exact=True))
        visitor.click(page.locator(".browser-file").get_by_text("pump.py", exact=True))
        visitor.wait_for(page.get_by_text("run_pump_1").first)

    def edit_file(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="Files"))
        visitor.click(page.locator(".browser-file").get_by_text("CHANGES.txt", exact=True))
        visitor.click(page.get_by_role("link", name="Edit on Branch"))
        visitor.write_at_start(page.locator(".CodeMirror-lines"), NEW_LINE + "\n")
        visitor.click(page.get_by_role("button", name="Commit Changes"))
        visitor.wait_for(page.locator(".code-difftable .add").get_by_text(NEW_LINE))

    def read_newest_commit(self, visitor, names):
        page = visitor.page
        visitor.click(page.locator("#changesets a.changeset_hash").first)
        visitor.wait_for(page.locator(".code-difftable .add").get_by_text(NEW_LINE))

    def read_history(self, visitor, names):
        page = visitor.page
        visitor.click(page.get_by_role("link", name="Files"))
        visitor.click(page.locator(".browser-file").get_by_text("CHANGES.txt", exact=True))
        visitor.click(page.get_by_role("link", name="Show Full History"))
        visitor.wait_for(page.locator("#changesets").get_by_text("Change 29").first)

    def open_request(self, visitor, names):
        page = visitor.page
        visitor.click(page.locator("#changesets").get_by_role("link", name=BRANCH, exact=True))
        visitor.click(page.locator("#open_new_pr"))
        visitor.click(page.get_by_role("button", name="Create Pull Request"))
        visitor.wait_for(page.get_by_text("Successfully opened new pull request"))

    def comment_on_line(self, visitor, names):
        page = visitor.page
        visitor.click(page.locator("#context-pages").get_by_role("link", name="Pull Requests"))
        visitor.click(page.locator("a.message-link").first)
        # The button of a line appears when the pointer is over the line.
        line = page.locator(".commentable-diff tr.line.add").first
        visitor.wait_for(line)
        line.hover()
        visitor.click(line.locator(".add-bubble div"))
        comments = page.locator(".commentable-diff")
        visitor.fill(comments.locator(".comment-inline-form textarea"), COMMENT)
        visitor.click(comments.locator(".comment-inline-form input[name=save]"))
        visitor.wait_for(comments.locator(".comment:not(.submitting) .comment-text").get_by_text(COMMENT))

    def add_member(self, visitor, names):
        page = visitor.page
        visitor.click(page.locator("#context-pages").get_by_role("button", name="Options"))
        visitor.click(page.get_by_role("link", name="Settings"))
        visitor.click(page.get_by_role("link", name="Permissions"))
        visitor.click(page.get_by_role("button", name="Add new"))
        visitor.click(page.locator("#permissions_manage .select2-choice"))
        visitor.fill(page.locator("#select2-drop input"), names.colleague)
        visitor.click(page.locator("#select2-drop .select2-result-selectable", has_text=names.colleague))
        visitor.click(page.locator("#permissions_manage input[name^=perm_new_member][value$=write]"))
        visitor.click(page.get_by_role("button", name="Save"))
        visitor.wait_for(page.locator("input[name=u_perm_%s][value$=write]:checked" % names.colleague))

    def add_key(self, visitor, names):
        page = visitor.page
        visitor.click(page.locator("#quick_login_link"))
        visitor.click(page.locator("#quick_login").get_by_text("My Account"))
        visitor.click(page.get_by_role("link", name="SSH Keys"))
        visitor.fill(page.get_by_label("Public key"), names.key)
        visitor.fill(page.get_by_label("Description"), "Laptop")
        visitor.click(page.get_by_role("button", name="Add", exact=True))
        visitor.wait_for(page.get_by_role("cell", name="Laptop"))


#: The title of each task, the name of its method, and where it begins: at the home of the repository, at the start
#: page, or nowhere.
TASKS = [
    ("Sign in", "sign_in", None),
    ("Create a repository", "create_repository", "start"),
    ("Find a file two directories deep and read it", "read_file", "repository"),
    ("Edit a file and commit it", "edit_file", "repository"),
    ("Read the newest commit's diff", "read_newest_commit", "repository"),
    ("See the history of a file", "read_history", "repository"),
    ("Open a merge request for a pushed branch", "open_request", "repository"),
    ("Comment on a line of it", "comment_on_line", "repository"),
    ("Add a member who can write", "add_member", "repository"),
    ("Add an SSH key", "add_key", "start"),
]
#: The branch that is pushed before a task.
PUSHED_BEFORE = {"read_file": "master", "open_request": BRANCH}


def open_session():
    """Returns an HTTP session that uses no proxy."""
    session = requests.Session()
    session.trust_env = False
    return session


def run_git(directory, *arguments, commit_time=FIRST_COMMIT_TIME):
    """Runs git without the configuration of the user."""
    environment = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull, GIT_TERMINAL_PROMPT="0",
                       GIT_AUTHOR_NAME="Ada Author", GIT_AUTHOR_EMAIL="ada@example.org",
                       GIT_COMMITTER_NAME="Ada Author", GIT_COMMITTER_EMAIL="ada@example.org",
                       GIT_AUTHOR_DATE="%d +0000" % commit_time, GIT_COMMITTER_DATE="%d +0000" % commit_time,
                       no_proxy="*")
    subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)


def create_seed(directory):
    """Creates the repository that is pushed to both forges: 60 files, 30 commits, and a branch with 3 more."""
    parts = ["pump", "valve", "gauge", "filter", "motor", "relay", "switch", "sensor", "timer"]
    files = {"%s/%s/%s" % (top, middle, part + extension): extension
             for top, extension in (("src", ".py"), ("docs", ".md"))
             for middle in ("engine", "station", "harbor")
             for part in parts}
    for path, extension in files.items():
        os.makedirs(os.path.join(directory, os.path.dirname(path)), exist_ok=True)
        part = os.path.basename(path).removesuffix(extension)
        if extension == ".py":
            text = "\n\n".join("def run_%s_%d(level):\n    return level * %d\n" % (part, number, number)
                               for number in range(1, 21))
        else:
            text = "# The %s\n\n" % part + "It runs.\n" * 40
        write_file(directory, path, text)
    write_file(directory, "README.md", "# Tide station\n\nMeasures the tide. See `src` and `docs`.\n")
    for name in ("CHANGES.txt", "LICENSE.txt", "Makefile", "setup.cfg", "VERSION.txt"):
        write_file(directory, name, "First line.\n")
    run_git(directory, "init", "-q", "-b", "master")
    run_git(directory, "add", ".")
    run_git(directory, "commit", "-q", "-m", "Add everything", commit_time=FIRST_COMMIT_TIME)
    for number in range(1, 30):
        write_file(directory, "CHANGES.txt", "Change %d.\n" % number, mode="a")
        path = "src/engine/%s.py" % parts[number % len(parts)]
        write_file(directory, path, "\n\nSPEED_%d = %d\n" % (number, number), mode="a")
        run_git(directory, "commit", "-q", "-a", "-m", "Change %d" % number,
                commit_time=FIRST_COMMIT_TIME + number * 3600)
    run_git(directory, "checkout", "-q", "-b", BRANCH)
    for number in range(1, 4):
        text = "\n\ndef run_faster_%d(level):\n    return level\n" % number
        write_file(directory, "src/harbor/pump.py", text, mode="a")
        run_git(directory, "commit", "-q", "-a", "-m", "Make the pump faster, part %d" % number,
                commit_time=FIRST_COMMIT_TIME + (29 + number) * 3600)


def write_file(directory, path, text, mode="w"):
    """Writes a text file."""
    with open(os.path.join(directory, path), mode, encoding="utf-8") as file:
        file.write(text)


def push_branch(directory, forge, names, branch):
    """Pushes a branch as the owner of the repository."""
    parts = urllib.parse.urlsplit(forge.push_address(names))
    user = "%s:%s@" % (names.owner, urllib.parse.quote(PASSWORD))
    run_git(directory, "push", "-q", parts._replace(netloc=user + parts.netloc).geturl(), branch)


def create_key():
    """Creates an SSH key and returns its public half."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "laptop", "-f", path], check=True)
        with open(path + ".pub", encoding="utf-8") as file:
            return file.read().strip()


def run_round(forge, visitor, seed):
    """Does all tasks once with new users and a new repository, and returns a measurement of each."""
    unique = uuid.uuid4().hex[:8]
    names = Names("ada" + unique, "bea" + unique, "tide" + unique, create_key())
    forge.create_user(names.owner)
    forge.create_user(names.colleague)
    visitor.context.clear_cookies()
    visitor.prepare("about:blank")
    starts = {"start": forge.url + "/", "repository": forge.repository_address(names)}
    measurements = []
    for title, method, start in TASKS:
        if method in PUSHED_BEFORE:
            push_branch(seed, forge, names, PUSHED_BEFORE[method])
        if start:
            visitor.prepare(starts[start])
        try:
            measurements.append(visitor.measure(getattr(forge, method), names))
        except Exception:
            picture = os.path.join(tempfile.gettempdir(), "side-by-side-failure.png")
            visitor.page.screenshot(path=picture)
            print("%s: this task failed on %s, see %s: %s" % (forge.name, visitor.page.url, picture, title),
                  file=sys.stderr)
            raise
    return measurements


def print_table(forges, results):
    """Prints the medians of all rounds."""
    print("| Task |" + "".join(" %s: steps | requests | kB | ms |" % forge.name for forge in forges))
    print("|---|" + "---:|" * 4 * len(forges))
    sums = [[0] * 4 for _ in forges]
    for number, (title, _, _) in enumerate(TASKS):
        cells = []
        for forge, total in zip(forges, sums):
            rounds = [measurements[number] for measurements in results[forge.name]]
            row = [statistics.median(values) for values in (
                [one.steps for one in rounds], [one.requests for one in rounds],
                [one.received / 1000 for one in rounds], [one.seconds * 1000 for one in rounds])]
            total[:] = [a + b for a, b in zip(total, row)]
            cells += row
        print("| %s | %s |" % (title, format_cells(cells)))
    print("| **Sum** | %s |" % format_cells(sum(sums, [])))


def format_cells(values):
    """Formats groups of steps, requests, kB and milliseconds."""
    return " | ".join(("%.0f", "%.0f", "%.1f", "%.0f")[index % 4] % value for index, value in enumerate(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--holdfast", required=True, metavar="URL")
    parser.add_argument("--token", required=True, metavar="ADMIN_TOKEN", help="token of an administrator of Holdfast")
    parser.add_argument("--peer", required=True, metavar="URL", help="address of Kallithea")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds, after one that fills the cache (5)")
    options = parser.parse_args()
    forges = [Holdfast(options.holdfast, options.token), Kallithea(options.peer)]
    results = {forge.name: [] for forge in forges}
    with tempfile.TemporaryDirectory() as seed, sync_playwright() as playwright:
        create_seed(seed)
        # Chromium refuses its sandbox to root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        visitors = {forge.name: Visitor(browser) for forge in forges}
        for number in range(options.rounds + 1):
            # Each forge comes first in every second round.
            for forge in forges if number % 2 else reversed(forges):
                measurements = run_round(forge, visitors[forge.name], seed)
                if number:
                    results[forge.name].append(measurements)
        browser.close()
    print_table(forges, results)


if __name__ == "__main__":
    main()
