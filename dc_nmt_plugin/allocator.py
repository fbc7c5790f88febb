"""The C library's memory allocator. Standard library only."""

from __future__ import annotations

import ctypes
import os

# of glibc's malloc.h
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_TOP_PAD = 64 * 1024**2  # bytes


def keep_freed_memory() -> bool:
    """Keeps freed memory in this process for its next tensor.

    glibc returns large blocks to the system at once, and the system clears every page of the next
    block. The kept memory is returned when the process ends. Does nothing if the environment sets
    glibc's allocator.

    Returns:
        True if this C library supports it and it was done
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    wanted = {_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: -1, _M_TOP_PAD: _TOP_PAD}  # -1: never
    done = [mallopt(name, value) == 1 for name, value in wanted.items()]
    return all(done)
