"""Changes of how fairseq's programs begin and end."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

from ..checkpoints.loading import architecture_of
from ..errors import ConfigError, UserError, notify
from ..flags import flag_name
from .change import Function, change, replace

PARSING = {"fairseq.options:parse_args_and_arch": "4417ffdbba30"}


@change(
    "sys:excepthook",
    reason="a failure that the user can correct ends with a traceback instead of one sentence",
    since="Python 3",
    test="tests/system/test_failures.py",
)
def end_with_a_sentence() -> None:
    previous = sys.excepthook

    def hook(kind: Any, error: BaseException, traceback: Any) -> None:
        if isinstance(error, UserError):
            notify(*f"error: {error}".split("\n"))
        else:
            previous(kind, error, traceback)

    sys.excepthook = hook


@replace(
    PARSING,
    reason="a flag of a mechanism that the architecture lacks changes nothing, and nothing says so",
    test="tests/system/test_failures.py",
    after="bfloat16_on_a_cpu",
)
def refuse_idle_flags(parse: Function) -> Function:
    def parse_args_and_arch(*words: Any, **kwargs: Any) -> Any:
        parsed = parse(*words, **kwargs)
        args = parsed[0] if isinstance(parsed, tuple) else parsed  # with the unknown flags
        idle = idle_choices(vars(args))
        if idle:
            raise ConfigError(f"{flag_name(name)}: {reason}" for name, reason in idle.items())
        return parsed

    return parse_args_and_arch


def idle_choices(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns the settings of a model that are not its architecture's and do nothing → why."""
    name = architecture_of(settings)
    model = ARCH_MODEL_REGISTRY.get(name)
    if not hasattr(model, "idle_settings"):
        return {}
    preset = Namespace()
    ARCH_CONFIG_REGISTRY[name](preset)
    reasons = model.idle_settings(settings).items()
    return {each: why for each, why in reasons if settings.get(each) != getattr(preset, each, None)}
