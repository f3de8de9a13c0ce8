"""W12: 200 viewers of the trace of a running build: the time until all of them have a line, and the CPU of the server."""

import asyncio
import json
import time

from harness import plain, proc
from harness.git.browsing import BrowsingCase
from harness.git.case import Operation
from harness.git.client import git
from harness.http import request

USERS, STREAMS = 25, 8
LINES = 10
# Seconds between two parts of the trace, as runners send them.
INTERVAL = 3
CI_FILE = b"compile: {tags: [bench], script: make}\n"


class Case(BrowsingCase):
    name = "trace_viewers"

    def operations(self, _git):
        return {"viewers": Viewers(self)}

    def results(self, measured):
        figures = measured[self.measurement_name("viewers", self.local)]
        return [
            plain(self.name, "line shown to all viewers", "seconds", [each["shown"] for each in figures], at_most=1.5),
            plain(self.name, "CPU of the server, cores", "share", [each["cores"] for each in figures], at_most=0.05),
        ]


class Viewers(Operation):
    def __init__(self, case):
        self.case = case
        self._cookies = None

    def prepare(self, target):
        """Starts a build, and returns its address and the headers of its runner."""
        if self._cookies is None:
            self._cookies = [self.case.sign_in(target, f"viewer{number}") for number in range(USERS)]
        name = f"traced{time.monotonic_ns()}"
        project = target.ask("/projects", name=name, visibility_level=10, builds_enabled="true")
        directory = f"{self.case.environment.directory}/{name}"
        git("init", "-q", "-b", "main", directory)
        with open(f"{directory}/.gitlab-ci.yml", "wb") as file:
            file.write(CI_FILE)
        git("-C", directory, "add", ".")
        git("-C", directory, "-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-qm", "Add a pipeline")
        git("-C", directory, *target.options, "push", "-q", target.url(name), "main")
        runner = self._post(target, "/runners", token=project["runners_token"], tag_list="bench")
        deadline = time.monotonic() + 30
        while (build := self._post(target, "/jobs/request", token=runner["token"], info={})) is None:
            if time.monotonic() > deadline:
                raise RuntimeError("the push started no build")
            time.sleep(0.1)
        return f"/root/{name}/builds/{build['id']}", build

    @staticmethod
    def _post(target, path, **body):
        kind = {"Content-Type": "application/json"}
        status, answer = request("POST", target.port, f"/api/v4{path}", kind, json.dumps(body))
        if status not in (201, 204):
            raise RuntimeError(f"POST {path} answers {status}: {answer[:300]!r}")
        return json.loads(answer) if status == 201 else None

    def run(self, target, prepared):
        return asyncio.run(self._run(target, *prepared))

    async def _run(self, target, page, build):
        lines = [asyncio.Semaphore(0) for _ in range(LINES)]
        viewers = [asyncio.create_task(follow(target.port, f"{page}/live", cookie, lines))
                   for cookie in self._cookies for _ in range(STREAMS)]
        shown, size = [], 0
        # The streams have begun when all have the first line.
        for number, seen in enumerate(lines):
            text = f"line {number} of the trace\n"
            span = {"JOB-TOKEN": build["token"], "Content-Range": f"{size}-{size + len(text) - 1}"}
            size += len(text)
            begin = time.monotonic()
            path = f"/api/v4/jobs/{build['id']}/trace"
            status, answer = await asyncio.to_thread(request, "PATCH", target.port, path, span, text)
            if status != 202:
                raise RuntimeError(f"PATCH {path} answers {status}: {answer[:300]!r}")
            await all_have(seen, viewers)
            if number == 0:
                before, started = proc.cpu(target.server.pid), time.monotonic()
            else:
                shown.append(time.monotonic() - begin)
            await asyncio.sleep(INTERVAL)
        cores = (proc.cpu(target.server.pid) - before) / (time.monotonic() - started)
        for viewer in viewers:
            viewer.cancel()
        return {"shown": max(shown), "cores": cores}


async def all_have(line, viewers):
    """Waits until all viewers have a line. Raises the error of a viewer whose stream ended."""
    for _ in viewers:
        acquired = asyncio.create_task(line.acquire())
        done, _ = await asyncio.wait([acquired, *viewers], timeout=30, return_when=asyncio.FIRST_COMPLETED)
        if acquired not in done:
            acquired.cancel()
            ended = [viewer for viewer in done if viewer.exception()]
            raise ended[0].exception() if ended else RuntimeError("a viewer has not got the line within 30 seconds")


async def follow(port, path, cookie, lines):
    """Reads a stream of events, and releases the semaphore of each line that it contains."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    headers = f"Host: 127.0.0.1\r\nCookie: {cookie}\r\nAccept: text/event-stream\r\n"
    writer.write(f"GET {path} HTTP/1.1\r\n{headers}\r\n".encode())
    number, kept = 0, b""
    while number < len(lines):
        part = await reader.read(1 << 16)
        if not part:
            raise RuntimeError(f"the stream of {path} ends: {kept[:300]!r}")
        kept = kept[-100:] + part
        while number < len(lines) and f"line {number} of the trace".encode() in kept:
            lines[number].release()
            number += 1
    await asyncio.Event().wait()
