"""What processes, and the whole machine, have computed, by the kernel's accounts."""

from __future__ import annotations

import os
from pathlib import Path

TICK = os.sysconf('SC_CLK_TCK')  # [1/s] unit of the kernel's accounts


def cpu_seconds(pids: dict[str, int]) -> dict[str, float]:
    """User and system time of each process, all its threads."""
    seconds = {}
    for name, pid in pids.items():
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
        seconds[name] = (int(fields[11]) + int(fields[12])) / TICK
    return seconds


def busy_seconds() -> float:
    """Time that all cores were busy, for us or (stolen) for other virtual machines."""
    fields = [int(f) for f in Path('/proc/stat').read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICK  # without idle and waiting for disks
