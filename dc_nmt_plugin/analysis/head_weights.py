"""Entropy of the head weights Λ of cross aggregation, by length.

The entropy of Λ (Eq. 13) is in nats, for untrained modules or a trained model. Long sentences are
rare, so consecutive source sentences are joined and truncated to each exact length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import UserError
from ..modules.core.masks import SequenceMask
from ..modules.core.recording import recording
from ..modules.cross_aggregation import HEAD_WEIGHTS, CrossAggregationSelfAttention
from ..modules.diagnostics.head_weights import entropy_total
from ..modules.diagnostics.records import layer_records

SIZES = ((4, 256), (8, 512))  # heads, width
ROWS = 50  # joined sentences of each length


def untrained(lengths: Sequence[int]) -> list[dict[str, Any]]:
    """Returns rows for untrained modules, on layer-normalised Gaussian sentences."""
    return [
        {
            "name": f"{heads} heads, width {width}, untrained",
            "head_weights": kind,
            "maximum": math.log(heads),
            "entropy": {
                str(length): initial_entropy(
                    embed_dim=width,
                    num_heads=heads,
                    head_weights=kind,
                    length=length,
                    modules=25,
                )
                for length in lengths
            },
        }
        for heads, width in SIZES
        for kind in HEAD_WEIGHTS
    ]


def trained(path: str, data: str, subset: str, lengths: Sequence[int]) -> list[dict[str, Any]]:
    """Returns rows for a model's encoder layers, with its head weights and with the other kind.

    Args:
        path: the checkpoint
        data: folder made by fairseq-preprocess
        subset: of the data
        lengths: tokens of the joined sentences

    Raises:
        UserError: the model has no cross aggregation, or the data are too short
    """
    from fairseq import checkpoint_utils

    from .. import registration as registration

    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [path], arg_overrides={"data": data}
    )
    model = models[0].eval()
    layers = [
        module
        for module in model.modules()
        if isinstance(module, CrossAggregationSelfAttention) and module.vertical
    ]
    if not layers:
        raise UserError(f"--path {path}: has no head weights of cross aggregation")
    try:
        task.load_dataset(subset)
    except (FileNotFoundError, AssertionError) as error:
        raise UserError(f"--subset {subset}: not in {data}") from error
    source = task.dataset(subset).src
    own = layers[0].head_weights
    found: dict[tuple[str, str], dict[str, float]] = {}
    for kind in (own, *[kind for kind in HEAD_WEIGHTS if kind != own]):
        for module in layers:
            module.head_weights = kind
        for length in lengths:
            tokens = joined_sentences(source, length, task.source_dictionary.eos())
            with torch.no_grad(), recording(model) as records:
                model.encoder(tokens, torch.full((len(tokens),), length))
            for side, layer, tensors in layer_records(records, "self_attn"):
                if "head_weights" in tensors:
                    total, count = entropy_total(tensors["head_weights"])
                    row = found.setdefault((f"{side}_{layer}", kind), {})
                    row[str(length)] = total / count
    for module in layers:
        module.head_weights = own
    return [
        {
            "name": layer,
            "head_weights": kind if kind == own else f"{kind} (not as trained)",
            "maximum": math.log(layers[0].num_heads),
            "entropy": entropy,
        }
        for (layer, kind), entropy in found.items()
    ]


@torch.no_grad()
def initial_entropy(
    *, embed_dim: int, num_heads: int, head_weights: str, length: int, modules: int = 8
) -> float:
    """Returns the mean entropy (nats) of Λ in untrained modules, on normalised Gaussian sentences.

    Args:
        embed_dim: model width C
        num_heads: heads H
        head_weights: "mean" or "sum"
        length: positions a sentence
        modules: how many fresh modules are measured, on four sentences each
    """
    total, count = 0.0, 0
    for _ in range(modules):
        attention = CrossAggregationSelfAttention(
            embed_dim=embed_dim, num_heads=num_heads, head_weights=head_weights
        )
        x = nn.functional.layer_norm(torch.randn(4, length, embed_dim), (embed_dim,))
        with recording(attention) as records:
            attention(x, SequenceMask())
        entropy, sentences = entropy_total(records[""]["head_weights"])
        total, count = total + entropy, count + sentences
    return total / count


def joined_sentences(sentences: Any, length: int, eos: int, rows: int = ROWS) -> Tensor:
    """Returns up to `rows` rows of exactly `length` tokens, each ending with `eos`.

    Args:
        sentences: tensors of token numbers, each ending with `eos`

    Raises:
        UserError: all sentences together are shorter than one row
    """
    wanted = rows * (length - 1)
    words: list[int] = []
    for number in range(len(sentences)):
        words += sentences[number][:-1].tolist()
        if len(words) >= wanted:
            break
    rows = min(rows, len(words) // (length - 1))
    if rows == 0:
        raise UserError(f"--lengths: {length} is more than the {len(words) + 1} tokens of the data")
    body = torch.tensor(words[: rows * (length - 1)]).view(rows, length - 1)
    return torch.cat([body, body.new_full((rows, 1), eos)], dim=1)
