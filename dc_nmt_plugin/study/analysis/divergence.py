"""Divergence of global and local attention: dual context, section 7.2; thesis, Fig. 5.4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...modules.diagnostics import DIVERGENCE
from ...modules.dual_context import LocalContext
from .figure import Chart, draw_charts
from .forced import diagnostic_totals
from .report import Table, by_layer, layer_table
from .subject import Subject


@dataclass(frozen=True)
class LayerDivergence:
    side: str
    layer: int
    divergence: float  # of the maxima over heads, eq. (10); mean over `rows` queries, nats
    rows: int


@dataclass(frozen=True)
class Divergence:
    """Divergence of the global and local attention of one model."""

    kernel_sizes: dict[str, list[int]]  # side → the sizes f of its layers
    layers: list[LayerDivergence]
    mean: dict[str, float]  # side → E_d, eq. (13)


def measure(subject: Subject) -> Divergence:
    """Returns the Jensen-Shannon divergence of α_g and α_l, eqs (10)-(13).

    By layer, with the mean E_d of each side, eq. (13), and the kernel sizes f.

    Raises:
        UserError: a model without dual-context self-attention
    """
    kernels = _kernels(subject)
    subject.require(kernels, "dual-context self-attention")
    layers = []
    means: dict[str, float] = {}
    for (_, side, *layer), (total, rows) in sorted(diagnostic_totals(subject, DIVERGENCE).items()):
        if layer:
            layers.append(LayerDivergence(str(side), int(layer[0]), total / rows, rows))
        else:
            means[str(side)] = total / rows
    return Divergence(kernels, layers, means)


def tables(results: Mapping[str, Divergence]) -> list[Table]:
    """Returns a row for each run and side: E_d, then each layer."""
    rows = []
    for label, result in results.items():
        for side, mean in result.mean.items():
            sizes = ", ".join(map(str, result.kernel_sizes[side]))
            first = [label, side, sizes, f"{mean:.4f}"]
            rows.append((first, by_layer(result.layers, "divergence", side=side)))
    title = "Jensen-Shannon divergence of global and local attention, nats"
    return [layer_table(title, ["run", "side", "kernel size f", "mean E_d"], rows, ".4f")]


def draw(figure: Any, results: Mapping[str, Divergence]) -> None:
    """Draws Fig. 4: a, by layer; b, the mean over layers by kernel size (or by run)."""
    lines = {}
    for label, result in results.items():
        for side in result.mean:
            name = f"{label} {side}" if len(result.mean) > 1 else label
            lines[name] = by_layer(result.layers, "divergence", side=side)
    charts = [Chart("layer", "divergence, nats", lines), _mean_chart(results)]
    draw_charts(figure, charts, runs=[*results])


def _mean_chart(results: Mapping[str, Divergence]) -> Chart:
    """Returns a chart of E_d, by kernel size where each run has another one, else by run."""
    axis = "mean divergence E_d, nats"
    sides = sorted({side for result in results.values() for side in result.mean})
    by_size = {size: result for result in results.values() if (size := _only_size(result))}
    if len(by_size) == len(results) > 1:
        points: dict[str, dict[int, float]] = {side: {} for side in sides}
        for size in sorted(by_size):
            for side, mean in by_size[size].mean.items():
                points[side][size] = mean
        return Chart("kernel size f", axis, points)
    bars = {}
    for side in sides:
        name = side if len(sides) > 1 else ""
        bars[name] = [result.mean.get(side, 0.0) for result in results.values()]
    return Chart("run", axis, bars=bars, groups=[*results])


def _only_size(result: Divergence) -> int | None:
    """Returns the kernel size of all layers of a run; None if they differ."""
    sizes = {size for sizes_of_side in result.kernel_sizes.values() for size in sizes_of_side}
    return sizes.pop() if len(sizes) == 1 else None


def _kernels(subject: Subject) -> dict[str, list[int]]:
    """Returns the kernel sizes of the dual-context layers of each side, ascending."""
    sizes_by_side: dict[str, set[int]] = {}
    for name, module in subject.model.named_modules():
        if isinstance(module, LocalContext):
            sizes_by_side.setdefault(name.partition(".")[0], set()).add(module.kernel)
    return {side: sorted(sizes) for side, sizes in sizes_by_side.items()}
