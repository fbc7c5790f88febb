"""Algorithm 1 and ParsEval against the algorithm as it is printed."""

import random

import pytest
import torch
from reference import brackets as reference

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.study.analysis.brackets import (
    constituents,
    focus,
    parseval,
    right_branching,
    split,
    word_attention,
)
from dc_nmt_plugin.study.analysis.trees import SentenceTree, bracketed, tree_spans


def reference_tree(focused):
    """The tree of Algorithm 1 from a 0/1 matrix."""
    size = len(focused)
    attention = [[int(focused[i] == j) for j in range(size)] for i in range(size)]
    tree: list = []
    reference.split(tree, attention, list(range(size)))
    return tree


@pytest.mark.parametrize("seed", range(40))
def test_algorithm_1(seed):
    """Each prediction looks at an earlier word or at the begin token (None)."""
    choice = random.Random(seed)
    size = choice.randint(1, 9)
    focused = [choice.choice([None, *range(i)]) for i in range(size)]
    chunks = split(focused)
    tree = reference_tree(focused)
    node, printed = tree, []
    while True:
        printed.append((node[0][0], node[0][-1] + 1))
        if len(node) == 1:
            break
        node = node[1]
    assert chunks == printed
    assert sorted(constituents(chunks)) == reference.spans(tree)


def test_right_branching_where_every_word_is_attended():
    """Footnote 4: one word, and the rest of the sentence."""
    assert constituents(split([None, 0, 1, 2])) == {(0, 4), (1, 4)} | {(2, 4)}
    assert right_branching(4) == {(0, 4), (1, 4), (2, 4)}
    assert constituents(split([None, None, None])) == {(0, 3)}
    assert constituents(split([None])) == set() == right_branching(1)


def test_pieces_become_words():
    """Columns of a word's pieces are added; its row is its first piece's prediction."""
    weights = torch.tensor(
        [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.2, 0.3, 0.5, 0], [0.1, 0.3, 0.3, 0.3]],
        dtype=torch.float64,
    )
    # pieces 0 and 1 are one word, piece 2 another; the last row predicts the end of the sentence
    words = word_attention(weights, [(0, 2), (2, 3)])
    assert words.tolist() == [[1, 0, 0], [0.2, 0.8, 0]]
    assert focus(words) == [None, 0]


def test_parseval():
    choice = random.Random(1)
    pairs = []
    for _ in range(20):
        size = choice.randint(2, 8)
        spans = [(a, b) for a in range(size) for b in range(a + 2, size + 1)]
        pairs.append(tuple(set(choice.sample(spans, choice.randint(1, len(spans)))) for _ in "ab"))
    scores = parseval(pairs)
    precision, recall = reference.precision_recall(pairs)
    assert scores["precision"] == pytest.approx(precision, abs=1e-12)
    assert scores["recall"] == pytest.approx(recall, abs=1e-12)
    assert scores["f1"] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-12)


def test_given_trees():
    words = ["the", "dog", "barks"]
    spans = tree_spans("(ROOT (S (NP (DT the) (NN dog)) (VP (VBZ barks))))", words, "file", 1)
    assert spans == {(0, 3), (0, 2)}
    with pytest.raises(UserError, match="file, line 4: 2 words for the 3 of the sentence"):
        tree_spans("(S (X the) (Y dog))", words, "file", 4)
    assert bracketed(SentenceTree(1, words, [(0, 1), (1, 3)])) == "(the (dog barks))"
