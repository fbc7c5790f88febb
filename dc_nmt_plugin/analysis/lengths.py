"""Gain over a baseline by length of the source: context-aware, Fig. 5; thesis 3.5.1, Fig. 3.6."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError, UserError
from ..evaluation.significance import Comparison, paired_bootstrap
from ..evaluation.table_text import difference_cells
from ..inference.subject import Subject
from ..inference.words import piece_kind, words_of
from ..table import number_cell
from .figure import Chart, draw_charts
from .report import Results, Table
from .text_score import TextScore

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
    # "_texts" and "_scored" are for the tables: --json leaves out names that begin with "_"
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
    baseline = next(iter(results.values()))
    groups = _groups_of(results)
    first, *others = groups
    header = [f"source {baseline['unit']}", "sentences", first]
    for label in others:
        header += [label, "gain", "95% interval"]
    rows = []
    for place, group in enumerate(groups[first]):
        row = [group.name, f"{group.sentences:,}", number_cell(group.bleu, ".2f") or "-"]
        for label in others:
            bleu, gain = groups[label][place].bleu, groups[label][place].gain
            row.append(number_cell(bleu, ".2f") or "-")
            if gain is None:
                row += ["-", "-"]
            else:
                row += difference_cells(gain.difference, gain.against, None, several=False)[:2]
        rows.append(row)
    title = f"BLEU by source length in {baseline['unit']}; {baseline['text']}"
    missing = any(group.bleu is None for own in groups.values() for group in own)
    notes = [NO_SCORE] if missing else []
    if others:
        notes.append(f"gain: over {first}; its interval includes variation between sentences only")
    return [Table(title, header, rows, notes)]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws BLEU above, and the gains over the first run with their intervals below (Fig. 5)."""
    groups = {label: own[:-1] for label, own in _groups_of(results).items()}  # no whole text
    first, *others = groups
    unit = next(iter(results.values()))["unit"]
    x = f"{unit} of the source sentence (number of sentences)"

    def name_groups(axes: Any) -> None:
        labels = [f"{group.name}\n({group.sentences:,})" for group in groups[first]]
        axes.set_xticks(range(len(labels)), labels, fontsize=8)

    def add_intervals(axes: Any) -> None:
        name_groups(axes)
        for line, label in zip(list(axes.lines), others, strict=True):
            for place, group in enumerate(groups[label]):
                if group.gain and group.gain.against:
                    interval = group.gain.against.interval
                    axes.vlines(place, *interval, color=line.get_color(), linewidth=1)

    scores: dict[str, dict[int, float]] = {}
    gains: dict[str, dict[int, float]] = {}
    for label, own in groups.items():
        for place, group in enumerate(own):
            bleu, gain = group.bleu, group.gain.difference if group.gain else None
            scores.setdefault(label, {})[place] = math.nan if bleu is None else bleu
            if label != first:
                gains.setdefault(label, {})[place] = math.nan if gain is None else gain
    charts = [Chart(x, "BLEU", scores, finish=name_groups)]
    if others:
        charts.append(Chart(x, "gain in BLEU, 95%", gains, finish=add_intervals))
    draw_charts(figure, charts, columns=1, size=PANEL)


@dataclass(frozen=True)
class _Group:
    """The sentences of some lengths in one run, or its whole text."""

    name: str  # such as 10-19
    sentences: int
    bleu: float | None
    gain: Comparison | None  # over the first run; None where one of both has no score


def _groups_of(results: Results) -> dict[str, list[_Group]]:
    """Returns label of a run → its groups and, last, the whole text.

    Raises:
        UserError: the groups differ: other text, or other pieces
    """
    first, baseline = next(iter(results.items()))
    groups: dict[str, list[_Group]] = {}
    for label, result in results.items():
        if _ranges(result) != _ranges(baseline):
            raise UserError(
                f"{first} and {label} have other sentences in their length groups: compare runs "
                "on the same text, with --unit words where their pieces differ."
            )
        rows = [(_name(g["from"], g["to"]), g["sentences"], g["bleu"]) for g in result["groups"]]
        rows.append(("all", sum(count for _, count, _ in rows), result["bleu"]))
        groups[label] = []
        for place, (name, sentences, bleu) in enumerate(rows):
            gain = None
            if label != first and bleu is not None and groups[first][place].bleu is not None:
                lines, references = baseline["_texts"][place]
                both = {"": lines, label: result["_texts"][place][0]}
                _, gain = paired_bootstrap(both, references, *baseline["_scored"])
            groups[label].append(_Group(name, sentences, bleu, gain))
    return groups


def _ranges(result: dict[str, Any]) -> list[tuple[int, int | None, int]]:
    return [(group["from"], group["to"], group["sentences"]) for group in result["groups"]]


def _name(low: int, high: int | None) -> str:
    if low == high:
        return str(low)
    return f"{low}+" if high is None else f"{low}-{high}"
