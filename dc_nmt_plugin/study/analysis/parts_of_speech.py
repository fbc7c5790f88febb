"""Share of context by part of speech: context-aware, Fig. 4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from ...errors import UserError, counted
from ...laboratory.inference.attention import ForcedBatch
from ...laboratory.table import number_cell
from ...modules.core.recording import Records
from ...modules.diagnostics import LAMBDAS, pool, self_attentions
from ...text.lines import read_lines
from ...text.segmentation import piece_kind, word_spans, words_of
from .figure import Chart, draw_charts
from .forced import force
from .gates import SYMBOLS, contexts
from .report import Table
from .subject import Subject
from .tagging import TAGS, tagger


@dataclass(frozen=True)
class WordGates:
    """Mean gates of some words, over their pieces and the layers; None without such a gate."""

    words: int
    lambda_q: float | None = None
    lambda_k: float | None = None


@dataclass(frozen=True)
class TaggedGates:
    """Mean gates of the words of one side."""

    side: str
    tags: dict[str, WordGates]  # part of speech → its words, content words first
    all: WordGates  # of all words


class _GateSums:
    """Sums of gates over words, by part of speech."""

    def __init__(self) -> None:
        self.by_tag: dict[str, dict[str, tuple[float, int]]] = {}  # tag → gate → sum, count
        self.layers: dict[str, set[int]] = {gate: set() for gate in LAMBDAS}  # that have the gate

    def add(self, tag: str, gate: str, value: float) -> None:
        pool(self.by_tag.setdefault(tag, {}), gate, value, 1)

    def means(self, tags: Iterable[str]) -> WordGates:
        """Returns the means over the words of these parts of speech, and over the layers."""
        words = 0
        means: dict[str, float] = {}
        for gate in LAMBDAS:
            values = [self.by_tag[tag][gate] for tag in tags if gate in self.by_tag[tag]]
            if values:
                count = sum(count for _, count in values)  # each word once in every layer
                words = count // len(self.layers[gate])
                means[gate] = sum(total for total, _ in values) / count
        return WordGates(words, **means)


def measure(subject: Subject, *, side: str | None = None, tags: Path | None = None) -> TaggedGates:
    """Returns the mean gates of words by part of speech.

    The gate of a word is the mean over its pieces and the layers. The end of a sentence is no
    word.

    Raises:
        UserError: no gates on that side; tags of another length
    """
    sides = contexts(subject)
    side = side or next(iter(sides), "encoder")
    subject.require(side in sides, f"gates of context-aware self-attention in the {side}")
    kind = piece_kind(subject.dictionary(side))
    words, spans = {}, {}
    for number, pieces in subject.sentence_pieces(side).items():
        words[number] = words_of(pieces, kind)
        spans[number] = word_spans(pieces, kind)
    tags_of = _tags(subject, side, words, tags)
    # a decoder's position reads the word before the one that it predicts
    shift = 0 if side == "encoder" else 1
    sums = _GateSums()

    def add_words(gate: str, values: Tensor, batch: ForcedBatch) -> None:
        for number, row, padding in zip(batch.numbers, values, batch.padding(side), strict=True):
            tokens = row[~padding].tolist()
            for tag, (begin, end) in zip(tags_of[number], spans[number], strict=True):
                gates = tokens[begin + shift : end + shift]
                sums.add(tag, gate, sum(gates) / len(gates))

    def add(records: Records, batch: ForcedBatch) -> None:
        for recorded_side, layer, tensors in self_attentions(records):
            for gate in LAMBDAS:
                if recorded_side == side and gate in tensors:
                    sums.layers[gate].add(layer)
                    add_words(gate, tensors[gate].double().squeeze(-1), batch)

    force(subject, LAMBDAS, add)
    rank = {tag: number for number, tag in enumerate(TAGS)}  # content words first
    ordered = sorted(sums.by_tag, key=lambda tag: (rank.get(tag, len(rank)), tag))
    return TaggedGates(side, {tag: sums.means([tag]) for tag in ordered}, sums.means(ordered))


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


def _symbols(gates: WordGates) -> dict[str, str]:
    """Returns gate → its symbol, for the gates that the words have."""
    return {gate: symbol for gate, symbol in SYMBOLS.items() if getattr(gates, gate) is not None}


def tables(results: Mapping[str, TaggedGates]) -> list[Table]:
    """Returns a row for each tag, and the average of all words below."""
    gates = [gate for gate in SYMBOLS if any(gate in _symbols(r.all) for r in results.values())]
    header = ["run", "tag", "words", *(SYMBOLS[gate] for gate in gates)]
    table = Table("mean gates of words, 0 (no context) to 1", header)
    for label, result in results.items():
        for tag, row in [*result.tags.items(), ("all words", result.all)]:
            cells = [number_cell(getattr(row, gate), ".3f") for gate in gates]
            table.rows.append([label, tag, str(row.words), *cells])
    return [table]


def draw(figure: Any, results: Mapping[str, TaggedGates]) -> None:
    """Draws Fig. 4: bars by tag, a grey line at the average; one panel for each run."""
    charts = []
    for label, result in results.items():
        means, bars = {}, {}
        for gate, symbol in _symbols(result.all).items():
            means[symbol] = getattr(result.all, gate)
            bars[symbol] = [getattr(row, gate) for row in result.tags.values()]
        charts.append(
            Chart(
                "part of speech",
                "mean gate λ",
                bars=bars,
                groups=[*result.tags],
                title=f"{label}, {result.side}",
                finish=partial(_mark_means, means),
            )
        )
    draw_charts(figure, charts, columns=1, size=(8.0, 3.2))


def _mark_means(means: dict[str, float], axes: Any) -> None:
    for (gate, mean), dashes in zip(means.items(), ("-", "--"), strict=False):
        axes.axhline(mean, color="grey", linestyle=dashes, label=f"all words, {gate}")
