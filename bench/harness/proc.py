"""Process accounting of the kernel."""

import os
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


def _stat(pid):
    # The command name in parentheses may contain anything; the fields after it are numbers.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu(pid):
    """Returns the CPU seconds of all threads of a process."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) * TICK


def cpu_of_family(pid):
    """Returns the CPU seconds of a process and of its running children, by process."""
    family = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = _stat(entry)
            except (FileNotFoundError, ProcessLookupError):
                continue
            if entry == str(pid) or fields[1] == str(pid):
                family[entry] = (int(fields[11]) + int(fields[12])) * TICK
    return family


def busy():
    """Returns the CPU seconds of the whole machine, including steal time. Niced processes are left out, since they give
    way to the benchmark."""
    user, _nice, system, _idle, _wait, irq, softirq, steal, *_ = map(int, Path("/proc/stat").read_text().split()[1:11])
    return (user + system + irq + softirq + steal) * TICK


def pss(pid):
    """Returns the proportional set size in bytes."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no Pss of process {pid}")


def family(pids):
    """Returns these processes and all their descendants."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                children.setdefault(int(_stat(entry)[1]), []).append(int(entry))
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = list(pids)
    for pid in found:
        found += children.get(pid, [])
    return found


def memory(pid, what):
    """Returns the bytes of a line of /proc/PID/status such as VmRSS, 0 once the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:")), 0)
