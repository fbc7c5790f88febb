"""Converts a checkpoint: without auxiliary decoders, or for fairseq's own ``transformer``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.models.transformer import DEFAULT_MIN_PARAMS_TO_WRAP, base_architecture
from fairseq.tasks.translation import TranslationConfig as StockTranslationConfig

from ...checkpoints.plain import plain
from ...errors import UserError
from ...modules.feed_forward import GATED
from ..options import read_config
from .config import SIDES, TransformerConfig
from .stock import plugin_to_stock

StateDict = dict[str, Any]
# object that fairseq's generate and validate build → its stock name, and its settings
_STOCK = {
    "task": ("translation", StockTranslationConfig),
    "criterion": ("label_smoothed_cross_entropy", LabelSmoothedCrossEntropyCriterionConfig),
}


def drop_auxiliary(state: StateDict, name: str) -> StateDict:
    """Removes auxiliary decoders and optimizer state from the checkpoint, in place.

    Args:
        state: a checkpoint of a Transformer of this plugin
        name: of its file, for messages

    Raises:
        UserError: the main decoder reads the auxiliary ones (fusion), or it is no Transformer
    """
    flags = _model_flags(state, name)
    cfg = read_config(flags, TransformerConfig)
    if cfg.aux_fusion:
        raise UserError(
            f"{name}: was trained with --aux-fusion: its main decoder reads the auxiliary decoders "
            "at every step, so without them it would translate differently. Nothing was written."
        )
    taps = tuple(f"encoder.tap_norms.{layer}." for layer in cfg.read_layers)
    for key in list(state["model"]):
        of_auxiliary = key.startswith("encoder.tap_norms.") and not key.startswith(taps)
        if of_auxiliary or key.startswith("decoder.auxiliary."):
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
    cfg = read_config(flags, TransformerConfig)
    extra = _beyond_stock(cfg)
    if extra:
        raise UserError(
            f"{name}: {flag} needs a standard Transformer, and this one has {', '.join(extra)}."
        )
    state["model"] = plugin_to_stock(state["model"])
    flags.activation_fn = cfg.of_base.activation_fn
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
        for kind in dict.fromkeys(layer.kind for layer in cfg.layers_of(side)):
            if kind != "standard":
                extra.append(f"{kind} layers in the {side}")
    if cfg.no_attention_bias:
        extra.append("--no-attention-bias")
    if cfg.source_features != "top":
        extra.append(f"--source-features {cfg.source_features}")
    base = cfg.of_base
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
    for flag in ("encoder_layers", "decoder_layers"):  # a checkpoint may come from anybody
        if not isinstance(getattr(flags, flag, 1), int):
            raise UserError(f"{name}: its {flag} is {getattr(flags, flag)!r}, which is no number.")
    return flags
