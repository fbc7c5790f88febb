"""CPUs, memory and disk that a process may use. Loads torch for the name of a GPU alone."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from pathlib import Path, PurePosixPath

GIB = 1024**3
_ROOT = Path("/")


def usable_cpus() -> int:
    """Returns the CPUs that this process may use, by affinity and container quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    for group in _control_groups("cpu"):
        quota, period = (
            [
                *_numbers(group / "cpu.max"),  # version 2
                *_numbers(group / "cpu.cfs_quota_us"),
                *_numbers(group / "cpu.cfs_period_us"),
            ][:2]
            or (-1, 1)
        )
        if quota > 0:
            count = min(count, max(1, quota // period))
    return count


def available_memory_gib() -> float | None:
    """Returns the memory available without swapping, in GiB, within a container's limit.

    None if the system does not report it.
    """
    free = _table(_ROOT / "proc/meminfo")
    if "MemAvailable" not in free:
        return None
    return min([free["MemAvailable"] * 1024, *_left_in_groups()]) / GIB


def free_disk_gib(folder: Path) -> float:
    """Returns the free space on the disk of ``folder`` in GiB."""
    return shutil.disk_usage(folder).free / GIB


def processor(device: str) -> str:
    """Returns the name of a device, "cpu" or "cuda"."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
        return f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def used_device(flags: Mapping[str, bool | int | float | str]) -> str | None:
    """Returns what a program of fairseq runs on, such as "2 x NAME" for GPUs; None: unknown.

    Args:
        flags: of the program, without dashes; a process takes one GPU
    """
    names = [] if flags.get("cpu") else _visible_gpus()
    if names is None:
        return None
    if not names:
        return processor("cpu")
    processes = flags.get("distributed-world-size", len(names))
    used = Counter(islice(cycle(names), int(processes)))  # other machines have the same GPUs
    return ", ".join(f"{count} x {name}" for name, count in used.items())


def is_gpu(device: str) -> bool:
    """Returns whether a name from :func:`used_device` is that of GPUs."""
    return re.match(r"\d+ x ", device) is not None


def _visible_gpus() -> list[str] | None:
    """Returns the names of the GPUs; asking torch would take some of their memory."""
    program, visible = shutil.which("nvidia-smi"), os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible == "":
        return []
    if program is None:
        return None if Path("/dev/kfd").exists() else []  # that is AMD's driver
    words = [program, "--query-gpu=name", "--format=csv,noheader"]
    words += ["--id", visible] if visible else []
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def _left_in_groups() -> Iterator[int]:
    """Yields the bytes left under each control group's limit; cached files count as left."""
    for group in _control_groups("memory"):
        limit = [*_numbers(group / "memory.max"), *_numbers(group / "memory.limit_in_bytes")]
        used = [*_numbers(group / "memory.current"), *_numbers(group / "memory.usage_in_bytes")]
        if limit and used:
            cached = _table(group / "memory.stat")
            files = cached.get("total_inactive_file", cached.get("inactive_file", 0))
            yield max(0, limit[0] - used[0] + files)


def _control_groups(controller: str) -> Iterator[Path]:
    """Yields the folders of this process's group and its parent groups, whose limits all apply.

    In a container, /proc may have the host's path of the group, of which only the end or nothing is
    visible. The group is then the top folder.

    Args:
        controller: "cpu" or "memory"
    """
    top = _ROOT / "sys/fs/cgroup"
    for line in _lines(_ROOT / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # version 1 has a tree for each controller; version 2 one, maybe beside them
        tree = top / controllers if controllers else top
        for part in (PurePosixPath(path), *PurePosixPath(path).parents):
            yield tree / part.relative_to("/")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []


def _numbers(path: Path) -> list[int]:
    """Returns the numbers of a file of one line; empty if there is no limit ("max")."""
    words = [word for line in _lines(path) for word in line.split()]
    return [] if "max" in words else [int(word) for word in words]


def _table(path: Path) -> dict[str, int]:
    """Returns name → number, without units."""
    rows = [line.replace(":", " ").split() for line in _lines(path)]
    return {row[0]: int(row[1]) for row in rows if len(row) > 1}
