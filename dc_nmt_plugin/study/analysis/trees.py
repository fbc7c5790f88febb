"""Finds structures in the attention to earlier words: residual decoder, section 8.2, Fig. 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import UserError, counted
from ...laboratory.inference.attention import ForcedBatch
from ...modules.core.recording import Records
from ...modules.diagnostics import previous_word_weights
from ...text.lines import read_lines
from ...text.segmentation import piece_kind, word_spans, words_of
from .brackets import Span, constituents, focus, parseval, right_branching, split, word_attention
from .figure import Chart, draw_charts
from .forced import force
from .previous_words import require_attention
from .report import HIDDEN, Table
from .subject import Subject

SHOWN = 5  # sentences in the table
WIDTH = 8.0  # inches of the figure


@dataclass(frozen=True)
class SentenceTree:
    """The tree of one sentence."""

    number: int  # of the sentence, from 1
    words: list[str]
    chunks: list[Span]  # as of brackets.split


@dataclass(frozen=True)
class Trees:
    """The trees of one model."""

    words: int  # of all sentences
    chunks: int
    sentences: list[SentenceTree]
    shown: SentenceTree = field(metadata=HIDDEN)  # sentence to draw
    # our trees, and right-branching trees, against given trees; None without these
    parseval: dict[str, dict[str, float]] | None = None


def measure(
    subject: Subject,
    *,
    text: str = "reference",
    trees: Path | None = None,
    index: int | None = None,
) -> Trees:
    """Returns the trees of Algorithm 1, and ParsEval against given trees.

    Raises:
        UserError: a model without such attention, or trees that do not fit the text
    """
    require_attention(subject)
    lines = []
    if trees is not None:
        lines = read_lines(trees)
        subject.check_lines("--trees", trees, lines)
    kind = piece_kind(subject.task.target_dictionary)
    by_number: dict[int, SentenceTree] = {}

    def add(records: Records, batch: ForcedBatch) -> None:
        weights = previous_word_weights(records)
        if weights is None:
            return
        for number, matrix, target in zip(batch.numbers, weights, batch.target, strict=True):
            pieces = subject.pieces(target, "decoder")
            spans = word_spans(pieces, kind)
            chunks = split(focus(word_attention(matrix, spans))) if spans else []
            by_number[number] = SentenceTree(number + 1, words_of(pieces, kind), chunks)

    force(subject, ("previous_words",), add, text)
    sentences = [by_number[number] for number in sorted(by_number)]
    if index is not None and index - 1 not in by_number:
        force(subject, ("previous_words",), add, text, subject.batch_of(index))
    return Trees(
        words=sum(len(sentence.words) for sentence in sentences),
        chunks=sum(len(sentence.chunks) for sentence in sentences),
        sentences=sentences,
        shown=sentences[0] if index is None else by_number[index - 1],
        parseval=None if trees is None else _parseval(sentences, lines, trees),
    )


def _parseval(
    sentences: Sequence[SentenceTree], lines: Sequence[str], path: Path
) -> dict[str, dict[str, float]]:
    """Returns the scores of our trees, and of right-branching trees, against given trees."""
    ours, right = [], []
    for sentence in sentences:
        reference = tree_spans(lines[sentence.number - 1], sentence.words, path, sentence.number)
        ours.append((constituents(sentence.chunks), reference))
        right.append((right_branching(len(sentence.words)), reference))
    return {"attention": parseval(ours), "right-branching": parseval(right)}


def tree_spans(line: str, words: list[str], path: object, number: int) -> set[Span]:
    """Returns the spans of two or more words in a tree such as ``(S (NP the dog) (VP barks))``.

    Raises:
        UserError: another number of words than the sentence
    """
    from nltk import Tree

    tree = Tree.fromstring(line)
    leaves = tree.leaves()
    if len(leaves) != len(words):
        raise UserError(
            f"--trees {path}, line {number}: {counted(len(leaves), 'word')} for the "
            f"{len(words)} of the sentence: {' '.join(words)}"
        )
    for word, position in enumerate(tree.treepositions("leaves")):
        tree[position] = word
    spans = set()
    for subtree in tree.subtrees():
        words_inside = subtree.leaves()
        if len(words_inside) > 1:
            spans.add((words_inside[0], words_inside[-1] + 1))
    return spans


def tables(results: Mapping[str, Trees]) -> list[Table]:
    """Returns tables: ParsEval, sizes, and the first trees."""
    title = "ParsEval: unlabelled constituents of two words or more"
    scores = Table(title, ["run", "trees", "precision", "recall", "f1"])
    sizes = Table("size of the sub-phrases", ["run", "words", "sub-phrases", "words in one"])
    title = f"trees of the first {SHOWN} sentences"
    if any(result.shown not in result.sentences[:SHOWN] for result in results.values()):
        title += ", and of the one of --index"
    trees = Table(title, ["run", "sentence", "tree"])
    for label, result in results.items():
        for name, values in (result.parseval or {}).items():
            scores.rows.append([label, name, *(f"{value:.3f}" for value in values.values())])
        mean = f"{result.words / max(1, result.chunks):.2f}"
        sizes.rows.append([label, f"{result.words}", f"{result.chunks}", mean])
        shown = result.sentences[:SHOWN]
        for sentence in shown if result.shown in shown else [*shown, result.shown]:
            trees.rows.append([label, str(sentence.number), bracketed(sentence)])
    return [scores, sizes, trees] if scores.rows else [sizes, trees]


def bracketed(sentence: SentenceTree) -> str:
    """Returns the tree as text: ``(a b (c (d e)))``."""
    parts = ["(" + " ".join(sentence.words[begin:end]) for begin, end in sentence.chunks]
    return " ".join(parts) + ")" * len(parts)


def draw(figure: Any, results: Mapping[str, Trees]) -> None:
    """Draws ParsEval of every run with given trees, or else one tree for each run."""
    compared = [result.parseval for result in results.values() if result.parseval]
    if compared:
        bars = {}
        for name in ("attention", "right-branching"):
            bars[name] = [scores[name]["precision"] for scores in compared]
        axis = "precision of constituents"
        finish = _show_all_precisions
        draw_charts(figure, [Chart("run", axis, bars=bars, groups=[*results], finish=finish)])
        return
    figure.set_size_inches(WIDTH, 2.6 * len(results))
    panels = figure.subplots(len(results), 1, squeeze=False)[:, 0]
    for (label, result), axes in zip(results.items(), panels, strict=True):
        _draw_tree(axes, result.shown, label)


def _show_all_precisions(axes: Any) -> None:
    axes.set_ylim(0, 1)


def _draw_tree(axes: Any, sentence: SentenceTree, label: str) -> None:
    """Draws words below, each node above its span, and the root on top."""
    words, chunks = sentence.words, sentence.chunks
    height = len(chunks)
    x, y = (len(words) - 1) / 2, float(height)
    for level, (begin, end) in enumerate(chunks):
        middle = (begin + end - 1) / 2
        below = height - level - 1.0
        last = level == height - 1
        for word in range(begin, end):
            top = (x, y) if last else (middle, below)
            axes.plot([top[0], word], [top[1], 0], color="#0072B2", linewidth=1)
        if not last:
            rest = (end + len(words) - 1) / 2
            axes.plot([x, middle], [y, below], color="black", linewidth=1)
            axes.plot([x, rest], [y, below], color="black", linewidth=1)
            x, y = rest, below
    axes.set_xticks(range(len(words)), words, rotation=45, ha="right")
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_title(f"{label}, sentence {sentence.number}", fontsize=9)
