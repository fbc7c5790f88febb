"""Runs the forced decoding of a text through a recording model, for all analyses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from fairseq.data import data_utils
from torch import Tensor
from tqdm import tqdm

from ..modules import diagnostics
from ..modules.core.recording import Recorded, Records, recording
from ..modules.diagnostics import Diagnostic, Totals, pool
from .subject import Subject

_PARTS = {"weights": "", "global_weights": "global", "local_weights": "local"}

ATTENTIONS = (*_PARTS, "previous_words")
"""Names of the recorded tensors that are attention weights."""


@dataclass(frozen=True, kw_only=True)
class ForcedBatch(diagnostics.Batch):
    """Holds one batch of a forced decoding.

    Attributes:
        numbers: of the sentences in the text, from 0
    """

    numbers: list[int]


Add = Callable[[Records, ForcedBatch], None]
"""Gets what one module of the main stacks recorded, under an empty name, and the batch."""


def force(subject: Subject, names: Collection[str], add: Add, text: str = "reference") -> None:
    """Runs every batch through the model, and reduces records where they are made.

    Only one module's tensors exist at a time. An analysis adds up sums and counts, so that its
    means are exact whatever the batches are.

    Args:
        subject: model and text
        names: of the tensors to record
        add: is called right after each module has run
        text: one of :data:`.options.TEXTS`
    """
    batches = samples(subject, text)
    title = f"{subject.label}: forced decoding"
    for sample in tqdm(
        batches, desc=title, total=len(subject.batches), unit=" batches", disable=None
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
    batch = described(subject, sample)

    def reduce(recorded: Recorded) -> None:
        add({"": recorded}, batch)

    with recording(subject.model, names, reduce):
        return _forward(subject, sample)


@torch.no_grad()
def recorded_batch(
    subject: Subject, sample: dict[str, Any], names: Collection[str] | None = None
) -> Records:
    """Returns everything that all modules record of a batch, auxiliary decoders included.

    Keeps the attention weights of all layers, so the batch should be small.

    Args:
        subject: the model
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
        numbers=sample["id"].tolist(),
    )


def samples(subject: Subject, text: str) -> Iterator[dict[str, Any]]:
    """Yields fairseq's batches, with the target side to force.

    Raises:
        UserError: the reference is requested, and the text has none
    """
    if text == "reference":
        subject.check_targets()
        yield from subject.batches
        return
    generator = subject.generator(beam=1 if text == "greedy" else None)
    for sample in subject.batches:
        yield with_target(subject, sample, subject.decode(generator, sample))


def with_target(
    subject: Subject, sample: dict[str, Any], targets: Sequence[Tensor]
) -> dict[str, Any]:
    """Returns a batch with other target sentences, each ending with the end token."""
    dictionary = subject.task.target_dictionary

    def collate(*, move: bool) -> Tensor:
        tokens: Tensor = data_utils.collate_tokens(
            list(targets), dictionary.pad(), dictionary.eos(), move_eos_to_beginning=move
        )
        return tokens

    net_input = {**sample["net_input"], "prev_output_tokens": collate(move=True)}
    return {**sample, "net_input": net_input, "target": collate(move=False)}


def _forward(subject: Subject, sample: dict[str, Any], *, with_auxiliary: bool = False) -> Tensor:
    model = subject.model
    has_auxiliary = len(getattr(model.decoder, "auxiliary", ()))
    options = {"with_auxiliary": True} if with_auxiliary and has_auxiliary else {}
    features: Tensor
    features, _ = model(**sample["net_input"], features_only=True, **options)
    return features


class Site(NamedTuple):
    """Position of an attention in the model.

    Attributes:
        side: ``encoder``, ``decoder``, or ``aux1`` for the auxiliary decoder on encoder layer 1
        layer: from 1; 0 for the one attention of a recurrent decoder
        reads: ``self``, ``source``, or ``words`` (of a recurrent decoder: earlier target words)
        part: ``global`` or ``local`` of dual contexts, ``f3`` for source layer 3, or nothing
    """

    side: str
    layer: int
    reads: str
    part: str = ""

    @property
    def name(self) -> str:
        """Returns a name such as ``encoder.3.self.global``, for patterns of the command line."""
        layer = str(self.layer) if self.layer else ""
        return ".".join(filter(None, (self.side, layer, self.reads, self.part)))


def attentions(records: Records, source_layers: Sequence[int]) -> Iterator[tuple[Site, Tensor]]:
    """Yields every attention and its weights (B, H, T, S), with the rows of padding.

    Args:
        records: of one forward pass
        source_layers: numbers of the encoder layers that the main decoder reads
    """
    for tensors in records.values():
        if "previous_words" in tensors:
            yield Site("decoder", 0, "words"), tensors["previous_words"][:, None]
        for key, part in _PARTS.items():
            if key not in tensors:
                continue
            weights = tensors[key]
            if tensors.place is None:  # of a recurrent decoder
                yield Site("decoder", 0, "source", part), weights
            elif weights.dim() == 4:
                yield Site(*tensors.place, part), weights
            else:  # one softmax for each source layer: (B, n, H, T, M)
                for number, own in zip(source_layers, weights.unbind(dim=1), strict=True):
                    yield Site(*tensors.place, f"f{number}"), own
