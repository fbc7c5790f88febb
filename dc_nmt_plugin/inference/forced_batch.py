"""One of fairseq's batches with a given target side, through a model that records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.data import data_utils
from torch import Tensor

from ..modules import diagnostics
from ..modules.core.recording import Records, recording
from .model import LoadedModel


@dataclass(frozen=True, kw_only=True)
class ForcedBatch(diagnostics.Batch):
    """Holds one batch of a forced decoding.

    Attributes:
        numbers: of the sentences in the text, from 0
    """

    numbers: list[int]

    @classmethod
    def of(cls, loaded: LoadedModel, sample: dict[str, Any]) -> ForcedBatch:
        """Returns what the reductions need of one of fairseq's batches."""
        return cls(
            source=sample["net_input"]["src_tokens"],
            prefix=sample["net_input"]["prev_output_tokens"],
            target=sample["target"],
            padding_idx=loaded.padding_idx,
            numbers=sample["id"].tolist(),
        )


def with_target(
    loaded: LoadedModel, sample: dict[str, Any], targets: Sequence[Tensor]
) -> dict[str, Any]:
    """Returns a batch with other target sentences, each ending with the end token."""
    dictionary = loaded.task.target_dictionary

    def collate(*, move: bool) -> Tensor:
        tokens: Tensor = data_utils.collate_tokens(
            list(targets), dictionary.pad(), dictionary.eos(), move_eos_to_beginning=move
        )
        return tokens

    net_input = {**sample["net_input"], "prev_output_tokens": collate(move=True)}
    return {**sample, "net_input": net_input, "target": collate(move=False)}


@torch.no_grad()
def recorded_batch(
    loaded: LoadedModel, sample: dict[str, Any], names: Collection[str] | None = None
) -> Records:
    """Returns everything that all modules record of a batch, auxiliary decoders included.

    Keeps the attention weights of all layers, so the batch should be small.

    Args:
        loaded: the model
        sample: one of fairseq's batches
        names: of the tensors to record; None for all
    """
    with recording(loaded.model, names) as records:
        main_states(loaded, sample, with_auxiliary=True)
    return {name: tensors for name, tensors in records.items() if tensors}


def main_states(
    loaded: LoadedModel, sample: dict[str, Any], *, with_auxiliary: bool = False
) -> Tensor:
    """Runs a batch through the model, and returns the states of the main decoder, (B, T, C)."""
    model = loaded.model
    has_auxiliary = len(getattr(model.decoder, "auxiliary", ()))
    options = {"with_auxiliary": True} if with_auxiliary and has_auxiliary else {}
    features: Tensor
    features, _ = model(**sample["net_input"], features_only=True, **options)
    return features
