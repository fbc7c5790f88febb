"""Measures BLEU without each encoder layer: thesis 3.5.4, Table 3.5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...laboratory.evaluation.chance import Difference
from ...laboratory.evaluation.significance import paired_bootstrap
from ...laboratory.evaluation.table_text import (
    DIFFERENCE_COLUMNS,
    difference_cells,
    difference_notes,
)
from .figure import Chart, draw_charts
from .report import Table, by_layer
from .subject import Subject
from .text_score import TextScore


@dataclass(frozen=True)
class MaskedLayer:
    """BLEU with one encoder layer masked, against the whole model."""

    layer: int
    bleu: float
    difference: float | None
    against: Difference | None
    corrected_p: float | None


@dataclass(frozen=True)
class MaskedLayers:
    """BLEU of one model, and of the model with each encoder layer masked."""

    text: str  # description of the scored text
    signature: str
    bleu: float
    masked: list[MaskedLayer]


def measure(subject: Subject) -> MaskedLayers:
    """Returns BLEU, and BLEU with each layer masked.

    Raises:
        UserError: a decoder that reads one encoder layer
    """
    subject.require(len(subject.source_layers) > 1, "decoder that reads several encoder layers")
    score = TextScore(subject)
    unmasked = subject.translate()
    systems = {"whole": score.lines(unmasked)}
    for layer in subject.source_layers:
        subject.model.encoder.masked_layers = frozenset({layer})
        systems[str(layer)] = score.lines(subject.translate())
    subject.model.encoder.masked_layers = frozenset()
    bleu, signature = score(unmasked)
    references = score.references(unmasked)
    _, *compared = paired_bootstrap(systems, references, score.lang, score.metric)
    masked = []
    for layer, comparison in zip(subject.source_layers, compared, strict=True):
        difference, against = comparison.difference, comparison.against
        masked.append(
            MaskedLayer(layer, comparison.score, difference, against, comparison.corrected_p)
        )
    return MaskedLayers(score.text, signature, bleu, masked)


def tables(results: Mapping[str, MaskedLayers]) -> list[Table]:
    """Returns a table of differences of BLEU (Table 3.5), with tests."""
    text = next(iter(results.values())).text
    header = ["run", "masked", "BLEU", *DIFFERENCE_COLUMNS]
    table = Table(f"BLEU with each encoder layer masked; {text}", header)
    for label, result in results.items():
        table.rows.append([label, "nothing", f"{result.bleu:.2f}", "", "", "", ""])
        several = len(result.masked) > 1
        tests = {}
        for row in result.masked:
            name = f"layer {row.layer}"
            tests[name] = row.against
            cells = difference_cells(row.difference, row.against, row.corrected_p, several).values()
            table.rows.append([label, name, f"{row.bleu:.2f}", *cells])
        about = f"{label}: " if len(results) > 1 else ""
        for note in difference_notes(tests, "the whole model", "bleu"):
            table.notes.append(f"{about}{note}")
    for signature in dict.fromkeys(result.signature for result in results.values()):
        table.notes.append(f"BLEU: {signature}")
    return [table]


def draw(figure: Any, results: Mapping[str, MaskedLayers]) -> None:
    """Draws the differences of BLEU."""
    layers = sorted({row.layer for result in results.values() for row in result.masked})
    bars = {}
    for label, result in results.items():
        differences = by_layer(result.masked, "difference")
        bars[label] = [differences.get(layer, 0.0) for layer in layers]
    chart = Chart(
        "masked encoder layer",
        "difference of BLEU",
        bars=bars,
        groups=[str(layer) for layer in layers],
        finish=lambda axes: axes.axhline(0, color="black", linewidth=0.8),
    )
    draw_charts(figure, [chart])
