"""Patches that fairseq's import needs on Python 3.14.

The module ``dc_nmt_plugin_start`` applies them earlier, when torch is imported; here they are
checked.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from .patch import replaces


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
