"""Runs the forced decoding of a subset through a recording model, for all analyses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from fairseq.data import data_utils
from torch import Tensor

from ..modules import diagnostics
from ..modules.core.recording import Recorded, Records, recording, reducing
from ..modules.diagnostics.records import Diagnostic, Totals, pool
from ..progress_bar import bar
from .subject import Subject

TEXTS = ("reference", "beam", "greedy")
"""What the decoder is forced to say: the data's target side, or the model's own translation."""


@dataclass(frozen=True, kw_only=True)
class ForcedBatch(diagnostics.Batch):
    """Holds one batch of a forced decoding.

    Attributes:
        numbers: of the sentences in the subset, from 0
    """

    numbers: list[int]


class Collector(Protocol):
    """Collects sums and counts over modules and batches for one analysis; means are then exact.

    Attributes:
        needs: names of the recorded tensors that it reads
    """

    @property
    def needs(self) -> Collection[str]:
        """Returns the names of the tensors; a class attribute is enough."""
        ...

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module of a main stack, right after it has run.

        Args:
            records: what this module alone recorded; its name is empty
            batch: on which it ran
        """
        ...

    def result(self) -> dict[str, Any]:
        """Returns the sums as plain numbers, lists and dicts."""
        ...


class DiagnosticSums:
    """Collects a mechanism's diagnostic, which training logs on validation, as ``totals``."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.needs = diagnostic.needs
        self._totals_of = diagnostic.totals
        self._totals: Totals = {}

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module."""
        for parts, (total, count) in self._totals_of(records, batch).items():
            pool(self._totals, parts, float(total), int(count))

    def result(self) -> dict[str, Any]:
        """Returns the parts of each diagnostic's name → (sum, count)."""
        return {"totals": self._totals}


def force(subject: Subject, collectors: Sequence[Collector], text: str = "reference") -> None:
    """Runs every batch of the subset through the model with recording, for the collectors.

    Args:
        subject: model and subset
        collectors: take in each module of each batch
        text: one of :data:`TEXTS`
    """
    total = len(subject.translation.batches)
    title = f"{subject.label}: forced decoding"
    for sample in bar(samples(subject, text), desc=title, total=total, unit=" batches"):
        collect(subject, sample, collectors)


def collect(subject: Subject, sample: dict[str, Any], collectors: Sequence[Collector]) -> None:
    """Runs one of fairseq's batches through the model, for the collectors."""

    def take(records: Records, batch: ForcedBatch) -> None:
        for collector in collectors:
            collector.add(records, batch)

    reduced_batch(subject, sample, needed(collectors), take)


def needed(collectors: Sequence[Collector]) -> set[str]:
    """Returns the names of all tensors that the collectors read."""
    return {name for collector in collectors for name in collector.needs}


@torch.no_grad()
def reduced_batch(
    subject: Subject,
    sample: dict[str, Any],
    names: Collection[str],
    take: Callable[[Records, ForcedBatch], None],
) -> Tensor:
    """Runs one of fairseq's batches through the model; reduces records where they are made.

    Args:
        subject: model and subset
        sample: the batch
        names: of the tensors to record
        take: gets what one module of the main stacks recorded, as :meth:`Collector.add` does

    Returns:
        states of the main decoder, (B, T, C)
    """
    batch = described(subject, sample)

    def reduce(recorded: Recorded) -> None:
        take({"": recorded}, batch)

    with reducing(subject.model, names, reduce):
        return _forward(subject, sample)


@torch.no_grad()
def recorded_batch(
    subject: Subject, sample: dict[str, Any], names: Collection[str] | None = None
) -> Records:
    """Returns everything that all modules record of a batch, auxiliary decoders included.

    Keeps the attention weights of all layers, so the batch should be small.

    Args:
        subject: model and subset
        sample: one of fairseq's batches
        names: of the tensors to record; None for all
    """
    with recording(subject.model, names) as records:
        _forward(subject, sample, with_auxiliary=True)
    return {name: tensors for name, tensors in records.items() if tensors}


def described(subject: Subject, sample: dict[str, Any]) -> ForcedBatch:
    """Describes one of fairseq's batches for the reductions."""
    return ForcedBatch(
        source=sample["net_input"]["src_tokens"],
        prefix=sample["net_input"]["prev_output_tokens"],
        target=sample["target"],
        padding_idx=subject.padding_idx,
        read_layers=subject.source_layers,
        numbers=sample["id"].tolist(),
    )


def samples(subject: Subject, text: str) -> Iterator[dict[str, Any]]:
    """Yields fairseq's batches, with the target side to force.

    Raises:
        UserError: the reference is requested, and the data has none
    """
    translation = subject.translation
    if text == "reference":
        subject.check_targets()
        yield from translation.batches
        return
    generator = translation.generator(beam=1 if text == "greedy" else None)
    for sample in translation.batches:
        yield with_target(subject, sample, translation.decode(generator, sample))


def with_target(
    subject: Subject, sample: dict[str, Any], targets: Sequence[Tensor]
) -> dict[str, Any]:
    """Returns a batch with other target sentences, each ending with the end token."""
    dictionary = subject.task.target_dictionary
    rows = list(targets)

    def collate(move: bool) -> Tensor:
        tokens: Tensor = data_utils.collate_tokens(
            rows, dictionary.pad(), dictionary.eos(), move_eos_to_beginning=move
        )
        return tokens

    net_input = {**sample["net_input"], "prev_output_tokens": collate(True)}
    return {**sample, "net_input": net_input, "target": collate(False)}


def _forward(subject: Subject, sample: dict[str, Any], *, with_auxiliary: bool = False) -> Tensor:
    model = subject.model
    has_auxiliary = len(getattr(model.decoder, "auxiliary", ()))
    options = {"with_auxiliary": True} if with_auxiliary and has_auxiliary else {}
    features: Tensor
    features, _ = model(**sample["net_input"], features_only=True, **options)
    return features
