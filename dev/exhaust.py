"""Measures the operations of one user while another client tries to exhaust a node. Started by dev/exhaust, which runs
a server."""
import argparse
import base64
import contextlib
import functools
import hashlib
import http.server
import json
import os
import select
import socket
import statistics
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

URL = os.environ["HOLDFAST__SERVER__EXTERNAL_URL"]
PORT = urllib.parse.urlparse(URL).port
SSH_PORT = os.environ["HOLDFAST_SSH_PORT"]
# The attacker has an address of its own, as on a network.
ATTACKER = "127.0.0.2"
# Just below the maximum number of connections of one address.
CONNECTIONS = 250
MAX_RATIO = 3
MAX_MEMORY_MB = 300
# An operation that takes longer has failed.
DEADLINE = 60
# Shorter times are dominated by starting a process or by a timer, so their differences mean nothing.
FLOOR = 0.05
PASSWORD = "correct horse battery"


def call(method, path, token=None, **fields):
    headers = {"PRIVATE-TOKEN": token} if token else {}
    data = urllib.parse.urlencode(fields).encode() if fields else None
    request = urllib.request.Request(f"{URL}/api/v3{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=DEADLINE) as response:
        return json.load(response)


def post_json(path, **fields):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(URL + path, json.dumps(fields).encode(), headers)
    with urllib.request.urlopen(request, timeout=DEADLINE) as response:
        return json.load(response) if response.status == 201 else None


def run(*command, cwd=None, **variables):
    identity = {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"} | variables
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, env=environment, timeout=DEADLINE)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace")[-300:])
    return done.stdout.decode().strip()


def take_job(user, project):
    """Registers a runner for a project, and returns the first job that it claims."""
    registration = call("GET", f"/projects/{project}", user.token)["runners_token"]
    runner, end = post_json("/api/v4/runners", token=registration)["token"], time.monotonic() + DEADLINE
    while time.monotonic() < end:
        job = post_json("/api/v4/jobs/request", token=runner)
        if job:
            return job
    raise TimeoutError("no job for the runner")


FILE_PART = b'--X\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'


class User:
    """An account with a token and an SSH key."""

    def __init__(self, name, place):
        self.name, self.place = name, place
        call("POST", "/users", os.environ["TOKEN"], username=name, name=name, email=f"{name}@example.com",
             password=PASSWORD, confirm="false")
        self.token = call("POST", "/session", login=name, password=PASSWORD)["private_token"]
        self.key = place / f"{name}.key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        call("POST", "/user/keys", self.token, title="key", key=self.key.with_suffix(".key.pub").read_text())

    def project(self, name, files, visibility=20):
        made = call("POST", "/projects", self.token, name=name, visibility_level=visibility)
        tree = self.place / f"{self.name}-{name}"
        run("git", "init", "-q", "-b", "main", tree)
        for file, content in files.items():
            (tree / file).write_bytes(content)
        run("git", "add", "-A", cwd=tree)
        run("git", "commit", "-q", "-m", "first", cwd=tree)
        run("git", "push", "-q", self.address(name), "main", cwd=tree)
        return made | {"tree": tree}

    def address(self, project):
        return f"http://{self.name}:{self.token}@127.0.0.1:{PORT}/{self.name}/{project}.git"

    def ssh(self, *options):
        return ["ssh", "-F", "/dev/null", "-i", str(self.key), "-p", SSH_PORT, "-o", "IdentitiesOnly=yes",
                "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self.place}/known", "-o", "LogLevel=ERROR",
                *options]


class MeasuredUser:
    """A user who works while the node is attacked."""

    def __init__(self, place):
        self.user, self.place, self.count = User("measured", place), place, 0
        files = {"README": b"hello\n" * 1000, ".gitlab-ci.yml": b"job: {script: echo}\n"}
        self.project = self.user.project("work", files, visibility=0)
        self.job = take_job(self.user, self.project["id"])

    def request(self):
        call("GET", "/user", self.user.token)

    def clone(self):
        self.count += 1
        run("git", "clone", "-q", self.user.address("work"), self.place / f"clone-{self.count}")

    def clone_by_ssh(self):
        self.count += 1
        address = f"ssh://git@127.0.0.1:{SSH_PORT}/measured/work.git"
        run("git", "clone", "-q", address, self.place / f"clone-{self.count}",
            GIT_SSH_COMMAND=" ".join(self.user.ssh()))

    def push(self):
        tree = self.project["tree"]
        run("git", "commit", "-q", "--allow-empty", "-m", "more", cwd=tree)
        run("git", "push", "-q", self.user.address("work"), "main", cwd=tree)

    def pipeline(self):
        """Pushes, and waits for the pipeline."""
        self.push()
        head, end = run("git", "rev-parse", "HEAD", cwd=self.project["tree"]), time.monotonic() + DEADLINE
        path = f"/projects/{self.project['id']}/pipelines?per_page=5"
        while all(pipeline["sha"] != head for pipeline in call("GET", path, self.user.token)):
            if time.monotonic() > end:
                raise TimeoutError("no pipeline was made")
            time.sleep(0.02)

    def upload_artifact(self):
        headers = {"JOB-TOKEN": self.job["token"], "Content-Type": "multipart/form-data; boundary=X"}
        body = FILE_PART + b"x" * 100_000 + b"\r\n--X--\r\n"
        request = urllib.request.Request(f"{URL}/api/v4/jobs/{self.job['id']}/artifacts", body, headers)
        urllib.request.urlopen(request, timeout=DEADLINE).read()

    def operations(self):
        return {"GET /user": self.request, "clone": self.clone, "push": self.push, "SSH clone": self.clone_by_ssh,
                "pipeline": self.pipeline, "artifact": self.upload_artifact}


def connect(port=PORT, small_window=False):
    made = socket.socket()
    made.settimeout(DEADLINE)
    if small_window:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    made.bind((ATTACKER, 0))
    made.connect(("127.0.0.1", int(port)))
    return made


class Renewed:
    """Connections that send their first bytes and then nothing. Each one that the server closes is opened again."""

    def __init__(self, count, words, port=PORT, small_window=False, drip=b""):
        self.words, self.port, self.small_window, self.drip = words, port, small_window, drip
        # Bytes that were not sent yet are kept per connection: a server that does not read one must not stop the
        # others.
        self.end, self.open, self.unsent = threading.Event(), {}, {}
        self.thread = threading.Thread(target=self.renew, args=(count,), daemon=True)

    def renew(self, count):
        while not self.end.is_set():
            for number in range(count):
                if self.end.is_set():
                    break
                if number not in self.open or self.is_closed(self.open[number]):
                    with contextlib.suppress(OSError):
                        self.replace(number)
                elif not self.unsent[number]:
                    self.unsent[number] = self.drip
                with contextlib.suppress(OSError, KeyError):
                    self.send(number)
            self.end.wait(0.5)

    def replace(self, number):
        if number in self.open:
            self.open.pop(number).close()
        made = connect(self.port, self.small_window)
        made.setblocking(False)
        self.open[number], self.unsent[number] = made, self.words

    def send(self, number):
        while self.unsent[number]:
            sent = self.open[number].send(self.unsent[number])
            self.unsent[number] = self.unsent[number][sent:]

    def is_closed(self, connection):
        try:
            if self.small_window:
                # An unread response stays in the socket buffer, and so does the end of the stream behind it.
                poll = select.poll()
                poll.register(connection, select.POLLRDHUP)
                return bool(poll.poll(0))
            poll = select.poll()
            poll.register(connection, select.POLLIN)
            return bool(poll.poll(0)) and connection.recv(65536) == b""
        except OSError:
            return True

    def __enter__(self):
        self.thread.start()
        time.sleep(3)

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        for connection in self.open.values():
            connection.close()


class Repeated:
    """Requests that are repeated, some of them concurrently."""

    def __init__(self, at_once, send):
        self.end = threading.Event()
        self.threads = [threading.Thread(target=self.repeat, args=(send,), daemon=True) for _ in range(at_once)]

    def repeat(self, send):
        while not self.end.is_set():
            with contextlib.suppress(OSError):
                send()
            self.end.wait(0.05)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        time.sleep(3)

    def __exit__(self, *_):
        self.end.set()
        for thread in self.threads:
            thread.join()


def head(method, path, *lines):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


class SlowOrigin(http.server.BaseHTTPRequestHandler):
    """A git server that sends progress forever."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        packet = lambda text: f"{len(text) + 4:04x}{text}".encode()
        capabilities = "multi_ack multi_ack_detailed side-band-64k ofs-delta symref=HEAD:refs/heads/main agent=x"
        body = packet("# service=git-upload-pack\n") + b"0000" + packet(f"{'1' * 40} HEAD\0{capabilities}\n")
        body += packet(f"{'1' * 40} refs/heads/main\n") + b"0000"
        self.send_response(200)
        self.send_header("content-type", "application/x-git-upload-pack-advertisement")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "application/x-git-upload-pack-result")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                text = b"\x02still counting\n"
                chunk = b"%04x%s" % (len(text) + 4, text)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.flush()
                time.sleep(5)

    def log_message(self, *_):
        pass


class Attacks:
    """The attacks: each method returns a context manager, within which the attack runs."""

    def __init__(self, place):
        self.user, self.place = User("attacker", place), place
        self.public = [self.user.project(f"public-{n}", {"big": os.urandom(20 << 20)}) for n in range(3)]

    @contextlib.contextmanager
    def slow_imports(self):
        origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowOrigin)
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{origin.server_address[1]}/x.git"
        made = [call("POST", "/projects", self.user.token, name=f"slow-{n}", import_url=url) for n in range(8)]
        time.sleep(5)
        yield
        for project in made:
            call("DELETE", f"/projects/{project['id']}", self.user.token)
        origin.shutdown()

    def slow_fetch_requests(self):
        lines = ["Content-Type: application/x-git-upload-pack-request", "Git-Protocol: version=2", "Content-Length: 1000"]
        return Renewed(100, head("POST", "/attacker/public-0.git/git-upload-pack", *lines) + b"0014")

    @contextlib.contextmanager
    def unread_archives(self):
        with contextlib.ExitStack() as stack:
            for project in self.public:
                path = f"/api/v3/projects/{project['id']}/repository/archive.tar"
                stack.enter_context(Renewed(8, head("GET", path), small_window=True))
            yield

    @contextlib.contextmanager
    def silent_ssh_fetches(self):
        sessions = []
        for number in range(24):
            command = [*self.user.ssh("-b", ATTACKER), "git@127.0.0.1", f"git-upload-pack attacker/public-{number % 3}.git"]
            pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            sessions.append(subprocess.Popen(command, **pipes))
        time.sleep(8)
        yield
        for session in sessions:
            session.kill()
            session.wait()

    def bodies_that_do_not_come(self):
        return Renewed(200, head("POST", "/nothing/here/at/all", "Content-Length: 1000000") + b"x")

    def large_anonymous_bodies(self):
        body = b'{"x":[' + b"0," * (7 << 20) + b"0]}"
        lines = ["Content-Type: application/json", f"Content-Length: {len(body)}"]

        def send():
            with connect() as connection:
                connection.sendall(head("PUT", "/api/v4/jobs/1", *lines) + body)
                connection.recv(1000)
        return Repeated(8, send)

    def unread_advertisements(self):
        """Requests the refs of a repository with many refs, and does not read them."""
        commit = run("git", "rev-parse", "HEAD", cwd=self.public[2]["tree"])
        packet = lambda text: f"{len(text) + 4:04x}{text}".encode()
        names = [f"{'0' * 40} {commit} refs/heads/many/{n:06d}-{'x' * 180}" for n in range(30_000)]
        names[0] += "\0 report-status"
        empty = b"PACK\0\0\0\2\0\0\0\0"
        body = b"".join(map(packet, names)) + b"0000" + empty + hashlib.sha1(empty).digest()
        authorization = base64.b64encode(f"attacker:{self.user.token}".encode()).decode()
        headers = {"Content-Type": "application/x-git-receive-pack-request", "Authorization": f"Basic {authorization}"}
        urllib.request.urlopen(
            urllib.request.Request(f"{URL}/attacker/public-2.git/git-receive-pack", body, headers), timeout=DEADLINE
        ).read()
        path = "/attacker/public-2.git/info/refs?service=git-upload-pack"
        return Renewed(60, head("GET", path), small_window=True)

    def unread_pages(self):
        """Requests pages of issues with descriptions of the maximum size, and does not read them."""
        project = self.public[1]["id"]
        for _ in range(100):
            call("POST", f"/projects/{project}/issues", self.user.token, title="x", description="x" * (64 << 10))
        lines = [f"PRIVATE-TOKEN: {self.user.token}", "Connection: close"]
        request = head("GET", f"/api/v3/projects/{project}/issues?per_page=100", *lines)
        return Renewed(CONNECTIONS, request, small_window=True)

    @functools.cached_property
    def branches_request(self):
        """Returns a request for 100 branches whose commits have messages of the maximum size that is read."""
        made = self.user.project("messages", {"file": b"x"})
        message = self.place / "message"
        message.write_bytes(b"x" * 1_000_000)
        tree = run("git", "rev-parse", "HEAD^{tree}", cwd=made["tree"])
        refs = []
        for number in range(100):
            date = {"GIT_AUTHOR_DATE": f"{1_700_000_000 + number} +0000"}
            commit = run("git", "commit-tree", tree, "-F", message, cwd=made["tree"], **date)
            refs.append(f"{commit}:refs/heads/branch-{number}")
        run("git", "push", "-q", self.user.address("messages"), *refs, cwd=made["tree"])
        path = f"/api/v3/projects/{made['id']}/repository/branches?per_page=100"
        return head("GET", path, "Connection: close")

    def unread_branches(self):
        return Renewed(CONNECTIONS, self.branches_request, small_window=True)

    def abandoned_branches(self):
        """Disconnects while the branches are read."""
        request = self.branches_request

        def send():
            with connect() as connection:
                connection.sendall(request)
                time.sleep(0.02)

        return Repeated(64, send)

    def unread_files(self):
        """Requests files of the maximum size that is sent from memory, and does not read them."""
        project = self.user.project("files", {"file": os.urandom(4 << 20)})["id"]
        request = head("GET", f"/api/v3/projects/{project}/repository/blobs/main?filepath=file", "Connection: close")
        return Renewed(CONNECTIONS, request, small_window=True)

    def long_anonymous_bodies(self):
        """Sends all but the last byte of a body of the maximum size."""
        length = 1 << 20
        return Renewed(CONNECTIONS, head("POST", "/api/v3/session", f"Content-Length: {length}") + b"x" * (length - 1))

    @contextlib.contextmanager
    def slow_uploads_of_artifacts(self):
        """Uploads artifacts slowly in four projects, so that no project exceeds its share, just above the minimum rate
        of a connection."""
        with contextlib.ExitStack() as stack:
            for number in range(4):
                script = b"a: {script: echo, artifacts: {paths: [x]}}\n"
                job = take_job(self.user, self.user.project(f"builds-{number}", {".gitlab-ci.yml": script})["id"])
                lines = [f"JOB-TOKEN: {job['token']}", "Content-Type: multipart/form-data; boundary=X",
                         "Content-Length: 100000000"]
                request = head("POST", f"/api/v4/jobs/{job['id']}/artifacts", *lines) + FILE_PART + b"abc"
                stack.enter_context(Renewed(32, request, drip=b"x" * 4096))
            yield

    def silent_ssh_connections(self):
        return Renewed(100, b"", port=SSH_PORT)

    NAMES = ("slow_imports", "slow_fetch_requests", "unread_archives", "silent_ssh_fetches", "bodies_that_do_not_come",
             "large_anonymous_bodies", "unread_advertisements", "unread_pages", "unread_branches",
             "abandoned_branches", "unread_files", "long_anonymous_bodies", "slow_uploads_of_artifacts",
             "silent_ssh_connections")


class Memory:
    """The peak memory of the server process."""

    def __init__(self):
        self.peak = 0
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{os.environ['PID']}/status").read_text().splitlines()
                used, = [int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")]
                self.peak = max(self.peak, used)
            time.sleep(0.05)


def measure(measured_user, repeat):
    """Returns the median time of each operation, None if one failed."""
    times = {}
    for name, operation in measured_user.operations().items():
        taken = []
        for _ in range(repeat):
            begun = time.monotonic()
            try:
                operation()
            except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"  {name} failed after {time.monotonic() - begun:.1f} s: {error}", flush=True)
                taken = None
                break
            taken.append(time.monotonic() - begun)
        times[name] = taken and statistics.median(taken)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path)
    parser.add_argument("--only", nargs="+", choices=Attacks.NAMES, default=Attacks.NAMES, metavar="NAME",
                        help="one or more of " + ", ".join(Attacks.NAMES))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    place = arguments.place / "clients"
    place.mkdir()
    memory, measured_user, attacks = Memory(), MeasuredUser(place), Attacks(place)
    measure(measured_user, 1)
    show = lambda title, cells, used: print(f"{title:28}" + "".join(f"{cell:>18}" for cell in cells) + f"{used:>8} MB", flush=True)
    show("attack", list(measured_user.operations()), "memory")
    failures = []
    chosen = [name for name in Attacks.NAMES if name in arguments.only]
    for attack in chosen:
        # Measured again before each attack, since the speed of the machine may change within minutes.
        memory.peak = 0
        usual = measure(measured_user, arguments.repeat)
        show("none", [f"{seconds:.3f} s" if seconds else "failed" for seconds in usual.values()], memory.peak)
        memory.peak = 0
        with getattr(attacks, attack)():
            times = measure(measured_user, arguments.repeat)
        cells = []
        for name, seconds in times.items():
            is_measured = seconds and usual[name]
            ratio = max(seconds, FLOOR) / max(usual[name], FLOOR) if is_measured else 0
            cells.append(f"{seconds:.3f} s {ratio:5.1f}x" if is_measured else "failed")
            if not is_measured or ratio > MAX_RATIO:
                failures.append(f"{name} during {attack}")
        show(attack.replace("_", " "), cells, memory.peak)
        if memory.peak > MAX_MEMORY_MB:
            failures.append(f"memory during {attack}: {memory.peak} MB")
        # Effects of the attack must not count for the next one.
        time.sleep(3)
    for failure in failures:
        print(f"too much: {failure}")
    print(f"{len(chosen)} attacks, {len(failures)} findings")
    if failures and not arguments.report:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
