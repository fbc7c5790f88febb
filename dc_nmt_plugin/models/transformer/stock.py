"""Converts parameter names between fairseq's ``transformer`` and this plugin's.

This plugin stacks projections of the same input (q, k, v; or k, v of the source).
"""

from __future__ import annotations

import re
from typing import Any

import torch

from ...checkpoints.loading import DEAD_PARAMETERS, POSITION_MARKER

StateDict = dict[str, Any]

# fairseq's part of a side → ours
_RENAMED = {
    "embed_tokens": "embedding.tokens",
    "embed_positions": "embedding.positions",
    "layernorm_embedding": "embedding.layer_norm",
    "layer_norm": "stack.layer_norm",
    "layers": "stack.layers",
}
_STACKED = {  # our stacked projection ← fairseq's separate ones
    "self_attn.in_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "encoder_attn.kv_proj": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
}
# bookkeeping, and the parameters of fairseq 0.12.2's encoder layer that nothing uses
_DROPPED = re.compile(
    rf"^(encoder|decoder)\.version$|{re.escape(POSITION_MARKER)}$"
    rf"|^encoder\.layers\.\d+\.({'|'.join(DEAD_PARAMETERS)})$"
)


def is_stock(state: StateDict) -> bool:
    """Returns True for parameters of fairseq's own ``transformer``."""
    return "encoder.layers.0.self_attn.q_proj.weight" in state


def stock_to_plugin(state: StateDict) -> None:
    """Renames and stacks the parameters of a stock Transformer, in place."""
    for name in list(state):
        value = state.pop(name)
        if not _DROPPED.search(name):
            state[_renamed(name, _RENAMED)] = value
    for stacked, parts in _STACKED.items():
        for kind in ("weight", "bias"):
            first = f"{parts[0]}.{kind}"
            for name in [name for name in state if name.endswith(first)]:
                prefix = name.removesuffix(first)
                pieces = [state.pop(f"{prefix}{part}.{kind}") for part in parts]
                state[f"{prefix}{stacked}.{kind}"] = torch.cat(pieces)


def plugin_to_stock(state: StateDict) -> StateDict:
    """Returns the parameters of a standard Transformer of this plugin under fairseq's names."""
    back = {plugin: stock for stock, plugin in _RENAMED.items()}
    result: StateDict = {}
    for name, value in state.items():
        new_name = _renamed(name, back)
        parts: tuple[str, ...] = ()
        for stacked, separate in _STACKED.items():
            if f".{stacked}." in new_name:
                parts = separate
                for part, piece in zip(parts, value.chunk(len(parts)), strict=True):
                    result[new_name.replace(stacked, part)] = piece.clone()
        if not parts:
            result[new_name] = value
    # without them fairseq takes the checkpoint for one from before pre-norm's final layer norm
    result["encoder.version"] = result["decoder.version"] = torch.Tensor([3])
    return result


def _renamed(name: str, names: dict[str, str]) -> str:
    side, _, rest = name.partition(".")
    for old, new in names.items():
        if side in ("encoder", "decoder") and rest.startswith(f"{old}."):
            return f"{side}.{new}{rest.removeprefix(old)}"
    return name
