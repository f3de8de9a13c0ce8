"""A push of one commit to large from a clone of depth 1, against the same from a full clone."""

import time

from harness import paired
from harness.git import GitCase

PAIRS = 8


class Case(GitCase):
    """Runs after the rounds, because its pushes change what the other cases clone."""

    name = "git_shallow"
    projects = {"large": "large"}

    def operations(self, _git):
        self._clients = {
            "full": self.commits("large"),
            "shallow": self.commits("large", depth=1),
        }
        return {}

    def after(self, _environment):
        self._taken = {target.name: {kind: [] for kind in self._clients} for target in self.targets}
        chains = {kind: commits.chain(f"shallow-{kind}", PAIRS) for kind, commits in self._clients.items()}
        for pair in range(PAIRS):
            for target in self.targets:
                for kind in sorted(chains, reverse=bool(pair % 2)):
                    begin = time.monotonic()
                    self._clients[kind].push(target, "large", chains[kind][pair], f"refs/heads/from-{kind}")
                    self._taken[target.name][kind].append(time.monotonic() - begin)

    def results(self, _measured):
        return [
            paired(
                self.name,
                f"depth-1 clone / full clone, {target.name}",
                "milliseconds",
                *(self._taken[target.name][kind][1:] for kind in ("shallow", "full")),
                at_most=2 if target in self.ours else None,
            )
            for target in self.targets
        ]
