"""What the readout sees of the words so far, one sentence and one position at a time.

Miculicich Werlen et al. 2018, sections 4 and 5.2; vectors are columns, W x. y_0 counts.
"""

import torch
from reference.conditional_gru import softmax, weighted_sum


def mean(w, words, states):
    """Eq. (9)."""
    result = []
    for t in range(len(words)):
        weights = [torch.ones((), dtype=words[0].dtype) / (t + 1)] * (t + 1)
        result.append((weighted_sum(weights, words[: t + 1]), weights))
    return result


def content(w, words, states):
    """Eqs (10), (11), (13)."""
    result = []
    for t in range(len(words)):
        scores = [w["v"] @ torch.tanh(w["W_y"] @ y + w["b_y"]) for y in words[: t + 1]]
        weights = softmax(scores)
        result.append((weighted_sum(weights, words[: t + 1]), weights))
    return result


def content_scope(w, words, states):
    """Eqs (10)-(12)."""
    result = []
    for t, s in enumerate(states):
        scores = [
            w["v"] @ torch.tanh(w["W_y"] @ y + w["b_y"] + w["W_s"] @ s) for y in words[: t + 1]
        ]
        weights = softmax(scores)
        result.append((weighted_sum(weights, words[: t + 1]), weights))
    return result


def and_last(summary):
    """y_{t-1} + d_t, in place of eq. (8)'s d_t."""

    def both(w, words, states):
        summaries = summary(w, words, states)
        return [(y + d, weights) for y, (d, weights) in zip(words, summaries, strict=True)]

    return both


def state_summary(w, states):
    """Eqs (19)-(21), over the states before s_t; zero where there is none."""
    result = []
    for t, s in enumerate(states):
        scores = [
            w["v"] @ torch.tanh(w["W_k"] @ earlier + w["W_q"] @ s + w["b_q"])
            for earlier in states[:t]
        ]
        weights = softmax(scores) if scores else []
        result.append((weighted_sum(weights, states[:t]) if scores else 0 * s, weights))
    return result


def readout(w, s, d, c=None, summary=None):
    """Eqs (3), (8), (18): the output layer's input."""
    total = w["W_s"] @ s + w["b"] + w["W_d"] @ d
    if c is not None:
        total = total + w["W_c"] @ c
    if summary is not None:
        total = total + w["W_m"] @ summary
    return torch.tanh(total)
