"""The flags of all Transformer variants, and what contradicts what."""

# fairseq reads the fields' types at run time: no postponed annotations, and Optional[str] here.
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq import utils
from fairseq.dataclass import FairseqDataclass

from ...errors import ConfigError, choice_problem
from ...modules.context_aware import CONTEXTS, context_levels
from ...modules.context_aware import MIXED
from ...modules.cross_aggregation import DIRECTIONS, HEAD_WEIGHTS, INITS

SELF_ATTENTION_KINDS = ("standard", "dual_context", "context_aware", "cross_aggregation")
SIDES = ("encoder", "decoder")
MULTI_LAYER_ATTENTIONS = ("m-00", "m-01", "m-10", "m-11")
LAYER_AGGREGATIONS = ("s-agg", "iter-s-agg", "c-agg", "iter-c-agg")
SOURCE_FEATURES = ("top", *LAYER_AGGREGATIONS, *MULTI_LAYER_ATTENTIONS)


def _flag(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass
class TransformerConfig(FairseqDataclass):
    """Settings of a Transformer on its three axes; every field is a flag (``--encoder-layers`` …).

    Names follow fairseq's ``transformer``. Layers are counted from 1, as in the papers.
    """

    encoder_embed_dim: int = _flag(512, "width of the encoder")
    encoder_ffn_embed_dim: int = _flag(2048, "inner width of the encoder's feed-forward networks")
    encoder_layers: int = _flag(6, "number of encoder layers")
    encoder_attention_heads: int = _flag(8, "attention heads of the encoder")
    encoder_normalize_before: bool = _flag(False, "layer norm before each encoder sublayer")
    encoder_learned_pos: bool = _flag(False, "learned positional embeddings in the encoder")
    encoder_layerdrop: float = _flag(0.0, "probability of skipping an encoder layer in training")
    encoder_embed_path: Optional[str] = _flag(None, "file of pretrained encoder embeddings")
    decoder_embed_dim: int = _flag(512, "width of the decoder")
    decoder_ffn_embed_dim: int = _flag(2048, "inner width of the decoder's feed-forward networks")
    decoder_layers: int = _flag(6, "number of decoder layers")
    decoder_attention_heads: int = _flag(8, "attention heads of the decoder")
    decoder_normalize_before: bool = _flag(False, "layer norm before each decoder sublayer")
    decoder_learned_pos: bool = _flag(False, "learned positional embeddings in the decoder")
    decoder_layerdrop: float = _flag(0.0, "probability of skipping a decoder layer in training")
    decoder_embed_path: Optional[str] = _flag(None, "file of pretrained decoder embeddings")
    dropout: float = _flag(0.1, "dropout of embeddings and sublayer outputs")
    attention_dropout: float = _flag(0.0, "dropout of attention weights")
    activation_dropout: float = _flag(0.0, "dropout after the feed-forward activation")
    activation_fn: str = _flag("relu", "activation of the feed-forward networks")
    share_decoder_input_output_embed: bool = _flag(
        False, "share the decoder's input and output embeddings"
    )
    share_all_embeddings: bool = _flag(
        False, "share encoder, decoder and output embeddings (needs a joint dictionary)"
    )
    no_token_positional_embeddings: bool = _flag(False, "no positional embeddings")
    layernorm_embedding: bool = _flag(False, "layer norm on the embeddings")
    no_scale_embedding: bool = _flag(False, "do not scale embeddings by sqrt(width)")
    checkpoint_activations: bool = _flag(
        False, "recompute each layer's activations in the backward pass to save memory"
    )
    max_source_positions: int = _flag(1024, "longest source, in tokens")
    max_target_positions: int = _flag(1024, "longest target, in tokens")

    encoder_self_attention: str = _flag(
        "standard", f"self-attention of the encoder: {', '.join(SELF_ATTENTION_KINDS)}"
    )
    decoder_self_attention: str = _flag(
        "standard", "self-attention of the decoder: standard, dual_context, context_aware"
    )
    encoder_self_attention_layers: Optional[str] = _flag(
        None, "encoder layers i-j that have --encoder-self-attention (default: all; else standard)"
    )
    decoder_self_attention_layers: Optional[str] = _flag(
        None, "decoder layers i-j that have --decoder-self-attention (default: all; else standard)"
    )
    dc_kernel_size: int = _flag(2, "dual context: width f of the local context's convolution")

    ctx_context: str = _flag("deep-global+deep", f"context-aware: {', '.join(CONTEXTS)}")
    ctx_on: str = _flag(
        "both", f"context-aware: what is mixed with the context: {', '.join(MIXED)}"
    )
    xagg_routing: str = _flag("both", f"cross aggregation: routing, {', '.join(DIRECTIONS)}")
    xagg_init: str = _flag("zero", f"cross aggregation: horizontal routing starts at {INITS}")
    xagg_iterations: int = _flag(3, "cross aggregation: routing iterations; 0 is plain attention")
    xagg_head_weights: str = _flag(
        "mean", f"cross aggregation: what the head weights see of positions: {HEAD_WEIGHTS}"
    )
    xagg_checkpoint: bool = _flag(
        False, "cross aggregation: recompute the routing in the backward pass to save memory"
    )

    source_features: str = _flag(
        "top", f"what the decoder attends to: {', '.join(SOURCE_FEATURES)}"
    )
    source_layers: Optional[int] = _flag(
        None, "number n of top encoder layers in --source-features (default: all; top: 1)"
    )

    aux_layers: Optional[str] = _flag(
        None, "encoder layers that auxiliary decoders are attached to, such as 1,3 (default: none)"
    )
    aux_weight: float = _flag(1.0, "weight of every auxiliary decoder's loss")
    aux_fusion: bool = _flag(
        False, "auxiliary information fusion: the main decoder reads the auxiliary decoders"
    )

    @property
    def num_source_layers(self) -> int:
        """n, the number of encoder layers that the main decoder reads."""
        if self.source_features == "top":
            return 1
        return self.encoder_layers if self.source_layers is None else self.source_layers

    @property
    def auxiliary_layers(self) -> list[int]:
        """Encoder layers with an auxiliary decoder, ascending; call :meth:`check` first."""
        text = (self.aux_layers or "").strip()
        return sorted(int(part) for part in text.split(",")) if text else []

    def kind_of(self, side: str, layer: int) -> str:
        """The self-attention kind of layer `layer` (1-based) on `side`; :meth:`check` first."""
        kind: str = getattr(self, f"{side}_self_attention")
        first, last = self.layer_range(side)
        return kind if first <= layer <= last else "standard"

    def layer_range(self, side: str) -> tuple[int, int]:
        """First and last layer (1-based) with the side's self-attention kind.

        Raises:
            ConfigError: not ``i-j`` or ``i`` with 1 ≤ i ≤ j ≤ number of layers
        """
        text: str | None = getattr(self, f"{side}_self_attention_layers")
        layers: int = getattr(self, f"{side}_layers")
        if text is None:
            return 1, layers
        first, _, last = str(text).partition("-")
        last = last or first
        if not (first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last) <= layers):
            raise ConfigError(
                [
                    f"--{side}-self-attention-layers: {text!r} is not a layer or a range i-j "
                    f"within 1-{layers} (--{side}-layers {layers})."
                ]
            )
        return int(first), int(last)

    def check(self) -> None:
        """
        Raises:
            ConfigError: listing everything that is wrong
        """
        problems: list[str] = []
        for check in (
            self._check_sizes,
            self._check_self_attention,
            self._check_kinds,
            self._check_source_features,
            self._check_auxiliary,
        ):
            problems += check()
        if problems:
            raise ConfigError(problems)

    def _check_sizes(self) -> list[str]:
        problems = []
        for side in SIDES:
            width = getattr(self, f"{side}_embed_dim")
            heads = getattr(self, f"{side}_attention_heads")
            for name in ("embed_dim", "ffn_embed_dim", "layers", "attention_heads"):
                value = getattr(self, f"{side}_{name}")
                if value < 1:
                    problems.append(f"{_name(side, name)}: {value} is not at least 1.")
            if width >= 1 and heads >= 1 and width % heads:
                problems.append(
                    f"{_name(side, 'attention_heads')}: {heads} heads do not divide "
                    f"{_name(side, 'embed_dim')} {width}."
                )
        rates = ["dropout", "attention_dropout", "activation_dropout"]
        for name in rates + [f"{side}_layerdrop" for side in SIDES]:
            if not 0 <= getattr(self, name) < 1:
                problems.append(f"{_name(name)}: {getattr(self, name)} is not in [0, 1).")
        problem = choice_problem(
            "--activation-fn", self.activation_fn, utils.get_available_activation_fns()
        )
        if self.share_all_embeddings and self.encoder_embed_dim != self.decoder_embed_dim:
            problems.append(
                f"--share-all-embeddings: --encoder-embed-dim {self.encoder_embed_dim} and "
                f"--decoder-embed-dim {self.decoder_embed_dim} must be equal."
            )
        return problems + ([problem] if problem else [])

    def _check_self_attention(self) -> list[str]:
        problems = []
        for side in SIDES:
            flag = f"--{side}-self-attention"
            kind = getattr(self, f"{side}_self_attention")
            problem = choice_problem(flag, kind, SELF_ATTENTION_KINDS)
            if problem is None and side == "decoder" and kind == "cross_aggregation":
                problem = (
                    f"{flag}: cross_aggregation routes over all positions, also later ones: it "
                    "exists for the encoder only (--encoder-self-attention cross_aggregation)."
                )
            if problem:
                problems.append(problem)
            try:
                self.layer_range(side)
            except ConfigError as error:
                problems += error.problems
        return problems

    def _check_kinds(self) -> list[str]:
        found = [
            choice_problem("--ctx-context", self.ctx_context, CONTEXTS),
            choice_problem("--ctx-on", self.ctx_on, MIXED),
            choice_problem("--xagg-routing", self.xagg_routing, DIRECTIONS),
            choice_problem("--xagg-init", self.xagg_init, INITS),
            choice_problem("--xagg-head-weights", self.xagg_head_weights, HEAD_WEIGHTS),
        ]
        problems = [problem for problem in found if problem]
        if self.dc_kernel_size < 1:
            problems.append(f"--dc-kernel-size: {self.dc_kernel_size} is not at least 1.")
        if self.xagg_iterations < 0:
            problems.append(f"--xagg-iterations: {self.xagg_iterations} is not at least 0.")
        if self.xagg_init == "self" and self.xagg_routing == "vertical":
            problems.append(
                "--xagg-init: 'self' starts the horizontal routing at the logits, and "
                "--xagg-routing vertical has none; choose zero, or --xagg-routing horizontal or "
                "both."
            )
        if not problems:
            problems += [problem for side in SIDES for problem in self._context_problems(side)]
        return problems

    def _context_problems(self, side: str) -> list[str]:
        if getattr(self, f"{side}_self_attention") != "context_aware":
            return []
        try:
            _, last = self.layer_range(side)
        except ConfigError:
            return []  # reported with the range
        if any(context_levels(self.ctx_context, last)):
            return []
        return [
            f"--ctx-context: {self.ctx_context!r} is made of the inputs of lower layers, and "
            f"--{side}-self-attention-layers {getattr(self, f'{side}_self_attention_layers')} has "
            "none below it; include a higher layer, or choose another context."
        ]

    def _check_source_features(self) -> list[str]:
        problem = choice_problem("--source-features", self.source_features, SOURCE_FEATURES)
        problems = [problem] if problem else []
        number = self.source_layers
        if number is not None and self.source_features == "top" and number != 1:
            problems.append(
                f"--source-layers: {number} layers need --source-features "
                f"{', '.join(SOURCE_FEATURES[1:])}; 'top' is one layer."
            )
        elif number == 1 and self.source_features in LAYER_AGGREGATIONS:
            problems.append(
                f"--source-layers: {self.source_features} of 1 layer aggregates nothing; choose "
                f"2-{self.encoder_layers}, or --source-features top."
            )
        elif number is not None and not 1 <= number <= self.encoder_layers:
            problems.append(
                f"--source-layers: {number} is not within 1-{self.encoder_layers} "
                f"(--encoder-layers {self.encoder_layers})."
            )
        return problems

    def _check_auxiliary(self) -> list[str]:
        parts = [part.strip() for part in (self.aux_layers or "").split(",") if part.strip()]
        highest = self.encoder_layers - 1
        problems = []
        if any(not (part.isdigit() and 1 <= int(part) <= highest) for part in parts):
            valid = f"1-{highest}" if highest else "none: --encoder-layers is 1"
            problems.append(
                f"--aux-layers: {self.aux_layers!r} is not a list of encoder layers below the top "
                f"one, such as 1,3 (valid: {valid})."
            )
        elif len(set(map(int, parts))) < len(parts):
            problems.append(f"--aux-layers: {self.aux_layers!r} names a layer twice.")
        if self.aux_fusion and not parts:
            problems.append("--aux-fusion: there is nothing to fuse without --aux-layers.")
        if not 0 <= self.aux_weight < float("inf"):
            problems.append(f"--aux-weight: {self.aux_weight} is not a number from 0 on.")
        return problems


def _name(*parts: str) -> str:
    return "--" + "-".join(parts).replace("_", "-")
