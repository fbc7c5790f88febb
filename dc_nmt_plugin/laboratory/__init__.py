"""From raw text to a scored table: the commands of ``dc-nmt`` and what they need.

This file finds a command in its layer, the laboratory or the study. Tests: ``tests/unit`` has a
folder of the same name for each room; ``tests/system`` runs programs.
"""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from ..errors import UserError
from ..flags import COMMAND_VARIABLE

LABORATORY, STUDY = "dc_nmt_plugin.laboratory", "dc_nmt_plugin.study"
OF_STUDY = ("analyze", "paper", "probe")


def run_command(words: Sequence[str]) -> int:
    """Runs ``dc-nmt WORDS`` in this process, and returns its exit status.

    Raises:
        UserError: the command is of the study, which is not installed
    """
    name, *rest = words
    layer = STUDY if name in OF_STUDY else LABORATORY
    if layer == STUDY and not has_study():
        raise UserError(f"{name}: is a command of dc_nmt_plugin/study, which is not installed")
    module: Any = importlib.import_module(f"{layer}.commands.{name.replace('-', '_')}")
    # of a command that called this one, or that submitted this job
    typed = os.environ.get(COMMAND_VARIABLE) or shlex.join(["dc-nmt", *words])
    with variable(COMMAND_VARIABLE, typed):
        return int(module.main(rest) or 0)


def has_study() -> bool:
    """Returns True if the layer of the papers and analyses is installed."""
    return find_spec(STUDY) is not None


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Sets a variable of the environment, for the programs that are started meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
