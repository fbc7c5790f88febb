"""Patches of fairseq's import: it needs two of them on Python 3.14, and two make it faster.

The module ``dc_nmt_plugin_start`` applies them earlier, when torch is imported; here they are
declared and checked.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .patch import changes, replaces


def _is_python_314() -> bool:
    return sys.version_info >= (3, 14)


@replaces(
    "fairseq.dataclass.utils:interpret_dc_type",
    "3acfccba3e4f",
    reason="fairseq cannot be imported: it does not recognise optional types (TypeError: str | "
    "None is not callable)",
    since="Python 3.14",
    test="tests/unit/patches/test_start.py",
    loading=True,
    needed=_is_python_314,
)
def optional_types(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    from dc_nmt_plugin_start import read_optional_types

    return read_optional_types(inspect.unwrap(stock))


@replaces(
    "hydra._internal.utils:get_args_parser",
    "c416bc5fa676",
    reason="fairseq-hydra-train does not start (ValueError: badly formed help string)",
    since="Python 3.14, up to Hydra 1.3.8",
    test="tests/unit/patches/test_start.py",
    needed=_is_python_314,
)
def late_help(stock: Callable[[], Any]) -> Callable[[], Any]:
    from dc_nmt_plugin_start import accept_late_help

    return accept_late_help(inspect.unwrap(stock))


def _is_late() -> bool:
    """Returns True when fairseq has stand-ins of ``dc_nmt_plugin_start`` for functions."""
    from fairseq.criterions import sentence_prediction

    function = getattr(getattr(sentence_prediction, "f1_score", None), "func", None)
    return getattr(function, "__module__", None) == "dc_nmt_plugin_start"


@changes(
    "fairseq.criterions.sentence_prediction:f1_score",
    reason="each program imports scikit-learn and SciPy, a third of its start, for the tasks that "
    "classify sentences and audio",
    since="ve-fairseq 0.12.3",
    test="tests/unit/patches/test_start.py",
    needed=_is_late,
)
def metrics_when_called() -> None:
    """Done by :func:`dc_nmt_plugin_start.functions_later`; a program that was not has them."""


@changes(
    "gc:freeze",
    reason="Python looks for garbage among half a million objects while fairseq is imported",
    since="Python 3",
    test="tests/unit/patches/test_start.py",
    needed=lambda: gc.get_freeze_count() > 0,
)
def no_garbage_at_the_start() -> None:
    """Done by :func:`dc_nmt_plugin_start.without_collecting`, in a program."""
