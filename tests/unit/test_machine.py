"""The CPUs that a container grants: files as the kernel writes them."""

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


@pytest.mark.parametrize("flag", ["avx512_bf16", "amx_bf16", None])
def test_processors_that_multiply_bfloat16(flag, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    assert not machine.multiplies_bfloat16(), "there is no such file"
    (tmp_path / "proc").mkdir()
    flags = f"flags\t\t: fpu avx512f {flag or ''}\nbugs\t\t: avx512_bf16\n"
    (tmp_path / "proc/cpuinfo").write_text(flags)
    assert machine.multiplies_bfloat16() == bool(flag)
