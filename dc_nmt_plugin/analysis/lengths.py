"""Gain over a baseline by length of the source: context-aware, Fig. 5; thesis 3.5.1, Fig. 3.6."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError, UserError
from ..evaluation.significance import paired_bootstrap
from ..evaluation.table_text import difference_cells
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
    groups, texts = [], []
    for low, end in zip((0, *edges), (*edges, math.inf), strict=True):
        chosen = [i for i, length in enumerate(lengths) if low <= length < end]
        if chosen:
            text = [lines[i] for i in chosen], [references[i] for i in chosen]
            groups.append({
                "from": low,
                "to": None if end == math.inf else int(end) - 1,
                "sentences": len(chosen),
                "bleu": group_bleu(score.metric.make(score.lang), *text),
            })  # fmt: skip
            texts.append(text)
    return {"unit": args.unit, "text": score.text, "bleu": bleu, "signature": signature,
            "groups": groups, "_texts": [*texts, (lines, references)],
            "_scored": (score.lang, score.metric)}  # fmt: skip


def group_bleu(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> float | None:
    """Returns BLEU of a group of sentences by sacreBLEU's `metric`; None where chance decides it.

    Short sentences have no 4-gram, so that even perfect ones would have 0.00 BLEU.
    """
    if len(hypotheses) < LEAST_SENTENCES:
        return None
    result = metric.corpus_score(hypotheses, [references])
    return float(result.score) if result.counts[3] >= LEAST_NGRAMS else None


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a row for each group; from the second run on, BLEU with its gain and interval."""
    groups, scores = _side_by_side(results)
    (first, baseline), *_ = results.items()
    gains = _gains(results, scores)
    header = [f"source {baseline['unit']}", "sentences", first]
    for label in gains:
        header += [label, "gain", "95% interval"]
    rows = []
    everything = {"sentences": sum(group["sentences"] for group in groups)}
    for place, group in enumerate([*groups, everything]):
        row = [_label(group), f"{group['sentences']:,}", _cell(scores[first][place])]
        for label, own in gains.items():
            gain = own[place]
            tested = difference_cells(gain.difference, gain.against, None, False) if gain else ()
            row += [_cell(scores[label][place]), *(tested[:2] or "--")]
        rows.append(row)
    title = f"BLEU by source length in {baseline['unit']}; {baseline['text']}"
    missing = any(score is None for own in scores.values() for score in own)
    notes = [NO_SCORE] if missing else []
    if gains:
        notes.append(f"gain: over {first}; its interval includes variation between sentences only")
    return [Table(title, header, rows, notes)]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws BLEU above, and the gains over the first run with their intervals below (Fig. 5)."""
    groups, scores = _side_by_side(results)
    unit = next(iter(results.values()))["unit"]
    gains = _gains(results, scores)
    x = f"{unit} of the source sentence (number of sentences)"
    places = range(len(groups))  # without the whole text

    def name_groups(axes: Any) -> None:
        labels = [f"{_label(group)}\n({group['sentences']:,})" for group in groups]
        axes.set_xticks(places, labels, fontsize=8)

    def add_intervals(axes: Any) -> None:
        name_groups(axes)
        for line, own in zip(list(axes.lines), gains.values(), strict=True):
            for place in places:
                if own[place] and own[place].against:
                    interval = own[place].against.interval
                    axes.vlines(place, *interval, color=line.get_color(), linewidth=1)

    lines = {
        label: dict(enumerate(math.nan if score is None else score for score in own[:-1]))
        for label, own in scores.items()
    }
    charts = [Chart(x, "BLEU", lines, finish=name_groups)]
    if gains:
        above = {
            label: {place: own[place].difference if own[place] else math.nan for place in places}
            for label, own in gains.items()
        }
        charts.append(Chart(x, "gain in BLEU, 95%", above, finish=add_intervals))
    draw_charts(figure, charts, columns=1, size=PANEL)


def _gains(results: Results, scores: dict[str, list[float | None]]) -> dict[str, list[Any]]:
    """Returns label → comparison with the first run in each group and, last, in the whole text.

    None where one of both has no score.
    """
    (first, baseline), *others = results.items()
    gains: dict[str, list[Any]] = {label: [] for label, _ in others}
    for place, (lines, references) in enumerate(baseline["_texts"]):
        for label, found in others:
            compared = None
            if scores[first][place] is not None and scores[label][place] is not None:
                both = {"": lines, label: found["_texts"][place][0]}
                _, compared = paired_bootstrap(both, references, *baseline["_scored"])
            gains[label].append(compared)
    return gains


def _cell(score: float | None) -> str:
    return number_cell(score, ".2f") or "-"


def _label(group: dict[str, Any]) -> str:
    low, high = group.get("from"), group.get("to")
    if low is None:
        return "all"
    if low == high:
        return str(low)
    return f"{low}+" if high is None else f"{low}-{high}"


def _side_by_side(results: Results) -> tuple[list[dict[str, Any]], dict[str, list[float | None]]]:
    """Returns the groups, and the scores of all runs in them and, last, in the whole text.

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
    scores = {
        label: [*(group["bleu"] for group in found["groups"]), found["bleu"]]
        for label, found in results.items()
    }
    return results[first]["groups"], scores
