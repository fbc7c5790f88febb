"""Source representations for the decoders, and their cache in decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from .masks import added_to_logits, visible_keys

Cache = dict[int, tuple[Tensor, ...]]


def check_layers(features: Sequence[Tensor], number: int, width: int) -> None:
    """Raises ValueError for source layers of another number or width than a module needs."""
    widths = [feature.size(-1) for feature in features]
    if widths != [width] * number:
        raise ValueError(
            f"the source has layers of the widths {widths}, not {number} of width {width}"
        )


@dataclass(frozen=True)
class Source:
    """Holds the source representations of a batch, shared by all hypotheses of a sentence.

    Nothing here depends on the hypothesis, so tensors keep one row per sentence, where fairseq's
    beam search repeats and reorders them. The `beam` hypotheses of a sentence are adjacent rows in
    the decoder. A reorder inside the sentences copies nothing.

    Attributes:
        features: inputs of the main decoder's source attention, each (sentences, M, C); one tensor,
            or one per source layer for attention over several encoder layers
        padding: (sentences, M) bool, True at padding; None when there is none
        auxiliary_sources: for each encoder layer that an auxiliary decoder is attached to
            (1-based), its output (sentences, M, C), which that decoder attends to
        beam: hypotheses per sentence
        cache: projected keys and values by module, kept during decoding; one row per sentence
        masks: `mask`, once it was needed; a list, which sources of the same sentences share
    """

    features: list[Tensor]
    padding: Tensor | None
    auxiliary_sources: dict[int, Tensor] = field(default_factory=dict)
    beam: int = 1
    cache: Cache = field(default_factory=dict)
    masks: list[Tensor] = field(default_factory=list)

    def __getitem__(self, index: int) -> Tensor:
        """Returns a feature. Hooks, such as those that look for NaN, take the first."""
        return self.features[index]

    @property
    def sentences(self) -> int:
        return self.features[0].size(0)

    @property
    def mask(self) -> Tensor | None:
        """Returns what attention adds to its logits, (sentences, 1, 1, M); None without padding."""
        if self.padding is not None and not self.masks:
            allowed = visible_keys(self.padding)
            self.masks.append(added_to_logits(allowed, self.features[0].dtype))
        return self.masks[0] if self.masks else None

    def cached(
        self,
        module: object,
        project: Callable[[Source], tuple[Tensor, ...]],
        *,
        keep: bool,
    ) -> tuple[Tensor, ...]:
        """Returns `project(self)`; with `keep`, computes it once for each module and caches it."""
        if not keep:
            return project(self)
        if id(module) not in self.cache:
            # attention reads these at every step: lay them out once
            self.cache[id(module)] = tuple(tensor.contiguous() for tensor in project(self))
        return self.cache[id(module)]

    def of_auxiliary(self, layer: int) -> Source:
        """Returns the source of the auxiliary decoder on a layer, with the same cache."""
        return replace(self, features=[self.auxiliary_sources[layer]], auxiliary_sources={})

    def rows_of(self, weights: Tensor, length: int) -> Tensor:
        """Returns one row per hypothesis, (sentences, H, beam * T, M) → (R, H, T, M)."""
        sentences, heads, _, source_length = weights.shape
        weights = weights.view(sentences, heads, self.beam, length, source_length).transpose(1, 2)
        return weights.reshape(sentences * self.beam, heads, length, source_length)

    def reorder(self, new_order: Tensor) -> Source:
        """Replaces row i by row ``new_order[i]`` (rows are hypotheses).

        Args:
            new_order: (R',) indices into the R = sentences * beam rows

        The orders of beam search (repeat each sentence, swap hypotheses inside sentences, drop
        finished sentences) keep one row per sentence. Any other order falls back to one row per
        hypothesis. The host waits for the device to know; :meth:`repeat` and :meth:`select` do
        not wait.
        """
        sentence = new_order.div(self.beam, rounding_mode="floor")  # (R',)
        rows, sentences = new_order.numel(), self.sentences
        if rows and rows % sentences == 0:
            beam = rows // sentences
            all_of_them = torch.arange(sentences, device=new_order.device)
            if torch.equal(sentence, all_of_them.repeat_interleave(beam)):
                return replace(self, beam=beam)
        if rows % self.beam == 0:
            groups = sentence.view(-1, self.beam)
            if bool((groups == groups[:, :1]).all()):
                return self.select(groups[:, 0])
        return replace(self.select(sentence), beam=1)

    def repeat(self, beam: int) -> Source:
        """Gives each sentence `beam` hypotheses in place of one."""
        return replace(self, beam=beam)

    def select(self, sentences: Tensor) -> Source:
        """Keeps the sentences (S') of these numbers, with all their hypotheses."""

        def pick(tensor: Tensor) -> Tensor:
            return tensor.index_select(0, sentences)

        return Source(
            features=[pick(tensor) for tensor in self.features],
            padding=None if self.padding is None else pick(self.padding),
            auxiliary_sources={n: pick(tensor) for n, tensor in self.auxiliary_sources.items()},
            beam=self.beam,
            cache={key: tuple(map(pick, tensors)) for key, tensors in self.cache.items()},
        )
