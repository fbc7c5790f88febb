"""Every attention of a model, recorded while a batch with a given target side runs through it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from fairseq.data import data_utils
from torch import Tensor

from ...modules import diagnostics
from ...modules.core.recording import Records, recording
from .model import LoadedModel

_PARTS = {"weights": "", "global_weights": "global", "local_weights": "local"}

ATTENTIONS = (*_PARTS, "previous_words")
"""Names of the recorded tensors that are attention weights."""


@dataclass(frozen=True, kw_only=True)
class ForcedBatch(diagnostics.Batch):
    """Holds one batch of a forced decoding."""

    numbers: list[int]  # of the sentences in the text, from 0

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

    Keeps the attention weights of all layers, so the batch should be small. `names` are those of
    the tensors to record; None for all.
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


class Site(NamedTuple):
    """Position of an attention in the model."""

    side: str  # encoder, decoder, or aux1 for the auxiliary decoder on encoder layer 1
    layer: int  # from 1; 0 for the one attention of a recurrent decoder
    reads: str  # self, source, or words (of a recurrent decoder: earlier target words)
    part: str = ""  # global or local of dual contexts, f3 for source layer 3, or nothing

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
                for number, of_layer in zip(source_layers, weights.unbind(dim=1), strict=True):
                    yield Site(*tensors.place, f"f{number}"), of_layer


class Attention(NamedTuple):
    """Holds the weights of one attention for one sentence, rows sum to 1."""

    queries: list[str]  # T pieces that attend; in the decoder, the predicted ones
    keys: list[str]  # S pieces that are attended to
    weights: Tensor  # (H, T, S)


@torch.no_grad()
def attentions_of(
    loaded: LoadedModel,
    dataset: Any,
    row: int,
    target: str | None = None,
    name: str = "--sentence",
) -> dict[Site, Attention]:
    """Returns every attention of a model for one sentence, the encoder's first.

    Args:
        row: of the sentence in fairseq's `dataset`
        target: pieces of the target sentence to force; None: the model's own translation
        name: of the sentence, for messages

    Raises:
        UserError: a side is longer than the model's positions
    """
    loaded.check_length(name, int(dataset.src_sizes[row]))
    sample: dict[str, Any] = loaded.to_device(dataset.collater([dataset[row]]))
    if target is None:
        targets = loaded.decode(loaded.generator(), sample)
    else:
        targets = [loaded.encode(target, "decoder")]
        loaded.check_length("target", len(targets[0]), "decoder")
    sample = dict(loaded.to_device(with_target(loaded, sample, targets)))
    batch = ForcedBatch.of(loaded, sample)
    source = loaded.pieces(batch.source[0], "encoder")
    words = loaded.pieces(batch.target[0], "decoder")
    attention_at = {}
    records = recorded_batch(loaded, sample, ATTENTIONS)
    for site, weights in attentions(records, loaded.source_layers):
        of_encoder = site.side == "encoder"
        queries = [*(source if of_encoder else words), "</s>"]
        # of the decoder's own words, those that it read; the queries are the predicted words
        to_source = of_encoder or site.reads == "source"
        keys = [*source, "</s>"] if to_source else ["<s>", *words]
        attention_at[site] = Attention(queries, keys, weights[0])
    return attention_at
