"""The CPUs that a container grants: files as the kernel writes them."""

import os

import pytest

from dc_nmt_plugin import machine


@pytest.mark.parametrize(("quota", "cpus"), [(None, 8), ("max 100000", 8), ("250000 100000", 2)])
def test_cpus_of_containers(quota, cpus, tmp_path, monkeypatch):
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    if quota:
        (tmp_path / "sys/fs/cgroup/cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert machine.usable_cpus() == cpus


@pytest.mark.parametrize("flag", ["avx512_bf16", "amx_bf16", None])
def test_processors_that_multiply_bfloat16(flag, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    monkeypatch.delenv("DC_NMT_BFLOAT16")
    assert not machine.multiplies_bfloat16(), "there is no such file"
    (tmp_path / "proc").mkdir()
    flags = f"flags\t\t: fpu avx512f {flag or ''}\nbugs\t\t: avx512_bf16\n"
    (tmp_path / "proc/cpuinfo").write_text(flags)
    assert machine.multiplies_bfloat16() == bool(flag)
