"""CPUs, GPUs and packages that a process may use, without loading torch.

They decide the number of processes and the precision, and stand in the record of a run.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from itertools import cycle, islice
from pathlib import Path

_ROOT = Path("/")
BFLOAT16 = "DC_NMT_BFLOAT16"  # a variable of the environment
FAIRSEQS = ("ve-fairseq", "fairseq-fixed", "fairseq")  # distributions that are fairseq


def version_of(distribution: str) -> str | None:
    """Returns the installed version; None if the distribution is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def usable_cpus() -> int:
    """Returns the CPUs that this process may use, by affinity and the quota of a container."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = _read(_ROOT / "sys/fs/cgroup/cpu.max").split()  # "QUOTA PERIOD", or "max PERIOD"
    if len(quota) == 2 and quota[0] != "max":
        count = min(count, max(1, int(quota[0]) // int(quota[1])))
    return count


def processor() -> str:
    """Returns the name of the CPU and the number of its cores."""
    lines = _read(_ROOT / "proc/cpuinfo").splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    if names:
        return f"{names[0]}, {len(names)} cores"
    return platform.processor() or platform.machine()


def multiplies_bfloat16() -> bool:
    """Returns whether the CPU is to multiply in bfloat16: as the variable says, 0 or 1.

    Without the variable, whether the CPU has instructions for it; the best have amx too.
    """
    chosen = os.environ.get(BFLOAT16)
    if chosen:
        return chosen == "1"
    flags = _read(_ROOT / "proc/cpuinfo").partition("flags")[2].partition("\n")[0].split()
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(flags)


def used_device(flags: Mapping[str, bool | int | float | str]) -> str | None:
    """Returns what a program runs on with these flags, such as "2 x NAME"; None: unknown."""
    names = [] if flags.get("cpu") else _visible_gpus()
    if names is None:
        return None
    if not names:
        return processor()
    processes = flags.get("distributed-world-size", len(names))  # each takes one GPU
    used = Counter(islice(cycle(names), int(processes)))  # other machines have the same GPUs
    return ", ".join(f"{count} x {name}" for name, count in used.items())


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


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
