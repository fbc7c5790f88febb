"""Reads plain values where fairseq evaluates strings, so that no code in a checkpoint runs.

Several of fairseq's architectures pass strings of their configuration to ``eval`` ("[(512, 3)] *
20"), and the configuration comes with the checkpoint: safe loading alone does not make a
stranger's checkpoint safe.
"""

from __future__ import annotations

import ast
import operator
from typing import Any

from ..errors import UserError

LONGEST = 10_000  # characters of a string, and elements of its value
_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def plain_value(text: Any, *_: Any) -> Any:
    """Evaluates numbers, strings, lists, tuples, sets, dictionaries, and sums and products.

    The result equals ``eval(text)``; nothing else is evaluated.

    >>> plain_value("[(512, 3)] * 2 + [(1024, 1)]")
    [(512, 3), (512, 3), (1024, 1)]

    Args:
        text: the argument of ``eval``; scopes are ignored

    Raises:
        TypeError: `text` is not a string, as for ``eval``
        UserError: `text` is not a plain value
    """
    if not isinstance(text, str):
        raise TypeError("eval() arg 1 must be a string")
    try:
        if len(text) > LONGEST:
            raise ValueError
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (ValueError, TypeError, ArithmeticError, SyntaxError, MemoryError, RecursionError):
        raise UserError(
            f"{text[:200]!r} is not a plain value (numbers, strings, lists, dictionaries), and "
            "nothing else is evaluated."
        ) from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Mult):
            # a few products of sequences would fill the memory
            sizes = [len(side) if hasattr(side, "__len__") else side for side in (left, right)]
            if sizes != [left, right] and sizes[0] * sizes[1] > LONGEST:
                raise ValueError
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    return ast.literal_eval(node)  # with a sign, of sets and of dictionaries
