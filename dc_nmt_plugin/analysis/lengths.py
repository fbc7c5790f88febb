"""Gain over a baseline by length of the source: context-aware, Fig. 5; thesis 3.5.1, Fig. 3.6."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from ..errors import UserError
from ..evaluation.buckets import (
    NO_GROUP_SCORE,
    Bucket,
    bucket_table,
    draw_buckets,
    group_by_length,
    parse_edges,
    score_buckets,
)
from .report import Results, Table
from .subject import Subject
from .text_score import TextScore
from .words import piece_kind, words_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds --unit and --edges."""
    parser.add_argument("--unit", choices=("words", "pieces"), default="words")
    parser.add_argument(
        "--edges", metavar="N,N,…", default="10,20,30,40,50",
        help="first lengths of the groups; default: 10,20,30,40,50, as in the thesis",
    )  # fmt: skip


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Translates, and returns BLEU of every group."""
    edges = parse_edges("--edges", args.edges)
    kind = piece_kind(subject.task.source_dictionary)
    lengths = []
    for pieces in subject.sentence_pieces("encoder").values():
        lengths.append(len(pieces if args.unit == "pieces" else words_of(pieces, kind)))
    score = TextScore(subject, args)
    hypotheses = subject.translate()
    bleu, signature = score(hypotheses)
    lines, references = score.lines(hypotheses), score.references(hypotheses)
    split = group_by_length(lengths, edges)
    buckets = score_buckets(subject.label, lines, references, split, score.metric, score.lang)
    groups = [
        {"from": b.low, "to": b.high, "sentences": b.sentences, "bleu": b.score(subject.label)}
        for b in buckets
    ]
    return {"unit": args.unit, "text": score.text, "bleu": bleu, "signature": signature,
            "groups": groups, "_buckets": buckets}  # fmt: skip


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a row for each group; from the second run on, BLEU with its gain."""
    buckets = _side_by_side(results)
    baseline = next(iter(results.values()))
    whole = {label: found["bleu"] for label, found in results.items()}
    title = f"BLEU by source length in {baseline['unit']}; {baseline['text']}"
    missing = any(len(bucket.scores) < len(results) for bucket in buckets)
    notes = [NO_GROUP_SCORE] if missing else []
    if len(results) > 1:
        notes.append("95% interval: paired bootstrap over the sentences of the group")
    return [Table(title, *bucket_table(buckets, baseline["unit"], whole), notes)]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws BLEU above, and the differences to the first run below (Fig. 5)."""
    unit = next(iter(results.values()))["unit"]
    x = f"{unit} of the source sentence (number of sentences)"
    draw_buckets(figure, _side_by_side(results), list(results), x)


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
    for label, own in groups.items():
        if own != groups[first]:
            raise UserError(
                f"{first} and {label} have other sentences in their length groups: compare runs "
                "on the same text, with --unit words where their pieces differ."
            )
    buckets = []
    for same in zip(*(found["_buckets"] for found in results.values()), strict=True):
        scores = {name: score for bucket in same for name, score in bucket.scores.items()}
        buckets.append(replace(same[0], scores=scores))
    return buckets
