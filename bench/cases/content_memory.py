"""B16: memory of the server and its child processes for trees of a million entries and an archive of 2 GB, and the
processes that are left after the client of an archive disconnects."""

import socket
import time
from pathlib import Path

from harness import plain
from harness.git import ContentCase, MemorySampler
from harness.git.content import Connection, api
from harness.server import say

PER_PAGE = 100
# The directories of the first one are entries, too.
ENTRIES = {"tree": 1_001_000, "flat": 1_000_000}
ARCHIVE = "archive.tar"
ARCHIVE_BYTES = 40 * 50_000_000
# Seconds between samples; a page may take little time.
EVERY = 0.01
# Bytes after which the client disconnects, and the seconds within which the child processes must end.
ENOUGH = 10_000_000
TIMEOUT = 5


class Case(ContentCase):
    """Runs after the rounds."""

    name = "content_memory"
    projects = {"tree": "tree", "flat": "flat", "archive": "archive"}

    def operations(self, _git):
        return {}

    def after(self, environment):
        self._watched, self._seconds = {}, {}
        for project, entries in ENTRIES.items():
            last = -(-entries // PER_PAGE)
            for page in (1, last):
                path = api(self.local, project, f"tree?recursive=true&per_page={PER_PAGE}&page={page}")
                self._watch(f"{project}, page {page:,}", lambda: self._page(path))
        self._watch("archive of 2 GB", self._archive)
        self._left = self._leave(environment)

    def _watch(self, what, do):
        begin = time.monotonic()
        with MemorySampler(self.local, EVERY) as self._watched[what]:
            do()
            self._seconds[what] = time.monotonic() - begin
        say(f"{what}: {self._seconds[what]:.2f} s, server {self._watched[what].rss / 1e6:.0f} MB")

    def _page(self, path):
        with Connection(self.local) as connection:
            connection.get(path)

    def _archive(self):
        if (count := self._read(None)) < ARCHIVE_BYTES:
            raise RuntimeError(f"the archive has only {count:,} bytes")

    def _read(self, at_most):
        """Returns the number of bytes that were read until the end or until `at_most`."""
        server, count, start = self.local.server, 0, b""
        headers = {"Host": "127.0.0.1", "Connection": "close"} | server.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        buffer = memoryview(bytearray(1 << 18))
        with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
            connection.sendall(f"GET {api(self.local, 'archive', ARCHIVE)} HTTP/1.1\r\n{lines}\r\n".encode())
            while (at_most is None or count < at_most) and (got := connection.recv_into(buffer)):
                start = start or bytes(buffer[:300])
                count += got
        if not start.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"{ARCHIVE} is answered {start!r}")
        return count

    def _leave(self, environment):
        """Returns the number of remaining child processes that were not there before, and the seconds until there are
        none."""
        there = set(self.local.processes())
        self._read(ENOUGH)
        begin = time.monotonic()
        while (left := set(self.local.processes()) - there) and time.monotonic() < begin + TIMEOUT:
            time.sleep(0.02)
        seconds = time.monotonic() - begin
        for pid in left:
            environment.note(f"{TIMEOUT} s after the client went away there is still: {command_line(pid)}")
        return len(left), seconds

    def results(self, _measured):
        results = []
        for what, watched in self._watched.items():
            figures = {
                "server": (watched.rss, {"at_most": 200e6}),
                "git children": (watched.children_rss, {}),
                "git children without files": (watched.children_own, {}),
                "all, before": (watched.before, {}),
                "all, after": (watched.after, {}),
            }
            results += [plain(self.name, f"{what}: {who}", "rss", [v], **goal) for who, (v, goal) in figures.items()]
            results.append(plain(self.name, what, "seconds", [self._seconds[what]]))
        gone = f"archive, client gone after {ENOUGH / 1e6:.0f} MB"
        return results + [
            plain(self.name, f"{gone}: git children left", "processes", [self._left[0]], at_most=0),
            plain(self.name, gone, "seconds", [self._left[1]], at_most=TIMEOUT),
        ]


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "a process that has ended since"
