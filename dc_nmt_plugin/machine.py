"""What this machine grants a process: CPUs, memory, disk. Standard library only."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

GIB = 1024**3


def usable_cpus() -> int:
    """CPUs this process may use: its affinity, and a container's quota where there is one."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return min(count, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or no limit ("max")
        return count


def available_memory_gib() -> float | None:
    """Memory that can be had without swapping, GiB; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return kib["MemAvailable"] * 1024 / GIB if "MemAvailable" in kib else None


def free_disk_gib(folder: Path) -> float:
    """Free space on the disk that holds ``folder``, GiB."""
    return shutil.disk_usage(folder).free / GIB
