"""Divergence of global and local attention: dual context, section 7.2; thesis, Fig. 5.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..charts import Chart, Line, draw_charts
from ..modules.diagnostics.divergence import DIAGNOSTIC
from ..modules.dual_context import LocalContext
from .base import Analysis, Results, Table, layer_table
from .loop import DiagnosticSums
from .subject import Subject


class ContextDivergence(Analysis):
    """Computes the Jensen-Shannon divergence of α_g and α_l, eqs (10)-(13)."""

    name = "divergence"

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
        lines = {}
        for label, found in results.items():
            for side in found["mean"]:
                rows = [row for row in found["layers"] if row["side"] == side]
                text = f"{label}, {side}" if len(found["mean"]) > 1 else label
                lines[text] = Line(
                    [row["layer"] for row in rows], [row["divergence"] for row in rows]
                )
        by_layer = Chart("layer", "divergence, nats", lines, integers=True)
        mean = "mean divergence E_d, nats"
        # a run whose layers differ in size has no place on an axis of sizes
        sizes = [_only_size(found) for found in results.values()]
        sides = sorted({side for found in results.values() for side in found["mean"]})
        if None not in sizes and len(set(sizes)) == len(results) > 1:
            ordered = sorted(results.values(), key=lambda found: int(_only_size(found) or 0))
            lines = {}
            for side in sides:
                kept = [found for found in ordered if side in found["mean"]]
                lines[side] = Line(
                    [_only_size(found) or 0 for found in kept], [f["mean"][side] for f in kept]
                )
            total = Chart("kernel size f", mean, lines, integers=True)
        else:
            bars = {
                side if len(sides) > 1 else "": [f["mean"].get(side, 0.0) for f in results.values()]
                for side in sides
            }
            total = Chart(mean, "run", bars=bars, groups=[*results], across=True)
        draw_charts(figure, [by_layer, total])


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
