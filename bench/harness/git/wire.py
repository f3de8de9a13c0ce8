"""The git protocol without git, for clients that use very little CPU."""

import http.client
import socket
import time
from dataclasses import dataclass

NOTHING = "0" * 40


def pkt(text):
    return f"{len(text) + 4:04x}{text}".encode()


def command(name, arguments):
    """Returns a command of protocol version 2."""
    head = pkt(f"command={name}") + pkt("agent=git/bench") + pkt("object-format=sha1") + b"0001"
    return head + b"".join(pkt(f"{argument}\n") for argument in arguments) + b"0000"


def fetch_body(wants, depth=None):
    """Returns the fetch request of `git clone`, without progress reports."""
    deepen = [f"deepen {depth}"] if depth else []
    wanted = [f"want {oid}" for oid in wants]
    return command("fetch", ["thin-pack", "no-progress", "include-tag", "ofs-delta", *wanted, *deepen, "done"])


def refs_asked_for(*prefixes):
    """Returns the request that precedes a fetch; for all refs if no prefix is given."""
    return command("ls-refs", ["peel", "symrefs", *(f"ref-prefix {prefix}" for prefix in prefixes)])


def push_body(ref, old, new, pack):
    return pkt(f"{old} {new} {ref}\0 report-status object-format=sha1 agent=git/bench") + b"0000" + pack


def refs_body(refs, pack):
    """Returns a push that creates refs, given as (id, name)."""
    commands = [f"{NOTHING} {oid} {ref}" for oid, ref in refs]
    commands[0] += "\0 report-status object-format=sha1 agent=git/bench"
    return b"".join(map(pkt, commands)) + b"0000" + pack


@dataclass
class Fetched:
    bytes: int
    first_byte: float
    seconds: float


def fetch(target, project, body):
    """Fetches and discards the response. The first byte is that of the pack, since a server can send the bytes before
    at once."""
    head = (
        f"POST {target.path(project)}/git-upload-pack HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Authorization: {target.authorization}\r\nGit-Protocol: version=2\r\n"
        f"Content-Type: application/x-git-upload-pack-request\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    buffer = memoryview(bytearray(1 << 18))
    begin, first, count, start, end = time.monotonic(), None, 0, b"", b""
    with socket.create_connection(("127.0.0.1", target.port), timeout=600) as connection:
        connection.sendall(head.encode() + body)
        while got := connection.recv_into(buffer):
            count += got
            if first is None:
                start += buffer[:got]
                if b"PACK" in start:
                    first = time.monotonic()
            end = (end + bytes(buffer[max(0, got - 20) : got]))[-20:]
    finished = time.monotonic()
    # The last packet, in the last chunk.
    if first is None or b"0000" not in end:
        raise RuntimeError(f"{target.name}: the fetch of {project} gives no whole pack: {start[:300]!r}")
    return Fetched(count, first - begin, finished - begin)


class Pusher:
    """Sends prepared pushes like `git push`: requests the refs, then sends the push, on a persistent connection. A
    context manager, or close it."""

    def __init__(self, target, project):
        self.target, self.project = target, project
        self.connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=600)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def push(self, body):
        self.advertisement()
        self.send(body)

    def advertisement(self, service="git-receive-pack"):
        return self._ask("GET", f"info/refs?service={service}")

    def send(self, body):
        """Sends a push without requesting the refs."""
        answer = self._ask("POST", "git-receive-pack", body)
        if b"unpack ok" not in answer or b"ok refs/" not in answer:
            raise RuntimeError(f"{self.target.name}: a push into {self.project} is answered {answer[:300]!r}")

    def refs(self, body):
        """Returns the response to a request of `refs_asked_for`."""
        return self._ask("POST", "git-upload-pack", body, {"Git-Protocol": "version=2"})

    def _ask(self, method, what, body=None, headers=None):
        headers = {"Authorization": self.target.authorization} | (headers or {})
        if body:
            headers["Content-Type"] = f"application/x-{what}-request"
        self.connection.request(method, f"{self.target.path(self.project)}/{what}", body, headers)
        response = self.connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{self.target.name}: {method} {what} of {self.project} answers {response.status}")
        return answer

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
