"""Memory that is freed and taken again costs no page faults once the process keeps it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest
from helpers import few

IS_GLIBC = platform.libc_ver()[0] == "glibc"
# a process of its own: the allocator is the process's
PROGRAM = """
import ctypes, json, resource
from dc_nmt_plugin.allocator import keep_freed_memory

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        block = libc.malloc(SIZE)
        libc.memset(block, 1, SIZE)
        libc.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

SIZE = 48 * 1024**2
before = faults()
kept = keep_freed_memory()
faults()
after = faults()
print(json.dumps({"kept": kept, "before": before, "after": after}))
"""


def run(**environment: str) -> dict[str, int]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    output = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**clean, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, int] = json.loads(output.stdout)
    return found


def test_kept_memory_is_not_cleared_again():
    found = run()
    assert found["kept"] == IS_GLIBC
    if IS_GLIBC:
        assert found["after"] < found["before"] / 50


@pytest.mark.parametrize("name", few(["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"], "GLIBC_TUNABLES"))
def test_an_allocator_that_the_user_has_set_is_left_alone(name):
    found = run(**{name: "1"})
    assert not found["kept"] and found["after"] > found["before"] / 2
