"""The page of results: a chart and tables from the stored numbers of Multi30k's runs.

``results.json`` has every system's means, the interval of its difference to the baseline and its
speed. The kept runs have each seed's scores. ``docs/results/multi30k.md`` has the differences in
chrF. ``python scripts/site/results.py docs/figures/results.svg`` writes the chart, as ``dc-nmt
results --plot`` draws it, with the names of the page and a panel for chrF.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path

from source_code import ROOT

from dc_nmt_plugin.laboratory.evaluation.rows import ResultRow, ResultTable
from dc_nmt_plugin.laboratory.evaluation.table_figure import draw_results
from dc_nmt_plugin.laboratory.plot import new_figure, write_figure
from dc_nmt_plugin.laboratory.table import markdown_table
from dc_nmt_plugin.runs.record import read_record

HERE = ROOT / "examples" / "multi30k_en_de"
PAGE = ROOT / "docs" / "results" / "multi30k.md"
BASELINE = "transformer_standard"
LEVEL = 0.05
LEAST = 0.5  # BLEU: the difference that matters
METRICS = {"mteval-v13a": "BLEU", "chrf": "chrF"}


@dataclass(frozen=True)
class System:
    """A row of the tables and of the chart.

    Attributes:
        name: in words
        needs: flags, data or programs beyond those of the plain model
        in_page: name in the page's table of what is seen
    """

    name: str
    needs: str = "nothing"
    in_page: str = ""


SYSTEMS = {
    BASELINE: System("plain Transformer (baseline)"),
    "transformer": System("fairseq's own Transformer", in_page="fairseq's own"),
    "transformer_dc": System("dual context (Enc-DC)", in_page="Enc-DC"),
    "transformer_ctxaware": System("context-aware", in_page="context-aware"),
    "transformer_cross_agg": System(
        "cross aggregation", "encoder only", in_page="cross aggregation"
    ),
    "transformer_mlmha": System(
        "attention to four encoder layers (M-10)", "more text: it overfits here", in_page="M-10"
    ),
    "transformer_mlmha_iter_c_agg": System(
        "aggregation of encoder layers (Iter-C-Agg)", in_page="Iter-C-Agg"
    ),
    "transformer_ms_aux": System("auxiliary decoder (MS-1)", "the joint criterion", in_page="MS-1"),
    "transformer_ms_aux_aif": System(
        "auxiliary decoder, fusion (MS-1 + AIF)", "the joint criterion", in_page="MS-1, fusion"
    ),
    "axes": System(
        "three mechanisms in one model", "the joint criterion", in_page="axes A, B and C"
    ),
}


@cache
def rows() -> dict[str, ResultRow]:
    """The rows of ``results.json`` by their labels."""
    return {row.system.label: row for row in ResultTable.read(HERE / "results.json").rows}


@cache
def seeds(system: str) -> dict[str, list[float]]:
    """Metric → the score of each kept seed."""
    runs = [read_record(run).decodings[0] for run in sorted(HERE.glob(f"runs/{system}-s[0-9]"))]
    return {
        metric: [score.value for run in runs if (score := run.score(metric))] for metric in METRICS
    }


@cache
def _chrf() -> dict[str, tuple[float, float]]:
    """Name in the page's table → the 95% interval of the difference in chrF."""
    text = PAGE.read_text("utf-8")
    interval = r"\[(-?[\d.]+), (-?[\d.]+)\]"
    row = rf"^\| ([^|]+) \| [-+][\d.]+ \| {interval} \| [^|]+ \| [-+][\d.]+ \| {interval} \|"
    return {match[1]: (float(match[4]), float(match[5])) for match in re.finditer(row, text, re.M)}


def interval(system: str, metric: str) -> tuple[float, float] | None:
    """The 95% interval of a system's difference to the baseline, if it is known."""
    if metric == "chrf":
        name = SYSTEMS[system].in_page
        return _chrf()[name] if name else None
    against = rows()[system].test.against
    return against.interval if against else None


def seen(system: str) -> str:
    """What is seen in BLEU, in words: a gain, no gain, undecided; nothing of the baseline."""
    test = rows()[system].test
    if test.against is None or test.corrected_p is None:
        return ""
    if system == "transformer":
        return "the same model"
    if test.corrected_p < LEVEL and test.against.value > 0:
        return "a gain"
    return "no gain" if test.against.interval[1] < LEAST else "undecided"


def table() -> str:
    """Means, seeds, differences and what is seen."""
    lines = []
    for label, system in SYSTEMS.items():
        if label not in rows():
            continue
        row, span = rows()[label], interval(label, "mteval-v13a")
        bleu = seeds(label)["mteval-v13a"]
        lines.append(
            (
                system.name,
                f"{(row.system.parameters or 0) / 1e6:.2f}M",
                f"{row.score.value:.2f}",
                " ".join(f"{value:.1f}" for value in bleu),
                f"{row.test.difference:+.2f} [{span[0]:.2f}, {span[1]:.2f}]" if span else "",
                seen(label),
                f"{row.score.further['chrf']:.2f}",
            )
        )
    heads = ("system", "parameters", "BLEU", "seeds", "difference, 95% interval", "seen", "chrF")
    return markdown_table(heads, lines)


def advice() -> str:
    """What each architecture costs, what it needs, and what is seen of it."""
    base = rows()[BASELINE].system
    lines = []
    for label, system in SYSTEMS.items():
        if label not in rows() or label == "transformer":
            continue
        row = rows()[label].system
        if row.train_tokens_per_second is None:
            continue
        lines.append(
            (
                f"{system.name}, with flags" if label == "axes" else f"`{label}`",
                seen(label) or "the baseline",
                _times(row.parameters, base.parameters),
                _times(base.train_tokens_per_second, row.train_tokens_per_second),
                _times(base.decode_sentences_per_second, row.decode_sentences_per_second),
                system.needs,
            )
        )
    heads = ("architecture", "BLEU", "parameters", "training time", "decoding time", "needs")
    return markdown_table(heads, lines)


def _times(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f} ×" if one and other else ""


def chart() -> str:
    """An SVG: for each system a dot a seed, the mean, and the interval of the difference."""
    figure = new_figure()
    draw_results(figure, [_panel(metric) for metric in METRICS])
    written = BytesIO()
    write_figure(figure, written, "svg")
    return written.getvalue().decode("utf-8")


def _panel(metric: str) -> ResultTable:
    """The stored table with the systems of the chart, by their names, and scores of one metric."""
    panel = []
    for label, system in SYSTEMS.items():
        if label not in rows():
            continue
        row, span = rows()[label], interval(label, metric)
        against = replace(row.test.against, interval=span) if row.test.against and span else None
        mean = row.score.value if metric == "mteval-v13a" else row.score.further[metric]
        values = seeds(label)[metric]
        runs = [replace(run, score=score) for run, score in zip(row.runs, values, strict=True)]
        panel.append(
            replace(
                row,
                system=replace(row.system, label=system.name),
                score=replace(row.score, value=mean),
                test=replace(row.test, against=against),
                runs=tuple(runs),
            )
        )
    return replace(ResultTable.read(HERE / "results.json"), metric=metric, rows=panel)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(chart(), encoding="utf-8")
