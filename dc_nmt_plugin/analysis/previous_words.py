"""Attention to earlier target words: residual decoder, section 8.1, Fig. 2."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor

from ..charts import Chart, Line, draw_charts
from ..modules.core.recording import Records
from ..modules.diagnostics.previous_words import attending, previous_word_weights
from ..modules.residual_context import ResidualContext
from .base import Analysis, Results, Table
from .loop import TEXTS, ForcedBatch
from .subject import Subject

COUNTS = {
    "event": "each prediction counts 1/m, m the number of words that it could attend to",
    "available": "share of the predictions that had a word at the position",
    "raw": "share of all predictions",
}


def position_counts(weights: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Counts how often the greatest weight is k words back.

    The last word read is one back. Ties go to the earliest word. Rows without any weight (the
    first row of attention over states) do not count as predictions. If the begin token never gets
    weight, it does not count as a word.

    Args:
        weights: (B, T, T), row t for the prediction at t, column i ≤ t for the word read at i
        lengths: (B) predictions of each sentence

    Returns:
        for k = 1 … T, float64: predictions with the maximum k back; the same, each divided by its
        number of words; and predictions with at least k words
    """
    size = weights.size(1)
    position = torch.arange(size, device=weights.device)
    counted = attending(weights, lengths)
    back = position + 1 - weights.argmax(dim=-1)  # (B, T), 1 = the last word read
    has_begin = bool((weights[:, :, 0] > 0).any())
    words = (position + 1 if has_begin else position).expand_as(back)[counted]  # (N,)
    back = back[counted]
    raw = torch.zeros(size + 1, dtype=torch.float64, device=weights.device)
    event, available = torch.zeros_like(raw), torch.zeros_like(raw)
    raw.index_add_(0, back, torch.ones_like(back, dtype=raw.dtype))
    event.index_add_(0, back, 1.0 / words.to(raw.dtype))
    histogram = torch.bincount(words, minlength=size + 1)
    available[1:] = histogram.flip(0).cumsum(0).flip(0)[1:]  # those with at least k words
    return raw[1:], event[1:], available[1:]


class OfEarlierWords(Analysis):
    """Base of analyses of the attention to earlier target words."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.text = args.text

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --text."""
        parser.add_argument(
            "--text",
            choices=TEXTS,
            default="reference",
            help=(
                "text to force: the reference, or the model's own translation by beam or greedy"
                " search (default: reference)"
            ),
        )

    def missing(self, subject: Subject) -> str | None:
        """Requires a readout or a cell that attends to earlier words or states."""
        decoder = subject.model.decoder
        residual = getattr(decoder, "residual", None)
        if residual is not None:
            to_words = type(residual) is not ResidualContext  # the baseline reads one word
            if to_words or decoder.summary is not None or decoder.cell.memory is not None:
                return None
        return "has no attention to earlier target words (gru_selfattn_residual has)."


class PreviousWords(OfEarlierWords):
    """Computes the share of predictions with the greatest weight at each relative position."""

    name = "previous-words"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --text, --count and --longest."""
        OfEarlierWords.options(parser)
        parser.add_argument(
            "--count",
            choices=COUNTS,
            default="event",
            help="; ".join(f"{name}: {about}" for name, about in COUNTS.items())
            + " (default: event)",
        )
        parser.add_argument(
            "--longest",
            type=int,
            default=50,
            metavar="K",
            help="number of positions to show (default: 50)",
        )

    def collector(self, subject: Subject) -> PositionCounts:
        """Returns the collector of the counts at every relative position."""
        return PositionCounts()

    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Adds the shares in percent, for the chosen way of counting."""
        raw, event, available = (found[name] for name in ("raw", "event", "available"))
        if self.args.count == "available":
            shares = [
                100 * n / all_ if all_ else 0.0 for n, all_ in zip(raw, available, strict=True)
            ]
        else:
            counts = event if self.args.count == "event" else raw
            total = sum(counts) or 1  # all translations may be empty
            shares = [100 * count / total for count in counts]
        return {**found, "count": self.args.count, "shares": shares}

    def tables(self, results: Results) -> list[Table]:
        """Returns a table with a column for each run."""
        longest = min(self.args.longest, max(len(found["shares"]) for found in results.values()))
        rows = [
            [f"-{k}", *(f"{_at(found['shares'], k):.2f}" for found in results.values())]
            for k in range(1, longest + 1)
        ]
        title = (
            f"predictions with the greatest weight at a relative position, % ({self.args.count})"
        )
        return [Table(title, ["position", *results], rows)]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws Fig. 2."""
        longest = min(self.args.longest, max(len(found["shares"]) for found in results.values()))
        places = range(1, longest + 1)
        lines = {
            label: Line([-k for k in places], [_at(found["shares"], k) for k in places])
            for label, found in results.items()
        }
        chart = Chart(
            "relative position of the word, words", "predictions, %", lines, integers=True,
            finish=lambda axes: axes.invert_xaxis(),
        )  # fmt: skip
        draw_charts(figure, [chart])


class PositionCounts:
    """Adds up :func:`position_counts`."""

    needs = ("previous_words",)

    def __init__(self) -> None:
        self.counts = torch.zeros(3, 0, dtype=torch.float64)

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module."""
        weights = previous_word_weights(records)
        if weights is None:
            return
        found = torch.stack(position_counts(weights, batch.target_lengths)).cpu()
        longest = max(found.size(1), self.counts.size(1))
        self.counts = torch.nn.functional.pad(self.counts, (0, longest - self.counts.size(1)))
        self.counts[:, : found.size(1)] += found

    def result(self) -> dict[str, Any]:
        """Returns the three counts, for one word back, two words back, …"""
        raw, event, available = self.counts.tolist()
        return {"raw": raw, "event": event, "available": available, "predictions": sum(raw)}


def _at(shares: list[float], k: int) -> float:
    return shares[k - 1] if k <= len(shares) else 0.0
