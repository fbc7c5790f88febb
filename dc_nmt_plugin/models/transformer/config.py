"""Flags of all Transformer variants, and their contradictions."""

import math
from collections.abc import Iterator
from typing import Any

from ...errors import ConfigError
from ...flags import flag_name
from ...modules.mechanisms import (
    ACTIVATIONS,
    BASES,
    NORMS,
    POSITIONS,
    SELF_ATTENTIONS,
    SOURCE_FEATURES,
    STANDARD,
    TOP,
    BaseBlock,
    Mechanism,
    SourceFeature,
    decoder_kinds,
    mechanisms,
)
from ..options import CheckedConfig, ModelSetting, flag, rate, read_config, size
from .specification import SelfAttentionSpec, read_specification

SIDES = ("encoder", "decoder")


class TransformerConfig(CheckedConfig):
    """Settings of a Transformer on its four axes; each is a flag (``--encoder-layers`` …).

    Names follow fairseq's ``transformer``. Layers are counted from 1, as in the papers.
    """

    encoder_embed_dim: int = size(512, "width of the encoder")
    encoder_ffn_embed_dim: int = size(2048, "inner width of the encoder's feed-forward networks")
    encoder_layers: int = size(6, "number of encoder layers")
    encoder_attention_heads: int = size(8, "attention heads of the encoder")
    encoder_normalize_before: bool = flag(False, "layer norm before each encoder sublayer")
    encoder_learned_pos: bool = flag(False, "learned positional embeddings in the encoder")
    encoder_layerdrop: float = rate(0.0, "probability of skipping an encoder layer in training")
    encoder_embed_path: str | None = flag(None, "file of pretrained encoder embeddings")
    decoder_embed_dim: int = size(512, "width of the decoder")
    decoder_ffn_embed_dim: int = size(2048, "inner width of the decoder's feed-forward networks")
    decoder_layers: int = size(6, "number of decoder layers")
    decoder_attention_heads: int = size(8, "attention heads of the decoder")
    decoder_normalize_before: bool = flag(False, "layer norm before each decoder sublayer")
    decoder_learned_pos: bool = flag(False, "learned positional embeddings in the decoder")
    decoder_layerdrop: float = rate(0.0, "probability of skipping a decoder layer in training")
    decoder_embed_path: str | None = flag(None, "file of pretrained decoder embeddings")
    dropout: float = rate(0.1, "dropout of embeddings and sublayer outputs")
    attention_dropout: float = rate(0.0, "dropout of attention weights")
    activation_dropout: float = rate(0.0, "dropout after the feed-forward activation")
    base: str = flag(
        "original",
        "norm, feed-forward network and positions: those of Vaswani et al. 2017, or modern "
        "(RMSNorm before the sublayers, SwiGLU, rotary positions); each has its own flag too",
        one_of=tuple(BASES),
    )
    norm: str | None = flag(None, "norm of the sublayers (default: that of --base)", one_of=NORMS)
    activation_fn: str | None = flag(
        None,
        "activation of the feed-forward networks (default: that of --base); swiglu is gated, with "
        "two thirds of the inner width and so as many parameters",
        one_of=ACTIVATIONS,
    )
    positions: str | None = flag(
        None,
        "how positions are seen: added to the embeddings, or by self-attention alone (default: "
        "that of --base)",
        one_of=POSITIONS,
    )
    max_relative_position: int = flag(
        16,
        "relative positions: the largest distance with vectors of its own",
        at_least=1,
        below=10_001,
    )
    share_decoder_input_output_embed: bool = flag(
        False, "share the decoder's input and output embeddings"
    )
    share_all_embeddings: bool = flag(
        False,
        "share encoder, decoder and output embeddings (needs a joint dictionary; "
        "--no-share-all-embeddings where an architecture sets it)",
        negatable=True,
    )
    no_token_positional_embeddings: bool = flag(False, "no positional embeddings")
    layernorm_embedding: bool = flag(False, "layer norm on the embeddings")
    no_scale_embedding: bool = flag(False, "do not scale embeddings by sqrt(width)")
    no_attention_bias: bool = flag(
        False,
        "no biases in the projections of queries, keys, values and outputs of every attention, as "
        "the papers print them",
    )
    checkpoint_activations: bool = flag(
        False, "recompute each layer's activations in the backward pass to save memory"
    )
    depth_scaled_init: float = flag(
        0.0,
        "alpha of depth-scaled initial weights (1 in Zhang et al. 2019): the matrices of layer l "
        "start at alpha / sqrt(l) of their size; 0: fairseq's initial weights",
        at_least=0,
    )
    max_source_positions: int = size(1024, "longest source, in tokens")
    max_target_positions: int = size(1024, "longest target, in tokens")

    encoder_self_attention: str = flag(
        "standard", "self-attention of the encoder", one_of=lambda: SELF_ATTENTIONS
    )
    decoder_self_attention: str = flag(
        "standard", "self-attention of the decoder", one_of=decoder_kinds
    )
    encoder_self_attention_layers: str | None = flag(
        None,
        "encoder layers i-j with --encoder-self-attention; the others are standard (default: all)",
    )
    decoder_self_attention_layers: str | None = flag(
        None,
        "decoder layers i-j with --decoder-self-attention; the others are standard (default: all)",
    )
    encoder_layers_of: str | None = flag(
        None,
        "what each encoder layer is, from the lowest: kinds of self-attention with options and a "
        "number of layers, such as 'dual_context(kernel=3)*2 context_aware(context=deep)*4'",
    )
    decoder_layers_of: str | None = flag(
        None, "what each decoder layer is; see --encoder-layers-of"
    )

    # options of self-attentions and source features follow here; see `settings`
    source_features: str = flag(
        "top", "encoder features that the decoder attends to", one_of=lambda: SOURCE_FEATURES
    )
    source_layers: int | None = flag(
        None, "number n of top encoder layers in --source-features (default: all; top: 1)"
    )

    aux_layers: str | None = flag(
        None, "encoder layers with an auxiliary decoder, such as 1,3 (default: none)"
    )
    aux_weight: float = flag(
        1.0, "weight of the loss of every auxiliary decoder", at_least=0, below=math.inf
    )
    aux_fusion: bool = flag(
        False, "auxiliary information fusion: the main decoder reads the auxiliary decoders"
    )

    @classmethod
    def read(cls, args: Any) -> "TransformerConfig":
        """Returns the settings in flags, or in a checkpoint.

        Raises:
            UserError: a mechanism is from outside this package, and nobody has imported it
        """
        from ...checkpoints.loading import check_mechanisms  # with torch

        check_mechanisms(args)
        return read_config(args, cls)

    def folders(self) -> dict[str, str]:
        """Returns the mechanisms of the model from outside this package, with their folders."""
        used: list[Mechanism] = [SOURCE_FEATURES[self.source_features]]
        used += [spec.mechanism for side in SIDES for spec in self.self_attentions(side)]
        return {mechanism.name: mechanism.folder for mechanism in used if mechanism.folder}

    @classmethod
    def settings(cls) -> dict[str, ModelSetting]:
        """Returns every setting by name, with the options of all mechanisms."""
        settings: dict[str, ModelSetting] = {}
        for name, setting in super().settings().items():
            if name == "source_features":
                settings |= option_settings()
            settings[name] = setting
        return settings

    @property
    def read_layers(self) -> list[int]:
        """Returns the encoder layers f^1 … f^n that the main decoder reads, lowest first."""
        number = 1 if self.source_features == "top" else self.source_layers or self.encoder_layers
        return list(range(self.encoder_layers - number + 1, self.encoder_layers + 1))

    @property
    def auxiliary_layers(self) -> list[int]:
        """Returns the encoder layers with an auxiliary decoder, ascending; :meth:`check` first."""
        return sorted(int(part) for part in self._aux_layers())

    @property
    def auxiliary_is_idle(self) -> bool:
        """Returns whether nothing trains the auxiliary decoders."""
        return self.aux_weight == 0 and not self.aux_fusion

    def options_of(self, mechanism: Mechanism) -> dict[str, Any]:
        """Returns the options of a mechanism, as the flags give them to all layers."""
        return {each.name: getattr(self, mechanism.setting(each)) for each in mechanism.options}

    @property
    def base_block(self) -> BaseBlock:
        """Returns the base block: that of --base, with what flags change."""
        flags = {name: getattr(self, name) for name in ("norm", "activation_fn", "positions")}
        return BASES[self.base]._replace(**{name: value for name, value in flags.items() if value})

    def pre_norm(self, side: str) -> bool:
        """Returns whether the norms of `side` stand before the sublayers."""
        return bool(self.of_side(side, "normalize_before")) or self.base_block.pre_norm

    def of_side(self, side: str, name: str) -> Any:
        """Returns the setting ``encoder_NAME`` or ``decoder_NAME``."""
        return getattr(self, f"{side}_{name}")

    def self_attentions(self, side: str) -> list[SelfAttentionSpec]:
        """Returns the self-attention of each layer of `side`, lowest first.

        Raises:
            ConfigError: a wrong specification or range, or options that contradict each other
        """
        text = self.of_side(side, "layers_of")
        if text is not None:
            defaults = {kind: self.options_of(SELF_ATTENTIONS[kind]) for kind in SELF_ATTENTIONS}
            return read_specification(str(text), side, self.of_side(side, "layers"), defaults)
        first, last = self._layers_of_the_kind(side)
        kind = SELF_ATTENTIONS[self.of_side(side, "self_attention")]
        chosen = SelfAttentionSpec(kind, self.options_of(kind))
        chosen.check(highest=last)
        standard = SelfAttentionSpec(STANDARD, {})
        number: int = self.of_side(side, "layers")
        return [chosen if first <= n <= last else standard for n in range(1, number + 1)]

    def _layers_of_the_kind(self, side: str) -> tuple[int, int]:
        """Returns the lowest and the highest layer with ``--SIDE-self-attention``."""
        number: int = self.of_side(side, "layers")
        layers = self.of_side(side, "self_attention_layers")
        if layers is None:
            return 1, number
        first, dash, last = str(layers).partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last) <= number):
            raise ConfigError(
                f"--{side}-self-attention-layers: {layers!r} is not a layer or a range i-j "
                f"within 1-{number} (--{side}-layers {number})."
            )
        return int(first), int(last)

    def contradictions(self) -> Iterator[str]:
        for side in SIDES:
            yield from self._contradictions_of_side(side)
        if self.share_all_embeddings and self.encoder_embed_dim != self.decoder_embed_dim:
            yield (
                f"--share-all-embeddings: --encoder-embed-dim {self.encoder_embed_dim} and "
                f"--decoder-embed-dim {self.decoder_embed_dim} must be equal."
            )
        yield from self._contradictions_of_source_features()
        yield from self._contradictions_of_auxiliary_decoders()

    def _contradictions_of_side(self, side: str) -> Iterator[str]:
        yield from self._contradictions_of_heads(side)
        if self.of_side(side, "layers_of") is not None:
            for name, default in (("self_attention", "standard"), ("self_attention_layers", None)):
                value = self.of_side(side, name)
                if value not in (None, default):
                    yield (
                        f"{flag_name(f'{side}_{name}')}: {value} is what --{side}-layers-of says "
                        "of each layer; give one of both (with --arch transformer_standard, if "
                        "the architecture sets it)."
                    )
        try:
            self.self_attentions(side)
        except ConfigError as error:
            yield from error.problems

    def _contradictions_of_heads(self, side: str) -> Iterator[str]:
        positions = self.base_block.positions
        width, heads = self.of_side(side, "embed_dim"), self.of_side(side, "attention_heads")
        if width % heads:
            yield (
                f"--{side}-attention-heads: {heads} heads do not divide --{side}-embed-dim {width}."
            )
        if positions != "absolute" and self.of_side(side, "learned_pos"):
            yield (
                f"--{side}-learned-pos: learns positions that are added to the embeddings, and "
                f"with --positions {positions} none are."
            )

    def _contradictions_of_source_features(self) -> Iterator[str]:
        name, number = self.source_features, self.source_layers
        several = [other for other in SOURCE_FEATURES if other != TOP.name]
        if name == TOP.name and number not in (None, 1):
            yield (
                f"--source-layers: {number} layers need --source-features "
                f"{', '.join(several)}; {name!r} is one layer."
            )
        elif number == 1 and SOURCE_FEATURES[name].aggregates:
            yield (
                f"--source-layers: {name} of 1 layer aggregates nothing; choose "
                f"2-{self.encoder_layers}, or --source-features top."
            )
        elif number is not None and not 1 <= number <= self.encoder_layers:
            yield (
                f"--source-layers: {number} is not within 1-{self.encoder_layers} "
                f"(--encoder-layers {self.encoder_layers})."
            )
        feature = SOURCE_FEATURES[name]
        flags = {each.name: flag_name(feature.setting(each)) for each in feature.options}
        yield from feature.problems(self.options_of(feature), self.encoder_layers, flags)

    def _aux_layers(self) -> list[str]:
        """Splits --aux-layers; Hydra turns a list of one number into a number."""
        text = "" if self.aux_layers is None else str(self.aux_layers).strip()
        return [part.strip() for part in text.split(",")] if text else []

    def _contradictions_of_auxiliary_decoders(self) -> Iterator[str]:
        parts = self._aux_layers()
        highest = self.encoder_layers - 1
        if any(not (part.isdecimal() and 1 <= int(part) <= highest) for part in parts):
            valid = f"1-{highest}" if highest else "none: --encoder-layers is 1"
            yield (
                f"--aux-layers: {self.aux_layers!r} is not a list of encoder layers below the top "
                f"one, such as 1,3 (valid: {valid})."
            )
        elif len(set(map(int, parts))) < len(parts):
            yield f"--aux-layers: {self.aux_layers!r} names a layer twice."
        if self.aux_fusion and not parts:
            yield "--aux-fusion: there is nothing to fuse without --aux-layers."


def option_settings() -> dict[str, ModelSetting]:
    """Returns the options of all mechanisms as settings, which give their values to all layers."""
    settings = {}
    for mechanism in mechanisms():
        for option in mechanism.options:
            name = mechanism.setting(option)
            kind = type(option.default)
            settings[name] = ModelSetting(**{**vars(option), "name": name, "kind": kind})
    return settings


def idle_settings(flags: Any) -> dict[str, str]:
    """Returns the settings that have no effect in the model that flags describe.

    Returns:
        setting → what it is for, and what to do; nothing for contradictory flags
    """
    cfg = TransformerConfig.read(flags)
    try:
        cfg.check()
    except ConfigError:  # building the model refuses them
        return {}
    idle: dict[str, str] = {}
    for mechanism in mechanisms():
        idle |= _idle_options(cfg, mechanism)
    for side in SIDES:
        if getattr(cfg, f"{side}_self_attention") == "standard":
            idle[f"{side}_self_attention_layers"] = (
                f"are layers of another --{side}-self-attention than standard; give one, or leave "
                "this flag out."
            )
    if not cfg.auxiliary_layers and cfg.aux_weight != 1.0:
        idle["aux_weight"] = (
            "is the weight of auxiliary decoders, and without --aux-layers there are none; give "
            "layers such as 1,3, or leave this flag out."
        )
    if cfg.base_block.positions != "relative":
        idle["max_relative_position"] = "is for --positions relative; leave it out, or give that."
    return idle


def _idle_options(cfg: TransformerConfig, mechanism: Mechanism) -> dict[str, str]:
    """Returns the settings of a mechanism's options that nothing in the model uses."""
    axis, flag = "self-attention", "--encoder-self-attention"
    if isinstance(mechanism, SourceFeature):
        axis, flag = "source features", "--source-features"
    modules = _modules_with(cfg, mechanism)
    idle = {}
    for option in mechanism.options:
        setting = mechanism.setting(option)
        if not modules:
            idle[setting] = (
                f"is for {mechanism.name} {axis}, and this model has none; leave it out, or give "
                f"{flag} {mechanism.name}."
            )
        elif all(values[option.name] != getattr(cfg, setting) for values in modules):
            idle[setting] = (
                f"no layer has this {option.name}, because --encoder-layers-of or "
                "--decoder-layers-of gives another one; leave one of them out."
            )
        elif option.used and not any(map(option.used, modules)):
            idle[setting] = f"is for {option.used_for}, which no layer has."
    return idle


def _modules_with(cfg: TransformerConfig, mechanism: Mechanism) -> list[dict[str, Any]]:
    """Returns the options of each module of the model that is of a mechanism."""
    if isinstance(mechanism, SourceFeature):
        chosen = cfg.source_features == mechanism.name
        return [cfg.options_of(mechanism)] if chosen else []
    specs = [spec for side in SIDES for spec in cfg.self_attentions(side)]
    return [dict(spec.options) for spec in specs if spec.mechanism is mechanism]
