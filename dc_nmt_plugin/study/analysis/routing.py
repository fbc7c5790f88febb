"""Measures routing: cross aggregation, eqs (8)-(14), and zero weights of section 4.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ...laboratory.inference.attention import ForcedBatch
from ...laboratory.table import number_cell
from ...modules.core.recording import Recorded, Records
from ...modules.diagnostics import head_weight_entropy, pool, self_attentions, token_total
from . import ZERO
from .figure import Chart, draw_charts
from .forced import force
from .report import Table, by_layer
from .subject import Subject

PARTS = {"vertical": "Ω↕ (over heads)", "horizontal": "Ω↔ (over positions)"}
NORMS = ("added_norm", "vertical_norm", "horizontal_norm")
GROUP = 5  # tokens: width of the length groups in the figure


@dataclass(frozen=True)
class LayerRouting:
    """Means of one layer; None where its routing has no such part."""

    layer: int
    zero_vertical: float | None = None  # share of the weights of vote vectors that count as zero
    zero_horizontal: float | None = None
    added_norm: float | None = None  # of the added logits, over heads and tokens
    vertical_norm: float | None = None
    horizontal_norm: float | None = None
    head_weights: list[float] | None = None  # mean Λ of each head
    entropy: float | None = None  # of Λ, nats
    # source length → sum of the entropies, number of sentences
    by_length: dict[int, tuple[float, int]] | None = None


@dataclass(frozen=True)
class Routing:
    zero: float  # weights below it count as zero
    layers: list[LayerRouting]


class _Sums:
    """Sums of one layer over all batches."""

    def __init__(self) -> None:
        self.means: dict[str, tuple[float, int]] = {}  # number → sum, count
        self.heads: dict[str, tuple[Tensor, int]] = {}  # "weights" → sum of Λ (H,), sentences
        self.by_length: dict[int, tuple[float, int]] = {}  # length → entropy, sentences

    def add(self, tensors: Recorded, padding: Tensor, zero: float) -> None:
        """Adds what the layer recorded of one batch."""
        for part in PARTS:
            if part in tensors:
                pool(self.means, f"zero_{part}", *zero_weights(tensors[part], padding, zero))
        for name in NORMS:
            if name in tensors:
                over_heads = tensors[name].mean(dim=1)  # (B, T)
                pool(self.means, name, *token_total(over_heads, padding))
        if "head_weights" in tensors:
            weights = tensors["head_weights"]  # (B, H)
            pool(self.heads, "weights", weights.double().sum(dim=0), len(weights))
            entropies = head_weight_entropy(weights).tolist()
            lengths = (~padding).sum(dim=1).tolist()
            for length, entropy in zip(lengths, entropies, strict=True):
                pool(self.by_length, length, entropy, 1)

    def result(self, layer: int) -> LayerRouting:
        numbers: dict[str, Any] = {}
        for name, (total, count) in self.means.items():
            numbers[name] = total / count
        if self.heads:
            total_weights, sentences = self.heads["weights"]
            numbers["head_weights"] = (total_weights / sentences).tolist()
            entropy = sum(total for total, _ in self.by_length.values())
            numbers["entropy"] = entropy / sentences
            numbers["by_length"] = dict(sorted(self.by_length.items()))
        return LayerRouting(layer, **numbers)


def measure(subject: Subject, *, zero: float = ZERO) -> Routing:
    """Returns entropy of Λ by length, share of zero weights, and norms of the two parts.

    Raises:
        UserError: a model without cross aggregation that routes
    """
    modules = subject.model.encoder.modules()
    routes = any(getattr(m, "horizontal", False) or getattr(m, "vertical", False) for m in modules)
    subject.require(routes, "cross aggregation that routes")
    sums: dict[int, _Sums] = {}  # by layer

    def add(records: Records, batch: ForcedBatch) -> None:
        padding = batch.padding("encoder")
        for side, layer, tensors in self_attentions(records):
            if side == "encoder" and "added_norm" in tensors:
                sums.setdefault(layer, _Sums()).add(tensors, padding, zero)

    force(subject, ("head_weights", *PARTS, *NORMS), add)
    return Routing(zero, [sums[layer].result(layer) for layer in sorted(sums)])


def zero_weights(coefficients: Tensor, padding: Tensor, zero: float) -> tuple[float, int]:
    """Counts the routing weights below `zero`, and all routing weights.

    Args:
        coefficients: (B, H, T) of heads at a position, or (B, H, T, T) of the positions t ≤ l that
            row l takes; values above the diagonal and at padding do not count
        padding: (B, T) bool, True at padding
        zero: the bound
    """
    real = ~padding[:, None]  # (B, 1, T)
    if coefficients.dim() == 4:
        real = (real[..., :, None] & real[..., None, :]).tril()  # (B, 1, T, T)
    counted = real.expand_as(coefficients)
    return float(((coefficients < zero) & counted).sum()), int(counted.sum())


def tables(results: Mapping[str, Routing]) -> list[Table]:
    """Returns tables: norms and zeros by layer; entropy by layer."""
    zero = next(iter(results.values())).zero
    norms = Table(
        f"weights of vote vectors below {zero:g}, and norms of the added logits",
        ["run", "layer", "zero vertical", "zero horizontal", "norm Ω↕", "norm Ω↔", "norm of both"],
    )
    by_head = Table(
        "entropy of Λ, nats; after it the mean weight of each head",
        ["run", "layer", "entropy", "at most", "mean Λ by head"],
    )
    for label, result in results.items():
        for row in result.layers:
            first = [label, str(row.layer)]
            numbers = [row.zero_vertical, row.zero_horizontal]
            numbers += [row.vertical_norm, row.horizontal_norm, row.added_norm]
            norms.rows.append([*first, *(number_cell(number, ".3f") for number in numbers)])
            if row.head_weights:
                greatest = math.log(len(row.head_weights))
                heads = " ".join(f"{weight:.2f}" for weight in row.head_weights)
                cells = [number_cell(row.entropy, ".3f"), f"{greatest:.3f}", heads]
                by_head.rows.append([*first, *cells])
    return [norms, by_head] if by_head.rows else [norms]


def draw(figure: Any, results: Mapping[str, Routing]) -> None:
    """Draws entropy by length, zero weights, and norms by layer."""
    zero = next(iter(results.values())).zero
    lines = {}
    for label, result in results.items():
        for row in result.layers:
            if row.by_length:
                start = f"{label} " if len(results) > 1 else "layer "
                lines[f"{start}{row.layer}"] = _grouped(row.by_length)
    layers = sorted({row.layer for result in results.values() for row in result.layers})
    groups = [str(layer) for layer in layers]
    zeros = _bars(results, layers, "zero_{}")
    norms = _bars(results, layers, "{}_norm")
    charts = [
        Chart("source length, tokens", "mean entropy of Λ, nats", lines),
        Chart(
            "layer",
            f"share of weights below {zero:g}",
            bars=zeros,
            groups=groups,
            finish=lambda axes: axes.set_ylim(0, 1),
        ),
        Chart("layer", "mean norm of the added logits", bars=norms, groups=groups),
    ]
    draw_charts(figure, charts, runs=[*results])


def _bars(
    results: Mapping[str, Routing], layers: Sequence[int], key: str
) -> dict[str, list[float]]:
    """Returns a number of every layer, for each run and part that has it; `key` has {} for the
    part."""
    bars = {}
    for label, result in results.items():
        for part, about in PARTS.items():
            numbers = by_layer(result.layers, key.format(part))
            if any(number is not None for number in numbers.values()):
                series = f"{label} {about}" if len(results) > 1 else about
                bars[series] = [numbers.get(layer) or 0.0 for layer in layers]
    return bars


def _grouped(by_length: Mapping[int, tuple[float, int]]) -> dict[float, float]:
    """Returns middle of each length group → mean entropy of its sentences."""
    groups: dict[int, tuple[float, int]] = {}
    for length, (total, count) in by_length.items():
        pool(groups, length // GROUP, total, count)
    middle = (GROUP - 1) / 2
    return {group * GROUP + middle: groups[group][0] / groups[group][1] for group in sorted(groups)}
