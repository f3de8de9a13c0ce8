"""Receives hook deliveries cheaply enough that the sender is measured, and checks that they arrive completely and in
order."""

import os
import time
from pathlib import Path

from .server import Server, shell

# A single process, so that the order of the log is the order of arrival.
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
# Maximum seconds without a delivery; more than the lease of a node that was killed.
TIMEOUT = 90


class Receiver:
    def __init__(self, environment):
        shell("command -v nginx >/dev/null || need_packages nginx-light")
        self.directory = directory = Path(environment.directory, "receiver")
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
        """Returns the arrival times of deliveries that are new since the last call; repeated ones are only counted."""
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
        """Waits for exactly `count` deliveries, and returns their arrival times."""
        times = self.some(count)
        if len(times) > count:
            raise RuntimeError(f"{len(times):,} deliveries came instead of {count:,}")
        return times

    def some(self, at_least=1):
        """Like `wait`, but accepts more than `at_least` deliveries."""
        times, end = self.take(), time.monotonic() + TIMEOUT
        while len(times) < at_least:
            if time.monotonic() > end:
                raise RuntimeError(f"{len(times):,} of {at_least:,} deliveries came, then none for {TIMEOUT} s")
            time.sleep(0.02)
            if new := self.take():
                times += new
                end = time.monotonic() + TIMEOUT
        return times

    def stop(self):
        self.server.stop()
        self._log.close()
