"""Loads a trained run, which translates raw lines and shows its attention."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from fairseq.data import LanguagePairDataset
from fairseq.data.data_utils import infer_language_pair

from ...errors import UsageError, UserError
from ...extension import import_user_dirs
from ...flags import SET_BY_RUNS
from ..raw_text.checks import is_visible
from .attention import Attention, attentions_of
from .model import LoadedModel
from .run_text import RunText, test_set_flags, text_of
from .search import refuse_flags
from .trained_run import TrainedRun, find_runs

# flag of dc-nmt translate → argument of :func:`load_run`
_ARGUMENTS = {
    "--bpe-codes": "codes",
    "--data": "data",
    "--tokenizer": "tokenizer",
    "--user-dir": "user_dir",
}


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
        user_dir: str | None = None,
    ) -> None:
        if user_dir is not None:
            import_user_dirs(_name_of("user_dir", user_dir))
        refuse_flags(flags, SET_BY_RUNS)
        data_folder = None if data is None else Path(_name_of("data", data))
        (self._run,) = find_runs([Path(_name_of("run", run))], data_folder)
        if self._run.task.get("_name") == "language_modeling":
            raise UserError(f"{run}: is a language model; it translates nothing.")
        self.checkpoint = self._run.checkpoint
        self.source, self.target = _languages_of(self._run)
        codes_file = None if codes is None else Path(_name_of("codes", codes))
        self._text = text_of(self._run, self.source, self.target, tokenizer, codes_file)
        self._tokenizer = tokenizer
        self._loaded = LoadedModel(self._run, [*test_set_flags(self._run), *flags])
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
            UserError: a beam below 1, a line that is longer than the model's positions, or a
                translation without a score
        """
        generator = self._generator_with(beam)
        lines = [lines] if isinstance(lines, str) else list(lines)
        for number, line in enumerate(lines, start=first):
            _check_text(f"line {number}", line)
        pieces = self._text.pieces(lines)
        numbers = [n for n, line in enumerate(lines) if is_visible(line) and pieces[n]]
        dataset = self._loaded.encoded([pieces[n] for n in numbers])
        names = [f"line {first + n}" for n in numbers]
        self._loaded.check_sentences(names, dataset)
        best = self._best(names, dataset, generator)
        hypotheses = self._text.raw([text for text, _ in best])
        translations = [Translation(line, "", None) for line in lines]
        for number, hypothesis, (_, score) in zip(numbers, hypotheses, best, strict=True):
            translations[number] = Translation(lines[number], hypothesis, score)
        return translations

    def _generator_with(self, beam: int | None) -> Any:
        if beam is None:
            return self._generator
        if type(beam) is not int or beam < 1:
            raise UserError(f"beam: {beam!r} is not allowed; give a whole number, at least 1.")
        return self._loaded.generator(beam)

    @torch.no_grad()
    def _best(
        self, names: Sequence[str], dataset: LanguagePairDataset, generator: Any
    ) -> list[tuple[str, float]]:
        """Returns pieces and score of the best translation of each sentence of a dataset."""
        best = {}
        numbers = range(len(dataset))
        for batch in self._loaded.batches_of(dataset, numbers) if numbers else ():
            hypotheses = self._loaded.best(generator, batch)
            for number, hypothesis in zip(batch["id"].tolist(), hypotheses, strict=True):
                score = float(hypothesis["score"]) / math.log(2)
                if math.isnan(score):
                    raise UserError(
                        f"{names[number]}: the score of its translation is not a number: "
                        f"{self.checkpoint} is broken"
                    )
                best[number] = (self._loaded.target_text(hypothesis["tokens"]), score)
        return [best[number] for number in numbers]

    def attention(self, sentence: str, target: str | None = None) -> dict[str, Attention]:
        """Returns every attention of the model for a raw sentence.

        Args:
            sentence: of the source language
            target: translation that the decoder is forced to write; None: its own

        Returns:
            name, such as ``decoder.6.source`` → pieces and weights (H, T, S)

        Raises:
            UserError: a sentence without words, or longer than the model's positions
        """
        source_pieces = _pieces_of("sentence", sentence, self._text)
        target_pieces = None
        if target is not None:
            text = text_of(self._run, self.target, self.source, self._tokenizer)
            target_pieces = _pieces_of("target", target, text)
        dataset = self._loaded.encoded([source_pieces])
        attentions = attentions_of(self._loaded, dataset, 0, target_pieces, "sentence")
        return {site.name: attention for site, attention in attentions.items()}


def load_run(
    run: str | os.PathLike[str], data: str | os.PathLike[str] | None = None, **options: Any
) -> LoadedRun:
    """Loads a trained run; :class:`LoadedRun` has the options.

    Raises:
        UserError: as LoadedRun does, with names of arguments instead of flags
    """
    try:
        return LoadedRun(run, data, **options)
    except UserError as error:
        message = str(error)
        for flag, argument in _ARGUMENTS.items():
            message = re.sub(rf"{flag}(?![\w-])", argument, message)
        raise type(error)(message) from error


def _languages_of(run: TrainedRun) -> tuple[str, str]:
    """Returns the source and target language of a run.

    Raises:
        UserError: neither the checkpoint nor the names of its data say them
    """
    source, target = run.task.get("source_lang"), run.task.get("target_lang")
    if not source or not target:
        source, target = infer_language_pair(str(run.data))
    if not source or not target:
        raise UserError(
            f"{run.checkpoint}: does not say its languages, nor do the names of the files in "
            f"{run.data}; give --data with a folder made by fairseq-preprocess."
        )
    return source, target


def _name_of(argument: str, path: str | os.PathLike[str]) -> str:
    try:
        return os.fspath(path)
    except TypeError:
        raise UsageError(f"{argument}: {path!r} is no path.") from None


def _check_text(name: str, line: str) -> None:
    if not isinstance(line, str):
        raise UsageError(f"{name}: {line!r} is no string.")


def _pieces_of(name: str, line: str, text: RunText) -> str:
    _check_text(name, line)
    if not is_visible(line):
        raise UserError(f"{name}: has no words")
    (pieces,) = text.pieces([line])
    return pieces
