"""Measures shares of encoder layers, and BLEU without each: thesis 3.5.4, Table 3.5."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from ..charts import Chart, draw_charts
from ..errors import UsageError
from ..evaluation.chance import Difference
from ..evaluation.difference_text import TEST_COLUMNS, difference_notes, test_cells
from ..evaluation.significance import paired_bootstrap
from ..modules.core.recording import Place, Records
from ..modules.diagnostics.records import pool
from ..modules.diagnostics.source_shares import DIAGNOSTIC, source_shares
from .base import Analysis, Results, Table, layer_table
from .loop import ForcedBatch
from .subject import Subject
from .subset_score import SubsetScore, add_reference_options
from .subset_translation import SubsetTranslation


class SourceLayers(Analysis):
    """Computes shares of the source layers, and BLEU with each layer masked."""

    name = "source-layers"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --no-masking, --reference and --tokenizer."""
        parser.add_argument(
            "--no-masking", action="store_true", help="print only the shares, without masking"
        )
        add_reference_options(parser)

    def missing(self, subject: Subject) -> str | None:
        """Requires a decoder that reads several encoder layers."""
        count = len(subject.source_layers)
        return None if count > 1 else "has a decoder that reads one encoder layer only."

    def collector(self, subject: Subject) -> ShareSums:
        """Returns the collector of every layer's shares.

        Raises:
            UserError: flags that do not go with masking
        """
        given = getattr(subject.task.cfg, "mask_source_layers", None)
        if given and not self.args.no_masking:
            raise UsageError(
                f"--mask-source-layers {given}: this analysis masks every layer by itself; for "
                "the shares alone add --no-masking."
            )
        return ShareSums()

    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Adds the BLEU of the whole model and of each masked one."""
        if self.args.no_masking:
            return found
        score = SubsetScore(subject.translation, self.args.reference or [], self.args.tokenizer)
        translations = dict(masked_translations(subject))
        systems = {
            str(layer or "whole"): score.lines(found) for layer, found in translations.items()
        }
        bleu, signature = score(translations[None])
        references, *more = score.references(translations[None])
        compared = paired_bootstrap(systems, references, score.lang, score.metric, more)
        rows = [
            {
                "layer": int(comparison.name),
                "bleu": comparison.score,
                "difference": comparison.difference,
                "against": comparison.against and asdict(comparison.against),
                "corrected_p": comparison.corrected_p,
            }
            for comparison in compared[1:]
        ]
        about = {"text": score.text, "signature": signature}
        return {**found, **about, "bleu": bleu, "masked": rows}

    def tables(self, results: Results) -> list[Table]:
        """Returns tables: shares by decoder layer; differences of BLEU (Table 3.5), with tests."""
        rows = [
            ([label, name], {int(n): 100 * share for n, share in values.items()})
            for label, found in results.items()
            for name, values in found["shares"].items()
        ]
        title = "share of each encoder layer in what the decoder reads, %"
        tables = [layer_table(title, ["run", ""], rows, ".1f")]
        masked_runs = {label: found for label, found in results.items() if "masked" in found}
        if masked_runs:
            text = next(iter(masked_runs.values()))["text"]
            columns = ["run", "masked", "BLEU", *TEST_COLUMNS]
            table = Table(f"BLEU with each encoder layer masked; {text}", columns)
            for label, found in masked_runs.items():
                table.rows.extend(_masked_rows(label, found))
                about = f"{label}: " if len(masked_runs) > 1 else ""
                tests = {f"layer {row['layer']}": _test(row) for row in found["masked"]}
                notes = difference_notes(tests, "the whole model", "bleu")
                table.notes.extend(f"{about}{note}" for note in notes)
            signatures = dict.fromkeys(found["signature"] for found in masked_runs.values())
            table.notes.extend(f"BLEU: {signature}" for signature in signatures)
            tables.append(table)
        return tables

    def draw(self, figure: Any, results: Results) -> None:
        """Draws shares and differences of BLEU."""
        numbers = sorted({int(n) for found in results.values() for n in found["shares"]["all"]})
        names = [str(number) for number in numbers]
        with_masks = any("masked" in found for found in results.values())
        shares = {
            label: [100 * found["shares"]["all"].get(n, 0.0) for n in names]
            for label, found in results.items()
        }
        of_reading = "share in what the decoder reads, %"
        charts = [Chart("encoder layer", of_reading, bars=shares, groups=names)]
        if with_masks:
            bars = {}
            for label, found in results.items():
                rows = {str(row["layer"]): row["difference"] for row in found.get("masked", [])}
                bars[label] = [rows.get(name, 0.0) for name in names]
            charts.append(
                Chart("masked encoder layer", "difference of BLEU", bars=bars, groups=names,
                      finish=lambda axes: axes.axhline(0, color="black", linewidth=0.8))
            )  # fmt: skip
        draw_charts(figure, charts)


class ShareSums:
    """Sums the shares over all positions, for each module that reads several layers."""

    needs = DIAGNOSTIC.needs

    def __init__(self) -> None:
        self.totals: dict[str, dict[str, tuple[float, int]]] = {}

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module."""
        (module,) = records.values()
        for (_, layer), pair in source_shares(records, batch).items():
            for name in ("all", _name(module.place)):
                pool(self.totals.setdefault(name, {}), str(layer), *pair)

    def result(self) -> dict[str, Any]:
        """Returns the shares over all modules, and of each module if there are several."""
        shares = {
            name: {layer: total / count for layer, (total, count) in layers.items()}
            for name, layers in self.totals.items()
        }
        return {"shares": shares if len(shares) > 2 else {"all": shares["all"]}}


@contextmanager
def masked(translation: SubsetTranslation, layers: Sequence[int]) -> Iterator[None]:
    """Context in which these encoder layers are zeros.

    Uses the task's setting, which every new generator applies to the models.
    """
    cfg = translation.task.cfg
    before = cfg.mask_source_layers
    cfg.mask_source_layers = ",".join(map(str, layers))
    try:
        yield
    finally:
        # "" masks nothing again, where None would leave the models as they are
        cfg.mask_source_layers = before or ""


def masked_translations(subject: Subject) -> Iterator[tuple[int | None, dict[int, str]]]:
    """Yields translations of the whole model (None), then with each source layer masked."""
    count = len(subject.source_layers) + 1
    step = f"nothing masked (1 of {count})"
    yield None, subject.translation.translate(f"{subject.label}: {step}")
    for place, layer in enumerate(subject.source_layers, start=2):
        step = f"layer {layer} masked ({place} of {count})"
        with masked(subject.translation, [layer]):
            found = subject.translation.translate(f"{subject.label}: {step}")
        yield layer, found


def _name(place: Place | None) -> str:
    """Returns a name such as "decoder layer 2"; a layer aggregation has no place."""
    return "aggregation" if place is None else f"{place.side} layer {place.layer}"


def _test(row: dict[str, Any]) -> Difference | None:
    return Difference(**row["against"]) if row["against"] else None


def _masked_rows(label: str, found: dict[str, Any]) -> list[list[str]]:
    rows = [[label, "nothing", f"{found['bleu']:.2f}", "", "", "", ""]]
    several = len(found["masked"]) > 1
    for row in found["masked"]:
        cells = test_cells(row["difference"], _test(row), row["corrected_p"], several)
        rows.append([label, f"layer {row['layer']}", f"{row['bleu']:.2f}", *cells])
    return rows
