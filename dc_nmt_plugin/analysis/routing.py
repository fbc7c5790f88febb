"""Measures routing: cross aggregation, eqs (8)-(14), and zero weights of section 4.1."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..errors import UsageError, UserError
from ..inference.forced_batch import ForcedBatch
from ..inference.subject import Subject
from ..modules.core.recording import Records
from ..modules.diagnostics import head_weight_entropy, pool, self_attentions, token_total
from .figure import Chart, draw_charts
from .forced import force
from .report import Results, Table

PARTS = {"vertical": "Ω↕ (over heads)", "horizontal": "Ω↔ (over positions)"}
NORMS = ("added_norm", "vertical_norm", "horizontal_norm")
GROUP = 5  # tokens: width of the length groups in the figure


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns entropy of Λ by length, share of zero weights, and norms of the two parts.

    One row for each layer; ``by_length`` has length → (sum of entropy, sentences).

    Raises:
        UserError: a model without cross aggregation that routes
    """
    if not 0 <= args.zero < math.inf:
        raise UsageError(f"--zero: {args.zero} is not allowed; give a finite number from 0 on.")
    modules = list(subject.model.encoder.modules())
    if not any(getattr(m, "horizontal", False) or getattr(m, "vertical", False) for m in modules):
        raise UserError(f"{subject.label}: has no cross aggregation that routes.")
    means: dict[int, dict[str, tuple[float, int]]] = {}  # layer → number → sum, count
    heads: dict[int, tuple[Tensor, int]] = {}  # layer → sum of Λ (H,), sentences
    by_length: dict[int, dict[int, tuple[float, int]]] = {}  # layer → length → entropy, sentences

    def add(records: Records, batch: ForcedBatch) -> None:
        padding = batch.padding("encoder")
        for side, layer, tensors in self_attentions(records):
            if side != "encoder" or "added_norm" not in tensors:
                continue
            own = means.setdefault(layer, {})
            for part in PARTS:
                if part in tensors:
                    pool(own, f"zero_{part}", *zero_weights(tensors[part], padding, args.zero))
            for name in NORMS:
                if name in tensors:
                    over_heads = tensors[name].mean(dim=1)  # (B, T)
                    pool(own, name, *token_total(over_heads, padding))
            if "head_weights" in tensors:
                weights = tensors["head_weights"]  # (B, H)
                pool(heads, layer, weights.double().sum(dim=0), len(weights))
                entropies = head_weight_entropy(weights).tolist()
                lengths = (~padding).sum(dim=1).tolist()
                for length, entropy in zip(lengths, entropies, strict=True):
                    pool(by_length.setdefault(layer, {}), length, entropy, 1)

    force(subject, ("head_weights", *PARTS, *NORMS), add)
    layers = []
    for layer in sorted(means):
        row: dict[str, Any] = {"layer": layer}
        for name, (total, count) in means[layer].items():
            row[name] = total / count
        if layer in heads:
            sums, sentences = heads[layer]
            lengths = by_length[layer]
            row["head_weights"] = (sums / sentences).tolist()
            row["entropy"] = sum(total for total, _ in lengths.values()) / sentences
            row["by_length"] = {str(n): list(lengths[n]) for n in sorted(lengths)}
        layers.append(row)
    return {"zero": args.zero, "layers": layers}


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


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns tables: norms and zeros by layer; entropy by layer."""
    by_layer = Table(
        f"weights of vote vectors below {args.zero:g}, and norms of the added logits",
        ["run", "layer", "zero vertical", "zero horizontal", "norm Ω↕", "norm Ω↔", "norm of both"],
    )
    by_head = Table(
        "entropy of Λ, nats; after it the mean weight of each head",
        ["run", "layer", "entropy", "at most", "mean Λ by head"],
    )
    keys = ("zero_vertical", "zero_horizontal", "vertical_norm", "horizontal_norm", "added_norm")
    for label, result in results.items():
        for row in result["layers"]:
            first = [label, str(row["layer"])]
            cells = [f"{row[key]:.3f}" if key in row else "" for key in keys]
            by_layer.rows.append([*first, *cells])
            if "entropy" in row:
                most = math.log(len(row["head_weights"]))
                heads = " ".join(f"{weight:.2f}" for weight in row["head_weights"])
                by_head.rows.append([*first, f"{row['entropy']:.3f}", f"{most:.3f}", heads])
    return [by_layer, by_head] if by_head.rows else [by_layer]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws entropy by length, zero weights, and norms by layer."""
    lines = {}
    for label, result in results.items():
        for row in result["layers"]:
            if row.get("by_length"):
                start = f"{label} " if len(results) > 1 else "layer "
                lines[f"{start}{row['layer']}"] = _grouped(row["by_length"])
    layers = sorted({row["layer"] for result in results.values() for row in result["layers"]})
    groups = [str(layer) for layer in layers]
    charts = [
        Chart("source length, tokens", "mean entropy of Λ, nats", lines),
        Chart("layer", f"share of weights below {args.zero:g}", groups=groups,
              bars=_bars(results, layers, "zero_{}"), finish=lambda axes: axes.set_ylim(0, 1)),
        Chart("layer", "mean norm of the added logits", groups=groups,
              bars=_bars(results, layers, "{}_norm")),
    ]  # fmt: skip
    draw_charts(figure, charts)


def _bars(results: Results, layers: Sequence[int], key: str) -> dict[str, list[float]]:
    """Returns a number of every layer, for each run and part that has it; `key` has {} for the
    part."""
    bars = {}
    for label, result in results.items():
        rows = {row["layer"]: row for row in result["layers"]}
        for part, about in PARTS.items():
            name = key.format(part)
            if any(name in row for row in rows.values()):
                series = f"{label} {about}" if len(results) > 1 else about
                bars[series] = [rows.get(layer, {}).get(name, 0.0) for layer in layers]
    return bars


def _grouped(by_length: dict[str, Any]) -> dict[float, float]:
    """Returns middle of each length group → mean entropy of its sentences."""
    groups: dict[int, tuple[float, int]] = {}
    for length, (total, count) in by_length.items():
        pool(groups, int(length) // GROUP, total, count)
    middle = (GROUP - 1) / 2
    return {group * GROUP + middle: groups[group][0] / groups[group][1] for group in sorted(groups)}
