"""Finds structures in the attention to earlier words: residual decoder, section 8.2, Fig. 4."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..figure import add_legend, finish_axes, grouped_bars
from ..modules.core.recording import Records
from ..modules.diagnostics.previous_words import previous_word_weights
from ..text.lines import read_lines
from .base import Results, Table
from .brackets import Span, constituents, focus, parseval, right_branching, split, word_attention
from .loop import ForcedBatch
from .previous_words import OfEarlierWords
from .subject import Subject, check_index
from .tagging import needs
from .words import check_lines, piece_kind, word_spans, words_of

SHOWN = 5  # sentences in the table
WIDTH = 8.0  # inches of the figure
SCORES = ("precision", "recall", "f1")


class Trees(OfEarlierWords):
    """Builds the trees of Algorithm 1, and computes ParsEval against given trees."""

    name = "trees"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --text, --trees and --index."""
        OfEarlierWords.options(parser)
        parser.add_argument(
            "--trees",
            type=Path,
            metavar="FILE",
            help=(
                "file with one bracketed tree per line for each sentence of the subset, with "
                "the words of the target side"
            ),
        )
        parser.add_argument(
            "--index",
            type=int,
            metavar="N",
            help="number of the sentence to draw, from 1 (default: the first)",
        )

    def collector(self, subject: Subject) -> SentenceTrees:
        """Returns the collector of every sentence's tree."""
        if self.args.index is not None:
            check_index(self.args.index, subject)
        self._lines(subject)  # refuses a wrong file before the forced decoding
        return SentenceTrees(subject)

    def _lines(self, subject: Subject) -> list[str]:
        """Returns the trees of --trees; empty without the flag.

        Raises:
            UserError: the file has fewer or more lines than the subset, or nltk is missing
        """
        if self.args.trees is None:
            return []
        tree_class()
        lines = read_lines(self.args.trees)
        check_lines("--trees", self.args.trees, lines, subject.translation.size, subject.subset)
        return lines

    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Adds ParsEval of the trees, and of right-branching trees."""
        sentences = found["sentences"]
        whole = {
            "words": sum(len(sentence["words"]) for sentence in sentences),
            "chunks": sum(len(sentence["chunks"]) for sentence in sentences),
        }
        lines = self._lines(subject)
        if not lines:
            return {**whole, **found}
        given = [
            given_spans(lines[sentence["number"] - 1], sentence["words"], self.args.trees,
                        sentence["number"])
            for sentence in sentences
        ]  # fmt: skip
        ours = [constituents([(a, b) for a, b in sentence["chunks"]]) for sentence in sentences]
        right = [right_branching(len(sentence["words"])) for sentence in sentences]
        scores = {
            "attention": parseval(zip(ours, given, strict=True)),
            "right-branching": parseval(zip(right, given, strict=True)),
        }
        return {**whole, "parseval": scores, **found}

    def tables(self, results: Results) -> list[Table]:
        """Returns tables: ParsEval, and the first trees."""
        trees = Table(f"trees of the first {SHOWN} sentences", ["run", "sentence", "tree"])
        scores = Table("ParsEval: unlabelled constituents of two words or more", [*_SCORE_HEADER])
        sizes = Table("size of the sub-phrases", ["run", "words", "sub-phrases", "words in one"])
        for label, found in results.items():
            mean = f"{found['words'] / max(1, found['chunks']):.2f}"
            sizes.rows.append([label, f"{found['words']}", f"{found['chunks']}", mean])
            for name, values in found.get("parseval", {}).items():
                scores.rows.append([label, name, *(f"{values[score]:.3f}" for score in SCORES)])
            for sentence in found["sentences"][:SHOWN]:
                trees.rows.append([label, str(sentence["number"]), bracketed(sentence)])
        return [*([scores] if scores.rows else []), sizes, trees]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws ParsEval of every run with given trees, and one tree for each run."""
        scored = {label: found for label, found in results.items() if "parseval" in found}
        rows = len(results) + (1 if scored else 0)
        figure.set_size_inches(WIDTH, 2.6 * rows)
        panels = list(figure.subplots(rows, 1, squeeze=False)[:, 0])
        if scored:
            axes = panels.pop(0)
            bars = {
                name: [found["parseval"][name]["precision"] for found in scored.values()]
                for name in ("attention", "right-branching")
            }
            grouped_bars(axes, list(scored), bars)
            finish_axes(axes, "run", "precision of constituents")
            axes.set_ylim(0, 1)
            add_legend(figure, axes)
        for (label, found), axes in zip(results.items(), panels, strict=True):
            _draw_tree(axes, self._shown(found["sentences"]), label)

    def _shown(self, sentences: list[dict[str, Any]]) -> dict[str, Any]:
        wanted = [sentence for sentence in sentences if sentence["number"] == self.args.index]
        return wanted[0] if wanted else sentences[0]


_SCORE_HEADER = ("run", "trees", *SCORES)


class SentenceTrees:
    """Collects the words and the tree of every sentence.

    Args:
        subject: the model
    """

    needs = ("previous_words",)

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.kind = piece_kind(subject.task.target_dictionary)
        self.sentences: dict[int, dict[str, Any]] = {}

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module."""
        weights = previous_word_weights(records)
        if weights is None:
            return
        for number, own, target in zip(batch.numbers, weights, batch.target, strict=True):
            pieces = self.subject.pieces(target, self.subject.task.target_dictionary)
            spans = word_spans(pieces, self.kind)
            chunks = split(focus(word_attention(own, spans))) if spans else []
            self.sentences[number] = {
                "number": number + 1,
                "words": words_of(pieces, self.kind),
                "chunks": [list(chunk) for chunk in chunks],
            }

    def result(self) -> dict[str, Any]:
        """Returns sentences by number, from 1; chunks are the spans of :func:`.brackets.split`."""
        return {"sentences": [self.sentences[number] for number in sorted(self.sentences)]}


def bracketed(sentence: dict[str, Any]) -> str:
    """Returns the tree as text: ``(a b (c (d e)))``."""
    words, chunks = sentence["words"], sentence["chunks"]
    parts = [" ".join(words[begin:end]) for begin, end in chunks]
    return "".join(f"({part} " for part in parts).rstrip() + ")" * len(parts)


def tree_class() -> Any:
    """Returns nltk's class ``Tree``.

    Raises:
        UserError: nltk is missing
    """
    try:
        from nltk import Tree
    except ImportError as error:
        raise needs("nltk", "reads bracketed trees") from error
    return Tree


def given_spans(line: str, words: list[str], path: object, number: int) -> set[Span]:
    """Returns the spans of two or more words in a bracketed tree.

    Args:
        line: such as ``(S (NP the dog) (VP barks))``
        words: of the sentence, which the tree must have
        path, number: file and line, for errors

    Raises:
        UserError: not a tree, or another number of words; nltk is missing
    """
    try:
        tree = tree_class().fromstring(line)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"--trees {path}, line {number}: is no bracketed tree: {reason}") from error
    leaves = tree.leaves()
    if len(leaves) != len(words):
        raise UserError(
            f"--trees {path}, line {number}: {len(leaves)} words for the {len(words)} of the "
            f"sentence: {' '.join(words)}"
        )
    spans: set[Span] = set()
    _add_spans(tree, 0, spans)
    return spans


def _add_spans(tree: Any, begin: int, spans: set[Span]) -> int:
    """Adds the spans of a tree that begins at a word; returns the first word after the tree."""
    end = begin
    for child in tree:
        end = end + 1 if isinstance(child, str) else _add_spans(child, end, spans)
    if end - begin > 1:
        spans.add((begin, end))
    return end


def _draw_tree(axes: Any, sentence: dict[str, Any], label: str) -> None:
    """Draws words below, each node above its span, and the root on top."""
    words, chunks = sentence["words"], sentence["chunks"]
    height = len(chunks)
    x, y = (len(words) - 1) / 2, float(height)
    for level, (begin, end) in enumerate(chunks):
        place = (begin + end - 1) / 2
        below = height - level - 1.0
        last = level == height - 1
        for word in range(begin, end):
            top = (x, y) if last else (place, below)
            axes.plot([top[0], word], [top[1], 0], color="#0072B2", linewidth=1)
        if not last:
            rest = (end + len(words) - 1) / 2
            axes.plot([x, place], [y, below], color="black", linewidth=1)
            axes.plot([x, rest], [y, below], color="black", linewidth=1)
            x, y = rest, below
    axes.set_xticks(range(len(words)), words, rotation=45, ha="right")
    axes.set_yticks([])
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_title(f"{label}, sentence {sentence['number']}", fontsize=9)
