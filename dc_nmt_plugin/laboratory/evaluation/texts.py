"""Reads, checks and scores hypotheses and references, detokenised and tokenised."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...errors import UserError, counted
from ...runs.record import Kind, Score
from ...text.languages import is_spaceless
from ...text.lines import read_lines
from ..raw_text.checks import looks_raw, refuse, scan_lines, tokenized_sign, unicode_form
from ..raw_text.tokenizers import MOSES, detokenize, tokenize
from .chance import LEAST_SENTENCES
from .generated import UNKNOWN, check_targets, read_generated
from .metrics import Metric


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
    joined_by: str | None = None  # of --remove-bpe, where fairseq-generate joined the pieces

    @property
    def marks(self) -> tuple[str, ...]:
        """Returns the kinds of problems (of raw_text/checks.py) that are none in tokenised text."""
        return ("pieces",) if self.tokenizer == "split" else ()

    @property
    def joined(self) -> str:
        """Returns the step that joined the pieces of fairseq-generate's output."""
        return "sentencepiece joined" if self.joined_by == "sentencepiece" else "BPE joined"

    @property
    def has_raw_reference(self) -> bool:
        """Returns False for a tokenised reference alone, whose tokeniser is not known."""
        return self.reference is not None or self.tokenizer != "none"


@dataclass(frozen=True)
class ProcessedLines:
    """Lines of one side, and the steps that made them, in words."""

    lines: list[str]
    steps: str = "as given"


@dataclass(frozen=True)
class Sides:
    """Holds hypotheses and references, line by line, and the steps that made them, in words."""

    hypotheses: list[str]
    references: list[str]
    processing: str

    @classmethod
    def of(cls, hypotheses: ProcessedLines, references: ProcessedLines) -> Sides:
        processing = f"hypotheses {hypotheses.steps}; reference {references.steps}"
        return cls(hypotheses.lines, references.lines, processing)


@dataclass(frozen=True)
class Texts:
    """Holds both forms of both sides; ``tokenized`` is None without a known tokeniser."""

    raw: Sides
    tokenized: Sides | None
    warnings: list[str]
    has_raw_reference: bool = True

    @property
    def repeated(self) -> int:
        """Returns how many hypotheses are the same sentence; 0 if that is less than half of them.

        Text of fewer than ten sentences, or with such references, is no sign of a broken model.
        """
        most, of_references = (
            Counter(lines).most_common(1)[0][1]
            for lines in (self.raw.hypotheses, self.raw.references)
        )
        count = len(self.raw.hypotheses)
        return most if count >= LEAST_SENTENCES and most >= count / 2 > of_references else 0

    def sides(self, metric: Metric) -> Sides:
        """Returns the text for a metric, before :meth:`Metric.prepared`; ``processing`` has both.

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
        return replace(sides, processing=f"{sides.processing}; both: {metric.prepared_by}")

    def translated(self, kind: Kind) -> list[str]:
        """Returns the hypotheses of a file of that kind as they were translated, without BPE."""
        # what is tokenised again need not be the same
        side = self.raw if kind == "raw" else self.tokenized or self.raw
        return side.hypotheses

    def score(self, metric: Metric, target_lang: str, paper: bool = False) -> Score:
        """Returns the score by a metric, perhaps the paper's; raises as :meth:`sides`."""
        sides = self.sides(metric)
        value, signature = metric.score(sides.hypotheses, sides.references, target_lang)
        return Score(metric.name, value, signature, sides.processing, paper)


def lines_digest(lines: Sequence[str]) -> str:
    """Returns the SHA-256 of a file that has these lines."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def load_texts(files: TextFiles) -> Texts:
    """Reads, checks and completes the text of one system.

    The tokenizer makes a missing reference from the other one, and the missing form of the
    hypotheses. The tokenizer "none" leaves text unchanged.

    Raises:
        UserError: a file is missing, numbers of lines differ, a reference is blank or has <unk>,
            words are in pieces, the text was decoded wrongly, or the raw reference looks tokenised
    """
    generated = read_generated(files.hypotheses) if files.kind == "generated" else None
    lines = generated.hypotheses if generated else read_lines(files.hypotheses)
    allowed = () if files.kind == "raw" else files.marks
    refuse(scan_lines(files.hypotheses, lines).findings, allowed=allowed)
    reference, tokenized_reference = _read_references(files, len(lines))
    if generated and generated.targets:
        path = files.reference or files.tokenized_reference
        references = tokenized_reference if reference is None else reference
        check_targets(files.hypotheses, generated.targets, path, references or [])

    raw = _raw_sides(files, lines, reference, tokenized_reference or [])
    tokenized = _tokenized_sides(files, lines, reference or [], tokenized_reference)
    words = tokenized or raw
    warnings = _hypothesis_warnings(files.hypotheses, lines)
    warnings += _tokenization_warnings(files, raw.hypotheses, reference, tokenized_reference)
    warnings += _case_warnings(files, words)
    warnings += _form_warnings(files, words)
    return Texts(raw, tokenized, warnings, files.has_raw_reference)


def _raw_sides(
    files: TextFiles, lines: list[str], reference: list[str] | None, tokenized: list[str]
) -> Sides:
    """Returns detokenised text, made from tokenised hypotheses and from `tokenized` if needed."""
    if files.kind == "raw":
        hypotheses = ProcessedLines(lines)
    else:
        hypotheses = _detokenized(files, lines, "as translated")
    if files.kind == "generated":
        hypotheses = replace(hypotheses, steps=f"{files.joined}, {hypotheses.steps}")
    if reference is not None:
        return Sides.of(hypotheses, ProcessedLines(reference))
    return Sides.of(hypotheses, _detokenized(files, tokenized, "as given, tokenised"))


def _detokenized(files: TextFiles, lines: list[str], unknown: str) -> ProcessedLines:
    """Returns detokenised lines; without a known tokenizer, their state is `unknown`."""
    steps = unknown if files.tokenizer == "none" else f"{files.tokenizer} undone"
    if files.truecased:
        steps = f"detruecased, {steps}"
    lines = detokenize(lines, files.tokenizer, files.target_lang, files.truecased)
    return ProcessedLines(lines, steps)


def _tokenized_sides(
    files: TextFiles, lines: list[str], raw: list[str], reference: list[str] | None
) -> Sides | None:
    """Returns tokenised text, made from raw hypotheses and from `raw` if needed."""
    if files.tokenizer == "none" and (files.kind == "raw" or reference is None):
        return None
    if files.kind == "raw":
        hypotheses = _tokenized(files, lines)
    elif files.kind == "generated":
        hypotheses = ProcessedLines(lines, f"as translated, {files.joined}")
    else:
        hypotheses = ProcessedLines(lines, "as translated")
    if reference is not None:
        return Sides.of(hypotheses, ProcessedLines(reference))
    return Sides.of(hypotheses, _tokenized(files, raw))


def _tokenized(files: TextFiles, lines: list[str]) -> ProcessedLines:
    jieba = files.target_lang == "zh" and files.tokenizer in MOSES
    steps = f"tokenised by {'jieba' if jieba else files.tokenizer}"
    return ProcessedLines(tokenize(lines, files.tokenizer, files.target_lang), steps)


# -- checks: text that would make a score silently wrong ---------------------------------------


def _read_references(files: TextFiles, count: int) -> tuple[list[str] | None, list[str] | None]:
    """Returns the raw and the tokenised reference; None for one that is not given."""
    raw = tokenized = None
    if files.reference:
        raw = _read_reference(files.reference, count, files)
    if files.tokenized_reference:
        tokenized = _read_reference(files.tokenized_reference, count, files, files.marks)
    return raw, tokenized


def _read_reference(
    path: str, count: int, files: TextFiles, allowed: Sequence[str] = ()
) -> list[str]:
    """Reads a reference that has a sentence for each of `count` hypotheses, and can be scored.

    `allowed` has the kinds of problems (of raw_text/checks.py) that are accepted here.
    """
    lines = read_lines(path)
    if count != len(lines):
        raise UserError(
            f"{files.hypotheses} against {path}: {counted(count, 'hypothesis')} for "
            f"{counted(len(lines), 'reference')}: the scores would compare different sentences"
        )
    unknown = _numbers(UNKNOWN.search(line) for line in lines)
    if unknown:
        raise UserError(
            f"{path}: <unk> in {counted(len(unknown), 'reference')}, first in line {unknown[0]}: "
            "these are the T- lines of fairseq-generate; score against the original text"
        )
    refuse(scan_lines(path, lines).findings, ("blank",), allowed)
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
    if files.tokenizer == "none" and _differ_in_spaces(reference, tokenized_reference):
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


def _differ_in_spaces(reference: Sequence[str] | None, tokenized: Sequence[str] | None) -> bool:
    """Returns True for one text twice, which ``dc-nmt new --tokenized`` takes as it is."""
    if not reference or not tokenized:
        return False
    return [line.split() for line in reference] == [line.split() for line in tokenized]


def _case_warnings(files: TextFiles, text: Sides) -> list[str]:
    """Returns a warning if only one side is lower-cased."""
    sides = {"hypotheses": text.hypotheses, "references": text.references}
    lower = [side for side, lines in sides.items() if all(line == line.lower() for line in lines)]
    if len(lower) != 1:
        return []
    return [f"{files.hypotheses}: only the {lower[0]} are lower-cased: lower-case both sides"]


def _form_warnings(files: TextFiles, text: Sides) -> list[str]:
    """Returns a warning if the sides are in different forms of Unicode."""
    forms = unicode_form(text.hypotheses), unicode_form(text.references)
    if None in forms or forms[0] == forms[1]:
        return []
    return [
        f"{files.hypotheses}: the hypotheses are in Unicode's form {forms[0]}, the references in "
        f"{forms[1]}: equal letters do not match; bring both into one form"
    ]
