"""Reads hypotheses in order from the output of ``fairseq-generate``."""

from __future__ import annotations

import ast
import html
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...flags import FLAGS, SEARCH, flag_name, flags_of, setting_name
from ...runs.record import Flags, Kind
from ...text.lines import read_lines, remove_bpe, stream_lines

UNKNOWN = re.compile(r"<{1,2}unk>{1,2}")
# of --results-path, with fairseq's name of the set
_FILE = re.compile(r"generate-((?:train|valid|test)\d*)\.txt")
_NUMBERED = re.compile(r"[STHDP]-\d+\t")
_HYPOTHESIS = re.compile(r"H-(\d+)\t(\S+)\t?(.*)")
_TARGET = re.compile(r"T-(\d+)\t(.*)")
_LEFT_OUT = re.compile(r"([\d,]+) samples have invalid sizes and will be skipped")
_SPEED = re.compile(
    r"Translated [\d,]+ sentences .* in [\d.]+s \(([\d.]+) sentences/s, ([\d.]+) tokens/s"
)


@dataclass
class Generated:
    """Holds the output of fairseq-generate.

    Attributes:
        hypotheses: the best ones by sentence number, without BPE, still tokenised
        targets: the T- lines by sentence number, prepared in the same way; empty if missing
        sentences_per_second, tokens_per_second: inference alone; None where the summary is missing
        subset: translated set, by the settings or the file's name; None where neither has it
        search: flags that decide which translation is found
        joined_by: of --remove-bpe, where fairseq-generate joined the pieces
    """

    hypotheses: list[str]
    targets: list[str]
    sentences_per_second: float | None = None
    tokens_per_second: float | None = None
    subset: str | None = None
    search: Flags = field(default_factory=dict)
    joined_by: str | None = None


def kind_of(path: str | os.PathLike[str], *, tokenized: bool) -> Kind:
    """Returns what hypotheses are: numbered lines of ``fairseq-generate``, or plain text."""
    if any(_NUMBERED.match(line) for line in read_lines(path, fix=True)):
        return "generated"
    return "tokenized" if tokenized else "raw"


def read_generated(
    path: str | os.PathLike[str], log: str | os.PathLike[str] | None = None
) -> Generated:
    """Reads the output of ``fairseq-generate``, with or without ``--results-path``.

    With ``--results-path`` settings and speed may be in the log instead. Of an n-best
    list the first hypothesis counts. The batches come sorted by length, so lines are put back
    into the order of their numbers.

    Raises:
        UserError: no hypotheses, a sentence number is missing, sentences were left out, or the
            hypotheses are no free translations.
    """
    # a log of standard output has the numbered lines again
    logged = stream_lines(log, errors="replace") if log else ()
    lines = read_lines(path, fix=True)
    messages = [line for line in (*lines, *logged) if not _NUMBERED.match(line)]
    _check_is_whole(path, messages)
    generated = Generated(*_sides(path, lines))
    named = _FILE.match(Path(path).name)
    generated.subset = named[1] if named else None
    for message in messages:
        if "'generation': " in message:
            settings = _printed_settings(message)
            check_free(path, settings)
            generated.subset = settings.get("gen_subset") or generated.subset
            generated.search = _search_of(settings)
            generated.joined_by = settings.get("post_process")
        elif match := _SPEED.search(message):
            generated.sentences_per_second = float(match[1])
            generated.tokens_per_second = float(match[2])
    return generated


def _check_is_whole(path: object, messages: Iterable[str]) -> None:
    """Raises UserError if fairseq-generate has left sentences out."""
    for match in filter(None, map(_LEFT_OUT.search, messages)):
        raise UserError(
            f"{path}: fairseq-generate left out {match[1]} sentences that are too long: a "
            "score of the others would not be one of this test set"
        )


def _sides(path: object, lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the best hypotheses in order, and the references, unless one is missing.

    Raises:
        UserError: no hypotheses, a score that is not a number, or a sentence without hypothesis or
            with two references
    """
    best: dict[int, str] = {}
    targets: dict[int, str] = {}
    for line in lines:
        if match := _HYPOTHESIS.fullmatch(line):
            if match[2] == "nan":
                raise UserError(
                    f"{path}: the score of sentence {match[1]} (H-{match[1]}) is not a number: the "
                    "model is broken, and so is its translation"
                )
            best.setdefault(int(match[1]), remove_bpe(match[3]))
        elif match := _TARGET.fullmatch(line):
            if int(match[1]) in targets:
                raise UserError(
                    f"{path}: T-{match[1]} occurs twice: it is the output of two calls of "
                    "fairseq-generate, and one of them is wanted"
                )
            targets[int(match[1])] = remove_bpe(match[2])
    if not best:
        raise UserError(f"{path}: no hypotheses (H- lines) of fairseq-generate in it")
    for number in range(max(best)):
        if number not in best:
            raise UserError(f"{path}: no hypothesis for sentence {number} (H-{number})")
    has_targets = targets.keys() == best.keys()
    order = sorted(best)
    return [best[n] for n in order], [targets[n] for n in order] if has_targets else []


def _printed_settings(line: str) -> dict[str, Any]:
    """Returns name → value of the settings that ``fairseq-generate`` prints as a dictionary."""
    groups = ast.literal_eval(line[line.index("{") :])
    settings = dict(groups["generation"])
    for name in ("task", "dataset", "common_eval"):
        settings |= groups.get(name) or {}
    return settings


def _search_of(settings: Mapping[str, Any]) -> Flags:
    search: Flags = {}
    for flag in flags_of(SEARCH):
        value = settings.get(setting_name(flag))
        if value is not None and value is not False and value != "":
            search[flag] = value
    return search


def check_free(origin: object, settings: Mapping[str, Any]) -> None:
    """Checks that an output is a model's own best translation.

    Args:
        origin: of the settings, for the message
        settings: name → value, of fairseq-generate

    Raises:
        UserError: the output was forced, drawn at random, or searched for diversity
    """
    for name, known in FLAGS.items():
        value = str(settings.get(setting_name(name), known.free))
        if known.free is None or _same(value, known.free):
            continue
        if name == "diverse-beam-groups" and value in ("0", "1"):
            continue
        flag = flag_name(name) if value == "True" else f"{flag_name(name)} {value}"
        raise UserError(
            f"{origin}: fairseq-generate with {flag} gives no free translation, and a score of "
            "its output would not be one of the model; translate without that flag"
        )


def _same(value: str, free: str) -> bool:
    try:
        return float(value) == float(free)
    except ValueError:
        return value == free


def is_same_search(known: Flags, printed: Flags) -> bool:
    """Returns True if known flags are those that ``fairseq-generate`` printed.

    Args:
        known: given flags
        printed: of a :class:`Generated`, with fairseq's defaults
    """
    names = set(flags_of(SEARCH)) & known.keys()
    return bool(printed) and all(_same(str(known[n]), str(printed.get(n))) for n in names)


def check_targets(
    path: object, targets: Sequence[str], reference_path: object, references: Sequence[str]
) -> None:
    """Checks by the T- lines that an output belongs to the reference text.

    Raises:
        UserError: most T- lines are not the reference's lines
    """
    pairs = enumerate(zip(targets, references, strict=True))
    # an unknown word of the target stands for any word
    known = [(n, pair) for n, pair in pairs if not UNKNOWN.search(pair[0])]
    other = [n for n, (target, line) in known if _letters(target) != _letters(line)]
    if 2 * len(other) > len(known):
        raise UserError(
            f"{path}: {len(other):,} of {len(known):,} T- lines are not lines of {reference_path}, "
            f"the first is T-{other[0]}; give the reference of the set that was translated "
            "(--gen-subset)"
        )


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKC", html.unescape(text)).casefold()
    return re.sub(r"[\W_]+", "", plain)
