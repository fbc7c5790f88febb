"""Changes of how fairseq's programs begin and end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..errors import ConfigError, install_excepthook
from ..flags import flag_name, setting_name
from .change import change, replace


@change(
    "sys:excepthook",
    reason="a failure that the user can correct ends with a traceback instead of one sentence",
    since="Python 3",
    test="tests/system/test_failures.py",
)
def end_with_a_sentence() -> None:
    install_excepthook()


@replace(
    {"fairseq.options:parse_args_and_arch": "4417ffdbba30"},
    reason="a flag of a mechanism that the architecture lacks changes nothing, as --num-shards "
    "always, and nothing says so",
    since="fairseq 0.12.2",
    test="tests/system/test_failures.py",
)
def refuse_idle_flags(stock: Callable[..., Any]) -> Callable[..., Any]:
    def parse_args_and_arch(parser: Any, input_args: Any = None, *more: Any, **kwargs: Any) -> Any:
        from fairseq.models import ARCH_MODEL_REGISTRY

        parsed = stock(parser, input_args, *more, **kwargs)
        args = parsed[0] if isinstance(parsed, tuple) else parsed  # with the unknown flags
        if (getattr(args, "num_shards", 1) or 1) > 1:
            raise ConfigError("--num-shards: fairseq ignores it; divide the text into files.")
        model = ARCH_MODEL_REGISTRY.get(getattr(args, "arch", None))
        if not hasattr(model, "idle_settings"):
            return parsed
        words = sys.argv[1:] if input_args is None else input_args
        given = {setting_name(word.partition("=")[0]) for word in words if word[:2] == "--"}
        idle = model.idle_settings(vars(args))
        problems = [f"{flag_name(name)}: {idle[name]}" for name in idle if name in given]
        if problems:
            raise ConfigError(problems)
        return parsed

    return parse_args_and_arch
