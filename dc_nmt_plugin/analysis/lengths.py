"""Gain over a baseline by length of the source: context-aware, Fig. 5; thesis 3.5.1, Fig. 3.6."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import UsageError, UserError
from ..evaluation.buckets import (
    NO_GROUP_SCORE,
    Bucket,
    bucket_table,
    draw_buckets,
    parse_edges,
    quantile_edges,
    score_buckets,
)
from .base import Analysis, Results, Table
from .subject import Subject
from .subset_score import SubsetScore, add_reference_options
from .words import piece_kind, words_of

GROUPS = 10
UNITS = ("words", "pieces")


class LengthGains(Analysis):
    """Computes BLEU of the model's own translations, by length of the source."""

    name = "lengths"

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
            raise UsageError(f"--groups: {self.args.groups} is not at least 1.")
        lengths = [self._length(subject, number) for number in subject.translation.numbers]
        edges = (
            parse_edges("--edges", self.args.edges)
            if self.args.edges
            else quantile_edges(lengths, self.args.groups)
        )
        score = SubsetScore(subject.translation, self.args.reference or [], self.args.tokenizer)
        hypotheses = subject.translation.translate(f"{subject.label}: translation")
        bleu, signature = score(hypotheses)
        systems = {subject.label: score.lines(hypotheses)}
        references, *more = score.references(hypotheses)
        buckets = score_buckets(systems, references, lengths, edges, score.metric, score.lang, more)
        return {
            "unit": self.args.unit,
            "text": score.text,
            "bleu": bleu,
            "signature": signature,
            "groups": [
                {"from": b.low, "to": b.high, "sentences": b.sentences, "bleu": value}
                for b in buckets
                for value in b.scores.values()
            ],
        }

    def _length(self, subject: Subject, number: int) -> int:
        pieces = subject.source_pieces(number)
        if self.args.unit == "pieces":
            return len(pieces)
        return len(words_of(pieces, piece_kind(subject.task.source_dictionary)))

    def tables(self, results: Results) -> list[Table]:
        """Returns a row for each group; from the second run on, BLEU with its gain."""
        buckets = _side_by_side(results)
        baseline = next(iter(results.values()))
        whole = {label: found["bleu"] for label, found in results.items()}
        title = f"BLEU by source length in {baseline['unit']}; {baseline['text']}"
        missing = any(None in bucket.scores.values() for bucket in buckets)
        notes = [NO_GROUP_SCORE] if missing else []
        return [Table(title, *bucket_table(buckets, baseline["unit"], whole), notes)]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws BLEU above, and the differences to the first run below (Fig. 5)."""
        unit = next(iter(results.values()))["unit"]
        draw_buckets(figure, _side_by_side(results), "BLEU", unit)


def _side_by_side(results: Results) -> list[Bucket]:
    """Returns the groups with the scores of all runs.

    Raises:
        UserError: the groups differ: other text, or other pieces
    """
    groups = {
        label: [(group["from"], group["to"], group["sentences"]) for group in found["groups"]]
        for label, found in results.items()
    }
    first = next(iter(groups))
    other = next((label for label in groups if groups[label] != groups[first]), None)
    if other is not None:
        raise UserError(
            f"{first} and {other} have other sentences in their length groups: compare runs "
            "on the same text, with --unit words where their pieces differ."
        )
    return [
        Bucket(*bounds, {label: found["groups"][i]["bleu"] for label, found in results.items()})
        for i, bounds in enumerate(groups[first])
    ]
