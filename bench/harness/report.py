"""The report as a table, and as a JSON file."""

import json
from dataclasses import asdict
from statistics import median

from .result import UNITS

HEAD = ("case", "compared", "figure", "ours", "reference", "ratio", "spread", "goal", "")


def table(results):
    lines = [HEAD]
    for r in results:
        name, show = UNITS[r.unit]
        compared = r.reference is not None
        lines.append((
            r.case,
            r.what,
            name,
            show(r.ours),
            show(r.reference) if compared else "",
            ratio(r.value) if compared else "",
            f"{r.spread:.0%}" if r.spread is not None else "",
            r.goal,
            {True: "reached", False: "MISSED", None: ""}[r.reached],
        ))
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    right = {3, 4, 5, 6}
    justify = [str.rjust if i in right else str.ljust for i in range(len(HEAD))]
    return "\n".join("  ".join(j(t, w) for j, t, w in zip(justify, line, widths)).rstrip() for line in lines)


def ratio(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def noise(rounds):
    """Returns the share of the machine that other processes used during the measurements: the median and the
    maximum."""
    shares = [m["elsewhere"] for measured in rounds.values() for m in measured if "elsewhere" in m]
    return (median(shares), max(shares)) if shares else None


def write(path, environment, options, results, rounds):
    quiet = noise(rounds)
    document = {
        "machine": environment.machine,
        "settings": {
            "rounds": options.rounds,
            "seconds": options.seconds,
            "connections": options.connections,
            "quiet_wait": options.quiet_wait,
            "hooks": options.hooks,
            "pushes": options.pushes,
            "forks": options.forks,
            "many_refs": options.many_refs,
            "large_merge_requests": options.large_merge_requests,
            "open_merge_requests": options.open_merge_requests,
            "sizes": {i.name: vars(i.size) for i in environment.instances},
        },
        "notes": environment.notes,
        "cpu_used_elsewhere": {"median": quiet[0], "most": quiet[1]} if quiet else None,
        "results": [asdict(r) | {"goal": r.goal or None, "reached": r.reached} for r in results],
        "rounds": rounds,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
