"""Computes sentence vectors of a frozen encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ....errors import UserError
from ....laboratory.inference.model import STOCK_RECORDS_NOTHING, LoadedModel
from ....text.segmentation import segment

ENCODERS = {
    "trained": "the trained encoder",
    "random": "the same encoder before training",
    "bag": "the mean of the trained embeddings",
}


class SentenceEncoder:
    """Computes vectors of sentences by a model, by the untrained model, or by its embeddings.

    Args:
        loaded: the model
        layer: encoder layer whose output is averaged, from 1; None for the top

    Raises:
        UserError: fairseq's own model
    """

    def __init__(self, loaded: LoadedModel, layer: int | None = None) -> None:
        self.loaded = loaded
        if not loaded.records:
            raise UserError(f"{loaded.label}: {STOCK_RECORDS_NOTHING}")
        stack = getattr(loaded.model.encoder, "stack", None)
        layers = 1 if stack is None else len(stack.layers)
        self.layer = layers if layer is None else layer
        self.device = next(loaded.model.parameters()).device

    def _dataset(self, sentences: Sequence[str]) -> Any:
        lang, data = self.loaded.source_lang, self.loaded.run.data
        return self.loaded.encoded([segment(line, data, lang) for line in sentences])

    def unknown(self, sentences: Sequence[str]) -> float:
        """Returns the share of unknown pieces in %."""
        pieces = torch.cat([row[:-1] for row in self._dataset(sentences).src])
        unknown = pieces.eq(self.loaded.task.source_dictionary.unk())
        return 100 * float(unknown.float().mean())

    @torch.no_grad()
    def encode(self, sentences: Sequence[str], encoder: str = "trained") -> Tensor:
        """Returns vectors (sentences, C) in float32.

        Args:
            sentences: tokenised
            encoder: a key of :data:`ENCODERS`
        """
        model = self.loaded.model
        if encoder == "random":
            model = untrained(self.loaded).to(self.device)
        numbers = range(len(sentences))
        vectors: dict[int, Tensor] = {}
        for batch in self.loaded.batches_of(self._dataset(sentences), numbers):
            means = self._means(model, batch["net_input"]["src_tokens"], encoder)
            vectors.update(zip(batch["id"].tolist(), means, strict=True))
        return torch.stack([vectors[number] for number in numbers])

    def _means(self, model: Any, tokens: Tensor, encoder: str) -> Tensor:
        """Returns means (B, C) over real positions; for embeddings, without the end token.

        The end token's embedding is the same in every sentence. Its share in a mean would reveal
        the sentence's length.
        """
        dictionary = self.loaded.task.source_dictionary
        real = tokens.ne(dictionary.pad())
        if encoder == "bag":
            states = model.encoder.embed_tokens(tokens)
            real = real & tokens.ne(dictionary.eos())
        else:
            states = layer_output(model.encoder, tokens, self.layer)
        weights = real[:, :, None].float()  # sums in float32, with --fp16 too
        return ((states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)).cpu()


def layer_output(encoder: Any, tokens: Tensor, layer: int) -> Tensor:
    """Returns the output (B, T, C) of an encoder layer; the top layer's is normalised.

    Args:
        encoder: of this package
        tokens: (B, T)
        layer: from 1; of a recurrent encoder 1 alone
    """
    stack = getattr(encoder, "stack", None)
    if stack is None:
        states: Tensor = encoder(tokens).features[0]
        return states
    outputs: list[Tensor] = []
    # the last of a hook's arguments is the output: here the list of all layers' outputs
    handle = stack.register_forward_hook(lambda *call: outputs.extend(call[2]))
    try:
        encoder(tokens)
    finally:
        handle.remove()
    return outputs[layer - 1]


def untrained(loaded: LoadedModel) -> Any:
    """Returns the untrained model, always with the same random numbers."""
    from fairseq import checkpoint_utils

    state = checkpoint_utils.load_checkpoint_to_cpu(str(loaded.run.checkpoint))
    settings = state["cfg"].model if state.get("cfg") is not None else state["args"]
    with torch.random.fork_rng(devices=[]):  # models are built on the CPU
        torch.manual_seed(1)
        return loaded.task.build_model(settings, from_checkpoint=True).eval()
