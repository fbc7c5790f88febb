"""Share of context in queries and keys: context-aware, Figs 2 and 3."""

from __future__ import annotations

from typing import Any

from ..charts import Chart, Line, draw_charts
from ..modules.diagnostics.gates import DIAGNOSTIC
from .base import Analysis, Results, Table, layer_table
from .loop import DiagnosticSums
from .subject import Subject

SYMBOLS = {"lambda_q": "λ_Q", "lambda_k": "λ_K"}


def contexts(subject: Subject) -> dict[str, str]:
    """Returns the context of the self-attention of each side that has one."""
    found = {}
    for side in ("encoder", "decoder"):
        for module in getattr(subject.model, side).modules():
            if hasattr(module, "gate_input"):
                found[side] = str(module.context)
    return found


def gated_layers(subject: Subject, side: str) -> set[int]:
    """Returns the layers of a side that have gates, from 1."""
    return {
        module.place.layer
        for module in getattr(subject.model, side).modules()
        if hasattr(module, "gate_input") and not module.place.auxiliary
    }


class Gates(Analysis):
    """Computes the mean λ_Q and λ_K by layer and side."""

    name = "gates"

    def missing(self, subject: Subject) -> str | None:
        """Requires context-aware self-attention."""
        return None if contexts(subject) else "has no gates of context-aware self-attention."

    def collector(self, subject: Subject) -> DiagnosticSums:
        """Returns the collector of every layer's gates."""
        return DiagnosticSums(DIAGNOSTIC)

    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Returns the gates by layer, the contexts, and the means over a side's layers (Fig. 3)."""
        layers: list[dict[str, Any]] = []
        means: dict[str, dict[str, float]] = {side: {} for side in contexts(subject)}
        for (gate, side, *layer), (total, count) in found["totals"].items():
            if layer:
                row = {"side": side, "layer": layer[0], "gate": gate}
                layers.append({**row, "mean": total / count, "tokens": count})
            else:
                means[side][gate] = total / count
        layers.sort(key=lambda row: (row["side"], row["layer"], row["gate"]))
        return {"contexts": contexts(subject), "layers": layers, "means": means}

    def tables(self, results: Results) -> list[Table]:
        """Returns a row for each run, side and gate."""
        rows = []
        for label, found in results.items():
            for side, gates in found["means"].items():
                for gate, mean in gates.items():
                    name = [label, side, found["contexts"][side], SYMBOLS[gate], f"{mean:.3f}"]
                    rows.append((name, _by_layer(found, side, gate)))
        header = ["run", "side", "context", "gate", "mean"]
        return [layer_table("mean gates, 0 (no context) to 1", header, rows, ".3f")]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws λ_Q and λ_K by layer, a panel for each run and side, as Figs 2 and 3."""
        charts = []
        for label, found in results.items():
            for side in found["means"]:
                lines = {}
                for gate in found["means"][side]:
                    values = _by_layer(found, side, gate)
                    # an open gate's marker is whole at the edge of the panel
                    lines[SYMBOLS[gate]] = Line([*values], [*values.values()],
                                                more={"clip_on": False})  # fmt: skip
                title = f"{label}\n{side}, {found['contexts'][side]}"
                charts.append(
                    Chart("layer", "mean gate λ", lines, title=title, integers=True,
                          finish=lambda axes: axes.set_ylim(0, 1))
                )  # fmt: skip
        draw_charts(figure, charts)


def _by_layer(found: dict[str, Any], side: str, gate: str) -> dict[int, float]:
    return {
        row["layer"]: row["mean"]
        for row in found["layers"]
        if row["side"] == side and row["gate"] == gate
    }
