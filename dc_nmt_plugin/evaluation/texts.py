"""Reads, checks and scores hypotheses and references, detokenised and tokenised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import UserError, check_choices, counted
from ..runs.record import Kind, Score
from ..text.checks import looks_raw, refuse, scan_lines, tokenized_sign, unicode_form
from ..text.languages import is_spaceless
from ..text.lines import read_lines
from ..text.tokenizers import MOSES, TOKENIZERS, detokenize, tokenize
from .generated import UNKNOWN, check_targets, read_generated
from .metrics import DOTLESS, Metric


@dataclass(frozen=True)
class TextFiles:
    """Describes the files of a score."""

    hypotheses: str  # output of fairseq-generate, or plain text, one sentence a line
    kind: Kind  # of the hypotheses
    target_lang: str  # two letters
    tokenizer: str = "none"  # one of TOKENIZERS: that of the tokenised text
    reference: str | None = None  # raw text
    tokenized_reference: str | None = None  # as the training text was tokenised, without BPE
    # the tokenised text of both sides is truecased; raw sentences get their capital back
    truecased: bool = False


@dataclass(frozen=True)
class Sides:
    """Holds hypotheses and references, line by line, and how they were processed."""

    hypotheses: list[str]
    references: list[str]
    origin: str


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

    def score(self, metric: Metric, target_lang: str, paper: bool = False) -> Score:
        """Returns the score by a metric, perhaps the paper's; raises as :meth:`sides`."""
        sides = self.sides(metric)
        value, signature = metric.score(sides.hypotheses, sides.references, target_lang)
        return Score(metric.name, value, signature, sides.origin, paper)


def load_texts(files: TextFiles) -> Texts:
    """Reads, checks and completes the text of one system.

    The tokenizer makes a missing reference from the other one, and the missing form of the
    hypotheses. The tokenizer "none" leaves text unchanged.

    Raises:
        UserError: a file is missing, numbers of lines differ, a reference is blank or has <unk>,
            words are in pieces, the text was decoded wrongly, or the raw reference looks tokenised
    """
    check_choices("--tokenizer", [files.tokenizer], TOKENIZERS)
    generated = read_generated(files.hypotheses) if files.kind == "generated" else None
    lines = generated.hypotheses if generated else read_lines(files.hypotheses)
    pieces = ("pieces",) if files.tokenizer == "split" else ()  # the marks of --tokenizer split
    findings = scan_lines(files.hypotheses, lines).findings
    refuse(findings, allowed=() if files.kind == "raw" else pieces)
    reference = tokenized_reference = None
    if files.reference:
        reference = _read_reference(files.reference, len(lines), files)
    if files.tokenized_reference:
        tokenized_reference = _read_reference(files.tokenized_reference, len(lines), files, pieces)
    either = tokenized_reference if reference is None else reference
    if either is None:
        raise UserError("no reference: give --reference (raw text) or --tokenized-reference")
    if generated and generated.targets:
        path = files.reference or files.tokenized_reference
        check_targets(files.hypotheses, generated.targets, path, either)

    raw = _raw_sides(files, lines, reference, tokenized_reference or [])
    tokenized = _tokenized_sides(files, lines, reference or [], tokenized_reference)
    words = tokenized or raw
    return Texts(
        raw,
        tokenized,
        warnings=[
            *_hypothesis_warnings(files.hypotheses, lines),
            *_tokenization_warnings(files, raw.hypotheses, reference, tokenized_reference),
            *_case_warnings(files, words),
            *_form_warnings(files, words),
        ],
    )


def _raw_sides(
    files: TextFiles, lines: list[str], reference: list[str] | None, tokenized: list[str]
) -> Sides:
    """Returns detokenised text, made from tokenised hypotheses and from `tokenized` if needed."""
    steps = ["detruecased"] if files.truecased else []
    steps += [f"{files.tokenizer} undone"] if files.tokenizer != "none" else []
    how = how_reference = "as given"
    if files.kind != "raw":
        lines = detokenize(lines, files.tokenizer, files.target_lang, files.truecased)
        joined = ["BPE joined"] if files.kind == "generated" else []
        unchanged = ["as translated"] if files.tokenizer == "none" else []
        how = ", ".join([*joined, *steps, *unchanged])
    if reference is None:
        reference = detokenize(tokenized, files.tokenizer, files.target_lang, files.truecased)
        unchanged = ["as given, tokenised"] if files.tokenizer == "none" else []
        how_reference = ", ".join([*steps, *unchanged])
    return Sides(lines, reference, f"hypotheses {how}; reference {how_reference}")


def _tokenized_sides(
    files: TextFiles, lines: list[str], raw: list[str], reference: list[str] | None
) -> Sides | None:
    """Returns tokenised text, made from raw hypotheses and from `raw` if needed."""
    if files.tokenizer == "none" and (files.kind == "raw" or reference is None):
        return None
    jieba = files.target_lang == "zh" and files.tokenizer in MOSES
    by_tool = f"tokenised by {'jieba' if jieba else files.tokenizer}"
    how = "as translated, BPE joined" if files.kind == "generated" else "as translated"
    how_reference = "as given"
    if files.kind == "raw":
        lines, how = tokenize(lines, files.tokenizer, files.target_lang), by_tool
    if reference is None:
        reference = tokenize(raw, files.tokenizer, files.target_lang)
        how_reference = by_tool
    return Sides(lines, reference, f"hypotheses {how}; reference {how_reference}")


# -- checks: text that would make a score silently wrong ---------------------------------------


def _read_reference(
    path: str, count: int, files: TextFiles, allowed: Sequence[str] = ()
) -> list[str]:
    """Reads a reference that has a sentence for each of `count` hypotheses, and can be scored.

    `allowed` has the kinds of problems (of text/checks.py) that are accepted here.
    """
    lines = read_lines(path)
    if count != len(lines):
        raise UserError(
            f"{files.hypotheses} against {path}: {counted(count, 'hypothesis')} for "
            f"{counted(len(lines), 'reference')}: the scores would compare different sentences"
        )
    blank = _numbers(not line.strip() for line in lines)
    if blank:
        raise UserError(f"{path}: {counted(len(blank), 'blank line')}, first in line {blank[0]}")
    unknown = _numbers(UNKNOWN.search(line) for line in lines)
    if unknown:
        raise UserError(
            f"{path}: <unk> in {counted(len(unknown), 'reference')}, first in line {unknown[0]}: "
            "these are the T- lines of fairseq-generate; score against the original text"
        )
    refuse(scan_lines(path, lines).findings, (), allowed)
    return lines


def _numbers(marks: Iterable[object]) -> list[int]:
    return [number for number, mark in enumerate(marks, start=1) if mark]


def _hypothesis_warnings(path: str, lines: Sequence[str]) -> list[str]:
    """Returns warnings about empty hypotheses and <unk>, which are scored all the same."""
    empty = _numbers(not line.strip() for line in lines)
    unknown = _numbers(UNKNOWN.search(line) for line in lines)
    warnings = []
    for what, numbers in (("empty hypotheses", empty), ("hypotheses with <unk>", unknown)):
        if numbers:
            warnings.append(f"{path}: {len(numbers):,} {what}, the first in line {numbers[0]:,}")
    return warnings


def _tokenization_warnings(
    files: TextFiles,
    hypotheses: Sequence[str],
    reference: Sequence[str] | None,
    tokenized_reference: Sequence[str] | None,
) -> list[str]:
    """Refuses a raw reference that looks tokenised; warns of other text in the wrong form.

    `hypotheses` are detokenised.
    """
    # references that differ in spaces alone are text that the user tokenised, which dc-nmt new
    # --tokenized takes as it is
    words = [[line.split() for line in side or ()] for side in (reference, tokenized_reference)]
    if files.tokenizer == "none" and reference and words[0] == words[1]:
        return []
    warnings = []
    if not is_spaceless(files.target_lang, reference or tokenized_reference or ()):
        if reference and (sign := tokenized_sign(reference)):
            raise UserError(
                f"{files.reference}: looks tokenised ({sign[2]}), where raw text is expected: give "
                "it as --tokenized-reference, without --reference"
            )
        if sign := tokenized_sign(hypotheses):
            warnings.append(
                f"{files.hypotheses}: hypotheses that should be detokenised look tokenised "
                f"({sign[2]}): scores of detokenised text are wrong if they are; "
                "see --tokenizer, and --tokenized for plain text"
            )
    if tokenized_reference and looks_raw(tokenized_reference):
        warnings.append(f"{files.tokenized_reference}: does not look tokenised")
    return warnings


def _case_warnings(files: TextFiles, text: Sides) -> list[str]:
    """Returns a warning if only one side is lower-cased."""
    sides = {"hypotheses": text.hypotheses, "references": text.references}
    lower = [side for side, lines in sides.items() if all(line == line.lower() for line in lines)]
    if len(lower) != 1:
        return []
    remedy = "see the metrics with -lc"
    if files.target_lang in DOTLESS:
        remedy = f"lower-case both as {files.target_lang} does, as metrics with -lc make i of I"
    return [f"{files.hypotheses}: only the {lower[0]} are lower-cased: {remedy}"]


def _form_warnings(files: TextFiles, text: Sides) -> list[str]:
    """Returns a warning if the sides are in different forms of Unicode."""
    forms = unicode_form(text.hypotheses), unicode_form(text.references)
    if None in forms or forms[0] == forms[1]:
        return []
    return [
        f"{files.hypotheses}: the hypotheses are in Unicode's form {forms[0]}, the references in "
        f"{forms[1]}: equal letters do not match; bring both into one form"
    ]
