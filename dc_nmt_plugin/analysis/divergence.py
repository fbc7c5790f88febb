"""Divergence of global and local attention: dual context, section 7.2; thesis, Fig. 5.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..figure import add_legend, finish_axes, grouped_bars, styles
from ..modules.diagnostics.divergence import DIAGNOSTIC
from ..modules.dual_context import LocalContext
from .base import Analysis, Results, Table, layer_table
from .loop import DiagnosticSums
from .subject import Subject


class ContextDivergence(Analysis):
    """Computes the Jensen-Shannon divergence of α_g and α_l, eqs (10)-(13)."""

    name = "divergence"
    size = (8.0, 3.6)

    def missing(self, subject: Subject) -> str | None:
        """Requires dual-context self-attention."""
        return None if _kernels(subject) else "has no dual-context self-attention."

    def collector(self, subject: Subject) -> DiagnosticSums:
        """Returns the collector of every layer's divergence."""
        return DiagnosticSums(DIAGNOSTIC)

    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Returns the divergence by layer, E_d of each side, eq. (13), and their kernel sizes f."""
        layers: list[dict[str, Any]] = []
        means: dict[str, float] = {}
        for (_, side, *layer), (total, rows) in sorted(found["totals"].items()):
            if layer:
                row = {"side": side, "layer": layer[0], "divergence": total / rows, "rows": rows}
                layers.append(row)
            else:
                means[side] = total / rows
        return {"kernel_sizes": _kernels(subject), "layers": layers, "mean": means}

    def tables(self, results: Results) -> list[Table]:
        """Returns a row for each run and side: E_d, then each layer."""
        rows = []
        for label, found in results.items():
            for side, mean in found["mean"].items():
                by_layer = {
                    r["layer"]: r["divergence"] for r in found["layers"] if r["side"] == side
                }
                sizes = ", ".join(map(str, found["kernel_sizes"][side]))
                rows.append(([label, side, sizes, f"{mean:.4f}"], by_layer))
        title = "Jensen-Shannon divergence of global and local attention, nats"
        return [layer_table(title, ["run", "side", "kernel size f", "mean E_d"], rows, ".4f")]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws Fig. 4: a, by layer; b, the mean over layers by kernel size (or by run)."""
        by_layer, by_size = figure.subplots(1, 2)
        curves = [(label, side) for label, found in results.items() for side in found["mean"]]
        for (label, side), style in zip(curves, styles(), strict=False):
            rows = [row for row in results[label]["layers"] if row["side"] == side]
            text = f"{label}, {side}" if len(results[label]["mean"]) > 1 else label
            values = [row["divergence"] for row in rows]
            by_layer.plot([row["layer"] for row in rows], values, label=text, **style)
        finish_axes(by_layer, "layer", "divergence, nats", integers=True)
        # a run whose layers differ in size has no place on an axis of sizes
        sizes = [_only_size(found) for found in results.values()]
        sides = sorted({side for found in results.values() for side in found["mean"]})
        if None not in sizes and len(set(sizes)) == len(results) > 1:
            ordered = sorted(results.values(), key=lambda found: int(_only_size(found) or 0))
            for side, style in zip(sides, styles(), strict=False):
                kept = [found for found in ordered if side in found["mean"]]
                sizes_here = [_only_size(found) for found in kept]
                by_size.plot(sizes_here, [f["mean"][side] for f in kept], label=side, **style)
            finish_axes(by_size, "kernel size f", "mean divergence E_d, nats", integers=True)
        else:
            bars = {s: [found["mean"].get(s, 0.0) for found in results.values()] for s in sides}
            grouped_bars(by_size, list(results), bars)
            finish_axes(by_size, "run", "mean divergence E_d, nats")
        add_legend(figure, by_layer, *([by_size] if len(sides) > 1 else []))


def _kernels(subject: Subject) -> dict[str, list[int]]:
    """Returns the kernel sizes of the dual-context layers of each side, ascending."""
    found: dict[str, set[int]] = {}
    for name, module in subject.model.named_modules():
        if isinstance(module, LocalContext):
            found.setdefault(name.partition(".")[0], set()).add(module.kernel)
    return {side: sorted(sizes) for side, sizes in found.items()}


def _only_size(found: Mapping[str, Any]) -> int | None:
    """Returns the kernel size of all layers of a run; None if they differ."""
    sizes = {size for of_side in found["kernel_sizes"].values() for size in of_side}
    return sizes.pop() if len(sizes) == 1 else None
