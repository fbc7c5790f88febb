"""Reads hypotheses and references, detokenised and tokenised, from a user's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..errors import UserError, check_choices
from ..text.checks import tokenized_sign, untokenized_sign
from ..text.languages import is_spaceless
from ..text.lines import read_lines
from ..text.tokenizers import MOSES, TOKENIZERS, tokenize, untokenize
from .generated import check_targets, read_generated
from .metrics import Metric
from .text_checks import (
    check_counts,
    check_raw,
    check_references,
    check_text,
    hypothesis_warnings,
    unlike_warnings,
)


@dataclass(frozen=True)
class TextFiles:
    """Describes the files of a score.

    Attributes:
        hypotheses: output of fairseq-generate, or plain text, one sentence a line
        kind: of ``hypotheses``: "generated" (tokenised, with BPE), "raw" or "tokenized"
        target_lang: two letters
        tokenizer: one of TOKENIZERS: the tokeniser of the tokenised text
        reference: raw text
        more_references: further ones of the same sentences
        tokenized_reference: as the training text was tokenised, without BPE
        truecased: the tokenised text of both sides is truecased; raw sentences get their capital
            back
    """

    hypotheses: str
    kind: str
    target_lang: str
    tokenizer: str = "none"
    reference: str | None = None
    tokenized_reference: str | None = None
    truecased: bool = False
    more_references: Sequence[str] = ()


@dataclass(frozen=True)
class Sides:
    """Holds hypotheses and references, line by line, and how they were processed.

    Attributes:
        more: further references
    """

    hypotheses: list[str]
    references: list[str]
    origin: str
    more: tuple[list[str], ...] = ()


@dataclass(frozen=True)
class Texts:
    """Holds both forms of both sides; ``tokenized`` is None without a known tokeniser."""

    raw: Sides
    tokenized: Sides | None
    warnings: list[str]

    def sides(self, metric: Metric) -> Sides:
        """Returns the text for a metric, before :meth:`Metric.prepared`; ``origin`` names both.

        Raises:
            UserError: the metric scores tokenised text, and there is none
        """
        sides = self.tokenized if metric.tokenized else self.raw
        if sides is None:
            raise UserError(
                f"{metric.name} scores tokenised text: give --tokenizer (what the text was "
                "tokenised with), or tokenised hypotheses and --tokenized-reference"
            )
        if not metric.prepared_by:
            return sides
        return replace(sides, origin=f"{sides.origin}; both: {metric.prepared_by}")


def load_texts(files: TextFiles) -> Texts:
    """Reads, checks and completes the text of one system.

    The tokenizer makes a missing reference from the other one, and the missing form of the
    hypotheses. The tokenizer "none" leaves text unchanged.

    Raises:
        UserError: a file is missing, numbers of lines differ, a reference is blank or has <unk>,
            words are in pieces, the text was decoded wrongly, or the raw reference looks tokenised.
    """
    check_choices("--tokenizer", [files.tokenizer], TOKENIZERS)
    generated = read_generated(files.hypotheses) if files.kind == "generated" else None
    lines = generated.hypotheses if generated else read_lines(files.hypotheses)
    pieces = ("pieces",) if files.tokenizer == "split" else ()
    check_text(files.hypotheses, lines, allowed=pieces if files.kind != "raw" else ())
    warnings = hypothesis_warnings(files.hypotheses, lines)
    paths = (files.reference, *files.more_references, files.tokenized_reference)
    references = {path: read_lines(path) for path in paths if path}
    if not references:
        raise UserError("no reference: give --reference (raw text) or --tokenized-reference")
    for path, reference in references.items():
        try:
            check_counts(len(lines), len(reference))
        except UserError as error:
            raise UserError(f"{files.hypotheses} against {path}: {error}") from None
        check_references(path, reference)
        check_text(path, reference, allowed=pieces if path == files.tokenized_reference else ())
    if generated and generated.targets:
        first = next(iter(references))
        warnings += check_targets(files.hypotheses, generated.targets, first, references[first])
    raw_reference = references.get(files.reference or "")
    more = [references[path] for path in files.more_references]
    tokenized_reference = references.get(files.tokenized_reference or "")
    # text that the user tokenised: dc-nmt new --tokenized
    as_it_is = files.tokenizer == "none" and _words(raw_reference) == _words(tokenized_reference)
    known = next(iter(references.values()))
    spaced = not is_spaceless(files.target_lang, known) and not as_it_is
    if files.reference and spaced:
        for path in (files.reference, *files.more_references):
            remedy = "give it as --tokenized-reference, without --reference"
            check_raw(path, references[path], remedy)
    hypotheses = _Hypotheses(lines, files)
    if spaced and (sign := tokenized_sign(hypotheses.raw)):
        warnings.append(
            f"{files.hypotheses}: hypotheses that should be detokenised look tokenised "
            f"({sign.text}): scores of detokenised text are wrong if they are; "
            "see --tokenizer, and --tokenized for plain text"
        )
    if tokenized_reference and not as_it_is and (text := untokenized_sign(tokenized_reference)):
        warnings.append(f"{files.tokenized_reference}: does not look tokenised ({text})")
    raw = _raw_sides(hypotheses, raw_reference, tokenized_reference)
    tokenized = _tokenized_sides(hypotheses, raw_reference, tokenized_reference)
    if more:
        raw = replace(raw, more=tuple(more), origin=f"{raw.origin}; {1 + len(more)} references")
        if tokenized:
            each = (tokenize(lines, files.tokenizer, files.target_lang) for lines in more)
            tokenized = replace(tokenized, more=tuple(each))
    either = tokenized or raw
    warnings += unlike_warnings(files.hypotheses, either.hypotheses, either.references)
    return Texts(raw, tokenized, warnings)


def _words(lines: list[str] | None) -> list[list[str]] | None:
    """Returns the words of each line; the preparation of tokenised text alters spaces alone."""
    return None if lines is None else [line.split() for line in lines]


class _Hypotheses:
    def __init__(self, lines: Sequence[str], files: TextFiles) -> None:
        self.lines = list(lines)
        self.files = files
        self.how = "as translated, BPE joined" if files.kind == "generated" else "as translated"

    @cached_property
    def raw(self) -> list[str]:
        return self.lines if self.files.kind == "raw" else _undone(self.lines, self.files)

    @cached_property
    def tokenized(self) -> list[str]:
        if self.files.kind != "raw":
            return self.lines
        return tokenize(self.lines, self.files.tokenizer, self.files.target_lang)


def _undone(lines: list[str], files: TextFiles) -> list[str]:
    return untokenize(lines, files.tokenizer, files.target_lang, files.truecased)


def _undoing(files: TextFiles, untouched: str) -> str:
    """Describes :func:`_undone` in words."""
    steps = ["detruecased"] if files.truecased else []
    steps += [untouched] if files.tokenizer == "none" else [f"{files.tokenizer} undone"]
    return ", ".join(steps)


def _raw_sides(hyps: _Hypotheses, raw: list[str] | None, tokenized: list[str] | None) -> Sides:
    files = hyps.files
    how = "as given"
    if files.kind != "raw":
        how = _undoing(files, "as translated")
    if files.kind == "generated":
        how = f"BPE joined, {how}"
    if raw is not None:
        return Sides(hyps.raw, raw, f"hypotheses {how}; reference as given")
    made = _undoing(files, "as given, tokenised")
    return Sides(hyps.raw, _undone(tokenized or [], files), f"hypotheses {how}; reference {made}")


def _tokenized_sides(
    hyps: _Hypotheses, raw: list[str] | None, tokenized: list[str] | None
) -> Sides | None:
    files = hyps.files
    jieba = files.target_lang == "zh" and files.tokenizer in MOSES
    tool = "jieba" if jieba else files.tokenizer
    if files.tokenizer == "none" and (files.kind == "raw" or tokenized is None):
        return None
    how = f"tokenised by {tool}" if files.kind == "raw" else hyps.how
    if tokenized is not None:
        return Sides(hyps.tokenized, tokenized, f"hypotheses {how}; reference as given")
    reference = tokenize(raw or [], files.tokenizer, files.target_lang)
    return Sides(hyps.tokenized, reference, f"hypotheses {how}; reference tokenised by {tool}")
