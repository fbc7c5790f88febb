"""Gain over a baseline by length of the source: context-aware, Fig. 5; thesis 3.5.1, Fig. 3.6."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..errors import UserError
from ..evaluation.buckets import NO_GROUP_SCORE, parse_edges, score_cell
from .base import Analysis, Results, Table
from .figure import finish_axes, styles
from .subject import Subject
from .subset_score import SubsetScore, add_reference_options
from .words import piece_kind, words_of

GROUPS = 10
UNITS = ("words", "pieces")


def quantile_edges(lengths: Sequence[int], groups: int) -> list[int]:
    """Returns the first length of each group, for groups of nearly equal numbers.

    Sentences of one length stay together, so a text with few lengths has fewer groups.
    """
    ordered = sorted(lengths)
    starts = {ordered[len(ordered) * group // groups] for group in range(1, groups)}
    return sorted(starts - {ordered[0]})


def groups_of(lengths: Sequence[int], edges: Sequence[int]) -> list[list[int]]:
    """Returns the positions of the sentences in each group, separated by the edges."""
    found: list[list[int]] = [[] for _ in range(len(edges) + 1)]
    for place, length in enumerate(lengths):
        found[sum(length >= edge for edge in edges)].append(place)
    return found


class LengthGains(Analysis):
    """Computes BLEU of the model's own translations, by length of the source."""

    name = "lengths"
    size = (8.0, 5.6)

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --unit, --groups, --edges, --reference and --tokenizer."""
        parser.add_argument("--unit", choices=UNITS, default="words", help="(default: words)")
        parser.add_argument(
            "--groups", type=int, default=GROUPS, metavar="N",
            help="number of groups with about equally many sentences (default: 10)",
        )  # fmt: skip
        parser.add_argument(
            "--edges",
            metavar="N,N,…",
            help=(
                "first lengths of the groups, instead of --groups, such as 10,20,30,40,50 in "
                "the thesis"
            ),
        )
        add_reference_options(parser)

    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Translates and scores every group."""
        if not self.args.edges and self.args.groups < 1:
            raise UserError(f"--groups: {self.args.groups} is not at least 1.")
        edges = list(parse_edges("--edges", self.args.edges)) if self.args.edges else None
        lengths = {number: self._length(subject, number) for number in subject.translation.numbers}
        score = SubsetScore(subject.translation, self.args.reference or [], self.args.tokenizer)
        hypotheses = subject.translation.translate(partial(subject.progress, "translation"))
        numbers = sorted(hypotheses)
        in_order = [lengths[number] for number in numbers]
        if edges is None:
            edges = quantile_edges(in_order, self.args.groups)
        rows = []
        bounds = [(low, high) for low, high in zip([0, *edges], [*edges, None], strict=True)]
        for (low, high), places in zip(bounds, groups_of(in_order, edges), strict=True):
            if places:
                part = {numbers[place]: hypotheses[numbers[place]] for place in places}
                own = [in_order[place] for place in places]
                rows.append(
                    {
                        "from": low if self.args.edges else min(own),
                        "to": max(own) if high is None or not self.args.edges else high - 1,
                        "open": high is None,
                        "sentences": len(places),
                        "bleu": score.of_group(part),
                    }
                )
        bleu, signature = score(hypotheses)
        return {
            "unit": self.args.unit,
            "text": score.text,
            "bleu": bleu,
            "signature": signature,
            "groups": rows,
        }

    def _length(self, subject: Subject, number: int) -> int:
        pieces = subject.source_pieces(number)
        if self.args.unit == "pieces":
            return len(pieces)
        return len(words_of(pieces, piece_kind(subject.task.source_dictionary)))

    def tables(self, results: Results) -> list[Table]:
        """Returns a row for each group; from the second run on, BLEU with its gain."""
        labels = _same_groups(results)
        baseline = results[labels[0]]
        header = [f"{baseline['unit']}", "sentences", labels[0]]
        for label in labels[1:]:
            header += [label, "gain"]
        rows = []
        for place, group in enumerate(baseline["groups"]):
            cells = [group_name(group), f"{group['sentences']:,}", score_cell(group["bleu"])]
            for label in labels[1:]:
                bleu = results[label]["groups"][place]["bleu"]
                cells += [score_cell(bleu), score_cell(_gain(bleu, group["bleu"]), "+.2f")]
            rows.append(cells)
        last = ["all", f"{sum(g['sentences'] for g in baseline['groups']):,}"]
        last.append(f"{baseline['bleu']:.2f}")
        for label in labels[1:]:
            bleu = results[label]["bleu"]
            last += [f"{bleu:.2f}", f"{bleu - baseline['bleu']:+.2f}"]
        title = f"BLEU by source length in {baseline['unit']}; {baseline['text']}"
        scores = [group["bleu"] for found in results.values() for group in found["groups"]]
        return [Table(title, header, [*rows, last], [NO_GROUP_SCORE] if None in scores else [])]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws BLEU above, and the differences to the first run below (Fig. 5)."""
        labels = _same_groups(results)
        baseline = results[labels[0]]
        names = [f"{group_name(g)}\n({g['sentences']:,})" for g in baseline["groups"]]
        x = f"{baseline['unit']} of the source sentence (number of sentences)"
        places = range(len(names))
        panels = figure.subplots(2 if len(labels) > 1 else 1, 1, squeeze=False)[:, 0]
        for label, style in zip(labels, styles(), strict=False):
            values = [group["bleu"] for group in results[label]["groups"]]
            panels[0].plot(places, _drawn(values), label=label, **style)
            if label != labels[0]:
                pairs = zip(values, baseline["groups"], strict=True)
                gaps = [_gain(value, group["bleu"]) for value, group in pairs]
                panels[1].plot(places, _drawn(gaps), label=label, **style)
        finish_axes(panels[0], x, "BLEU")
        if len(labels) > 1:
            panels[1].axhline(0, color="grey", linewidth=2, label=labels[0])
            finish_axes(panels[1], x, f"BLEU above {labels[0]}")
        for axes in panels:
            axes.set_xticks(places, names, fontsize=8)
            axes.legend(fontsize=8)


def _gain(bleu: float | None, baseline: float | None) -> float | None:
    return None if bleu is None or baseline is None else bleu - baseline


def _drawn(values: Sequence[float | None]) -> list[float]:
    """Returns the values with NaN for missing ones, where matplotlib draws nothing."""
    return [math.nan if value is None else value for value in values]


def group_name(group: dict[str, Any]) -> str:
    """Returns a label such as 10-19, or 50+ for a group without an end."""
    if group["from"] == group["to"]:
        return str(group["from"])
    return f"{group['from']}+" if group["open"] else f"{group['from']}-{group['to']}"


def _same_groups(results: Results) -> list[str]:
    """Returns the labels after checking that all runs have the same groups.

    Raises:
        UserError: the groups differ: other text, or other pieces
    """
    labels = list(results)
    groups = {
        label: [(g["from"], g["to"], g["sentences"]) for g in results[label]["groups"]]
        for label in labels
    }
    other = next((label for label in labels if groups[label] != groups[labels[0]]), None)
    if other is not None:
        raise UserError(
            f"{labels[0]} and {other} have other sentences in their length groups: compare runs "
            "on the same text, with --unit words where their pieces differ."
        )
    return labels
