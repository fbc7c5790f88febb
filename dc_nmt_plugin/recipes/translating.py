"""Translates raw lines to plain text with a run of a recipe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from fairseq.data.data_utils import infer_language_pair

from ..analysis.trained_run import find_runs
from ..analysis.translator import Translator, refuse_unused
from ..errors import UsageError, UserError
from ..flags import flag_value
from ..text.checks import is_visible
from .run_text import decoding_of, text_of

_REFUSED = (
    *("--path", "--task", "--user-dir", "--source-lang", "--target-lang", "--gen-subset"),
    *("--input", "--tokenizer", "--skip-invalid-size-inputs-valid-test"),
)


@dataclass(frozen=True)
class Translation:
    """Holds the translation of one line.

    Attributes:
        source: the given line
        hypothesis: plain text; "" for a line without words
        score: fairseq-generate's: log2-probability a token, length penalty included; None for a
            line without words
    """

    source: str
    hypothesis: str
    score: float | None


class RunTranslator:
    """Translates new text with a trained run.

    Args:
        run: folder of a recipe's run, or a checkpoint in it
        data: folder made by fairseq-preprocess; None: that of the training
        tokenizer: tokenises the lines and is undone afterwards; None: the tokenizer of the run's
            text
        flags: of fairseq-generate, after the flags for the run's test set

    Attributes:
        checkpoint: the model
        source, target: languages

    Raises:
        UserError: missing checkpoint, data or BPE codes, a language model, or a flag that this
            class sets
    """

    def __init__(
        self,
        run: Path,
        data: Path | None = None,
        tokenizer: str | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        refuse_unused(flags)
        for flag in _REFUSED:
            if flag_value(flags, flag) is not None or flag in flags:
                raise UsageError(f"{flag}: this command sets it by itself.")
        (place,) = find_runs([run], data)
        if place.task.get("_name") == "language_modeling":
            raise UserError(f"{run}: is a language model; it translates nothing.")
        self.checkpoint = place.checkpoint
        self.source, self.target = (place.task.get(f"{side}_lang") for side in ("source", "target"))
        if not self.source or not self.target:  # read from file names
            self.source, self.target = infer_language_pair(str(place.data))
        if not self.source or not self.target:
            raise UserError(
                f"{place.checkpoint}: does not say its languages, nor do the names of the files in "
                f"{place.data}; give --data with a folder made by fairseq-preprocess."
            )
        self._text = text_of(place, self.source, self.target, tokenizer)
        words = [str(place.data), "--path", str(place.checkpoint), "--task", "translation_dc_nmt"]
        words += ["--source-lang", self.source, "--target-lang", self.target]
        words += [*decoding_of(place), *flags]
        self._translator = Translator(words)
        self._generator = self._translator.generator()

    def translate(self, lines: Sequence[str], first: int = 1) -> list[Translation]:
        """Translates raw lines together.

        Args:
            lines: of one sentence each
            first: number of the first line, for messages

        Raises:
            UserError: a line is longer than the model's positions; its translation has no score
        """
        pieces = self._text.pieces(lines)
        numbers = [
            number for number, line in enumerate(lines) if is_visible(line) and pieces[number]
        ]
        rows = [self._encoded(pieces[number], first + number) for number in numbers]
        best = self._best(rows)
        said = self._text.raw([text for text, _ in best])
        found: dict[int, tuple[str, float]] = {}
        for number, hypothesis, (_, score) in zip(numbers, said, best, strict=True):
            if math.isnan(score):
                raise UserError(
                    f"line {first + number}: the score of its translation is not a number: "
                    f"{self.checkpoint} is broken"
                )
            found[number] = (hypothesis, score)
        return [Translation(line, *found.get(n, ("", None))) for n, line in enumerate(lines)]

    def _encoded(self, pieces: str, number: int) -> torch.Tensor:
        """Returns the token numbers of a line, the end token last."""
        dictionary = self._translator.task.source_dictionary
        row: torch.Tensor = dictionary.encode_line(pieces, add_if_not_exist=False).long()
        most = self._translator.positions[0]
        if len(row) > most:
            raise UserError(
                f"line {number}: has {len(row):,} pieces with its end, and the model {most:,} "
                "positions: split it"
            )
        return row

    @torch.no_grad()
    def _best(self, rows: Sequence[torch.Tensor]) -> list[tuple[str, float]]:
        """Returns pieces and score of each row's best translation."""
        if not rows:
            return []
        translator, found = self._translator, {}
        lengths = torch.tensor(list(map(len, rows)))
        dataset = translator.task.build_dataset_for_inference(list(rows), lengths)
        for batch in translator.batches_of(dataset, range(len(rows))):
            best = translator.best(self._generator, batch)
            for number, each in zip(batch["id"].tolist(), best, strict=True):
                score = float(each["score"]) / math.log(2)
                found[number] = (translator.target_text(each["tokens"]), score)
        return [found[number] for number in range(len(rows))]
