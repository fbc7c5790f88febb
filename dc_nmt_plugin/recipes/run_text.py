"""Applies the text preparation of a run to new lines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..analysis.sentence import byte_pairs, codes_of
from ..analysis.trained_run import TrainedRun
from ..errors import UserError
from ..files import load_json
from ..flags import as_flags
from ..runs.records import record_of
from ..text.checks import escape_symbols
from ..text.lines import with_plain_ends
from ..text.pieces import remove_bpe
from ..text.preparation import TextSettings, load_truecaser, tokenise
from ..text.tokenizers import tokenize, untokenize
from .recipe import OWN, Recipe, load
from .settings import settings_of


@dataclass(frozen=True)
class RunText:
    """Processing of text before and after the model of a run.

    Attributes:
        tokens: function that tokenises source lines
        codes: of the source's BPE; None for text in words
        tokenizer, truecased: undone in the target, as by ``dc-nmt score``
        target: language
    """

    tokens: Callable[[Sequence[str]], list[str]]
    codes: Path | None
    tokenizer: str
    truecased: bool
    target: str

    def pieces(self, lines: Sequence[str]) -> list[str]:
        """Converts raw source lines to model input."""
        tokens = list(map(escape_symbols, self.tokens(lines)))
        return list(map(byte_pairs(self.codes).process_line, tokens)) if self.codes else tokens

    def raw(self, pieces: Sequence[str]) -> list[str]:
        """Converts model output to plain text, line by line."""
        words = [remove_bpe(with_plain_ends(line)) for line in pieces]
        return untokenize(words, self.tokenizer, self.target, self.truecased)


def text_of(place: TrainedRun, source: str, target: str, tokenizer: str | None = None) -> RunText:
    """Returns the text processing of a run, from its recipe, else from its score.

    Args:
        place: of the run
        source, target: languages
        tokenizer: one of TOKENIZERS, to tokenise lines in another way

    Raises:
        UserError: the preparation is unknown, or its files are gone
    """
    codes = codes_of(place.data, source)
    if codes is None and "@@ " in (place.data / f"dict.{source}.txt").read_text("utf-8"):
        raise UserError(
            f"{place.data}: its text is segmented by BPE, and the codes (bpe/codes, written by "
            "dc-nmt prepare) are missing"
        )
    settings = _settings_of(place.data, needed=tokenizer is None)
    if settings is None:
        name = tokenizer or _scored_as(place)
        return RunText(lambda lines: tokenize(lines, name, source), codes, name, False, target)
    truecased = settings.casing == "truecase"
    learnt = place.data.resolve().parent / f"raw/truecase.{source}"
    if truecased and not learnt.is_file():
        recipe = recipe_of(place.data)
        name = recipe.name if recipe else "TASK"
        raise UserError(f"{learnt}: is missing; dc-nmt prepare {name} leaves it there")
    truecase = load_truecaser(learnt) if truecased else str

    def tokens(lines: Sequence[str]) -> list[str]:
        if tokenizer is None:
            return list(map(truecase, tokenise(lines, source, settings)))
        # normalised, tokenised with the given tokenizer, then cased as in training; text that the
        # user tokenised is already normalised
        plain = replace(settings, tokenizer="none", hyphens=False, casing="keep")
        normal = lines if tokenizer == "none" else list(tokenise(lines, source, plain))
        words = tokenize(normal, tokenizer, source)
        return [truecase(line.lower() if settings.casing == "lower" else line) for line in words]

    return RunText(tokens, codes, tokenizer or settings.scored_as, truecased, target)


def _settings_of(data: Path, needed: bool) -> TextSettings | None:
    """Returns a recipe's preparation: as recorded, else as in the recipe now; None for other data.

    Raises:
        UserError: the recipe is needed, but not found from here
    """
    manifest = data.resolve().parent / "raw/manifest.json"
    with contextlib.suppress(UserError):
        if text := load_json(manifest).get("text"):
            return TextSettings(**text)
    try:
        recipe = recipe_of(data)
    except UserError:
        if needed:
            raise
        return None
    return recipe.task.text if recipe else None


def _scored_as(place: TrainedRun) -> str:
    """Returns the tokenizer that the run's score undid."""
    record = record_of(place.folder)
    scored = record and record.decoding()
    if not scored or not scored.scores or scored.truecased:
        raise UserError(
            f"{place.folder}: neither a recipe nor a score records how its text was "
            f"{'truecased' if scored and scored.truecased else 'tokenised'}: prepare the "
            "lines yourself, as far as BPE, and give --tokenizer none, or another one that does it"
        )
    return scored.tokenizer


def recipe_of(data: Path) -> Recipe | None:
    """Returns the recipe that prepared the data; None for other data.

    Raises:
        UserError: the recipe is not found from here
    """
    work = data.resolve().parent
    manifest = work / "raw/manifest.json"
    if not manifest.is_file():
        return None
    for folder in list(work.parents)[:2]:  # a sample is one folder deeper
        if (folder / OWN).is_file():
            return load(str(folder))
    try:
        return load(load_json(manifest)["task"])
    except (ValueError, KeyError) as error:
        raise UserError(
            f"{manifest}: names a recipe that is not found from here: {error}"
        ) from None


def decoding_of(place: TrainedRun) -> list[str]:
    """Returns the flags that translated a run's test set; before that, its recipe's.

    Raises:
        UserError: the recipe is not found from here
    """
    record = record_of(place.folder)
    if record and (found := record.decoding()):
        return as_flags(found.search)
    arch = record.architecture if record else None
    recipe = recipe_of(place.data) if arch else None
    return list(settings_of(recipe, arch).decode) if recipe and arch else []
