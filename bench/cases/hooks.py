"""B17: hook deliveries per second to a receiver on the same machine, and the cost of 10,000 hooks for a push."""

import random
import time
from statistics import median

from harness import BaseCase, Load, paired, plain
from harness.git import Commits, wire
from harness.hooks import Account, Sender
from harness.server import say

GOAL = 1000
PROJECTS = 100
# Approximate size of a delivery for a push of one commit.
BODY_BYTES = 2000
HOOKED, HOOKLESS = "hooked", "hookless"
# Pairs of pushes in one round; while nothing is delivered, there can be more.
PAIRS, PAIRS_OFF = 8, 20
# Seconds between pushes while deliveries are running.
PAUSE = 0.5
# Seconds after which all pending deliveries have started.
SETTLED = 2


class Deliveries:
    """Measures everything from an event until its last delivery was received."""

    def __init__(self, name, sender, count):
        self.name, self.sender, self.count = name, sender, count

    def prepare(self):
        """Prepares the measurement; not measured."""

    def start(self):
        """Causes the event, and returns the time from which the last delivery is measured."""
        raise NotImplementedError

    def measure(self, _environment):
        receiver = self.sender.receiver
        self.prepare()
        repeats, account = receiver.repeats, Account(self.sender)
        begin = self.start()
        times = receiver.wait(self.count)
        figures = account.figures(self.count)
        self.sender.check()
        say(f"{self.name}: {self.count:,} deliveries in {times[-1] - times[0]:.2f} s")
        return figures | {
            "deliveries": (self.count - 1) / max(times[-1] - times[0], 0.001),
            "since_start": self.count / (times[-1] - begin),
            "seconds_to_first": times[0] - begin,
            "seconds_to_last": times[-1] - begin,
            "repeats": receiver.repeats - repeats,
        }


class FanOut(Deliveries):
    """One push into a project with many hooks."""

    def __init__(self, name, sender, hooks, pushes):
        super().__init__(name, sender, hooks)
        self.pushes = pushes

    def prepare(self):
        self._bodies = iter(self.pushes.prepare(1))

    def start(self):
        self.pushes.push(HOOKED, self._bodies)
        return time.time()


class Backlog(Deliveries):
    """Issues that were created while nothing was delivered; then the server is restarted."""

    def __init__(self, name, sender, projects, each):
        super().__init__(name, sender, len(projects) * each)
        self.projects, self.each = projects, each

    def prepare(self):
        self.sender.restart(delivering=False)
        self.sender.add_issues(self.projects, self.each)
        self.sender.target.instance.stop("ours")

    def start(self):
        begin = time.time()
        self.sender.restart(delivering=True)
        return begin


class Pushes:
    """Pushes without git into two projects that differ only in their hooks. Both get the same commits, each in its
    order."""

    count = 0

    def __init__(self, sender, commits):
        self.sender, self.target, self.commits = sender, sender.target, commits
        self._pushers = {}

    def prepare(self, count):
        """Prepares `count` requests for a new branch, after maintenance."""
        Pushes.count += 1
        name = f"hooks-{Pushes.count}"
        bodies = list(self.commits.bodies(self.commits.chain(name, count), f"refs/heads/{name}"))
        for project in (HOOKED, HOOKLESS):
            self.target.settle(project)
            if project in self._pushers:
                self._pushers[project].close()
            self._pushers[project] = wire.Pusher(self.target, project)
        return bodies

    def push(self, project, bodies):
        """Sends a push, and returns its seconds."""
        begin = time.monotonic()
        self._pushers[project].push(next(bodies))
        return time.monotonic() - begin


def shuffled(pairs):
    """Returns a random order of pairs, the same in every run: a push with hooks slows down the following ones."""
    order = [HOOKED, HOOKLESS] * pairs
    random.Random(f"holdfast {Pushes.count}").shuffle(order)
    return order


class PushWhileOff:
    """The cost of hooks within the push itself."""

    def __init__(self, name, sender, pushes):
        self.name, self.sender, self.pushes = name, sender, pushes

    def measure(self, environment):
        bodies = self.pushes.prepare(1 + PAIRS_OFF)
        bodies = {project: iter(bodies) for project in (HOOKED, HOOKLESS)}
        taken, cpu = ({project: [] for project in bodies} for _ in range(2))
        for project in bodies:
            self.pushes.push(project, bodies[project])
        for project in shuffled(PAIRS_OFF):
            before = self._cpu()
            taken[project].append(self.pushes.push(project, bodies[project]))
            cpu[project].append(self._cpu() - before)
        figures = {f"{project}_milliseconds": median(all) for project, all in taken.items()}
        if self.sender.target.group:
            figures |= {f"{project}_operation_cpu": median(all) for project, all in cpu.items()}
        return figures

    def _cpu(self):
        return self.sender.target.group.cpu() if self.sender.target.group else 0


class PushWhileOn:
    """First pushes without hooks to an idle server; then one push starts deliveries, and the others are sent during
    these."""

    def __init__(self, name, sender, hooks, pushes):
        self.name, self.sender, self.hooks, self.pushes = name, sender, hooks, pushes

    def measure(self, environment):
        bodies = self.pushes.prepare(1 + 2 * PAIRS)
        bodies = {project: iter(bodies) for project in (HOOKED, HOOKLESS)}
        self.pushes.push(HOOKLESS, bodies[HOOKLESS])
        rest = [self.pushes.push(HOOKLESS, bodies[HOOKLESS]) for _ in range(PAIRS)]

        receiver, taken, idle = self.sender.receiver, {project: [] for project in bodies}, 0
        account = Account(self.sender)
        first = self.pushes.push(HOOKED, bodies[HOOKED])
        left = self.hooks - len(receiver.some())
        for project in shuffled(PAIRS):
            time.sleep(PAUSE)
            taken[project].append(self.pushes.push(project, bodies[project]))
            left -= len(receiver.take())
            idle += left <= 0
            left += self.hooks * (project == HOOKED)
        receiver.wait(left)
        self.sender.check()
        if idle:
            environment.note(f"{self.name}: {idle} of {2 * PAIRS} pushes came when all had been delivered already")
        figures = {f"{project}_milliseconds": median(all) for project, all in taken.items()}
        deliveries = account.figures(self.hooks * (1 + PAIRS))
        return deliveries | figures | {"rest_milliseconds": median(rest), "each": [first, taken]}


class Alone(Load):
    """Measures the receiver alone, to show that it accepts far more than it is sent."""

    def arguments(self):
        return [str(BODY_BYTES)]


class Case(BaseCase):
    def measurements(self, environment):
        on, off = Sender(environment, "hooks", True), Sender(environment, "hooks_off", False)
        self._on = on
        fixture = environment.git.fixtures["small"]
        commits = Commits(on.receiver.directory / "client.git", fixture)
        for sender in (on, off):
            for project in (HOOKED, HOOKLESS):
                sender.target.ensure(project, fixture)
            say(f"adding {environment.hooks:,} hooks to {HOOKED} of {sender.target.name}")
            sender.add_hooks(HOOKED, environment.hooks, "push_events")
        many, one = [f"project-{number}" for number in range(PROJECTS)], ["busy"]
        # The number of projects in a user's namespace is limited.
        group = on.target.ask("/groups", name="many", path="many")["id"]
        for project in many + one:
            made = on.target.ask("/projects", name=project, path=project, namespace_id=group)
            on.target.project_ids[project] = made["id"]
            on.add_hooks(project, 1, "issues_events")
        self._hooks = f"{environment.hooks:,} hooks"
        self._in_order = Backlog("hooks in order", on, one, environment.hooks // 5)
        self._alone = Alone("hooks receiver", on.receiver.server, "/alone")
        self._deliveries = {
            f"1 push, {self._hooks}": FanOut("hooks fan-out", on, environment.hooks, Pushes(on, commits)),
            f"backlog of {PROJECTS} hooks": Backlog("hooks backlog", on, many, environment.hooks // PROJECTS),
            "backlog of 1 hook": self._in_order,
        }
        self._pushes = [
            PushWhileOn("hooks push on", on, environment.hooks, Pushes(on, commits)),
            PushWhileOff("hooks push off", off, Pushes(off, commits)),
        ]
        return [*self._deliveries.values(), *self._pushes, self._alone]

    def check(self, environment):
        """Hooks get no events from before their creation."""
        time.sleep(SETTLED)
        if early := len(self._on.receiver.take()):
            environment.note(f"hooks: {early:,} deliveries of what happened before the hook was made")

    def after(self, environment):
        if self._on.receiver.repeats:
            environment.note(f"hooks: {self._on.receiver.repeats:,} deliveries came more than once")

    def results(self, measured):
        def line(how, what, unit, measurement, *figures, **goal):
            figures = [[each[figure] for each in measured[measurement.name]] for figure in figures]
            return how("hooks", what, unit, *figures, **goal)

        results = []
        for what, measurement in self._deliveries.items():
            goal = {} if measurement is self._in_order else {"at_least": GOAL}
            start = "push acknowledged" if isinstance(measurement, FanOut) else "start of the server"
            results += [
                line(plain, f"{what}: first to last", "deliveries", measurement, "deliveries", **goal),
                line(plain, f"{what}: {start} to last", "deliveries", measurement, "since_start", **goal),
                line(plain, f"{what}: {start} to first", "seconds", measurement, "seconds_to_first"),
                *(
                    line(plain, what, unit, measurement, unit)
                    for unit in ("server_cpu", "database_cpu", "receiver_cpu")
                ),
            ]
        on, off = self._pushes
        pair = (f"{HOOKED}_milliseconds", f"{HOOKLESS}_milliseconds")
        what = f"push, {self._hooks} / none"
        results += [
            line(paired, f"{what}: delivery off", "milliseconds", off, *pair, at_most=1.1),
            line(paired, f"{what}: amid deliveries", "milliseconds", on, *pair, at_most=1.1),
            line(paired, f"{what}: amid deliveries / at rest", "milliseconds", on, pair[0], "rest_milliseconds"),
        ]
        cpu = (f"{HOOKED}_operation_cpu", f"{HOOKLESS}_operation_cpu")
        if cpu[0] in measured[off.name][0]:
            results.append(line(paired, f"{what}: delivery off", "operation_cpu", off, *cpu))
        alone = line(plain, "receiver alone", "rate", self._alone, "rate", at_least=10 * GOAL)
        return [*results, alone]
