"""All processes of a benchmark: a private PostgreSQL, databases of several sizes, and servers on them."""

import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .cgroup import Group
from .git.targets import Targets
from .receiver import Receiver
from .server import ROOT, Server, clean_environment, say, shell

POOL = "20"


@dataclass
class Statement:
    """A statement that PostgreSQL executed, with the values as it logs them."""

    sql: str
    values: list[str | None]
    persistent: bool


@dataclass
class Size:
    """The arguments of bench/seed. If the number of events is given, they are generated with --feed."""

    users: int
    groups: int
    projects: int = 0
    events: int | None = None

    def arguments(self):
        numbers = [self.users, self.groups, self.projects]
        return [*map(str, numbers), *([str(self.events), "--feed"] if self.events else [])]

    def __str__(self):
        return ", ".join(f"{count:,} {what}" for what, count in vars(self).items() if count)


class Instance:
    """A database of one size, with the server and the reference; each is started on first use."""

    def __init__(self, environment, name, size, settings=None):
        self.environment, self.name, self.size = environment, name, size
        self._servers = {}
        self._tokens = {}
        cluster = environment.cluster
        shell(f'pg_psql {cluster} postgres -c "create database {name} owner holdfast"')
        self.url = shell(f"pg_url {cluster} {name}")
        self.settings = {
            "HOLDFAST__DATABASE__URL": self.url,
            "HOLDFAST__STORAGE__URL": f"file://{environment.directory}/objects-{name}",
            "HOLDFAST__GIT__CACHE_DIRECTORY": f"{environment.directory}/cache-{name}",
            "HOLDFAST__SSH__LISTEN": "",
            # One case has a repository with a million refs.
            "HOLDFAST__GIT__MAX_REFS": "10000000",
            # Cases sign in many users from one address.
            "HOLDFAST__LIMITS__SIGN_INS_PER_MINUTE": "0",
        } | (settings or {})
        shell('"$HOLDFAST" migrate >&2', **self.settings)
        say(f"filling the {name} database: {size}")
        subprocess.run([ROOT / "bench/seed", self.url, *size.arguments()], check=True)
        self.token = shell(f"admin_token {environment.directory}", **self.settings)
        # No data is left to be written during the measurement.
        shell(f"pg_psql {cluster} postgres -c checkpoint")

    def variables(self):
        """Returns the environment variables of an administration command."""
        return clean_environment() | self.settings

    def start_ours(self):
        """Starts another server; the caller waits for it and stops it."""
        port, monitoring = shell("free_port; free_port").split()
        variables = self.settings | {
            "HOLDFAST__DATABASE__MAX_CONNECTIONS": POOL,
            "HOLDFAST__SERVER__LISTEN": f"127.0.0.1:{port}",
            "HOLDFAST__SERVER__EXTERNAL_URL": f"http://127.0.0.1:{port}",
            "HOLDFAST__MONITORING__LISTEN": f"127.0.0.1:{monitoring}",
        }
        log = f"{self.environment.directory}/holdfast-{self.name}.log"
        server = Server([self.environment.holdfast, "serve"], variables, int(port), log, {"PRIVATE-TOKEN": self.token})
        server.monitoring_port = int(monitoring)
        return server

    def _start_reference(self):
        port = shell("free_port")
        variables = {"DATABASE_URL": self.url, "MAX_CONNECTIONS": POOL, "LISTEN": f"127.0.0.1:{port}"}
        log = f"{self.environment.directory}/reference-{self.name}.log"
        return Server([self.environment.reference], variables, int(port), log)

    def _server(self, which, start, path):
        if which not in self._servers:
            say(f"starting {which} on the {self.name} database")
            self._servers[which] = start()
            self._servers[which].wait_for(path)
        return self._servers[which]

    @property
    def ours(self):
        return self._server("ours", self.start_ours, "/api/v3/user")

    @property
    def reference(self):
        return self._server("reference", self._start_reference, "/axum-list/groups")

    def ours_as(self, username):
        """Returns the server with a token of this user instead of root."""
        if username not in self._tokens:
            create = f'"$HOLDFAST" admin token create --user {username} --name bench --scopes api | tail -n 1'
            self._tokens[username] = shell(create, **self.settings)
        return self.ours.seen_by(self._tokens[username])

    @property
    def root_id(self):
        """The user of the requests."""
        return self.number("select id from users where username = 'root'")

    def numbers(self, sql):
        return [int(line) for line in shell('"$POSTGRES/psql" -AtX "$URL" -c "$SQL"', URL=self.url, SQL=sql).split()]

    def execute(self, sql):
        shell('"$POSTGRES/psql" -qX -v ON_ERROR_STOP=1 "$URL" -c "$SQL"', URL=self.url, SQL=sql)

    def number(self, sql):
        return self.numbers(sql)[0]

    def running(self, which):
        return self._servers.get(which)

    def stop(self, which):
        if server := self._servers.pop(which, None):
            server.stop()

    def kill(self, which):
        """Kills a server like a crash; the next use starts it again."""
        self._servers.pop(which).kill()

    def stop_all(self):
        for which in list(self._servers):
            self.stop(which)


def read_log(text):
    """Returns the statements in PostgreSQL's log. Further lines of an entry start with a tab; values are entries of
    their own."""
    found, of_process = [], {}
    for process, kind, entry in re.findall(r"^\d\S+ \S+ \S+ \[(\d+)\] \S* ?(LOG|DETAIL):  (.*(?:\n\t.*)*)", text, re.M):
        entry = entry.replace("\n\t", "\n")
        if kind == "LOG" and (match := re.match(r"execute ([^:]+): (.*)", entry, re.S)):
            of_process[process] = Statement(match[2], [], match[1] != "<unnamed>")
            found.append(of_process[process])
        elif entry.startswith("parameters: ") and process in of_process:
            values = re.findall(r"\$\d+ = (?:'((?:[^']|'')*)'|(NULL))", entry)
            of_process[process].values = [None if null else text.replace("''", "'") for text, null in values]
    return found


class Environment:
    """The environment of a benchmark: a context manager that removes everything at its end."""

    def __init__(self, options):
        self.seconds, self.connections, self.hooks = options.seconds, options.connections, options.hooks
        self.pushes, self.forks, self.many_refs = options.pushes, options.forks, options.many_refs
        self.open_merge_requests = options.open_merge_requests
        self.large_merge_requests = options.large_merge_requests
        projects = options.large_projects
        self.sizes = {
            "small": Size(1000, 1000),
            "large": Size(options.large_users, options.large_groups),
            "projects_small": Size(200, 100, 1000),
            "projects_large": Size(projects // 5, projects // 10, projects),
            "feed_small": Size(2000, 300, 3000, 10_000),
            "feed_large": Size(2000, 300, 3000, options.large_events),
            "merge_requests_small": Size(200, 100, 200),
            "merge_requests_large": Size(200, 100, 200),
            "writes": Size(10_000, 100, 1000),
            "git_local": Size(200, 100),
            "git_s3": Size(200, 100),
            "git_hooks": Size(200, 100),
            "git_hooks_off": Size(200, 100),
        }
        self.notes = []
        self._targets = options.target
        self._instances = {}
        self._git = None
        self._receiver = None
        self._reference = os.environ.get("REFERENCE_BIN")

    def __enter__(self):
        shell("need_packages wrk postgresql-15 build-essential curl")
        shell("build")
        self.holdfast = shell('echo "$HOLDFAST"')
        self.group = Group.of_this_run()
        self.directory = tempfile.mkdtemp(prefix="holdfast-bench.", dir="/var/tmp")
        self.cluster = f"{self.directory}/db"
        try:
            os.chmod(self.directory, 0o711)
            shell(
                f"pg_start {self.cluster} durable\n"
                f"pg_psql {self.cluster} postgres -c \"alter system set shared_buffers = '512MB'\" "
                "-c 'alter system set max_connections = 400'\n"
                f"pg_stop {self.cluster}\n"
                f"pg_start {self.cluster} durable"
            )
            self.machine = self._machine()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # A second ctrl-c must not interrupt the cleanup.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for instance in self._instances.values():
            instance.stop_all()
        if self._git:
            self._git.stop()
        if self._receiver:
            self._receiver.stop()
        shell(f"pg_stop {self.cluster}")
        shutil.rmtree(self.directory, ignore_errors=True)
        if self.group:
            self.group.remove()

    @property
    def reference(self):
        if not self._reference:
            shell("say 'building the reference'; cargo build --release --package holdfast-bench-reference")
            self._reference = shell('echo "$CARGO_TARGET_DIR/release/holdfast-bench-reference"')
        return self._reference

    @property
    def git(self):
        if not self._git:
            self._git = Targets(self, self._targets)
        return self._git

    @property
    def receiver(self):
        if not self._receiver:
            self._receiver = Receiver(self)
        return self._receiver

    def instance(self, name, settings=None):
        if name not in self._instances:
            self._instances[name] = Instance(self, name, self.sizes[name], settings)
        return self._instances[name]

    def note(self, text):
        """Adds a note to the report."""
        if text not in self.notes:
            say(text)
            self.notes.append(text)

    @property
    def instances(self):
        return list(self._instances.values())

    def statements(self, request):
        """Returns the statements that PostgreSQL executes during the second call of `request`."""
        log = Path(self.cluster, "pg.log")
        self._log_statements("all")
        request()
        begin = log.stat().st_size
        request()
        with open(log, encoding="utf-8") as file:
            file.seek(begin)
            found = read_log(file.read())
        self._log_statements("none")
        return found

    def _log_statements(self, which):
        """Sets which statements are logged. Once a new session has the setting, the others have it as well."""
        psql = f"pg_psql {self.cluster} postgres -At"
        shell(
            f"{psql} -c \"alter system set log_statement = '{which}'\" -c 'select pg_reload_conf()' >/dev/null\n"
            f"until [[ $({psql} -c 'show log_statement') == {which} ]]; do sleep 0.02; done"
        )

    def postmaster(self):
        return int(Path(self.cluster, "pg/postmaster.pid").read_text().split()[0])

    def _machine(self):
        def git(*arguments):
            done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
            return done.stdout.strip()

        return {
            "cores": os.cpu_count(),
            "processor": shell("sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1"),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "kernel": platform.release(),
            "postgresql": shell(f'pg_psql {self.cluster} postgres -At -c "show server_version"'),
            "commit": git("rev-parse", "--verify", "-q", "HEAD") or None,
            "uncommitted_changes": bool(git("status", "--porcelain")),
        }
