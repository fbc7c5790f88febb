"""The C library's memory allocator. Standard library only."""

from __future__ import annotations

import ctypes
import os

# of glibc's malloc.h
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_TOP_PAD = 64 * 1024**2  # bytes


def keep_freed_memory() -> bool:
    """Keeps freed memory in this process for its next tensor.

    glibc gives large blocks back to the system at once, which clears every page anew for the next
    block. What is kept is returned when the process ends. A process whose environment sets glibc's
    allocator is left as it is.

    Returns:
        whether this C library can and did
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    wanted = {_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: -1, _M_TOP_PAD: _TOP_PAD}  # -1: never
    done = [mallopt(name, value) == 1 for name, value in wanted.items()]
    return all(done)


def return_freed_memory() -> None:
    """Returns free memory to the system, if the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
