"""Algorithm 1 as printed, with a corrected loop condition (readings H1), and ParsEval by pairs."""

from __future__ import annotations


def split(tree, attention, words):
    """SPLIT(tree, A, s): A[i][j] is not 0 where the prediction of word i attends to word j.

    The loop goes on while column i is 0 and i < n, from i = 1: the first word is always in the
    first child.
    """
    n = len(words)
    i = 1
    while i < n and max(attention[row][i] for row in range(n)) == 0:
        i += 1
    tree.append(words[0:i])
    if i < n:
        subtree = []
        split(subtree, [row[i:n] for row in attention[i:n]], words[i:n])
        tree.append(subtree)


def spans(tree):
    """Spans of two words or more; a tree's first child is a list of word numbers."""
    result = []

    def visit(node):
        words = list(node[0])
        rest = visit(node[1]) if len(node) > 1 else []
        result.append((words[0], words[-1] + 1))
        covered = words + rest
        result.append((covered[0], covered[-1] + 1))
        return covered

    visit(tree)
    return sorted({(a, b) for a, b in result if b - a > 1})


def precision_recall(pairs):
    """Micro-averaged, by comparing every span with every other."""
    right = predicted = expected = 0
    for hypothesis, reference in pairs:
        predicted += len(hypothesis)
        expected += len(reference)
        for span in hypothesis:
            for other in reference:
                if span == other:
                    right += 1
    return right / predicted, right / expected
