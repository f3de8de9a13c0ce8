"""Turns the figures of all rounds into the lines of the report."""

from dataclasses import dataclass
from statistics import median

# Names and formats of the figures.
UNITS = {
    "rate": ("requests/s", lambda v: f"{v:,.0f}"),
    "server_cpu": ("server CPU, us/request", lambda v: f"{v * 1e6:.1f}"),
    "database_cpu": ("database CPU, us/request", lambda v: f"{v * 1e6:.1f}"),
    "receiver_cpu": ("receiver CPU, us/request", lambda v: f"{v * 1e6:.1f}"),
    "deliveries": ("deliveries/s", lambda v: f"{v:,.0f}"),
    "seconds": ("seconds", lambda v: f"{v:.3f}"),
    "bytes": ("MB (PSS)", lambda v: f"{v / 1e6:.1f}"),
    "milliseconds": ("milliseconds", lambda v: f"{v * 1e3:.1f}"),
    "first_byte": ("first byte, ms", lambda v: f"{v * 1e3:.1f}"),
    "operation_cpu": ("server CPU, ms/operation", lambda v: f"{v * 1e3:.1f}"),
    "p50": ("half within, ms", lambda v: f"{v * 1e3:.1f}"),
    "p99": ("99 % within, ms", lambda v: f"{v * 1e3:.1f}"),
    "clones": ("clones/s", lambda v: f"{v:.1f}"),
    "pushes": ("pushes/s", lambda v: f"{v:.1f}"),
    "rss": ("MB (RSS)", lambda v: f"{v / 1e6:.1f}"),
    "processes": ("processes", lambda v: f"{v:.0f}"),
    "kept": ("pushes kept", lambda v: f"{v:.0f}"),
    "times": ("times", lambda v: f"{v:.2f}"),
    "share": ("share", lambda v: f"{v:.5f}"),
    "stored": ("bytes", lambda v: f"{v:,.0f}"),
    "growth": ("cost at large / small", lambda v: f"{v:.2f}"),
}


@dataclass
class Result:
    """One line of the report. Goals apply to `value`: a ratio if there is a reference, else the figure itself."""

    case: str
    what: str
    unit: str
    ours: float
    value: float
    spread: float | None = None
    reference: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    gate: float | None = None

    @property
    def reached(self):
        if self.at_least is None and self.at_most is None:
            return None
        return self.value >= (self.at_least or 0) and (self.at_most is None or self.value <= self.at_most)

    @property
    def goal(self):
        """The goal, in the unit of the value."""
        show = (lambda v: f"{v:.2f}") if self.reference is not None else UNITS[self.unit][1]
        if self.at_least is not None and self.at_least == self.at_most:
            return f"= {show(self.at_least)}"
        if self.at_least is not None:
            return f">= {show(self.at_least)}"
        if self.at_most is not None:
            return f"<= {show(self.at_most)}" + (f" (gate {show(self.gate)})" if self.gate else "")
        return ""


def spread(values):
    """Returns half of the range over the median."""
    return (max(values) - min(values)) / 2 / median(values) if median(values) else 0.0


def plain(case, what, unit, values, **goal):
    """Returns a figure without a reference."""
    return Result(case, what, unit, median(values), median(values), spread(values), **goal)


def compare(case, what, ours, reference, at_least, units=("rate", "server_cpu", "database_cpu")):
    """Compares the rates, which have a goal, and the CPU. Both arguments are the measurements of all rounds."""
    results = []
    for unit in units:
        mine, theirs = [m[unit] for m in ours], [m[unit] for m in reference]
        results.append(paired(case, what, unit, mine, theirs, at_least=at_least if unit == "rate" else None))
    return results


def growth(case, what, ours, reference, at_most):
    """Compares how much more a request costs at the large size; each argument is (small, large)."""
    mine, theirs = ([s["rate"] / l["rate"] for s, l in zip(*pair)] for pair in (ours, reference))
    return paired(case, what, "growth", mine, theirs, at_most=at_most)


def paired(case, what, unit, ours, reference, **goal):
    """Compares the figures of all rounds."""
    ratios = [mine / theirs for mine, theirs in zip(ours, reference)]
    return Result(case, what, unit, median(ours), median(ratios), spread(ratios), median(reference), **goal)
