"""Measures shares of encoder layers, and BLEU without each: thesis 3.5.4, Table 3.5."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from ..errors import UsageError, UserError
from ..evaluation.chance import Difference
from ..evaluation.difference_text import TEST_COLUMNS, difference_notes, test_cells
from ..evaluation.significance import paired_bootstrap
from ..figure import Chart, draw_charts
from ..modules.core.recording import Records
from ..modules.diagnostics.records import pool
from ..modules.diagnostics.source_shares import DIAGNOSTIC, source_shares
from .forced import ForcedBatch, force
from .report import Results, Table, layer_table
from .subject import Subject
from .text_score import TextScore


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --no-masking."""
    parser.add_argument(
        "--no-masking", action="store_true", help="print only the shares, without masking"
    )


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns shares of the source layers, and BLEU with each layer masked.

    Raises:
        UserError: a decoder that reads one encoder layer; flags that do not go with masking
    """
    if len(subject.source_layers) < 2:
        raise UserError(f"{subject.label}: has a decoder that reads one encoder layer only.")
    masked_by_flag = getattr(subject.task.cfg, "mask_source_layers", None)
    if masked_by_flag and not args.no_masking:
        raise UsageError(
            f"--mask-source-layers {masked_by_flag}: this analysis masks every layer by itself; "
            "for the shares alone add --no-masking."
        )
    found: dict[str, Any] = {"shares": _shares(subject)}
    if args.no_masking:
        return found
    score = TextScore(subject, args)
    whole = subject.translate()
    systems = {"whole": score.lines(whole)}
    for layer in subject.source_layers:
        with masked(subject, [layer]):
            systems[str(layer)] = score.lines(subject.translate())
    bleu, signature = score(whole)
    references, *more = score.references(whole)
    _, *compared = paired_bootstrap(systems, references, score.lang, score.metric, more)
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
    return {**found, "text": score.text, "signature": signature, "bleu": bleu, "masked": rows}


def _shares(subject: Subject) -> dict[str, dict[str, float]]:
    """Returns the shares over all modules, and of each module if there are several."""
    totals: dict[str, dict[str, tuple[float, int]]] = {}

    def add(records: Records, batch: ForcedBatch) -> None:
        (module,) = records.values()
        place = module.place  # of a decoder layer's attention; a layer aggregation has none
        own = f"{place.side} layer {place.layer}" if place else "aggregation"
        for (_, layer), pair in source_shares(records, batch).items():
            for name in ("all", own):
                pool(totals.setdefault(name, {}), str(layer), *pair)

    force(subject, DIAGNOSTIC.needs, add)
    shares = {}
    for name, layers in totals.items():
        shares[name] = {layer: total / count for layer, (total, count) in layers.items()}
    return shares if len(shares) > 2 else {"all": shares["all"]}


@contextmanager
def masked(subject: Subject, layers: Sequence[int]) -> Iterator[None]:
    """Context in which these encoder layers are zeros.

    Uses the task's setting, which every new generator applies to the models.
    """
    cfg = subject.task.cfg
    before = cfg.mask_source_layers
    cfg.mask_source_layers = ",".join(map(str, layers))
    try:
        yield
    finally:
        # "" masks nothing again, where None would leave the models as they are
        cfg.mask_source_layers = before or ""


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns tables: shares by decoder layer; differences of BLEU (Table 3.5), with tests."""
    rows = []
    for label, found in results.items():
        for name, values in found["shares"].items():
            rows.append(([label, name], {int(n): 100 * share for n, share in values.items()}))
    title = "share of each encoder layer in what the decoder reads, %"
    shares = layer_table(title, ["run", ""], rows, ".1f")
    masked_runs = {label: found for label, found in results.items() if "masked" in found}
    if not masked_runs:
        return [shares]
    text = next(iter(masked_runs.values()))["text"]
    table = Table(
        f"BLEU with each encoder layer masked; {text}", ["run", "masked", "BLEU", *TEST_COLUMNS]
    )
    for label, found in masked_runs.items():
        table.rows.append([label, "nothing", f"{found['bleu']:.2f}", "", "", "", ""])
        several = len(found["masked"]) > 1
        tests = {}
        for row in found["masked"]:
            name = f"layer {row['layer']}"
            tests[name] = Difference(**row["against"]) if row["against"] else None
            cells = test_cells(row["difference"], tests[name], row["corrected_p"], several)
            table.rows.append([label, name, f"{row['bleu']:.2f}", *cells])
        about = f"{label}: " if len(masked_runs) > 1 else ""
        for note in difference_notes(tests, "the whole model", "bleu"):
            table.notes.append(f"{about}{note}")
    for signature in dict.fromkeys(found["signature"] for found in masked_runs.values()):
        table.notes.append(f"BLEU: {signature}")
    return [shares, table]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws shares and differences of BLEU."""
    numbers = sorted({int(n) for found in results.values() for n in found["shares"]["all"]})
    names = [str(number) for number in numbers]
    shares, differences = {}, {}
    for label, found in results.items():
        shares[label] = [100 * found["shares"]["all"].get(name, 0.0) for name in names]
        rows = {str(row["layer"]): row["difference"] for row in found.get("masked", [])}
        differences[label] = [rows.get(name, 0.0) for name in names]
    charts = [
        Chart("encoder layer", "share in what the decoder reads, %", bars=shares, groups=names)
    ]
    if any("masked" in found for found in results.values()):
        charts.append(
            Chart("masked encoder layer", "difference of BLEU", bars=differences, groups=names,
                  finish=lambda axes: axes.axhline(0, color="black", linewidth=0.8))
        )  # fmt: skip
    draw_charts(figure, charts)
