"""Loads a trained run, which translates raw lines and shows its attention."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from fairseq.data import LanguagePairDataset
from fairseq.data.data_utils import infer_language_pair

from ..analysis.matrix import Attention, attentions_of
from ..analysis.subject import Subject, refuse_flags
from ..analysis.trained_run import TrainedRun, find_runs
from ..analysis.words import byte_pairs, codes_of
from ..errors import UserError
from ..flags import as_flags
from ..runs.finding import preparation_of
from ..runs.record import record_of
from ..text import TextSettings
from ..text.checks import UnicodeForm, escape_symbols, in_form, is_visible, unicode_form
from ..text.lines import remove_bpe, with_plain_ends
from ..text.preparation import load_truecaser, tokenise
from ..text.tokenizers import detokenize, tokenize

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


# -- text before and after the model -----------------------------------------------------------


@dataclass(frozen=True)
class RunText:
    """Processing of text before and after the model of a run."""

    tokens: Callable[[Sequence[str]], list[str]]  # tokenises source lines
    codes: Path | None  # of the source's BPE; None for text in words
    tokenizer: str  # undone in the target, as by dc-nmt score
    truecased: bool
    target: str  # language
    form: UnicodeForm | None = None  # Unicode's, of the source's dictionary

    def pieces(self, lines: Sequence[str]) -> list[str]:
        """Returns the model's input for raw source lines."""
        lines = [in_form(line, self.form) for line in lines]
        tokens = [escape_symbols(line) for line in self.tokens(lines)]
        if self.codes is None:
            return tokens
        return [byte_pairs(self.codes).process_line(line) for line in tokens]

    def raw(self, pieces: Sequence[str]) -> list[str]:
        """Converts model output to plain text, line by line."""
        words = [remove_bpe(with_plain_ends(line)) for line in pieces]
        return detokenize(words, self.tokenizer, self.target, self.truecased)


def text_of(
    place: TrainedRun,
    source: str,
    target: str,
    tokenizer: str | None = None,
    codes: Path | None = None,
) -> RunText:
    """Returns the text processing of a run: as it was prepared, else as its score undid it.

    Args:
        place: of the run
        source, target: languages
        tokenizer: one of TOKENIZERS, for lines that already have the case of the training text
        codes: of subword-nmt; None: those beside the data

    Raises:
        UserError: the preparation is unknown, or its files are gone
    """
    if codes is not None and not codes.is_file():
        raise UserError(f"--bpe-codes {codes}: no such file")
    codes = codes or codes_of(place.data, source)
    words = (place.data / f"dict.{source}.txt").read_text("utf-8")
    form = unicode_form(word for word in words.splitlines() if not word.isascii())
    if codes is None and "@@ " in words:
        raise UserError(
            f"{place.data}: its text is segmented by BPE, and the codes are missing: name "
            "subword-nmt's file with --bpe-codes"
        )
    prepared = None if tokenizer else preparation_of(place.data)
    if prepared is None:
        name = tokenizer or _scored_as(place)
        return RunText(
            lambda lines: tokenize(lines, name, source), codes, name, False, target, form
        )
    settings = TextSettings(**prepared["text"])
    truecase: Callable[[str], str] = str
    if settings.casing == "truecase":
        truecaser = place.data.resolve().parent / f"raw/truecase.{source}"
        if not truecaser.is_file():
            raise UserError(
                f"{truecaser}: is missing; dc-nmt prepare {prepared['task']} leaves it there"
            )
        truecase = load_truecaser(truecaser)

    def tokens(lines: Sequence[str]) -> list[str]:
        return [truecase(line) for line in tokenise(lines, source, settings)]

    return RunText(tokens, codes, settings.scored_as, settings.casing == "truecase", target, form)


def _scored_as(place: TrainedRun) -> str:
    """Returns the tokenizer that the run's score undid."""
    record = record_of(place.folder)
    scored = record.decoding() if record else None
    if scored is None or not scored.scores or scored.truecased:
        raise UserError(
            f"{place.folder}: neither a recipe nor a score records how its text was "
            f"{'truecased' if scored and scored.truecased else 'tokenised'}: prepare the "
            "lines yourself, as far as BPE, and give --tokenizer none, or another one that does it"
        )
    return scored.tokenizer


def decoding_of(place: TrainedRun) -> list[str]:
    """Returns the flags that translated a run's test set; none before its evaluation."""
    record = record_of(place.folder)
    decoding = record.decoding() if record else None
    return as_flags(decoding.search) if decoding else []
