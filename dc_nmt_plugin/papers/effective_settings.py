"""Effective settings of a published entry and of a run, with the same names."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ..errors import UserError, check_architectures, choice_problem
from ..models.options import CheckedConfig, defaults
from ..models.presets import architectures
from ..models.transformer.axes import SELF_ATTENTION_KINDS
from ..models.transformer.config import SIDES, TransformerConfig
from ..models.transformer.specification import LayerKind, specification


def betas(text: str) -> tuple[float, ...]:
    """Returns Adam's two rates, from ``(0.9, 0.98)``."""
    return tuple(float(part) for part in text.strip("()[] ").split(","))


# settings of training and of decoding that a document can fix
TRAINING: Mapping[str, Callable[[str], Any]] = {
    "tokens": int,  # of an update, all GPUs together
    "updates": int,
    "optimizer": str,
    "adam_betas": betas,
    "adam_eps": float,
    "adadelta_rho": float,
    "adadelta_eps": float,
    "lr_scheduler": str,
    "label_smoothing": float,
    "sentence_avg": bool,
}
DECODING: Mapping[str, Callable[[str], Any]] = {
    "beam": int,
    "lenpen": float,
    "length_penalty": str,
    "mask_source_layers": str,
    "no_aux_fusion": bool,
}
# they change the computation, not the result
_WITHOUT_EFFECT = ("checkpoint_activations", "xagg_checkpoint")


def config_of(arch: str) -> type[CheckedConfig]:
    """Returns the dataclass of an architecture's flags.

    Raises:
        UserError: no such value of ``--arch``
    """
    check_architectures([arch], architectures())
    return architectures()[arch].config


def typed(name: str, text: str, types: Mapping[str, Any]) -> Any:
    """Returns the value of a setting from its text.

    Raises:
        UserError: no such setting, or a value of another type
    """
    problem = choice_problem("setting", name, types)
    if problem:
        raise UserError(problem)
    kind = types[name]
    kind = next((part for part in typing.get_args(kind) if part is not type(None)), kind)
    if kind is bool:
        if text not in ("true", "false"):
            raise UserError(f"{name}: {text!r} is neither true nor false")
        return text == "true"
    try:
        return kind(text)
    except ValueError:
        raise UserError(f"{name}: {text!r} is no {kind.__name__}") from None


@cache
def flag_types(arch: str) -> dict[str, Any]:
    """Returns the type of every model setting of an architecture."""
    config = config_of(arch)
    hints = typing.get_type_hints(config)
    return {name: hints[name] for name in defaults(config)}


def model_settings(arch: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Returns every effective setting of a model, in a form that is equal for equal models.

    Fills in defaults, writes out ranges, and leaves out settings of parts that the model lacks.
    Examples: ``--source-layers 6`` of six layers is the default, and ``--dc-kernel-size`` has no
    effect without dual context.

    Args:
        arch: value of ``--arch``
        flags: settings on top of its own, by field name

    Raises:
        UserError: an unknown architecture or setting, or settings that contradict each other
    """
    return dict(_model_settings(arch, tuple(flags.items())))


@cache  # the register and the planning of its runs ask thousands of times
def _model_settings(arch: str, given: tuple[tuple[str, Any], ...]) -> Mapping[str, Any]:
    config, flags = config_of(arch), dict(given)
    values = {**defaults(config), **architectures()[arch].settings, **flags}
    listing = f"dc-nmt arch-flags {arch}"
    unknown = [choice_problem("setting", name, defaults(config), listing) for name in flags]
    if any(unknown):
        raise UserError("\n".join(problem for problem in unknown if problem))
    cfg = config()
    for name, value in values.items():
        setattr(cfg, name, value)
    cfg.check()
    for name in _WITHOUT_EFFECT:
        values.pop(name, None)
    values["architecture"] = architectures()[arch].model
    if isinstance(cfg, TransformerConfig):
        return _transformer(values, cfg)
    if "attention_dim" in values:
        values["attention_dim"] = values["attention_dim"] or 2 * values["hidden_dim"]
    return {key: value for key, value in values.items() if not key.endswith("_positions")}


def needed_flags(arch: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the flags that change the model."""
    needed = dict(flags)
    for name in flags:
        fewer = {key: value for key, value in needed.items() if key != name}
        if model_settings(arch, fewer) == model_settings(arch, needed):
            needed = fewer
    return needed


def _transformer(values: dict[str, Any], cfg: TransformerConfig) -> dict[str, Any]:
    for kind in SELF_ATTENTION_KINDS.values():
        for setting in kind.values():
            values.pop(setting, None)
    for side in SIDES:
        for name in ("layers_of", "self_attention", "self_attention_layers"):
            values.pop(f"{side}_{name}")
        values[f"{side}_normalize_before"] = cfg.pre_norm(side)
        if not values[f"{side}_learned_pos"]:  # sinusoids are as long as they are asked to be
            values.pop("max_source_positions" if side == "encoder" else "max_target_positions")
    values |= _layers(cfg)
    values.pop("base")  # its parts follow
    base = cfg.of_base
    values |= {"norm": base.norm, "activation_fn": base.activation_fn, "positions": base.positions}
    if base.positions != "relative":
        values.pop("max_relative_position")
    if base.positions != "absolute":
        values["no_token_positional_embeddings"] = True
    values["source_layers"] = cfg.num_source_layers
    values["aux_layers"] = ",".join(map(str, cfg.auxiliary_layers))
    if not cfg.auxiliary_layers:
        values.pop("aux_weight")
    if values["share_all_embeddings"]:
        values["share_decoder_input_output_embed"] = True
    return values


def _layers(cfg: TransformerConfig) -> dict[str, Any]:
    """Returns what the layers are: by the flags of one kind where these can say it, because papers
    do; else by ``--encoder-layers-of``."""
    stacks = {side: [_simplified(layer) for layer in cfg.layers_of(side)] for side in SIDES}
    found: dict[str, Any] = {}
    for side, layers in stacks.items():
        others = [n for n, layer in enumerate(layers, start=1) if layer.kind != "standard"]
        kinds = {layers[n - 1].kind for n in others} or {"standard"}
        options = {
            (SELF_ATTENTION_KINDS[layers[n - 1].kind][option], value)
            for n in others
            for option, value in layers[n - 1].options.items()
        }
        whole_range = others == list(range(others[0], others[-1] + 1)) if others else True
        clash = [name for name, value in options if found.get(name, value) != value]
        if len(kinds) > 1 or len(dict(options)) < len(options) or clash or not whole_range:
            return {f"{side}_layers_of": specification(stacks[side]) for side in SIDES}
        found |= dict(options)
        found[f"{side}_self_attention"] = kinds.pop()
        if others:
            found[f"{side}_self_attention_layers"] = f"{others[0]}-{others[-1]}"
    for name in _WITHOUT_EFFECT:
        found.pop(name, None)
    if found.get("xagg_routing") == "vertical":
        found.pop("xagg_init")
    if found.get("xagg_routing") == "horizontal":
        found.pop("xagg_head_weights")
    return found


def _simplified(layer: LayerKind) -> LayerKind:
    if layer.options.get("iterations") == 0:  # routing that never happens
        return LayerKind("standard", {})
    return layer
