"""Loads a trained run, which translates raw lines and shows its attention."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from fairseq.data import LanguagePairDataset
from fairseq.data.data_utils import infer_language_pair

from ..errors import UserError
from ..text.checks import is_visible
from .attention import Attention, attentions_of
from .run_text import decoding_of, text_of
from .search import refuse_flags
from .subject import Subject
from .trained_run import find_runs

_OWN_FLAGS = (
    *("--path", "--task", "--user-dir", "--source-lang", "--target-lang", "--gen-subset"),
    *("--input", "--tokenizer", "--skip-invalid-size-inputs-valid-test"),
)


@dataclass(frozen=True)
class Translation:
    source: str  # the line
    hypothesis: str  # plain text; "" for a line without words
    # fairseq-generate's: log2-probability a token, length penalty included; None: no words
    score: float | None


class LoadedRun:
    """Holds a trained run, with its processing of text.

    Args:
        run: folder of a run, or a checkpoint in it
        data: folder made by fairseq-preprocess; None: that of the training
        tokenizer: tokenises the lines and is undone afterwards; None: the tokenizer of the run's
            text
        flags: of fairseq-generate, after the flags for the run's test set
        codes: of subword-nmt, for the source; None: those beside the data

    Attributes:
        model: the ``torch.nn.Module``, in evaluation mode
        checkpoint: its file
        source, target: languages

    Raises:
        UserError: missing checkpoint, data or BPE codes, a language model, or a flag that this
            class sets
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        data: str | os.PathLike[str] | None = None,
        tokenizer: str | None = None,
        flags: Sequence[str] = (),
        codes: str | os.PathLike[str] | None = None,
    ) -> None:
        refuse_flags(flags, _OWN_FLAGS)
        (place,) = find_runs([Path(run)], None if data is None else Path(data))
        if place.task.get("_name") == "language_modeling":
            raise UserError(f"{run}: is a language model; it translates nothing.")
        self.checkpoint = place.checkpoint
        self.source, self.target = place.task.get("source_lang"), place.task.get("target_lang")
        if not self.source or not self.target:  # read from file names
            self.source, self.target = infer_language_pair(str(place.data))
        if not self.source or not self.target:
            raise UserError(
                f"{place.checkpoint}: does not say its languages, nor do the names of the files in "
                f"{place.data}; give --data with a folder made by fairseq-preprocess."
            )
        own_codes = None if codes is None else Path(codes)
        self._text = text_of(place, self.source, self.target, tokenizer, own_codes)
        self._place, self._tokenizer = place, tokenizer
        self._subject = Subject(place, [*decoding_of(place), *flags], own_flags=())
        self._generator = self._subject.generator()
        self.model = self._subject.model

    def translate(self, lines: Sequence[str], first: int = 1) -> list[Translation]:
        """Translates raw lines together.

        Args:
            lines: of one sentence each; a string is one line
            first: number of the first line, for messages

        Raises:
            UserError: a line is longer than the model's positions; its translation has no score
        """
        lines = [lines] if isinstance(lines, str) else list(lines)
        pieces = self._text.pieces(lines)
        numbers = [n for n, line in enumerate(lines) if is_visible(line) and pieces[n]]
        dataset = self._subject.encoded([pieces[n] for n in numbers])
        most = self._subject.positions[0]
        for number, length in zip(numbers, dataset.src_sizes, strict=True):
            if length > most:
                raise UserError(
                    f"line {first + number}: has {length:,} pieces with its end, and the model "
                    f"{most:,} positions: split it"
                )
        best = self._best(dataset)
        hypotheses = self._text.raw([text for text, _ in best])
        translations = [Translation(line, "", None) for line in lines]
        for number, hypothesis, (_, score) in zip(numbers, hypotheses, best, strict=True):
            if math.isnan(score):
                raise UserError(
                    f"line {first + number}: the score of its translation is not a number: "
                    f"{self.checkpoint} is broken"
                )
            translations[number] = Translation(lines[number], hypothesis, score)
        return translations

    def attention(self, sentence: str, target: str | None = None) -> dict[str, Attention]:
        """Returns every attention of the model for a raw sentence.

        Args:
            sentence: of the source language
            target: translation that the decoder is forced to write; None: its own

        Returns:
            name, such as ``decoder.6.source`` → pieces and weights (H, T, S)

        Raises:
            UserError: a sentence without words
        """
        lines = [(self._text, "sentence", sentence)]
        if target is not None:
            subject = self._subject
            text = text_of(self._place, subject.target_lang, subject.source_lang, self._tokenizer)
            lines.append((text, "target", target))
        pieces = []
        for text, name, line in lines:
            if not is_visible(line):
                raise UserError(f"{name}: has no words")
            pieces += text.pieces([line])
        dataset = self._subject.encoded(pieces[:1])
        attentions = attentions_of(self._subject, dataset, 0, pieces[1] if pieces[1:] else None)
        return {site.name: attention for site, attention in attentions.items()}

    @torch.no_grad()
    def _best(self, dataset: LanguagePairDataset) -> list[tuple[str, float]]:
        """Returns pieces and score of the best translation of each sentence of a dataset."""
        subject, best = self._subject, {}
        numbers = range(len(dataset))
        for batch in subject.batches_of(dataset, numbers) if numbers else ():
            hypotheses = subject.best(self._generator, batch)
            for number, each in zip(batch["id"].tolist(), hypotheses, strict=True):
                score = float(each["score"]) / math.log(2)
                best[number] = (subject.target_text(each["tokens"]), score)
        return [best[number] for number in numbers]
