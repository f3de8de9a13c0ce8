"""Three nodes on one database and one object store, behind nginx. dev/team-day sets the environment."""
import os
import subprocess
import time

import pytest
import requests
from playwright.sync_api import expect

SCRATCH = os.environ["SCRATCH"]
START_TIMEOUT = 60
#: A page follows a node that died within seconds, and the machine may be busy.
expect.set_options(timeout=20_000)
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Node:
    def __init__(self, number, port):
        self.number, self.port, self.process = number, port, None

    def start(self):
        """Starts the process, and waits until it serves."""
        environment = dict(os.environ, HOLDFAST__SERVER__LISTEN="127.0.0.1:%d" % self.port,
                           HOLDFAST__GIT__CACHE_DIRECTORY="%s/cache-%d" % (SCRATCH, self.number))
        with open("%s/node-%d.log" % (SCRATCH, self.number), "ab") as log:
            self.process = subprocess.Popen([os.environ["HOLDFAST"], "serve"], env=environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        # dev/team-day ends what a test run that is killed leaves.
        with open("%s/node-%d.pid" % (SCRATCH, self.number), "w", encoding="ascii") as pid:
            pid.write(str(self.process.pid))
        deadline = time.monotonic() + START_TIMEOUT
        while not self.is_ready():
            assert self.process.poll() is None and time.monotonic() < deadline, "node %d does not start" % self.number
            time.sleep(0.1)

    def is_ready(self):
        try:
            return requests.get("http://127.0.0.1:%d/readyz" % self.port, timeout=5).status_code == 200
        except requests.RequestException:
            return False

    def kill(self):
        """Kills the process as a failing machine would: it finishes nothing."""
        self.process.kill()
        self.process.wait()

    def cpu_seconds(self):
        """The CPU time of the process and of the programs that it started."""
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / CLOCK_TICKS


def pytest_collection_modifyitems(items):
    """Puts the day first: it begins on an instance without users."""
    items.sort(key=lambda item: item.path.name != "test_day.py")


@pytest.fixture(autouse=True)
def all_nodes_run(nodes):
    """Starts the nodes that a failed test has killed and left."""
    for node in nodes:
        if node.process.poll() is not None:
            node.start()


@pytest.fixture(scope="session")
def nodes(base_url):
    nodes = [Node(number, int(port)) for number, port in enumerate(os.environ["NODE_PORTS"].split())]
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            if node.process:
                node.kill()
