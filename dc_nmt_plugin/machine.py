"""CPUs, memory and disk that a process may use. Standard library only."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

GIB = 1024**3


def usable_cpus() -> int:
    """Returns the CPUs that this process may use, by affinity and container quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return min(count, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or no limit ("max")
        return count


def available_memory_gib() -> float | None:
    """Returns the memory available without swapping in GiB; None if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return kib["MemAvailable"] * 1024 / GIB if "MemAvailable" in kib else None


def free_disk_gib(folder: Path) -> float:
    """Returns the free space on the disk of ``folder`` in GiB."""
    return shutil.disk_usage(folder).free / GIB
