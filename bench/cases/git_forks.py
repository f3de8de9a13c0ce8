"""Many forks of large with pushes to each: the bytes that they add to the storage."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from harness import plain
from harness.git import ContentCase, client, wire
from harness.git.synthetic import SyntheticCommits
from harness.server import say

ORIGIN = "large-forks"
PUSHES = 10
CLIENTS = 4
# If forks have more packs than this after maintenance, a sample of them is repacked one by one.
FEW_PACKS = 3
SAMPLE = 20
# Includes all files of a pack. A pack counts once, however many repositories list it.
BYTES = r"""select coalesce(sum(part.value::bigint), 0)::bigint
    from packs p, jsonb_each_text(to_jsonb(p)) part
    where p.state = 'live' and part.key like '%\_bytes' and exists (
        select from repository_packs l join repositories r on r.id = l.repository_id
        where l.pack_id = p.id and {})"""
OF_NETWORK = "r.network_id = (select network_id from repositories where project_id = {})"
PACKS = """select count(*) from repository_packs l join repositories r on r.id = l.repository_id
    where r.project_id in ({})"""


class Case(ContentCase):
    """Runs after the rounds."""

    name = "git_forks"
    projects = {ORIGIN: "large"}

    def operations(self, _git):
        return {}

    def after(self, environment):
        self._count = environment.forks
        self._origin = self.local.project_ids[ORIGIN]
        self._made = SyntheticCommits(self.git.fixtures["large"])
        self._stored, self._directory = {"before": self._bytes()}, {"before": self._files()}
        self._cache = self._copies()
        with ThreadPoolExecutor(CLIENTS) as pool:
            begin = time.monotonic()
            forks = list(pool.map(self._fork, range(self._count)))
            self._forking = [seconds for _, _, seconds in forks]
            say(f"{self._count:,} forks in {time.monotonic() - begin:.0f} s")
            begin, used = time.monotonic(), self._cpu()
            sent, self._taken = zip(*pool.map(self._push, forks))
            self._sent, self._pushing, self._used = sum(sent), time.monotonic() - begin, self._cpu() - used
            say(f"{self._count * PUSHES:,} pushes in {self._pushing:.0f} s")
        self._stored["pushed"], self._cache = self._bytes(), self._copies() - self._cache
        self._maintain(environment, forks)
        self._stored["maintained"], self._directory["maintained"] = self._bytes(), self._files()
        self._see(forks[-1])

    def _fork(self, number):
        begin = time.monotonic()
        group = self.local.ask("/groups", name=f"many-forks-{number}", path=f"many-forks-{number}")
        made = self.local.ask(f"/projects/fork/{self._origin}", namespace=group["id"])
        return f"{group['path']}/{ORIGIN}", made["id"], time.monotonic() - begin

    def _push(self, fork):
        """Returns the bytes that were sent, and the seconds of each push."""
        bodies, _ = self._made.bodies(fork[0], PUSHES)
        taken = []
        with wire.Pusher(self.local, fork[0]) as pusher:
            for body in bodies:
                begin = time.monotonic()
                pusher.push(body)
                taken.append(time.monotonic() - begin)
        return sum(map(len, bodies)), taken

    def _maintain(self, environment, forks):
        begin = time.monotonic()
        command = [environment.holdfast, "admin", "sweep"]
        done = subprocess.run(command, capture_output=True, text=True, env=self.local.instance.variables())
        if "unrecognized subcommand" in done.stderr:
            environment.note("there is no `holdfast admin sweep`")
        elif done.returncode:
            raise RuntimeError(f"holdfast admin sweep failed:\n{done.stderr}")
        self.local.settle(ORIGIN)
        self._maintaining = time.monotonic() - begin
        self._projected = None
        if (packs := self._packs(forks)) > FEW_PACKS:
            sample = forks[:: max(1, len(forks) // SAMPLE)]
            repacked = f"{len(sample)} were repacked one by one"
            environment.note(f"git_forks: {packs:.1f} packs a fork after maintenance; {repacked}")
            for path, _, _ in sample:
                self.local.settle(path)
            self._projected = self._own(sample) / len(sample) * self._count

    def _packs(self, forks):
        return self._number(PACKS.format(", ".join(str(project) for _, project, _ in forks))) / len(forks)

    def _bytes(self):
        return self._number(BYTES.format(OF_NETWORK.format(self._origin)))

    def _own(self, forks):
        """Returns the bytes of packs that the origin does not list."""
        theirs = f"r.project_id in ({', '.join(str(project) for _, project, _ in forks)})"
        origin = f"r.project_id = {self._origin}"
        both = f"{theirs} and not exists (select from repository_packs o join repositories r on r.id = o.repository_id "
        return self._number(BYTES.format(f"{both} where o.pack_id = p.id and {origin})"))

    def _number(self, sql):
        return self.local.instance.number(sql)

    def _cpu(self):
        """Returns the CPU seconds of the server, 0 without a control group."""
        return self.local.group.cpu() if self.local.group else 0

    def _files(self):
        return size(self.local.instance.settings["HOLDFAST__STORAGE__URL"].removeprefix("file://"))

    def _copies(self):
        return size(self.local.instance.settings["HOLDFAST__GIT__CACHE_DIRECTORY"])

    def _see(self, fork):
        """Checks that the pushed commits are still there."""
        _, last = self._made.bodies(fork[0], PUSHES)
        wire.fetch(self.local, fork[0], wire.fetch_body([last]))
        there = client.refs_of(self.local.ls_remote(fork[0], "refs/heads/main"))
        if there != {"refs/heads/main": last}:
            raise RuntimeError(f"{fork[0]} has {there} instead of {last}")

    def results(self, _measured):
        def line(what, unit, value, **goal):
            return plain(self.name, f"{self._count:,} forks, {PUSHES} pushes each: {what}", unit, [value], **goal)

        large, pushes = self._stored["before"], self._count * PUSHES
        pushed, added = (self._stored[when] - large for when in ("pushed", "maintained"))
        whole = added if self._projected is None else self._projected
        how = "" if self._projected is None else ", projected from a sample"
        return [
            line(f"added / large{how}", "share", whole / large, at_most=0.01),
            line(f"added / as many copies of large{how}", "share", whole / large / self._count),
            line(f"added by a push{how}", "stored", whole / pushes),
            line("added by a push before maintenance", "stored", pushed / pushes),
            line("sent by a push", "stored", self._sent / pushes),
            line("sent / large", "share", self._sent / large),
            line("large", "stored", large),
            line("added in the directory", "stored", self._directory["maintained"] - self._directory["before"]),
            line("added to this node's copies", "stored", self._cache),
            line("a fork and its group", "milliseconds", median(self._forking)),
            line("the first push", "milliseconds", median(taken[0] for taken in self._taken)),
            line("a later push", "milliseconds", median(each for taken in self._taken for each in taken[1:])),
            line("a push", "operation_cpu", self._used / pushes),
            line("by hand", "pushes", pushes / self._pushing),
            line("maintenance", "seconds", self._maintaining),
        ]


def size(directory):
    """Returns the bytes on disk; files with several names count once."""
    # Some files may be deleted meanwhile.
    done = subprocess.run(["du", "-s", "--block-size=1", directory], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return int(done.stdout.split()[0])
