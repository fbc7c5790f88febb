"""Turns checkpoints of fairseq's own ``transformer`` into this plugin's, and back.

This plugin stacks projections of the same input (q, k, v; or k, v of the source).
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.models.transformer import DEFAULT_MIN_PARAMS_TO_WRAP, base_architecture
from fairseq.tasks.translation import TranslationConfig as StockTranslationConfig

from ...checkpoints.loading import DEAD_PARAMETERS, POSITION_MARKER
from ...checkpoints.plain import plain
from ...errors import UserError
from ...modules.feed_forward import GATED
from .config import SIDES, TransformerConfig

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
# object that fairseq's generate and validate build → its stock name, and its settings
_STOCK = {
    "task": ("translation", StockTranslationConfig),
    "criterion": ("label_smoothed_cross_entropy", LabelSmoothedCrossEntropyCriterionConfig),
}


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


def drop_auxiliary(state: StateDict, name: str) -> StateDict:
    """Removes auxiliary decoders and optimizer state from the checkpoint, in place.

    Raises:
        UserError: the main decoder reads the auxiliary ones (fusion), or it is no Transformer
    """
    flags = _model_flags(state, name)
    cfg = TransformerConfig.read(flags)
    if cfg.aux_fusion:
        raise UserError(
            f"{name}: was trained with --aux-fusion: its main decoder reads the auxiliary decoders "
            "at every step, so without them it would translate differently. Nothing was written."
        )
    read_by_main = tuple(f"encoder.tap_norms.{layer}." for layer in cfg.read_layers)
    for key in list(state["model"]):
        unused_norm = key.startswith("encoder.tap_norms.") and not key.startswith(read_by_main)
        if unused_norm or key.startswith("decoder.auxiliary."):
            del state["model"][key]
    flags.aux_layers = None
    flags.arch = flags._name = "transformer_standard"  # every other setting is in the flags
    task = state["cfg"].get("task") or {}
    if "eval_bleu_decoders" in task:
        task["eval_bleu_decoders"] = "main"  # fairseq-validate would look for auxiliary decoders
    state["last_optimizer_state"] = None
    return state


def to_stock(state: StateDict, name: str, flag: str = "--stock") -> StateDict:
    """Returns the checkpoint as fairseq's own ``transformer``; changes `state`, from
    `drop_auxiliary`.

    All settings are plain data and complete. Without this plugin, torch's safe loader (2.6 and
    later) accepts nothing else, and fairseq adds no defaults.

    Raises:
        UserError: the model has something that fairseq's ``transformer`` does not have
    """
    flags = _model_flags(state, name)
    cfg = TransformerConfig.read(flags)
    extra = _beyond_stock(cfg)
    if extra:
        raise UserError(
            f"{name}: {flag} needs a standard Transformer, and this one has {', '.join(extra)}."
        )
    state["model"] = plugin_to_stock(state["model"])
    flags.activation_fn = cfg.base_block.activation_fn
    for side in SIDES:
        setattr(flags, f"{side}_normalize_before", cfg.pre_norm(side))
    flags.arch = flags._name = "transformer"
    base_architecture(flags)
    flags.min_params_to_wrap = DEFAULT_MIN_PARAMS_TO_WRAP
    cfg_of = state["cfg"]
    for part, (name_there, config) in _STOCK.items():
        known = {field.name for field in fields(config)}
        values = plain(cfg_of.get(part) or {})
        kept = {key: value for key, value in values.items() if key in known}
        cfg_of[part] = {**kept, "_name": name_there}
    if cfg_of.get("common"):
        cfg_of["common"]["user_dir"] = None
    stock: StateDict = plain(state)
    return stock


def _beyond_stock(cfg: TransformerConfig) -> list[str]:
    """Returns what the model has that fairseq's ``transformer`` does not have."""
    extra = []
    for side in SIDES:
        for kind in dict.fromkeys(spec.mechanism.name for spec in cfg.self_attentions(side)):
            if kind != "standard":
                extra.append(f"{kind} layers in the {side}")
    if cfg.no_attention_bias:
        extra.append("--no-attention-bias")
    if cfg.source_features != "top":
        extra.append(f"--source-features {cfg.source_features}")
    base = cfg.base_block
    if base.norm != "layer_norm":
        extra.append(f"--norm {base.norm}")
    if base.activation_fn in GATED:
        extra.append(f"--activation-fn {base.activation_fn}")
    if base.positions != "absolute":
        extra.append(f"--positions {base.positions}")
    return extra


def _model_flags(state: StateDict, name: str) -> Any:
    """Returns the model's settings as a namespace, which replaces them in the checkpoint."""
    flags = (state.get("cfg") or {}).get("model")
    if isinstance(flags, Mapping):  # of fairseq-hydra-train
        flags = state["cfg"]["model"] = Namespace(**plain(flags))
    if flags is None or not hasattr(flags, "encoder_self_attention"):
        raise UserError(f"{name}: is no checkpoint of a Transformer of this plugin.")
    return flags
