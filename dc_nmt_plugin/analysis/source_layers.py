"""Measures BLEU without each encoder layer: thesis 3.5.4, Table 3.5."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from ..errors import UsageError, UserError
from ..evaluation.chance import Difference
from ..evaluation.significance import paired_bootstrap
from ..evaluation.table_text import DIFFERENCE_COLUMNS, difference_cells, difference_notes
from ..inference.subject import Subject
from .figure import Chart, draw_charts
from .report import Results, Table
from .text_score import TextScore


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns BLEU, and BLEU with each layer masked.

    Raises:
        UserError: a decoder that reads one encoder layer; flags that do not go with masking
    """
    if len(subject.source_layers) < 2:
        raise UserError(f"{subject.label}: has a decoder that reads one encoder layer only.")
    masked_by_flag = getattr(subject.task.cfg, "mask_source_layers", None)
    if masked_by_flag:
        raise UsageError(
            f"--mask-source-layers {masked_by_flag}: this analysis masks every layer by itself; "
            "leave it out."
        )
    score = TextScore(subject, args)
    unmasked = subject.translate()
    systems = {"whole": score.lines(unmasked)}
    for layer in subject.source_layers:
        subject.model.encoder.masked_layers = frozenset({layer})
        systems[str(layer)] = score.lines(subject.translate())
    subject.model.encoder.masked_layers = frozenset()
    bleu, signature = score(unmasked)
    references = score.references(unmasked)
    _, *compared = paired_bootstrap(systems, references, score.lang, score.metric)
    rows = []
    for comparison in compared:
        rows.append(
            {
                "layer": int(comparison.name),
                "bleu": comparison.score,
                "difference": comparison.difference,
                "against": comparison.against and asdict(comparison.against),
                "corrected_p": comparison.corrected_p,
            }
        )
    return {"text": score.text, "signature": signature, "bleu": bleu, "masked": rows}


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a table of differences of BLEU (Table 3.5), with tests."""
    text = next(iter(results.values()))["text"]
    table = Table(
        f"BLEU with each encoder layer masked; {text}",
        ["run", "masked", "BLEU", *DIFFERENCE_COLUMNS],
    )
    for label, result in results.items():
        table.rows.append([label, "nothing", f"{result['bleu']:.2f}", "", "", "", ""])
        several = len(result["masked"]) > 1
        tests = {}
        for row in result["masked"]:
            name = f"layer {row['layer']}"
            tests[name] = Difference(**row["against"]) if row["against"] else None
            cells = difference_cells(row["difference"], tests[name], row["corrected_p"], several)
            table.rows.append([label, name, f"{row['bleu']:.2f}", *cells])
        about = f"{label}: " if len(results) > 1 else ""
        for note in difference_notes(tests, "the whole model", "bleu"):
            table.notes.append(f"{about}{note}")
    for signature in dict.fromkeys(result["signature"] for result in results.values()):
        table.notes.append(f"BLEU: {signature}")
    return [table]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws the differences of BLEU."""
    layers = sorted({row["layer"] for result in results.values() for row in result["masked"]})
    differences = {}
    for label, result in results.items():
        rows = {row["layer"]: row["difference"] for row in result["masked"]}
        differences[label] = [rows.get(layer, 0.0) for layer in layers]
    chart = Chart(
        "masked encoder layer", "difference of BLEU", bars=differences, groups=[*map(str, layers)],
        finish=lambda axes: axes.axhline(0, color="black", linewidth=0.8),
    )  # fmt: skip
    draw_charts(figure, [chart])
