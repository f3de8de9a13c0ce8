"""Samples the memory of the server and of its child processes."""

import threading
from pathlib import Path

from .. import proc


class MemorySampler(threading.Thread):
    """A context manager that samples continuously."""

    def __init__(self, target, every=0.05):
        super().__init__(daemon=True)
        self.target, self.pid = target, target.server.pid
        # The peak of each. Memory that child processes share, such as the pages of a pack, counts for each of them;
        # `children_own` is what they allocated.
        self.rss = self.children = self.children_rss = self.children_own = 0
        # All processes together.
        self.before = self.after = 0
        self._every, self._end = every, threading.Event()

    def __enter__(self):
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        self.before = self._all()
        self.start()
        return self

    def run(self):
        while not self._end.wait(self._every):
            children = [pid for pid in self.target.processes() if pid != self.pid]
            self.rss = max(self.rss, proc.memory(self.pid, "VmRSS"))
            self.children = max(self.children, len(children))
            self.children_rss = max(self.children_rss, sum(proc.memory(pid, "VmRSS") for pid in children))
            self.children_own = max(self.children_own, sum(proc.memory(pid, "RssAnon") for pid in children))

    def _all(self):
        return sum(proc.memory(pid, "VmRSS") for pid in self.target.processes())

    def __exit__(self, *_):
        self._end.set()
        self.join()
        self.rss = max(self.rss, proc.memory(self.pid, "VmHWM"))
        self.after = self._all()
