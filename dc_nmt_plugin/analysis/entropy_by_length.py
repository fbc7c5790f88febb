"""Entropy of the head weights Λ of cross aggregation (Eq. 13) at exact lengths, in nats.

Long sentences are rare, so consecutive source sentences are joined and truncated to each length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import UserError
from ..modules.choices import HEAD_WEIGHTS
from ..modules.core.flow import Flow
from ..modules.core.recording import recording
from ..modules.cross_aggregation import CrossAggregationSelfAttention
from ..modules.diagnostics.head_weights import entropy_total
from ..modules.diagnostics.records import layer_records
from .subject import Subject

ROWS = 50  # joined sentences of each length
UNTRAINED = 25  # fresh modules that are measured


def entropies(subject: Subject, lengths: Sequence[int]) -> list[dict[str, Any]]:
    """Returns the entropies of a model's layers, and of untrained modules of its size.

    Both kinds of head weights are measured, those that the model was trained with first.

    Args:
        subject: the model, and the text of its subset
        lengths: tokens of the joined sentences

    Returns:
        rows with ``layer`` (a number or ``untrained``), ``head_weights`` (the kind), ``trained``
        (whether the layer was trained with that kind) and ``entropy`` (length → mean)

    Raises:
        UserError: the model has no head weights, or the text is too short
    """
    layers = [
        module
        for module in subject.model.encoder.modules()
        if isinstance(module, CrossAggregationSelfAttention) and module.vertical
    ]
    if not layers:
        raise UserError(f"--lengths: {subject.label} has no head weights of vertical routing.")
    source = subject.task.dataset(subject.subset).src
    sentences = [source[number] for number in subject.translation.numbers]
    end = subject.task.source_dictionary.eos()
    texts = {length: joined_sentences(sentences, length, end) for length in lengths}
    own = layers[0].head_weights
    kinds = (own, *(kind for kind in HEAD_WEIGHTS if kind != own))
    rows: list[dict[str, Any]] = [
        {"layer": layer, "head_weights": kind, "trained": kind == own, "entropy": found}
        for kind in kinds
        for layer, found in _of_layers(subject, layers, kind, texts).items()
    ]
    size = {"embed_dim": layers[0].out_proj.in_features, "num_heads": layers[0].num_heads}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for kind in kinds:
            found = {
                str(length): initial_entropy(**size, head_weights=kind, length=length)
                for length in lengths
            }
            row = {"layer": "untrained", "head_weights": kind, "trained": False, "entropy": found}
            rows.append(row)
    return rows


@torch.no_grad()
def _of_layers(
    subject: Subject,
    layers: Sequence[CrossAggregationSelfAttention],
    kind: str,
    texts: Mapping[int, Tensor],
) -> dict[int, dict[str, float]]:
    """Returns encoder layer → length → mean entropy over the rows of tokens (B, T)."""
    own = layers[0].head_weights
    found: dict[int, dict[str, float]] = {}
    for module in layers:
        module.head_weights = kind
    for length, tokens in texts.items():
        lengths = torch.full((len(tokens),), length)
        with recording(subject.model, ("head_weights",)) as records:
            subject.model.encoder(*subject.translation.to_device([tokens, lengths]))
        for _, layer, tensors in layer_records(records, "self_attn"):
            if "head_weights" in tensors:
                total, count = entropy_total(tensors["head_weights"])
                found.setdefault(layer, {})[str(length)] = total / count
    for module in layers:
        module.head_weights = own
    return found


@torch.no_grad()
def initial_entropy(
    *, embed_dim: int, num_heads: int, head_weights: str, length: int, modules: int = UNTRAINED
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
            attention(x, Flow())
        entropy, sentences = entropy_total(records[""]["head_weights"])
        total, count = total + entropy, count + sentences
    return total / count


def joined_sentences(
    sentences: Sequence[Tensor], length: int, eos: int, rows: int = ROWS
) -> Tensor:
    """Returns up to `rows` rows of exactly `length` tokens, each ending with `eos`.

    Args:
        sentences: token numbers, each ending with `eos`

    Raises:
        UserError: all sentences together are shorter than one row
    """
    words = torch.cat([sentence[:-1] for sentence in sentences])[: rows * (length - 1)]
    rows = len(words) // (length - 1)
    if rows == 0:
        raise UserError(f"--lengths: {length} is more than the {len(words) + 1} tokens of the data")
    body = words[: rows * (length - 1)].view(rows, length - 1)
    return torch.cat([body, body.new_full((rows, 1), eos)], dim=1)
