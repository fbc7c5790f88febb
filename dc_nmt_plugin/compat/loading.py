"""Changes of how fairseq loads checkpoints: by torch's safe loader, on today's versions."""

from __future__ import annotations

import ast
import os
import sys
from typing import Any

import torch

from ..checkpoints.loading import DEAD_PARAMETERS, allow_fairseq_checkpoints, unreadable
from ..checkpoints.plain import plain
from ..errors import UserError
from .change import Function, change, replace

LONGEST = 10_000  # characters of a plain value, and elements of it


@change(
    "torch.serialization:add_safe_globals",
    reason="torch's safe loader refuses the plain classes that fairseq's checkpoints contain",
    since="torch 2.6",
    test="tests/system/test_loading.py",
    loading=True,
)
def allow_checkpoints() -> None:
    allow_fairseq_checkpoints()


@change(
    "fairseq:eval",
    reason="builders of fairseq evaluate strings of a checkpoint's configuration, which a stranger "
    "may have written",
    test="tests/system/test_safe_loading.py",
    loading=True,
)
def evaluate_plain_values() -> None:
    # a module's own name comes before Python's function
    for name, module in list(sys.modules.items()):
        if name.startswith("fairseq.") and not hasattr(module, "eval"):
            setattr(module, "eval", plain_value)  # noqa: B010


def plain_value(text: Any, *_: Any) -> Any:
    """Returns ``eval(text)`` for a literal of Python, and for sums and multiples of lists.

    >>> plain_value("[(512, 3)] * 2 + [(1024, 1)]")
    [(512, 3), (512, 3), (1024, 1)]

    Raises:
        UserError: `text` is anything else
    """
    if not isinstance(text, str):  # fairseq expects this of eval
        raise TypeError("eval() arg 1 must be a string")
    try:
        if len(text) > LONGEST:
            raise ValueError
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise UserError(
            f"{text[:200]!r} is not a plain value (numbers, strings, lists, dictionaries), and "
            "nothing else is evaluated."
        ) from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _value(node.left) + _value(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        value, times = _value(node.left), ast.literal_eval(node.right)
        if len(value) * times > LONGEST:  # a few multiples would fill the memory
            raise ValueError
        return value * times
    return ast.literal_eval(node)


@replace(
    {
        "fairseq.checkpoint_utils:load_checkpoint_to_cpu": "c29761d99de7",
        "fairseq.checkpoint_utils:load_ema_from_checkpoint": "cdbd0651ab00",
    },
    reason="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD switches off the safe loader",
    test="tests/system/test_safe_loading.py",
    loading=True,
)
def load_safely(*stock: Function) -> tuple[Function, ...]:
    def safely(function: Function) -> Function:
        def load(path: str, *args: Any, **kwargs: Any) -> Any:
            unsafe = os.environ.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
            try:
                state = function(path, *args, **kwargs)
                # numbers of numpy, from older versions, are no seed and no JSON
                state["optimizer_history"] = plain(state.get("optimizer_history"))
                return state
            except UserError:
                raise
            except Exception as error:
                # torch's own message advises to load without the safe loader
                raise unreadable(path, error) from error
            finally:
                if unsafe is not None:
                    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = unsafe

        return load

    return tuple(map(safely, stock))


@change(
    "fairseq.modules.transformer_layer:TransformerEncoderLayerBase._load_from_state_dict",
    reason="checkpoints of fairseq 0.12.2's own Transformer have copies of each encoder layer's "
    "parameters, which later versions refuse",
    since="fairseq-fixed 0.12.3.1, ve-fairseq 0.12.3",
    test="tests/system/test_old_checkpoints.py",
    loading=True,
)
def load_without_copies() -> None:
    from fairseq.modules.transformer_layer import TransformerEncoderLayerBase

    def load(self: Any, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in DEAD_PARAMETERS:
            state_dict.pop(prefix + name, None)
        torch.nn.Module._load_from_state_dict(self, state_dict, prefix, *args)

    TransformerEncoderLayerBase._load_from_state_dict = load
