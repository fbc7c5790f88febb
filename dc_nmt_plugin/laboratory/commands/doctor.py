"""``dc-nmt doctor``: versions, the device, the path for --user-dir, and the changes to fairseq.

It imports torch and fairseq only in its checks, so it also runs where they do not load.
"""

from __future__ import annotations

import platform
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from ...machine import FAIRSEQS, version_of
from .parser import Parser

PACKAGE = Path(__file__).resolve().parents[2]
CHANGES = (
    "Changes to fairseq, torch, numpy and Python, each with what goes wrong without it. They are "
    "for fairseq's programs and dc-nmt; those marked * also for your own Python that imports the "
    "plugin."
)


def main(argv: Sequence[str]) -> int:
    """Prints the report; returns 1 if a part is broken, else 0."""
    Parser(prog="dc-nmt doctor", description=(__doc__ or "").split("\n")[0]).parse_args(argv)
    python = shlex.quote(sys.executable)
    install = f"in the checkout, {python} scripts/install_fairseq.py --replace"
    print(f"{'python':<11}{platform.python_version()}, {sys.executable}")
    checks: list[tuple[str, Callable[[], str], str]] = [
        ("torch", _torch, f"{python} -m pip install torch==2.13.0"),
        ("fairseq", _fairseq, install),
        ("plugin", _plugin, install),
    ]
    broken = 0
    for name, check, remedy in checks:
        try:
            print(f"{name:<11}{check()}")
        except Exception as error:  # of any library that does not load
            broken += 1
            print(f"{name:<11}BROKEN: {type(error).__name__}: {error}\n{'':<11}fix: {remedy}")
    print(f"{'--user-dir':<11}{PACKAGE}")
    if not broken:
        _print_changes()
    return int(broken > 0)


def _torch() -> str:
    import torch

    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    return f"{torch.__version__}, {build}, {', '.join(gpus) or 'no GPU: training runs on the CPU'}"


def _fairseq() -> str:
    names = [f"{name} {version_of(name)}" for name in FAIRSEQS if version_of(name)]
    if len(names) > 1:
        raise RuntimeError(f"{' and '.join(names)} overwrite each other")
    import fairseq
    import fairseq.data.data_utils_fast
    import fairseq.data.token_block_utils_fast

    return names[0] if names else str(fairseq.__version__)


def _plugin() -> str:
    from ... import registration  # noqa: F401

    return version_of("dc_nmt_plugin") or "loads, but is not installed"


def _print_changes() -> None:
    from ...compat import apply
    from ...compat.change import is_left_out

    columns = max(60, shutil.get_terminal_size((100, 24)).columns)
    print(f"\n{textwrap.fill(CHANGES, columns)}")
    for change, state in apply(all_of_them=True, load=True):
        mark = "*" if change.loading else " "
        left_out = f"LEFT OUT ({state}): " if is_left_out(state) else ""
        about = f"{mark} {change.name}: {left_out}{change.reason} (since {change.since})"
        print(textwrap.fill(about, columns, subsequent_indent="    ", break_on_hyphens=False))
