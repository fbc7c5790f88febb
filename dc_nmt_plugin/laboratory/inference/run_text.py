"""How a run's text was processed, for the text before and after its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError, check_choices
from ...flags import as_flags
from ...runs.data import preparation_of
from ...runs.record import record_of
from ...text.lines import remove_bpe, with_plain_ends
from ...text.segmentation import (
    SENTENCEPIECE,
    codes_of,
    load_codes,
    segmenter_of,
)
from ..raw_text import TextSettings
from ..raw_text.checks import UnicodeForm, escape_symbols, in_form, unicode_form
from ..raw_text.codes import check_codes
from ..raw_text.preparation import load_truecaser, tokenise
from ..raw_text.tokenizers import TOKENIZERS, detokenize, tokenize
from .trained_run import TrainedRun


@dataclass(frozen=True)
class RunText:
    """Processing of text before and after the model of a run."""

    tokens: Callable[[Sequence[str]], list[str]]  # tokenises source lines
    codes: Path | None  # of the source's segmentation; None for text in words
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
        return list(map(load_codes(self.codes), tokens))

    def raw(self, pieces: Sequence[str]) -> list[str]:
        """Converts model output to plain text, line by line."""
        words = [remove_bpe(with_plain_ends(line)) for line in pieces]
        return detokenize(words, self.tokenizer, self.target, self.truecased)


def text_of(
    run: TrainedRun,
    source: str,
    target: str,
    tokenizer: str | None = None,
    codes: Path | None = None,
) -> RunText:
    """Returns the text processing of a run: as it was prepared, else as its score undid it.

    Args:
        tokenizer: one of TOKENIZERS, for lines that already have the case of the training text
        codes: of subword-nmt or sentencepiece; None: those beside the data

    Raises:
        UserError: the preparation is unknown, or its files are gone
    """
    if tokenizer is not None:
        check_choices("--tokenizer", [tokenizer], TOKENIZERS)
    words = (run.data / f"dict.{source}.txt").read_text("utf-8")
    form = unicode_form(word for word in words.splitlines() if not word.isascii())
    preparation = None if tokenizer else preparation_of(run.data)
    if preparation is not None:
        codes = _found_codes(run, source, codes, preparation["text"].get("tokenizer"))
        return _as_prepared(run, preparation, source, target, codes, form)
    codes = _found_codes(run, source, codes, tokenizer)
    name = tokenizer or _tokenizer_of_score(run)

    def tokens(lines: Sequence[str]) -> list[str]:
        return tokenize(lines, name, source)

    return RunText(tokens, codes, name, truecased=False, target=target, form=form)


def _found_codes(
    run: TrainedRun, source: str, codes: Path | None, tokenizer: str | None
) -> Path | None:
    """Returns the codes for source lines: the user's, or those beside the data."""
    if codes is not None:
        check_codes(codes, run.data / f"dict.{source}.txt")
    found = codes or codes_of(run.data, source)
    segmenter = segmenter_of(run.data, source)
    # the words of the tokenizer split have sentencepiece's mark
    is_split = segmenter is SENTENCEPIECE and tokenizer == "split"
    if found is None and segmenter is not None and not is_split:
        raise UserError(
            f"{run.data}: its text is segmented by {segmenter.name}, and the codes are missing: "
            f"name {segmenter.name}'s file with --bpe-codes"
        )
    return found


def _as_prepared(
    run: TrainedRun,
    preparation: dict[str, Any],
    source: str,
    target: str,
    codes: Path | None,
    form: UnicodeForm | None,
) -> RunText:
    """Returns the text processing that ``dc-nmt prepare`` wrote down."""
    settings = TextSettings(**preparation["text"])
    truecased = settings.casing == "truecase"
    truecase: Callable[[str], str] = str
    if truecased:
        truecaser = run.data.resolve().parent / f"raw/truecase.{source}"
        if not truecaser.is_file():
            raise UserError(
                f"{truecaser}: is missing; dc-nmt prepare {preparation['task']} leaves it there"
            )
        truecase = load_truecaser(truecaser)

    def tokens(lines: Sequence[str]) -> list[str]:
        return [truecase(line) for line in tokenise(lines, source, settings)]

    return RunText(tokens, codes, settings.scored_as, truecased, target, form)


def _tokenizer_of_score(run: TrainedRun) -> str:
    """Returns the tokenizer that the run's score undid."""
    record = record_of(run.folder)
    scored = record.decoding() if record else None
    if scored is not None and scored.scores and not scored.truecased:
        return scored.tokenizer
    unknown = "truecased" if scored is not None and scored.truecased else "tokenised"
    raise UserError(
        f"{run.folder}: neither a recipe nor a score records how its text was {unknown}: prepare "
        "the lines yourself, as far as BPE, and give --tokenizer none, or another one that does it"
    )


def test_set_flags(run: TrainedRun) -> list[str]:
    """Returns the flags that translated a run's test set; none before its evaluation."""
    record = record_of(run.folder)
    decoding = record.decoding() if record else None
    return as_flags(decoding.search) if decoding else []
