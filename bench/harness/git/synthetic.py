"""Creates commits and packs without git, for cases that need tens of thousands."""

import hashlib
import random
import struct
import zlib

from .client import git
from .repositories import EPOCH, WHO, WORDS
from .wire import push_body

COMMIT, TREE, BLOB = 1, 2, 3
NAMES = {COMMIT: "commit", TREE: "tree", BLOB: "blob"}
# Sorted after all other names in the root.
FILE = b"zz-work.txt"


def pack(objects):
    """Returns a pack of objects, given as (kind, content)."""
    body = b"PACK" + struct.pack(">II", 2, len(objects)) + b"".join(_entry(*each) for each in objects)
    return body + hashlib.sha1(body).digest()


EMPTY = pack([])


def _entry(kind, content):
    size, head = len(content) >> 4, [kind << 4 | len(content) & 15]
    while size:
        head[-1] |= 128
        head.append(size & 127)
        size >>= 7
    return bytes(head) + zlib.compress(content)


def object_id(kind, content):
    return hashlib.sha1(f"{NAMES[kind]} {len(content)}\0".encode() + content).hexdigest()


class SyntheticCommits:
    """Commits on top of the main branch of a repository."""

    def __init__(self, fixture):
        self.main = git("-C", fixture, "rev-parse", "main").decode().strip()
        self._root = git("-C", fixture, "cat-file", "tree", "main^{tree}")

    def bodies(self, name, count, ref="refs/heads/main"):
        """Returns pushes of one commit each, which changes a file of 2 KB, and the id of the last commit. Everything
        depends on the name."""
        chance, old, bodies = random.Random(name), self.main, []
        lines = [self._line(chance) for _ in range(30)]
        for number in range(count):
            lines[chance.randrange(len(lines))] = self._line(chance)
            blob = "\n".join(lines).encode()
            tree = self._root + b"100644 " + FILE + b"\0" + bytes.fromhex(object_id(BLOB, blob))
            who = f"{WHO} {EPOCH + 2 * 10**8 + number} +0000"
            commit = f"tree {object_id(TREE, tree)}\nparent {old}\nauthor {who}\ncommitter {who}\n\nWork\n".encode()
            new = object_id(COMMIT, commit)
            bodies.append(push_body(ref, old, new, pack([(COMMIT, commit), (TREE, tree), (BLOB, blob)])))
            old = new
        return bodies, old

    def _line(self, chance):
        return " ".join(chance.choices(WORDS, k=16))
