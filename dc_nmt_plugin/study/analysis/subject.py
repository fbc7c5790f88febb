"""A trained model, and the text on which it is analysed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tqdm import tqdm

from ...errors import UsageError, UserError, counted
from ...flags import SET_BY_ANALYSES
from ...laboratory.fairseq_flags import refuse_flags
from ...laboratory.inference.model import LoadedModel
from ...laboratory.inference.run_text import text_of
from ...laboratory.inference.trained_run import TrainedRun

OWN_TEXT = "text"  # name of the subset that raw lines make


@dataclass(frozen=True)
class RawReference:
    """Raw reference lines, and what is undone in translations that are scored with them."""

    lines: Sequence[str]
    name: str  # of its file, for messages
    tokenizer: str = "none"
    truecased: bool = False


class Subject(LoadedModel):
    """A loaded model, and sentences in batches.

    Args:
        run, flags: as of :class:`.LoadedModel`
        subset: of the run's data, such as ``test``; None for other text (:meth:`use_raw`) or none
        sentences: greatest number of sentences, drawn with a fixed seed; None for all

    Attributes:
        subset: name of the text
        reference: of the whole text, for scores of plain text; None: the text's own target side
        dataset: of fairseq; None without text
        numbers: of the sentences used, from 0, rising
        batches: fairseq's batches of them, shortest first, on the model's device

    Raises:
        UserError: as :class:`.LoadedModel`; the text is missing or empty, a flag that this class
            sets or ignores
    """

    def __init__(
        self,
        run: TrainedRun,
        flags: Sequence[str] = (),
        subset: str | None = None,
        sentences: int | None = None,
    ) -> None:
        refuse_flags(flags, SET_BY_ANALYSES)
        if subset is not None and not any(run.data.glob(f"{subset}.*")):
            raise UsageError(
                f"--subset {subset}: is not in {run.data}. Name a raw text with --source FILE "
                "--reference FILE."
            )
        super().__init__(run, flags, recording=True)
        self.subset = subset or OWN_TEXT
        self.reference: RawReference | None = None
        self.numbers: list[int] = []
        self.batches: list[Any] = []
        self.dataset: Any = None
        if subset is not None:
            self.task.load_dataset(subset)
            self.use(self.task.dataset(subset), sentences)

    def use_raw(
        self,
        source: Sequence[str],
        reference: RawReference | None = None,
        tokenizer: str | None = None,
        sentences: int | None = None,
    ) -> None:
        """Takes raw lines, prepared like the text of the run, or by another `tokenizer`.

        The reference is also the target side to force.
        """
        text = text_of(self.run, self.source_lang, self.target_lang, tokenizer)
        target_pieces = None
        if reference is not None:
            of_target = text_of(self.run, self.target_lang, self.source_lang, tokenizer)
            target_pieces = of_target.pieces(reference.lines)
            reference = replace(reference, tokenizer=text.tokenizer, truecased=text.truecased)
        self.reference = reference
        self.use(self.encoded(text.pieces(source), target_pieces), sentences)

    def score_against(self, reference: RawReference) -> None:
        """Takes a raw reference of the text; its target side is still the one to force."""
        self.check_lines("--reference", reference.name, reference.lines)
        self.reference = reference

    def use(self, dataset: Any, sentences: int | None = None) -> None:
        """Takes the sentences of a dataset of fairseq."""
        self.dataset = dataset
        drawn: Sequence[int] = range(len(dataset))
        if sentences is not None:  # the same ones in every call
            drawn = random.Random(1).sample(drawn, min(sentences, len(drawn)))
        # fairseq refuses sentences that do not fit the model's positions, or leaves them out
        skip = self._cfg.dataset.skip_invalid_size_inputs_valid_test
        kept = self.task.filter_indices_by_size(np.array(drawn), dataset, self.positions, skip)
        self.numbers = sorted(int(number) for number in kept)
        self.batches = list(self.batches_of(dataset, self.numbers))

    @property
    def size(self) -> int:
        """Returns the number of sentences of the text, including those that are not used."""
        return len(self.dataset)

    def require(self, has: object, part: str) -> None:
        """Raises UserError for a model without the part that an analysis measures."""
        if not has:
            raise UserError(f"{self.label}: has no {part}.")

    def check_targets(self) -> None:
        """Raises UserError if the text has no target side."""
        if self.dataset.tgt is None:
            name = "--source" if self.subset == OWN_TEXT else f"--subset {self.subset}"
            raise UsageError(f"{name}: has no target side; give it with --source and --reference.")

    def check_lines(self, flag: str, path: object, lines: Sequence[str]) -> None:
        """Raises UserError if a file about the sentences has another number of lines."""
        if len(lines) != self.size:
            raise UsageError(
                f"{flag} {path}: {counted(len(lines), 'line')} for "
                f"{counted(self.size, 'sentence')} of {self.subset}."
            )

    def batch_of(self, index: int) -> list[Any]:
        """Returns a batch of the sentence of that number, from 1, whether it is used or not."""
        return list(self.batches_of(self.dataset, [index - 1]))

    def sentence_pieces(self, side: str) -> dict[int, list[str]]:
        """Returns the number of each sentence used → its pieces, of the ``encoder``'s side or the
        ``decoder``'s."""
        if side == "decoder":
            self.check_targets()
        rows = self.dataset.src if side == "encoder" else self.dataset.tgt
        return {number: self.pieces(rows[number], side) for number in self.numbers}

    def targets(self) -> dict[int, str]:
        """Returns sentence number → the text's own target side, without BPE."""
        self.check_targets()
        # escaped, so that an unknown word of the reference is never matched
        return {
            number: self.target_text(self.dataset.tgt[number], escape=True)
            for number in range(self.size)
        }

    def translate(self) -> dict[int, str]:
        """Returns sentence number (from 0) → its best hypothesis, without BPE."""
        generator = self.generator()
        translations: dict[int, str] = {}
        for batch in tqdm(
            self.batches, desc=f"{self.label}: translation", unit=" batches", disable=None
        ):
            hypotheses = self.decode(generator, batch)
            for number, tokens in zip(batch["id"].tolist(), hypotheses, strict=True):
                translations[number] = self.target_text(tokens)
        return translations
