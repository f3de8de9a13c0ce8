"""The processes of a benchmark, and the helpers of dev/lib.sh."""

import copy
import os
import shlex
import subprocess
import time
from pathlib import Path

from .http import get

ROOT = Path(__file__).resolve().parent.parent.parent


def say(text):
    print(text, flush=True)


def clean_environment():
    """Returns the environment without the settings and the configuration file of another installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST__")}
    return kept | {"HOLDFAST_CONFIG": ""}


def shell(script, **variables):
    """Runs bash with the helpers of dev/lib.sh, and returns its output."""
    command = ["bash", "-euo", "pipefail", "-c", f". {shlex.quote(str(ROOT))}/dev/lib.sh\n{script}"]
    environment = clean_environment() | {"HOLDFAST_PROFILE": "release"} | variables
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.strip()


class Server:
    """A running server, which ends with this process in any case."""

    def __init__(self, command, environment, port, log, headers=None):
        self.port = port
        self.headers = headers or {}
        self.log = log
        self.started = time.monotonic()
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                env=clean_environment() | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pid = self.process.pid

    def wait_for(self, path, seconds=30):
        """Waits until the response is 200."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if get(self.port, path, self.headers)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.001)
        tail = Path(self.log).read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{path} on port {self.port} does not answer 200:\n{tail}")

    def seen_by(self, token):
        """Returns the same server with the token of another user."""
        other = copy.copy(self)
        other.headers = {"PRIVATE-TOKEN": token}
        return other

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
