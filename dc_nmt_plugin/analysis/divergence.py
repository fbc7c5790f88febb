"""Divergence of global and local attention: dual context, section 7.2; thesis, Fig. 5.4."""

from __future__ import annotations

from typing import Any

from ..figure import finish_axes, grouped_bars, styles
from ..modules.diagnostics.divergence import DIAGNOSTIC
from .base import Analysis, Results, Table
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
        """Returns the divergence by layer, E_d of each side, eq. (13), and the kernel size f."""
        layers: list[dict[str, Any]] = []
        means: dict[str, float] = {}
        for (_, side, *layer), (total, rows) in sorted(found["totals"].items()):
            if layer:
                row = {"side": side, "layer": layer[0], "divergence": total / rows, "rows": rows}
                layers.append(row)
            else:
                means[side] = total / rows
        return {"kernel_size": _kernels(subject)[0], "layers": layers, "mean": means}

    def tables(self, results: Results) -> list[Table]:
        """Returns a row for each run and side: E_d, then each layer."""
        layers = sorted({row["layer"] for found in results.values() for row in found["layers"]})
        rows = []
        for label, found in results.items():
            for side, mean in found["mean"].items():
                by_layer = {
                    r["layer"]: r["divergence"] for r in found["layers"] if r["side"] == side
                }
                cells = [f"{by_layer[n]:.4f}" if n in by_layer else "" for n in layers]
                rows.append([label, side, str(found["kernel_size"]), f"{mean:.4f}", *cells])
        header = ["run", "side", "kernel size f", "mean E_d", *[f"layer {n}" for n in layers]]
        return [
            Table("Jensen-Shannon divergence of global and local attention, nats", header, rows)
        ]

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
        by_layer.legend()
        sizes = {found["kernel_size"] for found in results.values()}
        sides = sorted({side for found in results.values() for side in found["mean"]})
        if len(sizes) == len(results) > 1:
            ordered = sorted(results.values(), key=lambda found: int(found["kernel_size"]))
            for side, style in zip(sides, styles(), strict=False):
                kept = [found for found in ordered if side in found["mean"]]
                sizes_here = [found["kernel_size"] for found in kept]
                by_size.plot(sizes_here, [f["mean"][side] for f in kept], label=side, **style)
            finish_axes(by_size, "kernel size f", "mean divergence E_d, nats", integers=True)
        else:
            bars = {s: [found["mean"].get(s, 0.0) for found in results.values()] for s in sides}
            grouped_bars(by_size, list(results), bars)
            finish_axes(by_size, "run", "mean divergence E_d, nats")
        if len(sides) > 1:
            by_size.legend()


def _kernels(subject: Subject) -> list[int]:
    """Returns the kernel sizes of all dual-context layers."""
    return [
        int(module.local.kernel)
        for module in subject.model.modules()
        if hasattr(getattr(module, "local", None), "kernel")
    ]
