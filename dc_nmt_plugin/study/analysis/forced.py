"""Runs the forced decoding of a text through a recording model, for all analyses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from ...laboratory.inference.attention import ForcedBatch, main_states, with_target
from ...modules.core.recording import Recorded, Records, recording
from ...modules.diagnostics import Diagnostic, Totals, pool
from .subject import Subject

Add = Callable[[Records, ForcedBatch], None]
"""Gets what one module of the main stacks recorded, under an empty name, and the batch."""


def force(
    subject: Subject,
    names: Collection[str],
    add: Add,
    text: str = "reference",
    batches: Sequence[Any] | None = None,
) -> None:
    """Runs every batch through the model, and reduces records where they are made.

    Only one module's tensors exist at a time. An analysis adds up sums and counts, so that its
    means are exact whatever the batches are.

    Args:
        names: of the tensors to record
        add: is called right after each module has run
        text: one of :data:`.TEXTS`
        batches: of fairseq; None: those of the text
    """
    if batches is None:
        batches = subject.batches
    title = f"{subject.label}: forced decoding"
    for sample in tqdm(
        samples(subject, text, batches),
        desc=title,
        total=len(batches),
        unit=" batches",
        disable=None,
    ):
        reduced_batch(subject, sample, names, add)


def diagnostic_totals(subject: Subject, diagnostic: Diagnostic) -> Totals:
    """Returns sums and counts of a diagnostic that training logs, over the whole text."""
    totals: Totals = {}

    def add(records: Records, batch: ForcedBatch) -> None:
        for parts, (total, count) in diagnostic.totals(records, batch).items():
            pool(totals, parts, float(total), int(count))

    force(subject, diagnostic.needs, add)
    return totals


@torch.no_grad()
def reduced_batch(
    subject: Subject, sample: dict[str, Any], names: Collection[str], add: Add
) -> Tensor:
    """Runs one of fairseq's batches through the model, as :func:`force` does.

    Returns:
        states of the main decoder, (B, T, C)
    """
    batch = ForcedBatch.of(subject, sample)

    def reduce(recorded: Recorded) -> None:
        add({"": recorded}, batch)

    with recording(subject.model, names, reduce):
        return main_states(subject, sample)


def samples(
    subject: Subject, text: str, batches: Sequence[Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yields fairseq's batches, or those of the whole text, with the target side to force.

    Without a target side it is the model's own translation, by beam search.
    """
    if batches is None:
        batches = subject.batches
    if text == "reference" and subject.dataset.tgt is not None:
        yield from batches
        return
    generator = subject.generator(beam=1 if text == "greedy" else None)
    for sample in batches:
        yield with_target(subject, sample, subject.decode(generator, sample))
