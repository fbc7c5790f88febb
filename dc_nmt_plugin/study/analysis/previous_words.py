"""Attention to earlier target words: residual decoder, section 8.1, Fig. 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from ...laboratory.inference.attention import ForcedBatch
from ...modules.core.recording import Records
from ...modules.diagnostics import attending, previous_word_weights
from ...modules.residual_context import ResidualContext
from .figure import Chart, draw_charts
from .forced import force
from .report import Table
from .subject import Subject


def require_attention(subject: Subject) -> None:
    """Raises UserError if neither readout nor cell attends to earlier words or states."""
    decoder = subject.model.decoder
    residual = getattr(decoder, "residual", None)
    attends = residual is not None and (
        type(residual) is not ResidualContext  # the baseline reads one word
        or decoder.summary is not None
        or decoder.cell.memory is not None
    )
    subject.require(attends, "attention to earlier target words (gru_selfattn_residual has)")


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


@dataclass(frozen=True)
class PreviousWords:
    predictions: int
    shares: list[float]  # of the predictions, %, with the greatest weight 1, 2, … words back


def measure(subject: Subject, *, text: str = "reference") -> PreviousWords:
    """Returns the share of predictions, in %, with the greatest weight at each position."""
    require_attention(subject)
    counts = torch.zeros(0, dtype=torch.float64)
    predictions = 0

    def add(records: Records, batch: ForcedBatch) -> None:
        nonlocal counts, predictions
        weights = previous_word_weights(records)
        if weights is None:
            return
        of_batch = position_counts(weights, batch.target_lengths).cpu()
        longest = max(len(of_batch), len(counts))
        counts = pad(counts, (0, longest - len(counts)))
        counts += pad(of_batch, (0, longest - len(of_batch)))
        predictions += int(attending(weights, batch.target_lengths).sum())

    force(subject, ("previous_words",), add, text)
    total = float(counts.sum()) or 1.0  # all translations may be empty
    return PreviousWords(predictions, (100 * counts / total).tolist())


def tables(results: Mapping[str, PreviousWords], *, longest: int = 50) -> list[Table]:
    """Returns a table with a column for each run, and a row for each of `longest` positions."""
    title = "predictions with the greatest weight at a relative position, %"
    table = Table(title, ["position", *results])
    shares = _shown(results, longest)
    for k, row in enumerate(zip(*shares.values(), strict=True), start=1):
        table.rows.append([f"-{k}", *(f"{share:.2f}" for share in row)])
    return [table]


def draw(figure: Any, results: Mapping[str, PreviousWords], *, longest: int = 50) -> None:
    """Draws Fig. 2."""
    lines = {}
    for label, shares in _shown(results, longest).items():
        lines[label] = {-back: share for back, share in enumerate(shares, start=1)}
    x, y = "relative position of the word, words", "predictions, %"
    draw_charts(figure, [Chart(x, y, lines, finish=lambda axes: axes.invert_xaxis())])


def _shown(results: Mapping[str, PreviousWords], longest: int) -> dict[str, list[float]]:
    """Returns the shares of each run, all as long as those of the longest run."""
    positions = min(longest, max(len(result.shares) for result in results.values()))
    shown = {}
    for label, result in results.items():
        shown[label] = [*result.shares, *[0.0] * positions][:positions]
    return shown
