"""Share of context in queries and keys: context-aware, Figs 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...modules.diagnostics import MEAN_GATES
from .figure import Chart, draw_charts
from .forced import diagnostic_totals
from .report import Table, by_layer, layer_table
from .subject import Subject

SYMBOLS = {"lambda_q": "λ_Q", "lambda_k": "λ_K"}


def contexts(subject: Subject) -> dict[str, str]:
    """Returns the kind of context of each side that has context-aware self-attention."""
    contexts_by_side = {}
    for side in ("encoder", "decoder"):
        for module in getattr(subject.model, side).modules():
            if hasattr(module, "gate_input"):
                contexts_by_side[side] = str(module.context)
    return contexts_by_side


@dataclass(frozen=True)
class LayerGate:
    side: str
    layer: int
    gate: str  # a key of SYMBOLS
    mean: float  # over `tokens`
    tokens: int


@dataclass(frozen=True)
class Gates:
    """Mean gates of one model."""

    contexts: dict[str, str]  # side → kind of its context
    layers: list[LayerGate]
    means: dict[str, dict[str, float]]  # side → gate → mean over layers


def measure(subject: Subject) -> Gates:
    """Returns the mean gates by layer, and the means over a side's layers (Fig. 3).

    Raises:
        UserError: a model without context-aware self-attention
    """
    context_of = contexts(subject)
    subject.require(context_of, "gates of context-aware self-attention")
    layers = []
    means: dict[str, dict[str, float]] = {side: {} for side in context_of}
    for (gate, side, *layer), (total, count) in diagnostic_totals(subject, MEAN_GATES).items():
        mean = total / count
        if layer:
            layers.append(LayerGate(str(side), int(layer[0]), str(gate), mean, count))
        else:
            means[str(side)][str(gate)] = mean
    layers.sort(key=lambda row: (row.side, row.layer, row.gate))
    return Gates(context_of, layers, means)


def tables(results: Mapping[str, Gates]) -> list[Table]:
    """Returns a row for each run, side and gate."""
    rows = []
    for label, result in results.items():
        for side, gates in result.means.items():
            for gate, mean in gates.items():
                first = [label, side, result.contexts[side], SYMBOLS[gate], f"{mean:.3f}"]
                rows.append((first, by_layer(result.layers, "mean", side=side, gate=gate)))
    header = ["run", "side", "context", "gate", "mean"]
    return [layer_table("mean gates, 0 (no context) to 1", header, rows, ".3f")]


def draw(figure: Any, results: Mapping[str, Gates]) -> None:
    """Draws λ_Q and λ_K by layer, a panel for each run and side, as Figs 2 and 3."""
    charts = []
    for label, result in results.items():
        for side, gates in result.means.items():
            lines = {}
            for gate in gates:
                lines[SYMBOLS[gate]] = by_layer(result.layers, "mean", side=side, gate=gate)
            title = f"{label}\n{side}, {result.contexts[side]}"
            charts.append(Chart("layer", "mean gate λ", lines, title=title, finish=_show_all_gates))
    draw_charts(figure, charts)


def _show_all_gates(axes: Any) -> None:
    axes.set_ylim(-0.03, 1.03)  # the marker of an open gate is whole at the edge of the panel
