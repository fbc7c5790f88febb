"""What a container grants: files as the kernel writes them; GPUs."""

import os

import pytest

from dc_nmt_plugin import machine

GIB = 1024**3
MEMINFO = "MemTotal:  65536000 kB\nMemFree:  1000 kB\nMemAvailable:   33554432 kB\nHugePages: 0\n"
# what /proc/self/cgroup says, files under /sys/fs/cgroup → GiB, CPUs
CASES = {
    "no cgroups": ("", {}, 32, 8),
    "version 2, no limit": (
        "0::/\n",
        {"memory.max": "max", "memory.current": 5 * GIB, "cpu.max": "max 100000"},
        *(32, 8),
    ),
    "version 2": (
        "0::/\n",
        {"memory.max": 4 * GIB, "memory.current": 3 * GIB, "cpu.max": "250000 100000",
         "memory.stat": f"anon 5\ninactive_file {GIB}\n"},
        *(2, 2),
    ),
    "version 2, a limit above": (
        "0::/system.slice/job.scope\n",
        {"system.slice/memory.max": 8 * GIB, "system.slice/memory.current": 2 * GIB,
         "system.slice/job.scope/memory.max": "max",
         "system.slice/job.scope/memory.current": GIB, "system.slice/cpu.max": "50000 100000"},
        *(6, 1),
    ),
    "version 2, the host's path": (
        "0::/docker/0123\n",
        {"memory.max": 4 * GIB, "memory.current": 5 * GIB, "cpu.max": "300000 100000"},
        *(0, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_limits_of_containers(case, tmp_path, monkeypatch):
    cgroup, files, gib, cpus = CASES[case]
    files = {f"sys/fs/cgroup/{name}": f"{text}\n" for name, text in files.items()}
    files |= {"proc/self/cgroup": cgroup, "proc/meminfo": MEMINFO}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert machine.available_memory_gib() == pytest.approx(gib)
    assert machine.usable_cpus() == cpus


def test_a_system_that_tells_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    assert machine.available_memory_gib() is None
    assert machine.usable_cpus() >= 1


GPUS = """#!/bin/sh
[ "$3" = --id ] && [ "$4" = 3 ] && exec echo 'NVIDIA A100'
[ "$#" -eq 2 ] && printf 'NVIDIA H100\\nNVIDIA H100\\n' && exit
exit 6
"""


@pytest.mark.parametrize(
    ("flags", "visible", "used"),
    [
        ({}, None, "2 x NVIDIA H100"),
        ({"distributed-world-size": 1}, None, "1 x NVIDIA H100"),
        ({"distributed-world-size": 8}, None, "8 x NVIDIA H100"),
        ({}, "3", "1 x NVIDIA A100"),
        ({"cpu": True}, None, "a processor"),
        ({}, "", "a processor"),
        ({}, "MIG-of-a-GPU", None),
    ],
)
def test_the_devices_that_a_program_uses(flags, visible, used, tmp_path, monkeypatch):
    """nvidia-smi lists the GPUs of the machine, also those that a job does not see."""
    (tmp_path / "nvidia-smi").write_text(GPUS)
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(machine, "processor", lambda: "a processor")
    assert machine.used_device(flags) == used
