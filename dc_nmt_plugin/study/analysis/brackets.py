"""Binary trees from attention (residual decoder, Algorithm 1), and ParsEval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

Span = tuple[int, int]
"""First word and first word after it."""


def word_attention(weights: Tensor, spans: Sequence[Span]) -> Tensor:
    """Returns attention between words, from attention between pieces.

    A word's row is the prediction of its first piece. A word's column is the sum over its pieces.
    The first column is the begin token.

    Args:
        weights: (T, T) of one sentence: row t for the prediction of piece t + 1, column 0 for the
            begin token, column i for piece i
        spans: first piece and first piece after it, of each of the N words, counted from 0

    Returns:
        (N, N + 1), column 0 the begin token's
    """
    rows = weights[[begin for begin, _ in spans]]
    columns = [rows[:, :1]]
    columns += [rows[:, begin + 1 : end + 1].sum(dim=1, keepdim=True) for begin, end in spans]
    return torch.cat(columns, dim=1)


def focus(attention: Tensor) -> list[int | None]:
    """Returns the (first) word with the greatest weight at every prediction.

    Args:
        attention: (N, N + 1) of :func:`word_attention`

    Returns:
        for each of the N words, the word (from 0) with the greatest weight at its prediction; None
        for the begin token
    """
    return [None if column == 0 else column - 1 for column in attention.argmax(dim=1).tolist()]


def split(focused: Sequence[int | None]) -> list[Span]:
    """Splits before every word with the greatest weight, from left to right (Algorithm 1).

    The printed loop ends too early, so this function follows the paper's text. The first word of a
    sub-sentence is in its first child. The child ends before the next word that has the greatest
    weight at some prediction of the sub-sentence.

    Args:
        focused: for each word, the result of :func:`focus`

    Returns:
        spans of the first children, from left to right; the sibling of each is the rest
    """
    size = len(focused)
    chunks, begin = [], 0
    while begin < size:
        attended = {word for word in focused[begin:] if word is not None and word > begin}
        end = min(attended, default=size)
        chunks.append((begin, end))
        begin = end
    return chunks


def constituents(chunks: Sequence[Span]) -> set[Span]:
    """Returns spans of two words or more in the tree of :func:`split`."""
    if not chunks:
        return set()
    size = chunks[-1][1]
    spans = {*chunks, *((begin, size) for begin, _ in chunks)}
    return {(begin, end) for begin, end in spans if end - begin > 1}


def right_branching(size: int) -> set[Span]:
    """Returns the spans of two words or more of a right-branching tree."""
    return {(begin, size) for begin in range(size - 1)}


def parseval(pairs: Iterable[tuple[set[Span], set[Span]]]) -> dict[str, float]:
    """Returns unlabelled precision and recall of constituents over all sentences together.

    E. Black et al., "A Procedure for Quantitatively Comparing the Syntactic Coverage of English
    Grammars", 1991; spans are sets, the whole sentence counts, single words do not.

    Args:
        pairs: for each sentence, the spans of the predicted tree and of the given tree
    """
    predicted = correct = both = 0
    for predicted_spans, reference_spans in pairs:
        predicted, correct = predicted + len(predicted_spans), correct + len(reference_spans)
        both += len(predicted_spans & reference_spans)
    precision = both / predicted if predicted else 0.0
    recall = both / correct if correct else 0.0
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}
