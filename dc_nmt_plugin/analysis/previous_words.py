"""Attention to earlier target words: residual decoder, section 8.1, Fig. 2."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor

from ..errors import UsageError, UserError
from ..inference.forced_batch import ForcedBatch
from ..inference.subject import Subject
from ..modules.core.recording import Records
from ..modules.diagnostics import attending, previous_word_weights
from ..modules.residual_context import ResidualContext
from .figure import Chart, draw_charts
from .forced import force
from .report import Results, Table


def require_attention(subject: Subject) -> None:
    """
    Raises:
        UserError: neither readout nor cell attends to earlier words or states
    """
    decoder = subject.model.decoder
    residual = getattr(decoder, "residual", None)
    if residual is not None:
        to_words = type(residual) is not ResidualContext  # the baseline reads one word
        if to_words or decoder.summary is not None or decoder.cell.memory is not None:
            return
    raise UserError(
        f"{subject.label}: has no attention to earlier target words (gru_selfattn_residual has)."
    )


def position_counts(weights: Tensor, lengths: Tensor) -> Tensor:
    """Counts how often the greatest weight is k words back.

    The last word read is one back. A prediction with m words to attend to counts 1/m. Ties go to
    the earliest word. Rows without any weight (the first row of attention over states) do not
    count as predictions. If the begin token never gets weight, it does not count as a word.

    Args:
        weights: (B, T, T), row t for the prediction at t, column i ≤ t for the word read at i
        lengths: (B) predictions of each sentence

    Returns:
        counts for k = 1 … T, float64
    """
    size = weights.size(1)
    position = torch.arange(size, device=weights.device)
    counted = attending(weights, lengths)
    back = position + 1 - weights.argmax(dim=-1)  # (B, T), 1 = the last word read
    has_begin = bool((weights[:, :, 0] > 0).any())
    words = (position + 1 if has_begin else position).expand_as(back)[counted]  # (N,)
    counts = torch.zeros(size + 1, dtype=torch.float64, device=weights.device)
    counts.index_add_(0, back[counted], 1.0 / words.to(counts.dtype))
    return counts[1:]


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns the share of predictions, in %, with the greatest weight at each position."""
    if args.longest < 1:
        raise UsageError(f"--longest: {args.longest} is not allowed; give at least 1.")
    require_attention(subject)
    counts = torch.zeros(0, dtype=torch.float64)
    predictions = 0

    def add(records: Records, batch: ForcedBatch) -> None:
        nonlocal counts, predictions
        weights = previous_word_weights(records)
        if weights is None:
            return
        own = position_counts(weights, batch.target_lengths).cpu()
        longest = max(len(own), len(counts))
        own, counts = (torch.nn.functional.pad(c, (0, longest - len(c))) for c in (own, counts))
        counts += own
        predictions += int(attending(weights, batch.target_lengths).sum())

    force(subject, ("previous_words",), add, args.text)
    total = float(counts.sum()) or 1.0  # all translations may be empty
    return {"predictions": predictions, "shares": (100 * counts / total).tolist()}


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a table with a column for each run."""
    title = "predictions with the greatest weight at a relative position, %"
    table = Table(title, ["position", *results])
    shares = _shown(results, args)
    for k, row in enumerate(zip(*shares.values(), strict=True), start=1):
        table.rows.append([f"-{k}", *(f"{share:.2f}" for share in row)])
    return [table]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws Fig. 2."""
    lines = {}
    for label, shares in _shown(results, args).items():
        lines[label] = {-place: share for place, share in enumerate(shares, start=1)}
    chart = Chart(
        "relative position of the word, words", "predictions, %", lines,
        finish=lambda axes: axes.invert_xaxis(),
    )  # fmt: skip
    draw_charts(figure, [chart])


def _shown(results: Results, args: argparse.Namespace) -> dict[str, list[float]]:
    """Returns the shares of each run, all as long as those of the longest run."""
    longest = min(args.longest, max(len(result["shares"]) for result in results.values()))
    padded = {label: [*result["shares"], *[0.0] * longest] for label, result in results.items()}
    return {label: shares[:longest] for label, shares in padded.items()}
