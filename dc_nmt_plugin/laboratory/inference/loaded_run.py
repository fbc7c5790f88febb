"""Loads a trained run, which translates raw lines and shows its attention."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from fairseq.data import LanguagePairDataset

from ...extension import import_user_dirs
from ...flags import SET_BY_RUNS
from ..fairseq_flags import refuse_flags
from ..raw_text.checks import is_visible
from .attention import Attention, attentions_of
from .model import LoadedModel
from .run_text import test_set_flags, text_of
from .trained_run import find_runs


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
        user_dir: folders with mechanisms of the user's own, several by commas; they are imported
        ensemble: further runs, whose models translate together with that of `run`

    Attributes:
        model: the ``torch.nn.Module``, in evaluation mode; of an ensemble, that of `run`
        checkpoint: its file
        source, target: languages

    Raises:
        UserError: missing checkpoint, data or BPE codes, a language model, or a flag that this
            class sets or cannot use
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        data: str | os.PathLike[str] | None = None,
        tokenizer: str | None = None,
        flags: Sequence[str] = (),
        codes: str | os.PathLike[str] | None = None,
        user_dir: str | None = None,
        ensemble: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        if user_dir is not None:
            import_user_dirs(user_dir)
        refuse_flags(flags, SET_BY_RUNS)
        (self._run,) = find_runs([Path(run)], None if data is None else Path(data))
        self.checkpoint = self._run.checkpoint
        others = find_runs(list(map(Path, ensemble)), self._run.data)
        self._loaded = LoadedModel(self._run, [*test_set_flags(self._run), *flags], others)
        self.source, self.target = self._loaded.source_lang, self._loaded.target_lang
        codes_file = None if codes is None else Path(codes)
        self._text = text_of(self._run, self.source, self.target, tokenizer, codes_file)
        self._tokenizer = tokenizer
        self._generator = self._loaded.generator()
        self.model = self._loaded.model

    def translate(
        self, lines: Sequence[str], first: int = 1, beam: int | None = None
    ) -> list[Translation]:
        """Translates raw lines together; several threads may translate at the same time.

        Args:
            lines: of one sentence each; a string is one line
            first: number of the first line, for messages
            beam: hypotheses a sentence; None: as the run was loaded

        Raises:
            UserError: a line that is longer than the model's positions
        """
        generator = self._generator if beam is None else self._loaded.generator(beam)
        lines = [lines] if isinstance(lines, str) else list(lines)
        pieces = self._text.pieces(lines)
        numbers = [n for n, line in enumerate(lines) if is_visible(line) and pieces[n]]
        dataset = self._loaded.encoded([pieces[n] for n in numbers])
        for n, length in zip(numbers, dataset.src_sizes, strict=True):
            self._loaded.check_length(f"line {first + n}", int(length))
        best = self._best(dataset, generator)
        hypotheses = self._text.raw([text for text, _ in best])
        translations = [Translation(line, "", None) for line in lines]
        for number, hypothesis, (_, score) in zip(numbers, hypotheses, best, strict=True):
            translations[number] = Translation(lines[number], hypothesis, score)
        return translations

    @torch.no_grad()
    def _best(self, dataset: LanguagePairDataset, generator: Any) -> list[tuple[str, float]]:
        """Returns pieces and score of the best translation of each sentence of a dataset."""
        best = {}
        numbers = range(len(dataset))
        for batch in self._loaded.batches_of(dataset, numbers) if numbers else ():
            hypotheses = self._loaded.best(generator, batch)
            for number, hypothesis in zip(batch["id"].tolist(), hypotheses, strict=True):
                score = float(hypothesis["score"]) / math.log(2)
                best[number] = (self._loaded.target_text(hypothesis["tokens"]), score)
        return [best[number] for number in numbers]

    def attention(self, sentence: str, target: str | None = None) -> dict[str, Attention]:
        """Returns every attention of the model, which is that of `run`, for a raw sentence.

        Args:
            sentence: of the source language
            target: translation that the decoder is forced to write; None: its own

        Returns:
            name, such as ``decoder.6.source`` → pieces and weights (H, T, S)

        Raises:
            UserError: a sentence that is longer than the model's positions
        """
        (source_pieces,) = self._text.pieces([sentence])
        target_pieces = None
        if target is not None:
            text = text_of(self._run, self.target, self.source, self._tokenizer)
            (target_pieces,) = text.pieces([target])
        dataset = self._loaded.encoded([source_pieces])
        attentions = attentions_of(self._loaded, dataset, 0, target_pieces, "sentence")
        return {site.name: attention for site, attention in attentions.items()}
