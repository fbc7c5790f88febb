"""Gain over a baseline by length of the source: context-aware, Fig. 5; thesis 3.5.1, Fig. 3.6."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError, UserError
from ..figure import Chart, draw_charts
from ..table import number_cell
from .report import Results, Table
from .subject import Subject
from .text_score import TextScore
from .words import piece_kind, words_of

LEAST_SENTENCES = 50  # of a group; fewer show chance alone
LEAST_NGRAMS = 10  # matching 4-grams of a group; BLEU of fewer says nothing
NO_SCORE = f"-: fewer than {LEAST_SENTENCES} sentences, or than {LEAST_NGRAMS} matching 4-grams"
PANEL = (8.0, 2.8)  # inches


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --unit and --edges."""
    parser.add_argument("--unit", choices=("words", "pieces"), default="words")
    parser.add_argument(
        "--edges", metavar="N,N,…", default="10,20,30,40,50",
        help="first lengths of the groups; default: 10,20,30,40,50, as in the thesis",
    )  # fmt: skip


def parse_edges(text: str) -> list[int]:
    """Parses rising whole numbers separated by commas.

    Raises:
        UserError: another form, or numbers that do not rise
    """
    try:
        edges = [int(part) for part in text.split(",")]
    except ValueError:
        edges = []
    if not edges or edges[0] < 1 or edges != sorted(set(edges)):
        raise UsageError(f"--edges: '{text}' is not a rising list of lengths such as 10,20,30")
    return edges


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Translates, and returns BLEU of every group."""
    edges = parse_edges(args.edges)
    kind = piece_kind(subject.task.source_dictionary)
    lengths = []
    for pieces in subject.sentence_pieces("encoder").values():
        lengths.append(len(pieces if args.unit == "pieces" else words_of(pieces, kind)))
    score = TextScore(subject, args)
    hypotheses = subject.translate()
    bleu, signature = score(hypotheses)
    lines, references = score.lines(hypotheses), score.references(hypotheses)
    groups = []
    for low, end in zip((0, *edges), (*edges, math.inf), strict=True):
        chosen = [i for i, length in enumerate(lengths) if low <= length < end]
        if chosen:
            groups.append({
                "from": low,
                "to": None if end == math.inf else int(end) - 1,
                "sentences": len(chosen),
                "bleu": group_bleu(
                    score.metric.make(score.lang),
                    [lines[i] for i in chosen],
                    [references[i] for i in chosen],
                ),
            })  # fmt: skip
    return {"unit": args.unit, "text": score.text, "bleu": bleu, "signature": signature,
            "groups": groups}  # fmt: skip


def group_bleu(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> float | None:
    """Returns BLEU of a group of sentences by sacreBLEU's `metric`; None where chance decides it.

    Short sentences have no 4-gram, so that even perfect ones would have 0.00 BLEU.
    """
    if len(hypotheses) < LEAST_SENTENCES:
        return None
    result = metric.corpus_score(hypotheses, [references])
    return float(result.score) if result.counts[3] >= LEAST_NGRAMS else None


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a row for each group; from the second run on, BLEU with its gain."""
    groups, scores = _side_by_side(results)
    baseline, *others = results.values()
    header = [f"source {baseline['unit']}", "sentences", next(iter(results))]
    for label in list(results)[1:]:
        header += [label, "gain"]
    rows = []
    for group, (first, *rest) in zip(groups, zip(*scores.values(), strict=True), strict=True):
        row = [_label(group), f"{group['sentences']:,}", _cell(first, ".2f")]
        for score in rest:
            row += [_cell(score, ".2f"), _cell(_gain(score, first), "+.2f")]
        rows.append(row)
    last = ["all", f"{sum(group['sentences'] for group in groups):,}", f"{baseline['bleu']:.2f}"]
    for other in others:
        last += [f"{other['bleu']:.2f}", f"{other['bleu'] - baseline['bleu']:+.2f}"]
    title = f"BLEU by source length in {baseline['unit']}; {baseline['text']}"
    missing = any(score is None for own in scores.values() for score in own)
    return [Table(title, header, [*rows, last], [NO_SCORE] if missing else [])]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws BLEU above, and the differences to the first run below (Fig. 5)."""
    groups, scores = _side_by_side(results)
    unit = next(iter(results.values()))["unit"]
    x = f"{unit} of the source sentence (number of sentences)"
    places = range(len(groups))
    first, *others = results

    def line(values: Sequence[float | None]) -> dict[int, float]:
        return {place: math.nan if bleu is None else bleu for place, bleu in enumerate(values)}

    def name_groups(axes: Any) -> None:
        labels = [f"{_label(group)}\n({group['sentences']:,})" for group in groups]
        axes.set_xticks(places, labels, fontsize=8)

    lines = {label: line(own) for label, own in scores.items()}
    charts = [Chart(x, "BLEU", lines, finish=name_groups)]
    if others:
        gains = {label: line(list(map(_gain, scores[label], scores[first]))) for label in others}
        charts.append(Chart(x, f"BLEU above {first}", gains, finish=name_groups))
    draw_charts(figure, charts, columns=1, size=PANEL)


def _gain(score: float | None, baseline: float | None) -> float | None:
    return None if score is None or baseline is None else score - baseline


def _cell(value: float | None, form: str) -> str:
    return number_cell(value, form) or "-"


def _label(group: dict[str, Any]) -> str:
    low, high = group["from"], group["to"]
    if low == high:
        return str(low)
    return f"{low}+" if high is None else f"{low}-{high}"


def _side_by_side(results: Results) -> tuple[list[dict[str, Any]], dict[str, list[float | None]]]:
    """Returns the groups, and the scores of all runs in them.

    Raises:
        UserError: the groups differ: other text, or other pieces
    """
    groups = {
        label: [(group["from"], group["to"], group["sentences"]) for group in found["groups"]]
        for label, found in results.items()
    }
    first = next(iter(groups))
    for label, own in groups.items():
        if own != groups[first]:
            raise UserError(
                f"{first} and {label} have other sentences in their length groups: compare runs "
                "on the same text, with --unit words where their pieces differ."
            )
    scores = {label: [g["bleu"] for g in found["groups"]] for label, found in results.items()}
    return results[first]["groups"], scores
