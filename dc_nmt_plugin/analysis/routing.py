"""Measures routing: cross aggregation, eqs (8)-(14), and zero weights of section 4.1."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..charts import Chart, Line, draw_charts
from ..modules.core.recording import Records
from ..modules.diagnostics.head_weights import head_weight_entropy
from ..modules.diagnostics.records import pool, self_attentions, token_total
from .base import Analysis, Results, Table
from .loop import ForcedBatch
from .subject import Subject

PARTS = {"vertical": "Ω↕ (over heads)", "horizontal": "Ω↔ (over positions)"}
NORMS = ("added_norm", "vertical_norm", "horizontal_norm")
GROUP = 5  # tokens: width of the length groups in the figure


class Routing(Analysis):
    """Computes entropy of Λ by length, share of zero weights, and norms of the two parts."""

    name = "routing"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --zero."""
        parser.add_argument(
            "--zero",
            type=float,
            default=5e-4,
            metavar="W",
            help=(
                "weights below this value count as zero (default: 0.0005, zero in three decimals)"
            ),
        )

    def missing(self, subject: Subject) -> str | None:
        """Requires cross aggregation with routing."""
        routes = any(
            getattr(module, "horizontal", False) or getattr(module, "vertical", False)
            for module in subject.model.encoder.modules()
        )
        return None if routes else "has no cross aggregation that routes."

    def collector(self, subject: Subject) -> RoutingSums:
        """Returns the collector of the sums of every layer."""
        return RoutingSums(self.args.zero)

    def tables(self, results: Results) -> list[Table]:
        """Returns tables: norms and zeros by layer; entropy by layer."""
        by_layer = Table(
            f"weights of vote vectors below {self.args.zero:g}, and norms of the added logits",
            [
                "run",
                "layer",
                "zero vertical",
                "zero horizontal",
                "norm Ω↕",
                "norm Ω↔",
                "norm of both",
            ],
        )
        keys = ("zero_vertical", "zero_horizontal", "vertical_norm", "horizontal_norm")
        by_head = Table(
            "entropy of Λ, nats; after it the mean weight of each head",
            ["run", "layer", "entropy", "at most", "mean Λ by head"],
        )
        for label, found in results.items():
            for row in found["layers"]:
                cells = [f"{row[key]:.3f}" if key in row else "" for key in (*keys, "added_norm")]
                by_layer.rows.append([label, str(row["layer"]), *cells])
                if "entropy" in row:
                    heads = " ".join(f"{weight:.2f}" for weight in row["head_weights"])
                    most = f"{math.log(len(row['head_weights'])):.3f}"
                    cells = [f"{row['entropy']:.3f}", most, heads]
                    by_head.rows.append([label, str(row["layer"]), *cells])
        return [by_layer, *([by_head] if by_head.rows else [])]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws entropy by length, zero weights, and norms by layer."""
        lines = {}
        for label, found in results.items():
            for row in found["layers"]:
                lengths = _grouped(row.get("by_length", {}))
                if lengths:
                    name = (
                        f"{label} {row['layer']}" if len(results) > 1 else f"layer {row['layer']}"
                    )
                    lines[name] = Line([*lengths], [*lengths.values()])
        charts = [Chart("source length, tokens", "mean entropy of Λ, nats", lines)]
        layers = sorted({row["layer"] for found in results.values() for row in found["layers"]})
        groups = [str(layer) for layer in layers]
        charts += [
            Chart("layer", f"share of weights below {self.args.zero:g}", groups=groups,
                  bars=_bars(results, layers, "zero_{}"), finish=lambda axes: axes.set_ylim(0, 1)),
            Chart("layer", "mean norm of the added logits", groups=groups,
                  bars=_bars(results, layers, "{}_norm")),
        ]  # fmt: skip
        draw_charts(figure, charts)


def _bars(results: Results, layers: Sequence[int], key: str) -> dict[str, list[float]]:
    """Returns a number of every layer, for each run and part that has it.

    Args:
        results: of the runs
        layers: in order
        key: of the number in a row, with {} for the part
    """
    bars = {}
    for label, found in results.items():
        rows = {row["layer"]: row for row in found["layers"]}
        for part, about in PARTS.items():
            if any(key.format(part) in row for row in rows.values()):
                name = f"{label} {about}" if len(results) > 1 else about
                bars[name] = [rows.get(n, {}).get(key.format(part), 0.0) for n in layers]
    return bars


class RoutingSums:
    """Sums the recorded routing of the layers.

    Args:
        zero: coefficients below it count as zero
    """

    needs = ("head_weights", *PARTS, *NORMS)

    def __init__(self, zero: float) -> None:
        self.zero = zero
        self.means: dict[int, dict[str, tuple[float, int]]] = {}
        self.heads: dict[int, tuple[Tensor, int]] = {}
        self.by_length: dict[int, dict[int, tuple[float, int]]] = {}

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module."""
        padding = batch.padding("encoder")
        for side, layer, tensors in self_attentions(records):
            if side != "encoder" or "added_norm" not in tensors:
                continue
            for part in PARTS:
                if part in tensors:
                    zero = zero_weights(tensors[part], padding, self.zero)
                    pool(self.means.setdefault(layer, {}), f"zero_{part}", *zero)
            for name in NORMS:
                if name in tensors:
                    mean_of_heads = tensors[name].mean(dim=1)  # (B, T)
                    total, count = token_total(mean_of_heads, padding)
                    pool(self.means.setdefault(layer, {}), name, total, count)
            if "head_weights" in tensors:
                self._add_head_weights(layer, tensors["head_weights"], (~padding).sum(dim=1))

    def _add_head_weights(self, layer: int, weights: Tensor, lengths: Tensor) -> None:
        pool(self.heads, layer, weights.double().sum(dim=0), len(weights))
        groups = self.by_length.setdefault(layer, {})
        entropies = head_weight_entropy(weights).tolist()
        for length, entropy in zip(lengths.tolist(), entropies, strict=True):
            pool(groups, length, entropy, 1)

    def result(self) -> dict[str, Any]:
        """Returns one row for each layer; ``by_length``: length → (sum of entropy, sentences)."""
        layers = []
        for layer in sorted(self.means):
            row: dict[str, Any] = {"layer": layer}
            row |= {name: total / count for name, (total, count) in self.means[layer].items()}
            if layer in self.heads:
                sums, count = self.heads[layer]
                lengths = self.by_length[layer]
                row["head_weights"] = (sums / count).tolist()
                row["entropy"] = sum(total for total, _ in lengths.values()) / count
                row["by_length"] = {str(n): list(lengths[n]) for n in sorted(lengths)}
            layers.append(row)
        return {"zero": self.zero, "layers": layers}


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
        length = coefficients.size(-1)
        seen = torch.ones(length, length, dtype=torch.bool, device=padding.device).tril()
        real = real[..., :, None] & real[..., None, :] & seen  # (B, 1, T, T)
    counted = real.expand_as(coefficients)
    return float(((coefficients < zero) & counted).sum()), int(counted.sum())


def _grouped(by_length: dict[str, Any]) -> dict[float, float]:
    """Returns middle of each length group → mean entropy of its sentences."""
    groups: dict[int, tuple[float, int]] = {}
    for length, (total, count) in by_length.items():
        before, number = groups.get(int(length) // GROUP, (0.0, 0))
        groups[int(length) // GROUP] = (before + total, number + count)
    return {
        group * GROUP + (GROUP - 1) / 2: total / count
        for group, (total, count) in sorted(groups.items())
    }
