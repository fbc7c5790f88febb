"""Relative positions of the greatest attention (residual decoder, section 8.1), with loops."""

from __future__ import annotations


def relative_positions(sentences, has_begin):
    """Counts by distance back, from 1: raw, each over the number of words, and those available.

    Args:
        sentences: (T, T) weights; row t is the prediction at t, column i the word read at i
        has_begin: column 0 is a word that can be attended to
    """
    longest = max(len(weights) for weights in sentences)
    raw, event, available = ([0.0] * longest for _ in range(3))
    for weights in sentences:
        for t in range(len(weights)):
            words = list(range(0 if has_begin else 1, t + 1))
            if not words:
                continue
            best = words[0]
            for i in words:
                if weights[t][i] > weights[t][best]:
                    best = i
            raw[t - best] += 1
            event[t - best] += 1 / len(words)
            for i in words:
                available[t - i] += 1
    return raw, event, available
