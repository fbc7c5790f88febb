"""Reads plain values where fairseq evaluates strings, so that no code in a checkpoint runs.

Several of fairseq's architectures pass strings of their configuration to ``eval`` ("[(512, 3)] *
20"), and the configuration comes with the checkpoint: safe loading alone does not make a
stranger's checkpoint safe.
"""

from __future__ import annotations

import ast
from typing import Any

from ..errors import UserError

LONGEST = 10_000  # characters of a string, and elements of its value


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
