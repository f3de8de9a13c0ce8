"""Many pushes of one commit each: how much slower a clone becomes, and whether maintenance restores its speed."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness import paired, plain
from harness.git import GitCase, client, wire
from harness.server import say

# Number of pushes between measurements, and number of clones in each.
EVERY = 50
LOOKS = 3
# The baseline is measured more often.
FIRST_LOOKS = 7
PAIRS = 7
REF = "refs/heads/growth"


@dataclass
class Grown:
    # Seconds and bytes of a clone, before the first push and after every batch of pushes.
    ours: list
    reference: list
    # Seconds of every push.
    pushes: list
    # Seconds of clones after maintenance, and of a new project with the same content.
    mended: list
    fresh: list


class Case(GitCase):
    """Runs after the rounds. The reference gets the same commits and is repacked before every measurement, so its
    clones get slower only because of the content."""

    name = "git_growth"
    projects = {"small-growth": "small", "medium-growth": "medium"}
    with_reference = False

    def operations(self, _git):
        return {}

    def after(self, environment):
        # The reference is needed for the comparison, whichever targets are selected.
        self._reference = self.git.target("reference")
        count = environment.pushes
        self._grown = {
            f"{fixture}, {count:,} pushes, {target.name}": self._grow(target, project, fixture, count)
            for project, fixture in self.projects.items()
            for target in self.ours
        }

    def _grow(self, target, project, fixture, count):
        commits, twin = self.commits(fixture), f"{project}-{target.name}"
        self._reference.ensure(twin, self.git.fixtures[fixture])
        chain = commits.chain("growth", count)
        grown = Grown([look(target, project, FIRST_LOOKS)], [look(self._reference, twin, FIRST_LOOKS)], [], [], [])
        with wire.Pusher(target, project) as pusher:
            for number, body in enumerate(commits.bodies(chain, REF), 1):
                begin = time.monotonic()
                pusher.push(body)
                grown.pushes.append(time.monotonic() - begin)
                if number % EVERY == 0:
                    grown.ours.append(look(target, project))
                    self._bring(twin, commits.directory, chain[number - 1])
                    grown.reference.append(look(self._reference, twin))
                    seconds = [grown.ours[-1][0], grown.reference[-1][0], median(grown.pushes[-EVERY:])]
                    clone, bare, push = (f"{each * 1e3:.1f} ms" for each in seconds)
                    say(f"{number} pushes to {project} of {target.name}: clone {clone}, reference {bare}, push {push}")
        self._mend(target, project, grown)
        return grown

    def _bring(self, twin, source, commit):
        """Pushes the same content to a new project, in the state after maintenance."""
        client.git("-C", self._reference.directory / f"{twin}.git", "fetch", "-q", source, f"{commit}:{REF}")
        self._reference.settle(twin)

    def _mend(self, target, project, grown):
        target.settle(project)
        copy, fresh = Path(self.git.directory, "fresh.git"), f"{project}-fresh"
        client.git(*target.options, "clone", "-q", "--mirror", target.url(project), copy)
        target.ensure(fresh, copy)
        shutil.rmtree(copy)
        for turn in range(PAIRS + 1):
            pair = clone(target, project, turn).seconds, clone(target, fresh, turn).seconds
            # The first clone warms the caches.
            if turn:
                grown.mended.append(pair[0])
                grown.fresh.append(pair[1])

    def results(self, _measured):
        return [line for what, grown in self._grown.items() for line in self._lines(what, grown)]

    def _lines(self, what, grown):
        ours, sizes, content = ratios(grown.ours, 0), ratios(grown.ours, 1), ratios(grown.reference, 0)
        tenth = max(1, len(grown.pushes) // 10)
        first, last = median(grown.pushes[:tenth]), median(grown.pushes[-tenth:])
        worst = {
            # More content is no reason for a faster clone.
            "beyond the reference's": ([a / max(1, b) for a, b in zip(ours, content)], {"at_most": 2.0}),
            "as it is": (ours, {}),
            "per byte": ([times / size for times, size in zip(ours, sizes)], {}),
            "the reference's, repacked": (content, {}),
        }
        return [
            *(
                plain(self.name, f"{what}: clone at worst / before, {how}", "times", [max(times)], **goal)
                for how, (times, goal) in worst.items()
            ),
            paired(self.name, f"{what}: clone after maintenance / of a fresh import", "milliseconds",
                   grown.mended, grown.fresh, at_most=1.1),
            paired(self.name, f"{what}: push, last tenth / first", "milliseconds", [last], [first]),
        ]


def clone(target, project, turn):
    """Clones without one of the old branches, another one each time. All of them are ancestors of main, so the work is
    the same, but no response is cached."""
    refs = client.refs_of(target.ls_remote(project, "refs/*"))
    old = [name for name in refs if name.startswith("refs/heads/topic/")]
    del refs[old[turn % len(old)]]
    wants = {oid for name, oid in refs.items() if not name.endswith("^{}")}
    return wire.fetch(target, project, wire.fetch_body(sorted(wants)))


def look(target, project, count=LOOKS):
    clones = [clone(target, project, turn) for turn in range(count)]
    return median(each.seconds for each in clones), clones[-1].bytes


def ratios(looks, which):
    """Returns the ratios to the first measurement."""
    return [each[which] / looks[0][which] for each in looks[1:]]
