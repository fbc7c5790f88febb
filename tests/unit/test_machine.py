"""What a container grants: files as the kernel writes them; GPUs."""

import os

import pytest

from dc_nmt_plugin import machine

# what /proc/self/cgroup says, the files cpu.max under /sys/fs/cgroup → CPUs
CASES = {
    "no control groups": ("", {}, 8),
    "no limit": ("0::/\n", {"": "max 100000"}, 8),
    "a limit": ("0::/\n", {"": "250000 100000"}, 2),
    "a limit above": ("0::/system.slice/job.scope\n", {"system.slice": "50000 100000"}, 1),
    "the path on the host": ("0::/docker/0123\n", {"": "300000 100000"}, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_cpus_of_containers(case, tmp_path, monkeypatch):
    cgroup, limits, cpus = CASES[case]
    files = {f"sys/fs/cgroup/{folder}/cpu.max": f"{text}\n" for folder, text in limits.items()}
    for name, text in (files | {"proc/self/cgroup": cgroup}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert machine.usable_cpus() == cpus


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
