"""Divergence of global and local attention: dual context, section 7.2; thesis, Fig. 5.4."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ..errors import UserError
from ..inference.subject import Subject
from ..modules.diagnostics import DIVERGENCE
from ..modules.dual_context import LocalContext
from .figure import Chart, draw_charts
from .forced import diagnostic_totals
from .report import Results, Table, by_layer, layer_table


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns the Jensen-Shannon divergence of α_g and α_l, eqs (10)-(13).

    By layer, with the mean E_d of each side, eq. (13), and the kernel sizes f.

    Raises:
        UserError: a model without dual-context self-attention
    """
    kernels = _kernels(subject)
    if not kernels:
        raise UserError(f"{subject.label}: has no dual-context self-attention.")
    layers: list[dict[str, Any]] = []
    means: dict[str, float] = {}
    for (_, side, *layer), (total, rows) in sorted(diagnostic_totals(subject, DIVERGENCE).items()):
        if layer:
            row = {"side": side, "layer": layer[0], "divergence": total / rows, "rows": rows}
            layers.append(row)
        else:
            means[str(side)] = total / rows
    return {"kernel_sizes": kernels, "layers": layers, "mean": means}


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a row for each run and side: E_d, then each layer."""
    rows = []
    for label, result in results.items():
        for side, mean in result["mean"].items():
            sizes = ", ".join(map(str, result["kernel_sizes"][side]))
            first = [label, side, sizes, f"{mean:.4f}"]
            rows.append((first, by_layer(result, "divergence", side=side)))
    title = "Jensen-Shannon divergence of global and local attention, nats"
    return [layer_table(title, ["run", "side", "kernel size f", "mean E_d"], rows, ".4f")]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws Fig. 4: a, by layer; b, the mean over layers by kernel size (or by run)."""
    lines = {}
    for label, result in results.items():
        for side in result["mean"]:
            name = f"{label}, {side}" if len(result["mean"]) > 1 else label
            lines[name] = by_layer(result, "divergence", side=side)
    draw_charts(figure, [Chart("layer", "divergence, nats", lines), _mean_chart(results)])


def _mean_chart(results: Results) -> Chart:
    axis = "mean divergence E_d, nats"
    sides = sorted({side for result in results.values() for side in result["mean"]})
    sizes = [_only_size(result) for result in results.values()]
    # A run whose layers differ in size, and two runs of one size, have no place on an axis.
    if None not in sizes and len(set(sizes)) == len(results) > 1:
        points: dict[str, dict[int, float]] = {side: {} for side in sides}
        for result in sorted(results.values(), key=lambda result: _only_size(result) or 0):
            for side, mean in result["mean"].items():
                points[side][_only_size(result) or 0] = mean
        return Chart("kernel size f", axis, points)
    bars = {}
    for side in sides:
        name = side if len(sides) > 1 else ""
        bars[name] = [result["mean"].get(side, 0.0) for result in results.values()]
    return Chart("run", axis, bars=bars, groups=[*results])


def _kernels(subject: Subject) -> dict[str, list[int]]:
    """Returns the kernel sizes of the dual-context layers of each side, ascending."""
    sizes_by_side: dict[str, set[int]] = {}
    for name, module in subject.model.named_modules():
        if isinstance(module, LocalContext):
            sizes_by_side.setdefault(name.partition(".")[0], set()).add(module.kernel)
    return {side: sorted(sizes) for side, sizes in sizes_by_side.items()}


def _only_size(result: Mapping[str, Any]) -> int | None:
    """Returns the kernel size of all layers of a run; None if they differ."""
    sizes = {size for of_side in result["kernel_sizes"].values() for size in of_side}
    return sizes.pop() if len(sizes) == 1 else None
