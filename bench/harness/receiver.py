"""Takes what hooks send, so cheaply that the sender is what is measured, and looks whether all of it comes in order."""

import os
import time
from pathlib import Path

from .server import Server, shell

# One process: what it logs is in the order in which it came.
NGINX = """
daemon off;
master_process off;
{user}
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 10000; }}
http {{
    log_format receipt '$msec $uri $http_x_holdfast_sequence';
    access_log receipts receipt;
    client_max_body_size 0;
    client_body_temp_path bodies;
    fastcgi_temp_path other;
    proxy_temp_path other;
    keepalive_requests 1000000000;
    keepalive_timeout 600;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{ return 200 ""; }}
    }}
}}
"""
# Seconds without any delivery; more than the lease of a node that was killed.
PATIENCE = 90


class Receiver:
    def __init__(self, world):
        shell("command -v nginx >/dev/null || need_packages nginx-light")
        self.directory = directory = Path(world.directory, "receiver")
        directory.mkdir()
        port = int(shell("free_port"))
        user = "user root;" if os.geteuid() == 0 else ""
        (directory / "nginx.conf").write_text(NGINX.format(port=port, user=user))
        self.server = Server(["nginx", "-p", directory, "-c", "nginx.conf"], {}, port, directory / "log")
        self.server.wait_for("/ready")
        self.repeats = 0
        self._log, self._rest = open(directory / "receipts", "rb"), b""
        self._sequences = {}

    def url(self, hook):
        return f"http://127.0.0.1:{self.server.port}/{hook}"

    def take(self):
        """When each delivery came that is new since the last call; what comes once more is only counted."""
        *lines, self._rest = (self._rest + self._log.read()).split(b"\n")
        times = []
        for line in lines:
            came, hook, sequence = line.decode().split(" ")
            if sequence == "-":
                continue
            wanted, number = self._sequences.get(hook, 0) + 1, int(sequence)
            if number > wanted:
                raise RuntimeError(f"{hook} is sent number {number} before number {wanted}")
            if number < wanted:
                self.repeats += 1
                continue
            self._sequences[hook] = number
            times.append(float(came))
        return times

    def wait(self, count):
        """When each of the next deliveries came; there must be as many and no more."""
        times = self.some(count)
        if len(times) > count:
            raise RuntimeError(f"{len(times):,} deliveries came instead of {count:,}")
        return times

    def some(self, at_least=1):
        """The same, however many there are beyond these."""
        times, end = self.take(), time.monotonic() + PATIENCE
        while len(times) < at_least:
            if time.monotonic() > end:
                raise RuntimeError(f"{len(times):,} of {at_least:,} deliveries came, then none for {PATIENCE} s")
            time.sleep(0.02)
            if new := self.take():
                times += new
                end = time.monotonic() + PATIENCE
        return times

    def stop(self):
        self.server.stop()
        self._log.close()
