"""Share of context by part of speech: context-aware, Fig. 4."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import UserError, counted
from ..inference.forced_batch import ForcedBatch
from ..inference.subject import Subject
from ..inference.words import piece_kind, word_spans, words_of
from ..modules.core.recording import Records
from ..modules.diagnostics import LAMBDAS, pool, self_attentions
from ..text.lines import read_lines
from .figure import Chart, draw_charts
from .forced import force
from .gates import SYMBOLS, contexts
from .report import Results, Table
from .tagging import TAGS, tagger


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns the mean gates of words by part of speech.

    The gate of a word is the mean over its pieces and the layers. The end of a sentence is no
    word.

    Raises:
        UserError: no gates on that side; tags of another length
    """
    side = args.side or next(iter(contexts(subject)), "encoder")
    if side not in contexts(subject):
        raise UserError(
            f"{subject.label}: has no gates of context-aware self-attention in the {side}."
        )
    kind = piece_kind(subject.dictionary(side))
    pieces = subject.sentence_pieces(side)
    words = {number: words_of(own, kind) for number, own in pieces.items()}
    spans = {number: word_spans(own, kind) for number, own in pieces.items()}
    tags = _tags(subject, side, words, args.tags)
    # a decoder's position reads the word before the one that it predicts
    shift = 0 if side == "encoder" else 1
    totals: dict[str, dict[str, tuple[float, int]]] = {}  # tag → gate → sum, count
    layers_of: dict[str, set[int]] = {gate: set() for gate in LAMBDAS}  # layers that have it

    def add_words(gate: str, values: Tensor, batch: ForcedBatch) -> None:
        for number, row, padding in zip(batch.numbers, values, batch.padding(side), strict=True):
            tokens = row[~padding].tolist()
            for tag, (begin, end) in zip(tags[number], spans[number], strict=True):
                pieces = tokens[begin + shift : end + shift]
                pool(totals.setdefault(tag, {}), gate, sum(pieces) / len(pieces), 1)

    def add(records: Records, batch: ForcedBatch) -> None:
        for own_side, layer, tensors in self_attentions(records):
            for gate in LAMBDAS:
                if own_side == side and gate in tensors:
                    layers_of[gate].add(layer)
                    add_words(gate, tensors[gate].double().squeeze(-1), batch)

    force(subject, LAMBDAS, add)
    order = {tag: place for place, tag in enumerate(TAGS)}  # content words first
    ordered = sorted(totals, key=lambda tag: (order.get(tag, len(order)), tag))
    return {
        "side": side,
        "tags": {tag: _means([totals[tag]], layers_of) for tag in ordered},
        "all": _means(list(totals.values()), layers_of),
    }


def _means(
    rows: list[dict[str, tuple[float, int]]], layers_of: dict[str, set[int]]
) -> dict[str, Any]:
    """Returns {"words": …, "lambda_q": mean, …} over the rows and layers."""
    means: dict[str, Any] = {}
    for gate in LAMBDAS:
        values = [row[gate] for row in rows if gate in row]
        if values:
            count = sum(count for _, count in values)  # each word once in every layer
            means["words"] = count // len(layers_of[gate])
            means[gate] = sum(total for total, _ in values) / count
    return means


def _tags(
    subject: Subject, side: str, words: dict[int, list[str]], path: Path | None
) -> dict[int, list[str]]:
    """Returns sentence number → one tag for each word."""
    if path is None:
        lang = subject.source_lang if side == "encoder" else subject.target_lang
        tag = tagger(lang)
        return {number: tag(line) for number, line in words.items()}
    lines = read_lines(path)
    subject.check_lines("--tags", path, lines)
    tags = {}
    for number, line in words.items():
        tags[number] = lines[number].split()
        if len(tags[number]) != len(line):
            raise UserError(
                f"--tags {path}, line {number + 1}: {counted(len(tags[number]), 'tag')} for the "
                f"{counted(len(line), 'word')} of the sentence: {' '.join(line)}"
            )
    return tags


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a row for each tag, and the average of all words below."""
    gates = [gate for gate in SYMBOLS if any(gate in result["all"] for result in results.values())]
    header = ["run", "tag", "words", *(SYMBOLS[gate] for gate in gates)]
    table = Table("mean gates of words, 0 (no context) to 1", header)
    for label, result in results.items():
        for tag, row in [*result["tags"].items(), ("all words", result["all"])]:
            cells = [f"{row[gate]:.3f}" if gate in row else "" for gate in gates]
            table.rows.append([label, tag, str(row["words"]), *cells])
    return [table]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws Fig. 4: bars by tag, a grey line at the average; one panel for each run."""
    charts = []
    for label, result in results.items():
        gates = {gate: symbol for gate, symbol in SYMBOLS.items() if gate in result["all"]}
        means = {symbol: result["all"][gate] for gate, symbol in gates.items()}
        rows = result["tags"].values()
        bars = {symbol: [row[gate] for row in rows] for gate, symbol in gates.items()}
        charts.append(
            Chart("part of speech", "mean gate λ", bars=bars, groups=[*result["tags"]],
                  title=f"{label}, {result['side']}", finish=partial(_mark_means, means))
        )  # fmt: skip
    draw_charts(figure, charts, columns=1, size=(8.0, 3.2))


def _mark_means(means: dict[str, float], axes: Any) -> None:
    for (gate, mean), dashes in zip(means.items(), ("-", "--"), strict=False):
        axes.axhline(mean, color="grey", linestyle=dashes, label=f"all words, {gate}")
