"""A subset and the models that translate it, loaded once for several passes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..errors import UsageError
from ..progress_bar import bar
from .translator import Translator, refuse_unused


class SubsetTranslation(Translator):
    """Keeps the set-up of ``fairseq-generate`` for several passes over one subset.

    Args:
        flags: a command line of ``fairseq-generate``, without the program's name; has
            ``--remove-bpe`` by default
        sentences: number of sentences, drawn at random with a fixed seed; None for all

    Attributes:
        task: change its settings between passes: each pass builds its generator anew
        subset: name of the subset
        numbers: of the sentences used, from 0, rising
        batches: fairseq's batches of them, shortest first, on the models' device

    Raises:
        UserError: no ``--path``, an unreadable checkpoint, an unknown subset, or a flag that would
            be ignored
    """

    def __init__(self, flags: Sequence[str], sentences: int | None = None) -> None:
        refuse_unused(flags)
        super().__init__(flags, reads_subset=True)
        self.subset: str = self._cfg.dataset.gen_subset
        try:
            self.task.load_dataset(self.subset)
        except FileNotFoundError as error:
            raise UsageError(f"--subset {self.subset}: {error}.") from error
        self.numbers = self._short_enough(draw(self.size, sentences))
        self.batches = list(self.batches_of(self.task.dataset(self.subset), self.numbers))

    def _short_enough(self, numbers: Sequence[int]) -> list[int]:
        """Returns the sentences that fit the models' positions.

        Raises:
            UserError: one does not and --skip-invalid-size-inputs-valid-test is not given, or none
                does
        """
        try:
            kept = self.task.filter_indices_by_size(
                np.array(numbers),
                self.task.dataset(self.subset),
                self.positions,
                self._cfg.dataset.skip_invalid_size_inputs_valid_test,
            )
        except Exception as error:  # fairseq's own message has the flag
            raise UsageError(f"--subset {self.subset}: {error}") from error
        if not len(kept):
            raise UsageError(f"--subset {self.subset}: every sentence is too long.")
        return sorted(int(number) for number in kept)

    @property
    def size(self) -> int:
        """Returns the number of sentences of the subset, including those that are too long."""
        return len(self.task.dataset(self.subset))

    def decode(self, generator: Any, batch: Any) -> list[torch.Tensor]:
        """Returns the best hypothesis of each row: token numbers with the end token."""
        return [best["tokens"] for best in self.best(generator, batch)]

    def translate(self, title: str = "translation") -> dict[int, str]:
        """Returns sentence number (from 0) → its best hypothesis, without BPE.

        Args:
            title: of the progress bar
        """
        generator = self.generator()
        found: dict[int, str] = {}
        for batch in bar(self.batches, desc=title, unit=" batches"):
            hypotheses = self.decode(generator, batch)
            for number, tokens in zip(batch["id"].tolist(), hypotheses, strict=True):
                found[number] = self.target_text(tokens)
        return found

    def targets(self) -> dict[int, str]:
        """Returns sentence number → the subset's own target side, without BPE.

        Raises:
            UserError: the data has no target side
        """
        targets = self.task.dataset(self.subset).tgt
        if targets is None:
            raise UsageError(
                f"--subset {self.subset}: has no target side to score against; give --reference."
            )
        # escaped, so that an unknown word of the reference is never matched
        return {
            number: self.target_text(targets[number], escape=True) for number in range(self.size)
        }


def draw(size: int, sentences: int | None) -> list[int]:
    """Draws `sentences` numbers out of `size`, rising, the same in every call.

    Raises:
        UserError: the number is below 1 or above `size`
    """
    if size == 0:
        raise UsageError("--subset: has no sentence.")
    if sentences is None:
        return list(range(size))
    if not 1 <= sentences <= size:
        raise UsageError(
            f"--sentences {sentences}: is not from 1 to the subset's {size} sentences."
        )
    return sorted(random.Random(1).sample(range(size), sentences))
