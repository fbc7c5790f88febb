"""Share of context by part of speech: context-aware, Fig. 4."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from ..charts import Chart, draw_charts
from ..errors import UsageError, UserError
from ..modules.core.recording import Records
from ..modules.diagnostics.gates import GATES
from ..modules.diagnostics.records import pool, self_attentions
from ..text.lines import read_lines
from .base import Analysis, Results, Table
from .gates import SYMBOLS, contexts, gated_layers
from .loop import ForcedBatch
from .subject import Subject
from .tagging import TAGS, tagger
from .words import check_lines, piece_kind, word_spans, words_of


class PartsOfSpeech(Analysis):
    """Computes the mean gates of words by part of speech."""

    name = "parts-of-speech"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --side, --tags and --layer."""
        parser.add_argument(
            "--side",
            choices=("encoder", "decoder"),
            help="side of the model (default: the encoder, if it has gates)",
        )
        parser.add_argument(
            "--tags",
            type=Path,
            metavar="FILE",
            help=(
                "file with the tags of a sentence per line, one tag per word (default: HanTa "
                "for English and German, jieba for Chinese)"
            ),
        )
        parser.add_argument(
            "--layer", type=int, metavar="N", help="one layer (default: the mean of all layers)"
        )

    def _side(self, subject: Subject) -> str:
        return self.args.side or next(iter(contexts(subject)), "encoder")

    def missing(self, subject: Subject) -> str | None:
        """Requires context-aware self-attention on the side."""
        if self._side(subject) in contexts(subject):
            return None
        return f"has no gates of context-aware self-attention in the {self._side(subject)}."

    def collector(self, subject: Subject) -> WordGates:
        """Returns the collector for the words of the subset and their tags.

        Raises:
            UserError: --layer names a layer without gates; tags of another length
        """
        side, layer = self._side(subject), self.args.layer
        gated = gated_layers(subject, side)
        if layer is not None and layer not in gated:
            raise UsageError(
                f"--layer {layer}: has no gates in the {side}; choose one of "
                f"{', '.join(map(str, sorted(gated)))}."
            )
        layers = gated if layer is None else {layer}
        return WordGates(side, self._tags(subject, side), subject, layers)

    def _tags(self, subject: Subject, side: str) -> dict[int, list[str]]:
        """Returns sentence number → one tag for each word."""
        words = sentence_words(subject, side)
        if self.args.tags is None:
            lang = subject.source_lang if side == "encoder" else subject.target_lang
            tag = tagger(lang)
            return {number: tag(line) for number, line in words.items()}
        lines = read_lines(self.args.tags)
        check_lines("--tags", self.args.tags, lines, subject.translation.size, subject.subset)
        found = {}
        for number, line in words.items():
            found[number] = lines[number].split()
            if len(found[number]) != len(line):
                raise UserError(
                    f"--tags {self.args.tags}, line {number + 1}: {len(found[number])} tags for "
                    f"the {len(line)} words of the sentence: {' '.join(line)}"
                )
        return found

    def tables(self, results: Results) -> list[Table]:
        """Returns a row for each tag, and the average of all words below."""
        table = Table("mean gates of words, 0 (no context) to 1", ["run", "tag", "words"])
        gates = [g for g in SYMBOLS if any(g in found["all"] for found in results.values())]
        header = [*table.header, *(SYMBOLS[gate] for gate in gates)]
        rows = []
        for label, found in results.items():
            for tag, row in [*found["tags"].items(), ("all words", found["all"])]:
                cells = [f"{row[gate]:.3f}" if gate in row else "" for gate in gates]
                rows.append([label, tag, str(row["words"]), *cells])
        return [Table(table.title, header, rows)]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws Fig. 4: bars by tag, a grey line at the average; one panel for each run."""
        charts = []
        for label, found in results.items():
            gates = {gate: symbol for gate, symbol in SYMBOLS.items() if gate in found["all"]}
            means = {symbol: found["all"][gate] for gate, symbol in gates.items()}
            rows = found["tags"].values()
            bars = {symbol: [row[gate] for row in rows] for gate, symbol in gates.items()}
            charts.append(
                Chart("part of speech", "mean gate λ", bars=bars, groups=[*found["tags"]],
                      title=f"{label}, {found['side']}", finish=partial(_mark_means, means))
            )  # fmt: skip
        draw_charts(figure, charts, columns=1, size=(8.0, 3.2))


def _mark_means(means: dict[str, float], axes: Any) -> None:
    for (gate, mean), dashes in zip(means.items(), ("-", "--"), strict=False):
        axes.axhline(mean, color="grey", linestyle=dashes, label=f"all words, {gate}")


class WordGates:
    """Sums the gates of words; the gate of a word is the mean over its pieces and the layers.

    The end of a sentence does not count as a word.

    Args:
        side: ``encoder`` or ``decoder``
        tags: sentence number → one tag for each word
        subject: the model
        layers: layers with gates whose mean is taken
    """

    needs = GATES

    def __init__(
        self, side: str, tags: dict[int, list[str]], subject: Subject, layers: set[int]
    ) -> None:
        self.side = side
        self.tags = tags
        self.layers = layers
        self.layers_of: dict[str, set[int]] = {}  # gate → layers that have it
        dictionary = (
            subject.task.source_dictionary if side == "encoder" else subject.task.target_dictionary
        )
        kind = piece_kind(dictionary)
        self.spans = {
            number: word_spans(pieces, kind)
            for number, pieces in sentence_pieces(subject, side).items()
        }
        self.totals: dict[str, dict[str, tuple[float, int]]] = {}

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module."""
        for side, layer, tensors in self_attentions(records):
            for gate in GATES:
                if side == self.side and layer in self.layers and gate in tensors:
                    self.layers_of.setdefault(gate, set()).add(layer)
                    self._add(gate, tensors[gate].double().squeeze(-1), batch)

    def _add(self, gate: str, values: Tensor, batch: ForcedBatch) -> None:
        padding = batch.padding(self.side)
        for number, row, padded in zip(batch.numbers, values, padding, strict=True):
            tokens = row[~padded].tolist()
            # a decoder's position reads the word before the one that it predicts
            shift = 0 if self.side == "encoder" else 1
            for tag, (begin, end) in zip(self.tags[number], self.spans[number], strict=True):
                pieces = tokens[begin + shift : end + shift]
                pool(self.totals.setdefault(tag, {}), gate, sum(pieces) / len(pieces), 1)

    def result(self) -> dict[str, Any]:
        """Returns the means by tag, content words first, and of all words."""
        order = {tag: place for place, tag in enumerate(TAGS)}
        tags = {
            tag: self._means([self.totals[tag]])
            for tag in sorted(self.totals, key=lambda tag: (order.get(tag, len(order)), tag))
        }
        return {"side": self.side, "tags": tags, "all": self._means(list(self.totals.values()))}

    def _means(self, rows: list[dict[str, tuple[float, int]]]) -> dict[str, Any]:
        """Returns {"words": …, "lambda_q": mean, …} over the rows."""
        found: dict[str, Any] = {}
        for gate in GATES:
            values = [row[gate] for row in rows if gate in row]
            if values:
                count = sum(count for _, count in values)  # each word once in every layer
                found["words"] = count // len(self.layers_of[gate])
                found[gate] = sum(total for total, _ in values) / count
        return found


def sentence_pieces(subject: Subject, side: str) -> dict[int, list[str]]:
    """Returns the pieces of each used sentence, by its number."""
    if side == "decoder":
        subject.check_targets()
    return {
        number: subject.source_pieces(number)
        if side == "encoder"
        else subject.target_pieces(number)
        for number in subject.translation.numbers
    }


def sentence_words(subject: Subject, side: str) -> dict[int, list[str]]:
    """Returns sentence number → its words."""
    source = side == "encoder"
    dictionary = subject.task.source_dictionary if source else subject.task.target_dictionary
    kind = piece_kind(dictionary)
    return {
        number: words_of(pieces, kind) for number, pieces in sentence_pieces(subject, side).items()
    }
