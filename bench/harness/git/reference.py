"""The reference: nginx, fcgiwrap and `git http-backend` on plain bare repositories."""

import contextlib
import os
import shutil
import signal
from pathlib import Path

from ..server import Server, shell
from .client import ENVIRONMENT, git
from .repositories import settle
from .target import Target

WORKERS = 32
NGINX = """
daemon off;
worker_processes {cores};
{user}
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_max_body_size 0;
    # The quickest of the settings that were tried. Answers that clients are slow to read go through no file.
    fastcgi_buffers 16 64k;
    fastcgi_buffer_size 64k;
    fastcgi_max_temp_file_size 0;
    client_body_temp_path bodies;
    fastcgi_temp_path answers;
    proxy_temp_path other;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            fastcgi_pass unix:{directory}/fcgiwrap;
            fastcgi_read_timeout 600;
            fastcgi_param SCRIPT_FILENAME {backend};
            fastcgi_param GIT_PROJECT_ROOT {directory};
            fastcgi_param GIT_HTTP_EXPORT_ALL 1;
            fastcgi_param PATH_INFO $uri;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param REMOTE_ADDR $remote_addr;
        }}
    }}
}}
"""


class Reference(Target):
    name = "reference"

    def __init__(self, environment, group):
        super().__init__(group, "bench:bench")
        shell("command -v nginx >/dev/null || need_packages nginx-light; need_packages fcgiwrap")
        self.directory = Path(environment.directory, "reference")
        self.directory.mkdir()
        self.port = int(shell("free_port"))
        (self.directory / "nginx.conf").write_text(self._configuration())
        with self.accounted():
            log = self.directory / "log"
            socket = f"unix:{self.directory}/fcgiwrap"
            self._servers = [
                Server(["fcgiwrap", "-c", str(WORKERS), "-s", socket], ENVIRONMENT, self.port, log),
                Server(["nginx", "-p", self.directory, "-c", "nginx.conf"], ENVIRONMENT, self.port, log),
            ]

    def _configuration(self):
        return NGINX.format(
            cores=os.cpu_count(),
            user="user root;" if os.geteuid() == 0 else "",
            port=self.port,
            directory=self.directory,
            backend=Path(git("--exec-path").decode().strip(), "git-http-backend"),
        )

    @property
    def roots(self):
        return [server.pid for server in self._servers]

    def path(self, project):
        return f"/{project}.git"

    def _fill(self, project, fixture):
        shutil.copytree(fixture, self.directory / f"{project}.git")
        git("-C", self.directory / f"{project}.git", "config", "http.receivepack", "true")
        self._servers[-1].wait_for(f"{self.path(project)}/info/refs?service=git-upload-pack")

    def settle(self, project):
        settle(self.directory / f"{project}.git")

    def stop(self):
        for server in reversed(self._servers):
            server.stop()
            # The workers of fcgiwrap outlive it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
