"""Reads plain values where fairseq evaluates strings, so that no code in a checkpoint runs.

Several of fairseq's architectures pass strings of their configuration to ``eval`` ("[(512, 3)] *
20"), and the configuration comes with the checkpoint: safe loading alone does not make a
stranger's checkpoint safe.
"""

from __future__ import annotations

import argparse
import ast
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from omegaconf import OmegaConf

from ..errors import UserError

LONGEST = 10_000  # characters of a string, and elements of its value
_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
# settings that a builder of fairseq evaluates (a test compares them with fairseq's source)
EVALUATED = frozenset(
    (
        *("adafactor_eps", "adam_betas", "adamax_betas", "lamb_betas"),
        *("adaptive_input_cutoff", "adaptive_softmax_cutoff", "character_filters"),
        *("conv_aggregator_layers", "conv_feature_layers", "feature_encoder_spec"),
        *("encoder_layers", "encoder_attention", "decoder_layers", "decoder_attention"),
        *("self_attention", "project_input", "gated_attention", "downsample", "pretrained"),
        *("left_pad_source", "left_pad_target", "wer_args", "xformers_att_config"),
        "override_encoder_layers",  # of ve-fairseq
        *("pipeline_balance", "pipeline_devices", "pipeline_encoder_balance"),
        *("pipeline_encoder_devices", "pipeline_decoder_balance", "pipeline_decoder_devices"),
    )
)


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


def check_configuration(path: str, state: Mapping[str, Any]) -> None:
    """Refuses a checkpoint whose configuration has code where fairseq evaluates a value.

    Args:
        path: of the checkpoint, for the message
        state: its content

    Raises:
        UserError: naming the setting
    """
    for part in ("args", "cfg"):
        for name, text in _strings(state.get(part)):
            if name not in EVALUATED or not text.strip():
                continue
            try:
                plain_value(text)
            except UserError as error:
                raise UserError(
                    f"{path}: its configuration sets {name}, which fairseq evaluates, to something "
                    f"that is not a plain value; nothing of it was run: {error}"
                ) from None


def _strings(config: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yields (name, text) of every setting that is a string."""
    if OmegaConf.is_config(config):
        config = OmegaConf.to_container(config, resolve=False)  # a resolver may be a program
    elif isinstance(config, argparse.Namespace):
        config = vars(config)
    if depth > 20 or not isinstance(config, Mapping):
        return
    for name, value in config.items():
        if isinstance(value, str):
            yield str(name), value
        else:
            yield from _strings(value, depth + 1)
