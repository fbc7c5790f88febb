"""Finds structures in the attention to earlier words: residual decoder, section 8.2, Fig. 4."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import UserError, counted
from ..inference.forced_batch import ForcedBatch
from ..inference.subject import Subject
from ..inference.words import piece_kind, word_spans, words_of
from ..modules.core.recording import Records
from ..modules.diagnostics import previous_word_weights
from ..text.lines import read_lines
from .brackets import Span, constituents, focus, parseval, right_branching, split, word_attention
from .figure import Chart, draw_charts
from .forced import force
from .previous_words import require_attention
from .report import Results, Table
from .tagging import needs

SHOWN = 5  # sentences in the table
WIDTH = 8.0  # inches of the figure


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns the trees of Algorithm 1, and ParsEval against given trees.

    Sentences are numbered from 1; chunks are the spans of :func:`.brackets.split`.

    Raises:
        UserError: a model without such attention, or trees that do not fit the text
    """
    require_attention(subject)
    if args.index is not None:
        subject.check_index(args.index)
    lines = []
    if args.trees is not None:
        _tree_class()  # nltk is needed: said before the forced decoding
        lines = read_lines(args.trees)
        subject.check_lines("--trees", args.trees, lines)
    kind = piece_kind(subject.task.target_dictionary)
    by_number: dict[int, dict[str, Any]] = {}

    def add(records: Records, batch: ForcedBatch) -> None:
        weights = previous_word_weights(records)
        if weights is None:
            return
        for number, own, target in zip(batch.numbers, weights, batch.target, strict=True):
            pieces = subject.pieces(target, "decoder")
            spans = word_spans(pieces, kind)
            chunks = split(focus(word_attention(own, spans))) if spans else []
            by_number[number] = {
                "number": number + 1,
                "words": words_of(pieces, kind),
                "chunks": [list(chunk) for chunk in chunks],
            }

    force(subject, ("previous_words",), add, args.text)
    sentences = [by_number[number] for number in sorted(by_number)]
    result: dict[str, Any] = {}
    for part in ("words", "chunks"):
        result[part] = sum(len(sentence[part]) for sentence in sentences)
    if args.trees is not None:
        result["parseval"] = _parseval(sentences, lines, args.trees)
    return {**result, "sentences": sentences}


def _parseval(
    sentences: list[dict[str, Any]], lines: list[str], path: Path
) -> dict[str, dict[str, float]]:
    """Returns the scores of our trees, and of right-branching trees, against given trees."""
    ours, right = [], []
    for sentence in sentences:
        number, words = sentence["number"], sentence["words"]
        reference = tree_spans(lines[number - 1], words, path, number)
        ours.append((constituents([(begin, end) for begin, end in sentence["chunks"]]), reference))
        right.append((right_branching(len(words)), reference))
    return {"attention": parseval(ours), "right-branching": parseval(right)}


def tree_spans(line: str, words: list[str], path: object, number: int) -> set[Span]:
    """Returns the spans of two or more words in a tree such as ``(S (NP the dog) (VP barks))``.

    Raises:
        UserError: not a tree, or another number of words than the sentence; nltk is missing
    """
    try:
        tree = _tree_class().fromstring(line)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"--trees {path}, line {number}: is no bracketed tree: {reason}") from error
    leaves = tree.leaves()
    if len(leaves) != len(words):
        raise UserError(
            f"--trees {path}, line {number}: {counted(len(leaves), 'word')} for the "
            f"{len(words)} of the sentence: {' '.join(words)}"
        )
    for place, position in enumerate(tree.treepositions("leaves")):
        tree[position] = place
    spans = set()
    for subtree in tree.subtrees():
        places = subtree.leaves()
        if len(places) > 1:
            spans.add((places[0], places[-1] + 1))
    return spans


def _tree_class() -> Any:
    try:
        from nltk import Tree
    except ImportError as error:
        raise needs("nltk", "reads bracketed trees") from error
    return Tree


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns tables: ParsEval, sizes, and the first trees."""
    title = "ParsEval: unlabelled constituents of two words or more"
    scores = Table(title, ["run", "trees", "precision", "recall", "f1"])
    sizes = Table("size of the sub-phrases", ["run", "words", "sub-phrases", "words in one"])
    trees = Table(f"trees of the first {SHOWN} sentences", ["run", "sentence", "tree"])
    for label, result in results.items():
        for name, values in result.get("parseval", {}).items():
            scores.rows.append([label, name, *(f"{value:.3f}" for value in values.values())])
        mean = f"{result['words'] / max(1, result['chunks']):.2f}"
        sizes.rows.append([label, f"{result['words']}", f"{result['chunks']}", mean])
        for sentence in result["sentences"][:SHOWN]:
            trees.rows.append([label, str(sentence["number"]), bracketed(sentence)])
    return [scores, sizes, trees] if scores.rows else [sizes, trees]


def bracketed(sentence: dict[str, Any]) -> str:
    """Returns the tree as text: ``(a b (c (d e)))``."""
    words, chunks = sentence["words"], sentence["chunks"]
    parts = ["(" + " ".join(words[begin:end]) for begin, end in chunks]
    return " ".join(parts) + ")" * len(parts)


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws ParsEval of every run with given trees, or else one tree for each run."""
    if args.trees is not None:
        bars = {}
        for name in ("attention", "right-branching"):
            bars[name] = [result["parseval"][name]["precision"] for result in results.values()]
        chart = Chart("run", "precision of constituents", bars=bars, groups=list(results),
                      finish=lambda axes: axes.set_ylim(0, 1))  # fmt: skip
        draw_charts(figure, [chart])
        return
    figure.set_size_inches(WIDTH, 2.6 * len(results))
    panels = figure.subplots(len(results), 1, squeeze=False)[:, 0]
    for (label, result), axes in zip(results.items(), panels, strict=True):
        sentences = result["sentences"]
        wanted = [sentence for sentence in sentences if sentence["number"] == args.index]
        _draw_tree(axes, wanted[0] if wanted else sentences[0], label)


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
    axes.spines[:].set_visible(False)
    axes.set_title(f"{label}, sentence {sentence['number']}", fontsize=9)
