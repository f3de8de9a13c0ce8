"""git commands as operations to compare the server with. They run beside the server and ignore the target."""

import resource
import subprocess
import time
from pathlib import Path
from statistics import median

from ..server import shell
from . import client
from .case import Operation

# Number of requests for estimating the rate.
FEW = 3000


class CatFile(Operation):
    """One warm `git cat-file --batch` that reads its requests from a file and writes to /dev/null."""

    def __init__(self, environment, fixture, request):
        self.fixture, self.request = fixture, request
        self.seconds, self.directory = environment.seconds, Path(environment.directory)
        self._count = None
        if len(client.git("-C", fixture, "cat-file", "--batch-check", stdin=f"{request}\n".encode()).split()) != 3:
            raise RuntimeError(f"{fixture} has no {request}")

    def prepare(self, _side):
        """Prepares as many requests as the measurement takes."""
        if not self._count:
            self._prepare(FEW)
            self._prepare(int(FEW / self._take(FEW) * self.seconds))

    def run(self, _side, _prepared):
        return {"rate": self._count / self._take(self._count)}

    def _prepare(self, count):
        self._count = count
        self._file().write_text(f"{self.request}\n" * count)

    def _file(self):
        return self.directory / f"requests-{id(self)}"

    def _command(self):
        return ["git", "-C", self.fixture, "cat-file", "--batch"]

    def _take(self, _count):
        """Runs the requests, and returns the seconds."""
        begin = time.monotonic()
        with open(self._file(), "rb") as requests:
            subprocess.run(
                self._command(), check=True, stdin=requests, stdout=subprocess.DEVNULL, env=client.ENVIRONMENT
            )
        return time.monotonic() - begin


class CatFileByPipes(CatFile):
    """Like `CatFile`, but each request is written after the response to the previous one has been read."""

    def _prepare(self, count):
        self._count = count
        self._program = self.directory / "roundtrip"
        if not self._program.exists():
            source = Path(__file__).parent / "roundtrip.c"
            shell('cc -O2 -o "$PROGRAM" "$SOURCE"', PROGRAM=str(self._program), SOURCE=str(source))

    def _take(self, count):
        command = [self._program, str(count), self.request, *self._command()]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=client.ENVIRONMENT)
        return float(done.stdout)


class Command(Operation):
    """A whole run of a git command, whose output is discarded."""

    def __init__(self, fixture, *arguments, count=1):
        self.command, self.count = ["git", "-C", fixture, *arguments], count

    def run(self, _side, _prepared):
        taken, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(self.count):
            begin = time.monotonic()
            subprocess.run(self.command, check=True, stdout=subprocess.DEVNULL, env=client.ENVIRONMENT)
            taken.append(time.monotonic() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"milliseconds": median(taken), "bare_cpu": cpu / self.count}
